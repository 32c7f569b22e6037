"""Lists and notes by voice: what is understood, follow-ups, retraction, and what the language model keeps."""

import pytest
from support.conversations.skill_talk import Talk
from support.texts.text_cases import text_cases

from assistant.skills.languages.language import load_language
from assistant.skills.lists.items import AddItems, ListItem, RemoveItems, UserLists, list_names
from assistant.skills.lists.sentences import list_words
from assistant.skills.lists.splitting import split_items

SAID = {
    "en": (
        "Add milk and eggs to my shopping list.", "and cheese", "add butter too", "remove it",
        "what's on my shopping list?",
        "Take eggs off the list.", "remove the second item", "is milk on the list", "clear my shopping list", "yes",
        "Take a note: call the plumber.", "note that the key is under the mat", "delete the last note", "read my notes",
    ),
    "de": (
        "Setz Milch und Eier auf meine Einkaufsliste.", "und Käse", "schreib auch Butter drauf",
        "nimm sie wieder runter",
        "Was steht auf der Einkaufsliste?", "Streich Eier von der Liste.", "lösche den zweiten Eintrag",
        "steht Milch auf der Liste", "leere meine Einkaufsliste", "ja", "Mach eine Notiz: den Klempner anrufen.",
        "Notiere, der Schlüssel liegt unter der Matte", "lösche die letzte Notiz", "lies meine Notizen vor",
    ),
    "fr": (
        "Ajoute du lait et des œufs à ma liste de courses.", "et du fromage", "ajoute aussi du beurre", "enlève-le",
        "Qu'est-ce qu'il y a sur ma liste de courses ?", "Enlève les œufs de la liste.", "supprime le deuxième article",
        "est-ce que le lait est sur la liste", "vide ma liste de courses", "oui",
        "Prends une note : appeler le plombier.",
        "note que la clé est sous le tapis", "efface la dernière note", "lis mes notes",
    ),
    "es": (
        "Añade leche y huevos a mi lista de la compra.", "y queso", "añade también mantequilla", "quítala",
        "¿Qué hay en mi lista de la compra?", "Quita los huevos de la lista.", "borra el segundo elemento",
        "está la leche en la lista", "vacía mi lista de la compra", "sí", "Toma una nota: llamar al fontanero.",
        "anota que la llave está debajo de la alfombra", "borra la última nota", "lee mis notas",
    ),
}  # fmt: skip
"""One conversation of fourteen utterances in each language."""

ANSWERS = {
    "en": (
        "Added milk and eggs.", "Added cheese.", "Added butter.", "Removed butter.",
        "There are 3 items on your shopping list: milk, eggs, and cheese.", "Removed eggs.", "Removed cheese.",
        "Yes, milk is on your shopping list.", "Clear the only item?", "Your shopping list is empty now.",
        "Noted.", "Noted.",
        "The note is deleted.", "You have 1 note. Call the plumber.",
    ),
    "de": (
        "Hinzugefügt: Milch und Eier.", "Hinzugefügt: Käse.", "Hinzugefügt: Butter.", "Gestrichen: Butter.",
        "Auf der Einkaufsliste stehen 3 Einträge: Milch, Eier und Käse.", "Gestrichen: Eier.", "Gestrichen: Käse.",
        "Ja, Milch steht auf der Einkaufsliste.", "Den einzigen Eintrag löschen?", "Die Einkaufsliste ist jetzt leer.",
        "Notiert.", "Notiert.", "Die Notiz ist gelöscht.", "Du hast 1 Notiz. Den Klempner anrufen.",
    ),
    "fr": (
        "Ajouté : lait et œufs.", "Ajouté : fromage.", "Ajouté : beurre.", "Enlevé : beurre.",
        "Il y a 3 articles sur votre liste de courses : lait, œufs et fromage.", "Enlevé : œufs.", "Enlevé : fromage.",
        "Oui, sur votre liste de courses : lait.",
        "Effacer le seul article ?", "Votre liste de courses est vide maintenant.",
        "C'est noté.", "C'est noté.", "La note est effacée.", "Vous avez 1 note. Appeler le plombier.",
    ),
    "es": (
        "Añadido: leche y huevos.", "Añadido: queso.", "Añadido: mantequilla.", "Quitado: mantequilla.",
        "Hay 3 cosas en tu lista de la compra: leche, huevos y queso.", "Quitado: huevos.", "Quitado: queso.",
        "Sí, en tu lista de la compra: leche.", "¿Borrar la única cosa?", "Tu lista de la compra está vacía ahora.",
        "Anotado.", "Anotado.", "La nota está borrada.", "Tienes 1 nota. Llamar al fontanero.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", SAID)
def test_conversation_about_lists_in_four_languages(code: str) -> None:
    talk = Talk(code)
    assert tuple(talk.say(one) for one in SAID[code]) == ANSWERS[code]
    assert (talk.on(), len(talk.on("notes"))) == ([], 1)


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


@text_cases(
    ("said", "text"),
    [
        ("add milk to my list and set a timer for ten minutes", "Added milk. Your 10 minute timer is set."),
        ("add milk to my list and eggs to my packing list", "Added milk. Added eggs."),
        ("Could you please put six pegs on my camping list?", "Added 6 pegs."),
        ("add to my shopping list milk, eggs and bread", "Added milk, eggs, and bread."),
        ("create a party list", "What should I add?"),
        ("what lists do I have", "There are no lists."),
        ("clear my list", "Your shopping list is empty."),
        ("take a note", "What should I write down?"),
        ("read my notes", "There are no notes."),
        ("remove the third item", "Your shopping list is empty."),
        ("take bread off the list", "bread isn't on your shopping list."),
    ],
    columns=(0,),
)
def test_request_about_lists_is_answered(said: str, text: str) -> None:
    assert Talk().say(said).casefold() == text.casefold()


@text_cases(
    ("said",),
    [
        (said,)
        for said in (
            "add me to the waiting list", "what is on the sanctions list", "is Germany on the embargo list",
            "make a list of planets", "is there a doctor on the list of passengers", "list the planets",
            "what is a linked list",
            "note that I am allergic to nuts, what can I eat?", "what does this note mean", "add milk", "and cheese",
        )
    ],
    columns=(0,),
)  # fmt: skip
def test_other_sentence_is_left_to_the_model(said: str) -> None:
    assert Talk().attempt(said) is None


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
