"""Without a language model, what is not understood is said in full once, then short; no command is spoken."""

from datetime import UTC, datetime

import pytest
from support.conversations.loaded_skills import written_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillAnswer, SkillContext
from assistant.skills.dialog.memory import Memory
from assistant.skills.dialog.refusals import hint_of
from assistant.skills.languages.language import LANGUAGES, load_language, read_skill

NOW = datetime(2026, 11, 20, 15, 43, tzinfo=UTC)


def refused(said: str, code: str = "en", *, again: bool = True) -> SkillAnswer:
    return written_skills().refusal(said, SkillContext(NOW, language=code, memory=Memory(refused=again, language=code)))


REQUESTS = {"en": "write a poem", "de": "schreib ein Gedicht", "fr": "écris un poème", "es": "escribe un poema"}
QUESTIONS = {
    "en": "why is the sky blue",
    "de": "warum ist der Himmel blau",
    "fr": "pourquoi le ciel est bleu",
    "es": "por qué es azul el cielo",
}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("said", [REQUESTS, QUESTIONS], ids=["request", "question"])
def test_refusal_is_long_once_and_then_at_most_six_words(code: str, said: dict[str, str]) -> None:
    first, later = refused(said[code], code, again=False), refused(said[code], code)
    assert first.refuses
    assert not later.refuses
    assert len(later.text.split()) <= 6 < len(first.text.split())
    assert "repartee endpoints add" in hint_of(first, load_language(code))
    assert refused(REQUESTS[code], code).text != refused(QUESTIONS[code], code).text


@text_cases(
    ("code", "said"),
    [
        *[
            ("en", said)
            for said in ("okay", "great", "Good.", "yes", "no", "I see", "I'm tired", "That's nice of you.")
        ],
        *[("de", said) for said in ("okay", "super", "alles klar", "ich bin müde")],
        *[("fr", said) for said in ("d'accord", "super", "oui", "je suis fatigué")],
        *[("es", said) for said in ("vale", "genial", "no", "estoy cansado")],
    ],
    columns=(0, 1),
)
def test_acknowledgement_and_small_talk_are_not_refused(code: str, said: str) -> None:
    answer = written_skills().answer(said, SkillContext(NOW, language=code)) or refused(said, code, again=False)
    assert not answer.missing
    assert not answer.refuses


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_spoken_answer_names_a_command_or_a_setting(code: str) -> None:
    answers = {name: str(text) for name, text in load_language(code).answers.items() if not name.startswith("hint_")}
    missing = read_skill("assistant.skills.unavailable", code)["intents"]
    spoken = [*answers.values(), *(str(data.get("metadata")) for one in missing.values() for data in one["data"])]
    for text in spoken:
        assert not any(word in text for word in ("repartee endpoints", "home.url", "home.allow", "weather.enabled")), (
            text
        )


def test_short_answer_that_is_not_understood_is_asked_for_once_more() -> None:
    asked = written_skills().answer("set a timer", SkillContext(NOW))
    assert asked is not None
    memory = Memory(question=asked.question, question_text=asked.question_text)
    context = SkillContext(NOW, "All right. For how long?", memory=memory)
    assert written_skills().refusal("the banana", context).text == "For how long?"
    again = SkillContext(NOW, "For how long?", memory=memory)
    assert written_skills().refusal("the banana", again).refuses
