"""Tests of the wake phrase in transcripts, and of the window after a reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.turns.settings import WakePhraseThresholds
from assistant.turns.words.wake_phrase import FILLERS, AddressedSpeech, WakePhrase, WakePhraseGate
from audio.units import Samples, samples_of_s

HEY = WakePhrase("hey computer")
NOON = Samples(1_000_000)


def gate_with_window(listen_s: float = 8.0) -> WakePhraseGate:
    return WakePhraseGate(HEY, samples_of_s(listen_s))


@text_cases(
    ("text", "asked"),
    [
        ("hey computer what time is it", "what time is it"),
        ("Hey, computer! What's the time?", "What's the time?"),
        ("Hey Computer: 12 km in miles", "12 km in miles"),
        ("um so hey computer, stop", "stop"),
        ("hey commuter what time is it", "what time is it"),
        ("he computer, what time is it", "what time is it"),
        ("heycomputer stop", "stop"),
        ("hey com puter stop", "stop"),
        ("I think so. Hey computer, what time is it?", "what time is it?"),
        ("hey computer hey computer stop", "stop"),
        ("hey computer", ""),
        ("Hey computer… um, so", ""),
        ("HEY CÓMPUTER stop", "stop"),
        ("Äh, hey computer, stop", "stop"),
    ],
)
def test_text_after_wake_phrase_is_returned(text: str, asked: str) -> None:
    assert HEY.text_after(text) == asked


@text_cases(
    "text",
    [
        "",
        "hey",
        "the computer is broken",
        "my computer is slow",
        "a computer is a machine",
        "computer, stop",
        "hi computers",
        "say hey computer to it",
        "i told him hey computer what time is it",
        "what time is it hey computer",
        "version 1.5 hey computer",
        "hey come here",
    ],
)
def test_text_without_wake_phrase_at_a_valid_place_does_not_match(text: str) -> None:
    assert HEY.text_after(text) is None


def test_short_wake_phrase_must_match_exactly() -> None:
    short = WakePhrase("Jarvis")
    assert short.text_after("jarvis stop") == "stop"
    assert short.text_after("jervis stop") is None


def test_wake_phrase_without_letters_raises() -> None:
    with pytest.raises(ValueError, match="no letters"):
        WakePhrase("--")


@pytest.mark.parametrize(
    "phrase", ["ok haus", "hé l'ordi", "компьютер", "你好电脑"], ids=["German", "French", "Russian", "Chinese"]
)
def test_wake_phrase_in_other_languages_matches(phrase: str) -> None:
    assert WakePhrase(phrase).text_after(f"{phrase.upper()}, stop") == "stop"


def test_all_speech_is_addressed_without_wake_phrase() -> None:
    gate = WakePhraseGate()
    assert gate.classify("hey computer stop", NOON) == AddressedSpeech("meant", "hey computer stop")
    assert gate.is_open(NOON)
    assert gate.interruptible


def test_wake_phrase_alone_opens_window() -> None:
    gate = gate_with_window(listen_s=0)
    assert gate.classify("hey computer", NOON) == AddressedSpeech("called", has_wake_phrase=True)
    gate.open_after_phrase(NOON)
    last = Samples(NOON + samples_of_s(WakePhraseThresholds().after_phrase_window_s))
    assert gate.classify("what time is it", last) == AddressedSpeech("meant", "what time is it")
    assert gate.classify("what time is it", Samples(last + 1)) == AddressedSpeech("overheard")


def test_reply_closes_window_if_listen_time_is_zero() -> None:
    gate = gate_with_window(listen_s=0)
    gate.open_after_phrase(NOON)
    gate.extend_for_reply(NOON)
    assert not gate.is_open(NOON)
    assert not gate.interruptible


WORDS = st.lists(st.sampled_from(["what", "time", "hey", "the", "come", "put", "um", "stop.", "computer"]), max_size=8)


@given(WORDS.map(" ".join), st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0, 60))
def test_only_addressed_speech_is_meant(text: str, replied: int, onset: int, listen_s: float) -> None:
    gate = gate_with_window(listen_s)
    gate.extend_for_reply(Samples(replied))
    within = gate.window > 0 and onset <= replied + gate.window
    address = gate.classify(text, Samples(onset))
    named = HEY.text_after(text) is not None
    assert (address.kind == "overheard") == (not named and not within)
    assert address.kind != "overheard" or address.text == ""
    if within and not named:
        assert address == AddressedSpeech("meant", text)


@given(st.lists(st.sampled_from(sorted(FILLERS)), max_size=3), st.sampled_from([" ", ", ", "! "]), WORDS)
def test_request_follows_fillers_and_wake_phrase(fillers: list[str], joint: str, words: list[str]) -> None:
    request = " ".join(words)
    found = HEY.text_after(" ".join([*fillers, f"hey computer{joint}{request}"]))
    assert found is not None
    assert request.endswith(found)


@given(st.text(max_size=200))
def test_any_text_is_accepted(text: str) -> None:
    found = HEY.text_after(text)
    assert found is None or text.endswith(found) or found == ""


# ---- wake words by sound ----


@text_cases(
    ("text", "words"),
    [
        ("Bu, what time is it?", "what time is it?"),
        ("Nabu, what time is it?", "what time is it?"),
        ("Nabo what time is it?", "what time is it?"),
        ("Okay, Nabu.", ""),
        ("Boo, what time is it?", "Boo, what time is it?"),
        ("What time is it?", "What time is it?"),
        ("Buy some milk", "Buy some milk"),
        ("U", "U"),
        ("", ""),
    ],
)
def test_rest_of_a_wake_word_is_removed(text: str, words: str) -> None:
    assert WakePhrase("okay nabu").text_after_rest(text) == words


@pytest.mark.parametrize("phrase", ["okay nabu", "hey jarvis", "hey mycroft", "alexa"])
@pytest.mark.parametrize("words", ["is it raining", "a timer of ten minutes", "us or them", "of course", "an apple"])
def test_common_first_words_are_no_rest_of_a_wake_word(phrase: str, words: str) -> None:
    assert WakePhrase(phrase).text_after_rest(words) == words


def heard_at(position: Samples) -> WakePhraseGate:
    gate = WakePhraseGate(by_sound={"okay_nabu": WakePhrase("okay nabu")})
    gate.note_word("okay_nabu", position)
    return gate


def test_rest_of_a_wake_word_is_removed_only_near_its_end() -> None:
    assert heard_at(NOON).classify("Bu, what time is it?", NOON) == AddressedSpeech("meant", "what time is it?")
    late = Samples(NOON + samples_of_s(1))
    assert heard_at(NOON).classify("Bu, what time is it?", late).text == "Bu, what time is it?"


def test_rest_of_a_wake_word_alone_is_no_question() -> None:
    assert heard_at(NOON).classify("Nabu.", NOON).kind == "called"


def test_words_before_a_wake_word_by_sound_are_kept() -> None:
    speech = heard_at(NOON).classify("What time is it? Okay Nabu.", Samples(0))
    assert speech == AddressedSpeech("meant", "What time is it?")
