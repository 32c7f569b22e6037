"""Lists and notes by voice: what is understood, follow-ups, retraction, and what the language model keeps."""

from support.conversations.skill_talk import Talk
from support.texts.text_cases import text_cases

from assistant.skills.languages.language import load_language
from assistant.skills.lists.items import AddItems, ListItem, RemoveItems, UserLists, list_names
from assistant.skills.lists.sentences import list_words
from assistant.skills.lists.splitting import split_items


@text_cases(
    ("code", "said", "items"),
    [
        ("en", "milk, eggs and macaroni and cheese", ["milk", "eggs", "macaroni and cheese"]),
        ("en", "milk, eggs, and rice and beans", ["milk", "eggs", "rice and beans"]),
        ("en", "milk and eggs and bread", ["milk", "eggs", "bread"]),
        ("en", "some milk, six eggs and two liters of Coke", ["milk", "6 eggs", "2 liters of Coke"]),
        ("en", "1,5 liters of milk", ["1,5 liters of milk"]),
        ("en", "fish and chips and peas", ["fish and chips", "peas"]),
        ("de", "etwas Milch, sechs Eier und ein Brot", ["Milch", "6 Eier", "Brot"]),
        ("fr", "du lait, six œufs et de l'eau", ["lait", "6 œufs", "eau"]),
        ("es", "leche, seis huevos y una barra de pan", ["leche", "6 huevos", "barra de pan"]),
    ],
    columns=(0, 1),
)
def test_items_are_split_and_written(code: str, said: str, items: list[str]) -> None:
    assert list(split_items(said, list_words(code).items, load_language(code).numerals)) == items


def test_list_follow_up_leaves_other_requests_alone() -> None:
    talk = Talk()
    talk.say("add milk to my list")
    assert talk.say("and what time is it") == "It's 3:43 PM."
    assert talk.say("add butter") == "Added butter."
    assert talk.attempt("and cheese from France, who invented it?") is None
    assert talk.say("add five minutes") != "Added 5 minutes."
    talk.say("set a timer for ten minutes")
    assert talk.say("cancel it") == "Your 10 minute timer is cancelled."
    assert talk.on() == ["milk", "butter"]


def test_question_about_a_list_is_answered_by_what_follows() -> None:
    talk = Talk()
    assert (
        talk.say("add oat milk, whole milk to my list", "take milk off the list")
        == "Which one: oat milk or whole milk?"
    )
    assert talk.say("the second one") == "Removed whole milk."
    assert talk.say("create a party list", "balloons and cups") == "Added balloons and cups."
    assert talk.say("is cake on the list", "then add it") == "Added cake."
    assert talk.on("party list") == ["balloons", "cups", "cake"]
    assert talk.say("take a note", "Buy stamps.") == "Noted."
    assert talk.say("take a note", "what time is it") == "It's 3:43 PM."
    assert talk.on("notes") == ["Buy stamps"]
    assert talk.say("clear the party list") == "Clear all 3 items?"
    assert talk.say("no") == "All right."
    assert len(talk.on("party list")) == 3


def test_item_that_is_there_is_not_added_twice() -> None:
    talk = Talk()
    assert talk.say("add milk to my list", "add Milk and eggs to my list") == "Added eggs. Milk was already there."
    talk.say("add egg to my list")
    assert talk.on() == ["milk", "eggs"]


def test_attempt_changes_no_list_and_retraction_restores_it() -> None:
    talk = Talk()
    talk.attempt("add milk to my list")
    assert talk.on() == []
    talk.say("add milk and eggs to my list")
    talk.retract()
    assert talk.on() == []
    talk.say("add milk and eggs to my list", "clear my list", "yes")
    assert talk.on() == []
    talk.retract()
    talk.retract()
    assert talk.on() == ["milk", "eggs"]


def test_lists_are_bounded() -> None:
    lists = UserLists()
    lists.change(AddItems("shopping", tuple(f"item {number}" for number in range(1200))))
    assert len(lists.items) == 1000
    talk = Talk()
    talk.effects.lists = lists
    assert talk.say("add milk to my list").startswith("That is too much")


def test_change_during_a_write_is_kept() -> None:
    lists = UserLists(stored=True)
    lists.change(AddItems("shopping", ("milk", "eggs")))
    milk, eggs = lists.items
    taken = lists.take_pending()
    lists.change(RemoveItems((milk.key,)))
    lists.adopt([milk, eggs, ListItem("other", "notes", "call", 9)])
    assert [one.text for one in lists.items] == ["eggs", "call"]
    lists.put_back(taken)
    assert lists.pending[milk.key] is None
    assert list_names(lists.items) == ("shopping", "notes")
