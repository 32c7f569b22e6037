"""Conversations that follow the user's language, in virtual time."""

from functools import partial

import pytest
from support.conversations.loaded_skills import written_skills
from support.conversations.simulation import NOON, ScriptedVoice, Simulation, SimulationResult, Utterance

from assistant.events import LanguageChanged, UserTurnCommitted
from assistant.history.items import UserMessage
from assistant.history.turn_languages import TurnLanguages
from assistant.pipeline.engines import LanguageParts, SessionSettings
from assistant.skills.chat import SkillsChat
from assistant.text.normalization.reading import spoken
from assistant.turns.settings import TurnSettings

LANGUAGES = ("en", "de")
TIME = {"en": "what time is it", "de": "wie spät ist es"}
NO_GERMAN_VOICE = "no voice speaks German, so scripted voice speaks it: it is not installed"


def bilingual(*languages: str, german_voice: ScriptedVoice | None, with_skills: bool = False) -> Simulation:
    """Returns a conversation with one question in each of these languages."""
    utterances = [
        Utterance(1000 + 6000 * turn, 2000 + 6000 * turn, TIME[language], language)
        for turn, language in enumerate(languages)
    ]
    simulation = Simulation(utterances, length_ms=6000 * len(languages) + 3000, replies=("Sure 3 km.",) * 9)
    simulation.languages = {
        language: LanguageParts(
            german_voice if language == "de" else None,
            partial(spoken, language=language),
            SessionSettings(language=language, knows_grammar=language == "en"),
            NO_GERMAN_VOICE if language == "de" and german_voice is None else "",
        )
        for language in LANGUAGES
    }
    if with_skills:
        simulation.model = SkillsChat(written_skills(), lambda: NOON)  # type: ignore[assignment]
    return simulation


def changes_of(result: SimulationResult) -> list[tuple[str, str]]:
    return [(event.language, event.voice) for _, event in result.events if isinstance(event, LanguageChanged)]


def test_reply_voice_and_spoken_form_follow_the_language() -> None:
    german = ScriptedVoice(name="german voice")
    simulation = bilingual("en", "de", "en", german_voice=german)
    result = simulation.run()
    assert simulation.voice.spoken == ["Sure three kilometers."] * 2
    assert german.spoken == ["Sure drei Kilometer."]
    assert changes_of(result) == [("en", "scripted voice"), ("de", "german voice"), ("en", "scripted voice")]
    assert [record.language for record in result.records] == ["en", "de", "en"]
    kept = [item.language for item in result.history.items if isinstance(item, UserMessage)]
    assert kept == ["en", "de", "en"]
    assert not result.problems


def test_skill_answers_in_the_language_of_the_turn() -> None:
    german = ScriptedVoice(name="german voice")
    simulation = bilingual("en", "de", "de", "en", german_voice=german, with_skills=True)
    result = simulation.run()
    answers = [item.text for item in result.history.items if not isinstance(item, UserMessage)]  # type: ignore[union-attr]
    assert answers == ["It's noon.", "Es ist 12 Uhr.", "Es ist 12 Uhr.", "It's noon."]
    assert len(german.spoken) == 2


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en")])
def test_tools_know_the_language_of_the_turn(languages: tuple[str, str]) -> None:
    simulation = bilingual(*languages, german_voice=ScriptedVoice())
    simulation.run()
    assert simulation.session.engines.skill_effects.language == languages[-1]


def test_prompt_says_once_that_the_language_changed() -> None:
    simulation = bilingual("en", "de", "de", "en", german_voice=ScriptedVoice())
    simulation.run()
    notes = [[message.content for message in asked if message.role == "system"] for asked in simulation.model.asked]
    english, german = "The user speaks English now. Answer in English.", "The user speaks German now. Answer in German."
    assert notes[-1] == ["Be brief.", english, german, english]
    for earlier, later in zip(simulation.model.asked, simulation.model.asked[1:], strict=False):
        assert later[: len(earlier)] == earlier or len(later) == len(earlier), "the prompt only grows"


def test_language_without_a_voice_is_told_once() -> None:
    simulation = bilingual("de", "en", "de", german_voice=None)
    result = simulation.run()
    assert result.problems == [NO_GERMAN_VOICE]
    assert simulation.voice.spoken[0] == "Sure drei Kilometer."


def test_backchannel_leaves_the_language_unchanged() -> None:
    simulation = bilingual("en", german_voice=ScriptedVoice())
    simulation = Simulation(
        [*simulation.utterances, Utterance(4000, 4300, "mhm", "de")],
        replies=("one two three four five six seven eight nine ten eleven twelve",),
        languages=simulation.languages,
    )
    result = simulation.run()
    assert simulation.session.context.languages.current == "en"
    assert changes_of(result) == [("en", "scripted voice")]


def test_typed_message_is_answered_in_the_current_language() -> None:
    german = ScriptedVoice(name="german voice")
    simulation = bilingual("de", german_voice=german)
    simulation = Simulation(
        simulation.utterances, length_ms=14000, replies=("Sure 3 km.",) * 9, languages=simulation.languages
    )
    simulation.at(8000, lambda: simulation.session.type("und jetzt"))
    result = simulation.run()
    assert len(german.spoken) == 2
    assert len(result.events_of(UserTurnCommitted)) == 2


def test_one_language_has_no_language_in_history_and_trace() -> None:
    result = Simulation([Utterance(1000, 2000, "what time is it")], turns=TurnSettings()).run()
    assert [record.language for record in result.records] == [""]
    assert "language" not in result.records[0].to_json()
    assert not result.events_of(LanguageChanged)


def test_broken_voice_of_a_language_is_loaded_again() -> None:
    german = ScriptedVoice(name="german voice", fails=True)
    simulation = bilingual("de", "de", german_voice=german)
    result = simulation.run()
    assert (german.loads, simulation.voice.loads) == (1, 0)
    assert german.spoken == ["Sure drei Kilometer."]
    assert "the voice has died" in result.problems


def test_turns_beyond_the_kept_ones_have_the_current_language() -> None:
    languages = TurnLanguages()
    for turn in range(40):
        languages.note(turn, "de" if turn % 2 else "en")
    languages.commit(39)
    assert (languages.of(1), languages.of(38)) == ("de", "en")
    languages.reset()
    assert languages.of(39) == ""
