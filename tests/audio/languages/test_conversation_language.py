"""The language of an utterance: when it changes, and when it stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.languages.conversation_language import ConversationLanguage

LANGUAGES = ("en", "de", "fr", "es")
FLUENT = -0.2
HESITANT = -0.9

probability = st.floats(0, 1, allow_nan=False)
probabilities = st.dictionaries(st.sampled_from((*LANGUAGES, "pl", "zh")), probability)
state = st.builds(ConversationLanguage, st.just(LANGUAGES), st.sampled_from(LANGUAGES), st.booleans())


def decided(state: ConversationLanguage, heard: dict[str, float], text: str, fluency: float) -> str:
    other = state.possible(heard)
    return other if state.changes(other, heard, text, fluency) else state.current


@pytest.mark.parametrize(
    ("heard", "text", "fluency", "language"),
    [
        ({"de": 0.98, "en": 0.01}, "Wie spät ist es?", FLUENT, "de"),
        ({"de": 0.98, "en": 0.001}, "Wie spät?", HESITANT, "de"),
        ({"de": 0.98, "en": 0.01}, "Ja.", FLUENT, "en"),
        ({"de": 0.98, "en": 0.01}, "Hans Müller", FLUENT, "en"),
        ({"de": 0.98, "en": 0.01}, "23", FLUENT, "en"),
        ({"de": 0.8, "en": 0.02}, "Was ist die Hauptstadt von Peru?", FLUENT, "de"),
        ({"de": 0.8, "en": 0.02}, "Was ist die Hauptstadt von Peru?", HESITANT, "en"),
        ({"de": 0.5, "en": 0.45}, "Kannst du mir sagen what time is it", FLUENT, "en"),
        ({"de": 0.15, "en": 0.0}, "Willi hat Arkt ist der beste", FLUENT, "en"),
        ({"pl": 0.98, "en": 0.01}, "Która jest godzina?", FLUENT, "en"),
        ({}, "", HESITANT, "en"),
    ],
    ids=[
        "sentence", "two words", "short answer", "name", "number", "fluent and possible", "possible", "mixed",
        "spread over languages", "no candidate", "nothing",
    ],
)  # fmt: skip
def test_change_needs_evidence(heard: dict[str, float], text: str, fluency: float, language: str) -> None:
    assert decided(ConversationLanguage(LANGUAGES, "en", is_first=False), heard, text, fluency) == language


def test_first_turn_changes_more_easily_than_later_ones() -> None:
    heard, text = {"de": 0.7, "en": 0.15}, "Wie spät ist es?"
    first = ConversationLanguage(LANGUAGES, "en")
    assert decided(first, heard, text, FLUENT) == "de"
    assert decided(first.after_turn("en"), heard, text, FLUENT) == "en"


def test_conversation_returns_to_its_language() -> None:
    spoken = ConversationLanguage(LANGUAGES, "en").after_turn("de")
    assert decided(spoken, {"de": 0.9, "en": 0.05}, "Danke, das reicht mir", FLUENT) == "de"
    assert decided(spoken, {"en": 0.97, "de": 0.01}, "and what time is it", FLUENT) == "en"


@given(state, probabilities, st.text(max_size=40), st.floats(-5, 0))
def test_language_is_always_a_candidate(
    state: ConversationLanguage, heard: dict[str, float], text: str, fluency: float
) -> None:
    language = decided(state, heard, text, fluency)
    assert language in LANGUAGES
    assert state.after_turn(language).current == language


@given(state, probabilities, st.sampled_from(["", "ja", "OK.", "no", "42", "Anna", "Hans Müller"]), st.floats(-5, 0))
def test_short_words_never_change_the_language(
    state: ConversationLanguage, heard: dict[str, float], text: str, fluency: float
) -> None:
    assert decided(state, heard, text, fluency) == state.current


@given(state, probabilities)
def test_posterior_is_a_distribution_that_favours_the_current(
    state: ConversationLanguage, heard: dict[str, float]
) -> None:
    posterior = state.posterior(heard)
    assert sum(posterior.values()) == pytest.approx(1)
    total = sum(heard.get(language, 0.0) for language in LANGUAGES)
    if total > 1e-6:
        assert posterior[state.current] >= heard.get(state.current, 0.0) / total - 1e-9


@given(state, probabilities)
def test_certain_sound_is_not_examined_again(state: ConversationLanguage, heard: dict[str, float]) -> None:
    if state.is_sure(heard):
        assert state.possible(heard) == state.current
    assert state.may_differ(16000, 0)
    assert not state.may_differ(16000, 12000)


@given(st.sampled_from(("pl", "", "xx")))
def test_unknown_language_of_a_turn_changes_nothing(language: str) -> None:
    spoken = ConversationLanguage(LANGUAGES, "fr", is_first=False)
    assert spoken.after_turn(language) == spoken
