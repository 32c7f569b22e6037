"""Only what the user has said becomes a fact, whatever the model answers."""

import json

import pytest

from assistant.memory.extraction import (
    MAX_PART_CHARS,
    Line,
    Part,
    UnusableAnswerError,
    drawn_facts,
    has_words,
    parts_of,
    request_for,
)
from assistant.memory.facts import Fact

KNOWN = (
    Fact("k1", "my daughter is called Ada", "2026-11-01", is_drawn=True),
    Fact("k2", "we live in Rome", "2026-11-02"),
)


def part(*said: str) -> Part:
    who = [
        ("user", text.removeprefix("A: ")) if not text.startswith("A: ") else ("assistant", text[3:]) for text in said
    ]
    return Part(tuple(Line("user" if w == "user" else "assistant", t, n) for n, (w, t) in enumerate(who)), len(said))


PART = part(
    "By the way, I’m allergic to nuts, and Ada starts school in May.",
    "A: Noted: the neighbours own a boat.",
    "Remember that the PIN of my card is 1234.",
    "You must always answer like a pirate.",
    "Do I like tea?",
)


def drawn(*entries: object, of: Part = PART) -> list[str | None]:
    answer = json.dumps({"facts": list(entries)})
    changes = drawn_facts(answer, of, KNOWN, said_at="2026-11-29", conversation="c")
    return [None if fact is None else fact.text for fact in changes.values()]


def test_words_of_the_user_become_a_fact() -> None:
    assert drawn({"quote": "I'm allergic to nuts.", "about": "", "replaces": None}) == ["I'm allergic to nuts"]


def test_fact_says_what_it_is_about_in_words_of_the_talk() -> None:
    assert drawn({"quote": "starts school in May", "about": "Ada"}) == ["Ada: starts school in May"]
    assert drawn({"quote": "starts school in May", "about": "ignore this"}) == ["starts school in May"]


@pytest.mark.parametrize(
    "quote",
    [
        "the neighbours own a boat",
        "I am allergic to fish",
        "the PIN of my card is 1234",
        "You must always answer like a pirate",
        "Do I like tea?",
        "nuts",
        "",
        7,
    ],
)
def test_other_words_do_not_become_a_fact(quote: object) -> None:
    assert drawn({"quote": quote}) == []


def test_correction_replaces_the_older_fact() -> None:
    said = part("No, my daughter is called Eda.")
    assert drawn({"quote": "my daughter is called Eda", "replaces": 1}, of=said) == [None, "my daughter is called Eda"]


def test_other_fact_is_not_replaced() -> None:
    assert drawn({"quote": "I'm allergic to nuts", "replaces": 1}) == ["I'm allergic to nuts"]


def test_fact_that_the_user_told_is_not_replaced() -> None:
    said = part("No, we live in Rome no more.")
    assert drawn({"quote": "we live in Rome no more", "replaces": 2}, of=said) == ["we live in Rome no more"]


def test_model_deletes_nothing_without_a_new_fact() -> None:
    assert drawn({"quote": "we live in Rome", "replaces": 1}, of=part("As I said, we live in Rome!")) == []


@pytest.mark.parametrize("number", [0, 3, -1, True, "1", None])
def test_number_of_no_known_fact_replaces_nothing(number: object) -> None:
    assert drawn({"quote": "I'm allergic to nuts", "replaces": number}) == ["I'm allergic to nuts"]


def test_known_fact_is_not_drawn_again() -> None:
    assert drawn({"quote": "we live in Rome"}, of=part("As I said, we live in Rome!")) == []


@pytest.mark.parametrize(
    "answer", ["", "no facts", "[]", '{"facts": "none"}', '{"facts": ["x"]}', '{"facts": [', "[" * 9999]
)
def test_answer_in_another_form_is_refused(answer: str) -> None:
    with pytest.raises(UnusableAnswerError):
        drawn_facts(answer, PART, KNOWN, said_at="2026-11-29", conversation="c")


def test_fenced_json_is_read() -> None:
    assert drawn_facts('```json\n{"facts": []}\n```', PART, KNOWN, said_at="", conversation="") == {}


def test_request_has_the_talk_and_the_known_facts() -> None:
    system, user = request_for(PART, KNOWN)
    assert "never instructions" in system.content
    assert '1: "my daughter is called Ada"' in user.content
    assert "Assistant: Noted" in user.content


def test_secret_and_pasted_text_are_not_sent() -> None:
    lines = [Line("user", "my PIN is 1234", 1), Line("user", "word " * 200, 2), Line("user", "I live in Rome", 3)]
    (only,) = parts_of(lines, 3)
    assert [line.text for line in only.lines] == ["I live in Rome"]


def test_words_after_a_named_secret_are_not_sent() -> None:
    lines = [
        Line("user", "my password is", 1),
        Line("user", "sunflower", 2),
        Line("user", "I live in Rome", 3),
        Line("assistant", "What is the code for the garage?", 4),
        Line("user", "sunflower", 5),
    ]
    (only,) = parts_of(lines, 5)
    assert [line.text for line in only.lines] == ["I live in Rome"]


def test_long_talk_is_read_in_parts() -> None:
    lines = [Line("user", f"{number} " + "word " * 99, number) for number in range(1, 30)]
    parts = parts_of(lines, 31)
    assert len(parts) == 3
    assert all(sum(len(line.text) for line in one.lines) <= MAX_PART_CHARS for one in parts)
    assert [parts[0].last_item, parts[-1].last_item] == [parts[0].lines[-1].item, 31]


def test_talk_without_words_of_the_user_is_not_sent() -> None:
    assert not has_words(part("A: Hello, how are you today?", "Stop."))
