"""Labels of speakers in the history, in the prompt and on screens."""

from dataclasses import replace
from itertools import pairwise

from assistant.history.history import History
from assistant.history.items import AssistantMessage, ItemId, UserMessage
from assistant.history.shown_speakers import ShownSpeakers, shown_speakers
from llm.chat import Message
from llm.openai.messages import messages_json


def history_of(*speakers: str) -> History:
    """Returns a history with one spoken message for each speaker, answered each time."""
    history = History("Be brief.", 20, speaker_of=lambda turn: speakers[turn - 1])
    for turn in range(1, len(speakers) + 1):
        history.add_user_text(f"words {turn}", turn)
        history.insert(AssistantMessage(history.reserve(), f"answer {turn}"))
    return history


def spoken(history: History) -> list[Message]:
    return [message for message in history.messages() if message.content.startswith("words")]


def test_one_speaker_is_not_named_in_the_prompt() -> None:
    assert [message.speaker for message in spoken(history_of("S1", "", "S1"))] == ["", "", ""]


def test_speakers_are_named_from_the_second_speaker_on() -> None:
    assert [message.speaker for message in spoken(history_of("S1", "S2", "S1", ""))] == ["", "S2", "S1", ""]


def test_second_speaker_leaves_the_earlier_prompt_unchanged() -> None:
    speakers = ["S1", "S1", "ann", "S1", "ann"]
    prompts = [history_of(*speakers[:count]).messages() for count in range(1, 6)]
    sent = [messages_json(prompt, "near")[:-1] for prompt in prompts]
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier


def test_prompt_of_an_attempt_equals_the_committed_one() -> None:
    history = history_of("S1")
    history.speaker_of = lambda turn: ("S1", "S2")[turn - 1]
    attempt = history.messages("and tomorrow", turn=2)
    history.add_user_text("and tomorrow", 2)
    assert attempt == history.messages()
    assert attempt[-1] == Message("user", "and tomorrow", speaker="S2")


def test_turns_that_left_the_prompt_still_count() -> None:
    history = History("", 2, speaker_of=lambda turn: "S1" if turn == 1 else "S2")
    for turn in range(1, 6):
        history.add_user_text(f"words {turn}", turn)
    assert {message.speaker for message in history.messages()} == {"S2"}


def test_other_speaker_in_the_same_message_is_named() -> None:
    history = history_of("S1", "S2")
    history.speaker_of = lambda turn: {3: "S1", 4: "S2"}[turn]
    history.add_user_text("what is", 3)
    history.add_user_text("the weather", 3, continues=True)
    history.add_user_text("tomorrow", 4, continues=True)
    assert history.messages()[-1] == Message("user", "what is the weather [S2] tomorrow", speaker="S1")


def test_message_without_words_has_no_speaker() -> None:
    history = History("", 5, speaker_of=lambda _turn: "S1")
    assert history.add_user_text("", 1).speaker == ""


def test_service_gets_the_name_before_the_words() -> None:
    assert messages_json([Message("user", "hello", speaker="ann")], "near") == [
        {"role": "user", "content": "[ann] hello"}
    ]


def test_number_is_shown_once_a_second_person_speaks() -> None:
    shown = ShownSpeakers()
    assert [shown.shown(label) for label in ("S1", "", "S1", "S2", "S1")] == ["", "", "", "S2", "S1"]


def test_name_of_an_enrolled_voice_is_always_shown() -> None:
    assert ShownSpeakers().shown("ann") == "ann"
    assert shown_speakers(["ann", "", "ann"]) == ["ann", "", "ann"]


def test_kept_conversation_shows_all_its_speakers() -> None:
    assert shown_speakers(["S1", "S2", ""]) == ["S1", "S2", ""]
    assert shown_speakers(["S1", "S1", ""]) == ["", "", ""]


def test_restored_history_keeps_its_speakers() -> None:
    history = History("", 5)
    history.restore([UserMessage(ItemId("item_1"), "hello", spoken=True, speaker="ann")])
    history.speaker_of = lambda _turn: "S1"
    history.add_user_text("and I", 1)
    assert [message.speaker for message in history.messages()] == ["", "S1"]


def test_numbers_of_an_earlier_session_are_forgotten() -> None:
    earlier = [
        UserMessage(ItemId(f"item_{number}"), "hello", spoken=True, speaker=speaker)
        for number, speaker in enumerate(("S1", "S2", "ann"), 1)
    ]
    history = History("", 5, speaker_of=lambda _turn: "S1")
    history.add_user_text("and I", 1)
    history.restore([*(replace(item, id=history.reserve()) for item in earlier), *history.items])
    assert [item.speaker for item in history.items if isinstance(item, UserMessage)] == ["", "", "ann", "S1"]
