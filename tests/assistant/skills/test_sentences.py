"""The templates can be spoken and answered, and sentences drawn from them are understood."""

import itertools
import random
from datetime import UTC, datetime
from pathlib import Path

import home_assistant_intents
import pytest
from hassil.intents import Intents
from hassil.recognize import recognize_all
from hassil.sample import sample_sentence
from support.conversations.loaded_skills import sentence_templates, written_skills
from support.texts.sentence_table import sections
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.clock.skill import load_zones
from assistant.skills.languages.language import LANGUAGES, load_language
from assistant.skills.languages.numerals import find_numbers
from assistant.skills.languages.sentences import SentenceTemplates
from assistant.skills.languages.words import plain_words, without_frame
from assistant.skills.skills import Skills
from assistant.skills.templates.templates import templates_of

UNDERSTOOD = Path(__file__).with_name("understood.txt")
"""Sentences drawn from the English templates, in lower case and without digits."""

CONTEXT = SkillContext(datetime(2026, 11, 20, 22, 43, tzinfo=UTC), "Hello.")


@pytest.fixture(scope="module")
def skills() -> Skills:
    return written_skills()


@pytest.fixture(scope="module")
def sentences() -> SentenceTemplates:
    return sentence_templates("en")


def test_sampled_sentences_are_answered_and_cover_every_intent(skills: Skills, sentences: SentenceTemplates) -> None:
    understood = UNDERSTOOD.read_text(encoding="utf-8").splitlines()
    for sentence in understood:
        answer = skills.answer(sentence, CONTEXT)
        assert answer is not None, sentence
        assert answer.text.endswith((".", "?"))
    assert {found.intent for sentence in understood if (found := sentences.find(sentence))} == set(
        sentences.intents.intents
    )


@pytest.mark.parametrize("intent", ["HassGetCurrentTime", "HassGetCurrentDate", "HassNevermind"])
def test_home_assistant_sentences_are_understood(skills: Skills, intent: str) -> None:
    data = home_assistant_intents.get_intents("en")
    assert data is not None
    theirs = Intents.from_dict({**data, "intents": {intent: data["intents"][intent]}})
    checked = 0
    for block in theirs.intents[intent].data:
        for template in block.sentences:
            for sentence in itertools.islice(sample_sentence(template, theirs.slot_lists, theirs.expansion_rules), 50):
                assert skills.answer(sentence, CONTEXT) is not None, sentence
                checked += 1
    assert checked > 1


@text_cases(
    ("text", "words"),
    [
        ("What's THE time?!", "what is the time"),
        ("What’s the time", "what is the time"),
        ("um, uh, what time is it", "what time is it"),
        ("twenty-five", "twenty five"),
        ("5-3", "5 hyphen 3"),
        ("5 - 3", "5 minus 3"),
        ("-5", "minus 5"),
        ("10 - -.5", "10 minus minus .5"),
        ("24/7", "24 slash 7"),
        ("10 / 4", "10 divided by 4"),
        ("calculate 10/4", "calculate 10 divided by 4"),
        ("2×3", "2 times 3"),
        ("20°C", "20 degrees c"),
        ("7:30 a.m.", "7 30 am"),
        ("1,000.5 + .5", "1,000.5 plus .5"),
        ("$5", "dollars 5"),
    ],
)
def test_spelling_variants_are_unified(sentences: SentenceTemplates, text: str, words: str) -> None:
    assert " ".join(plain_words(text, sentences.wording)) == words


@text_cases(
    ("said", "bare"),
    [
        ("hey can you please tell me the time thank you", "the time"),
        ("please", "please"),
        ("please please", "please"),
        ("thanks please tell me", "thanks"),
    ],
)
def test_polite_phrases_are_removed_but_never_all_words(sentences: SentenceTemplates, said: str, bare: str) -> None:
    words = without_frame(tuple(said.split()), sentences.wording)
    assert words == tuple(bare.split()) or said.startswith("thanks")
    assert words


def test_unknown_time_zones_are_omitted() -> None:
    assert load_zones({"Nowhere/Land"}) == {}


def test_missing_time_zones_are_reported(skills: Skills, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.skills.clock.skill.load_zones", lambda _names: {})
    slim = Skills()
    slim.load()
    answer = slim.answer("what time is it in tokyo", CONTEXT)
    assert answer is not None
    assert answer.text == "I don't know the time in Tokyo: this machine has no time zone database."


@pytest.mark.slow
@pytest.mark.parametrize("code", LANGUAGES)
def test_templates_match_in_every_way_in_which_hassil_does(code: str) -> None:
    """hassil is many times slower, so the skills use only its parser."""
    sentences = sentence_templates(code)
    language = load_language(code)
    templates = templates_of(sentences.intents)
    checked = 0
    table = [row[1] for section in sections() for row in section.rows if row[0] == code]
    for said in random.Random(code).sample(table, 60):
        words = without_frame(plain_words(said, sentences.wording), sentences.wording)
        text = " ".join(find_numbers(words, language.numerals).words)
        theirs = {
            (result.intent.name, *sorted((slot.name, str(slot.value).strip()) for slot in result.entities_list))
            for result in recognize_all(text, sentences.intents)
            if all(has_whole_words(slot.text_span, text) for slot in result.entities_list)
        }
        ours = {
            (parse.intent, *sorted((slot.name, str(slot.value)) for slot in parse.slots))
            for parse in templates.parses(text)
        }
        assert ours == theirs, said
        checked += bool(ours)
    assert checked > 20


def has_whole_words(span: tuple[int, int] | None, text: str) -> bool:
    """hassil alone reads "5 min feet" as "5 m", "in feet"."""
    if span is None:
        return True
    taken = f" {text} "[span[0] : span[1] + 2]
    return taken[0].isspace() and taken[-1].isspace()
