"""Conversations of twelve utterances, in which most refer to what was said before, through the whole pipeline."""

from collections.abc import Sequence

import pytest
from support.conversations.loaded_skills import written_skills
from support.conversations.simulation import NOON, Simulation, SimulationResult, Utterance

from assistant.history.items import AssistantMessage
from assistant.skills.answers import Running
from assistant.skills.chat import SkillsChat, SkillsFirst
from assistant.skills.dialog.memory import Memory

EACH_MS = 7000


CONVERSATIONS: dict[str, Sequence[tuple[str, str]]] = {
    "en": [
        ("set a timer", "For how long?"),
        ("ten minutes", "Your 10 minute timer is set."),
        ("make it twelve", "Your 12 minute timer is set."),
        ("set a five minute timer for pasta and tell me the time", "Your 5 minute timer for pasta is set. It's noon."),
        (
            "cancel the timer",
            "You have 2 timers: the timer for pasta and the 12 minute timer. Which one do you mean?",
        ),
        ("uh, the first one please", "Your timer for pasta is cancelled."),
        ("pause it", "Your 12 minute timer is paused."),
        ("what is 15% of 80", "That's 12."),
        ("and of 90", "That's 13.5."),
        ("half that", "That's 6.75."),
        ("tell me a story", "I can't do that yet: no language model is connected."),
        ("sing me a song", "I can't do that yet."),
    ],
    "de": [
        ("Stell einen Timer", "Wie lange?"),
        ("zehn Minuten", "Der Timer über 10 Minuten läuft."),
        ("mach zwölf daraus", "Der Timer über 12 Minuten läuft."),
        ("Stell einen Timer auf fünf Minuten für Nudeln", "Der Timer für Nudeln über 5 Minuten läuft."),
        ("Lösche den Timer", "Welchen meinst du?"),
        ("den ersten, bitte", "Der Timer für Nudeln ist gelöscht."),
        ("pausiere ihn", "Der Timer über 12 Minuten ist angehalten."),
        ("was sind 15 % von 80", "Das ergibt 12."),
        ("und von 90", "Das ergibt 13,5."),
        ("die hälfte davon", "Das ergibt 6,75."),
        ("Erzähl mir eine Geschichte", "Das kann ich noch nicht: kein Sprachmodell ist angeschlossen."),
        ("Sing mir ein Lied", "Das kann ich noch nicht."),
    ],
    "fr": [
        ("mets un minuteur", "Pour combien de temps ?"),
        ("dix minutes", "Le minuteur de 10 minutes est lancé."),
        ("mets plutôt douze minutes", "Le minuteur de 12 minutes est lancé."),
        ("mets un minuteur de cinq minutes pour les pâtes", "Le minuteur pâtes de 5 minutes est lancé."),
        ("annule le minuteur", "Lequel voulez-vous dire ?"),
        ("euh, le premier", "Le minuteur pâtes est annulé."),
        ("mets-le en pause", "Le minuteur de 12 minutes est en pause."),
        ("combien font 15 % de 80", "Ça fait 12."),
        ("et de 90", "Ça fait 13,5."),
        ("la moitié de ça", "Ça fait 6,75."),
        ("raconte-moi une histoire", "Je ne sais pas encore le faire : aucun modèle de langue n'est connecté."),
        ("chante une chanson", "Je ne peux pas encore."),
    ],
    "es": [
        ("pon un temporizador", "¿De cuánto tiempo?"),
        ("diez minutos", "El temporizador de 10 minutos está en marcha."),
        ("que sean doce", "El temporizador de 12 minutos está en marcha."),
        (
            "pon un temporizador de cinco minutos para la pasta",
            "El temporizador de 5 minutos para pasta está en marcha.",
        ),
        ("cancela el temporizador", "¿A cuál te refieres?"),
        ("el primero, por favor", "El temporizador para pasta está cancelado."),
        ("ponlo en pausa", "El temporizador de 12 minutos está en pausa."),
        ("cuánto es el 15 % de 80", "El resultado es 12."),
        ("y de 90", "El resultado es 13,5."),
        ("la mitad de eso", "El resultado es 6,75."),
        ("cuéntame un cuento", "Eso aún no puedo hacerlo: no hay ningún modelo de lenguaje conectado."),
        ("canta una canción", "Eso aún no puedo hacerlo."),
    ],
}


def conversation(code: str, utterances: Sequence[Utterance], *, beside_model: bool = False) -> Simulation:
    """Returns a conversation with the skills alone, or in front of a language model."""
    simulation = Simulation(utterances, length_ms=utterances[-1].end_ms + EACH_MS)
    effects, skills = simulation.skill_effects, written_skills()

    def now_s() -> float:
        return simulation.session.context.clock.to_loop_s(simulation.session.context.position())

    def running() -> Running:
        return effects.timers.running(now_s())

    def memory() -> Memory:
        return effects.memory.remaining_at(now_s())

    chat: SkillsChat | SkillsFirst = (
        SkillsFirst(skills, simulation.model, lambda: NOON, code, running=running, memory=memory)
        if beside_model
        else SkillsChat(skills, lambda: NOON, code, running=running, memory=memory)
    )
    effects.effect_of = chat.effect_of
    simulation.model = chat  # type: ignore[assignment]
    return simulation


def replies_of(result: SimulationResult) -> list[str]:
    """Returns the heard text of each reply, as it is written."""
    return [item.text for item in result.history.items if isinstance(item, AssistantMessage)]


def said_every(words: Sequence[str]) -> list[Utterance]:
    """Returns utterances, one after another."""
    return [Utterance(1000 + at * EACH_MS, 1900 + at * EACH_MS, text) for at, text in enumerate(words)]


@pytest.mark.parametrize("code", CONVERSATIONS)
def test_twelve_utterances_with_follow_ups_are_understood(code: str) -> None:
    spoken, expected = zip(*CONVERSATIONS[code], strict=True)
    replies = replies_of(conversation(code, said_every(spoken)).run())
    assert len(replies) == len(expected), replies
    for reply, text in zip(replies, expected, strict=True):
        assert reply.endswith(text)


ASKED = ("set a ten minute timer for pasta", "set a timer for five minutes", "cancel the timer")


@pytest.mark.parametrize(
    ("at_ms", "answer"), [(19_800, "the pasta one"), (18_000, "the second one"), (18_000, "the timer for pasta")]
)
def test_answer_during_the_question_is_not_for_the_model(at_ms: int, answer: str) -> None:
    starts_ms = (1000, 8000, 15000, at_ms)  # the first timer is heard from 17.6 s on, "Which" at 19.5 s
    said = [Utterance(at, at + 1400, words) for at, words in zip(starts_ms, (*ASKED, answer), strict=True)]
    talk = conversation("en", said, beside_model=True)
    replies = replies_of(talk.run())
    assert replies[2].startswith("You have 2 timers")
    assert not replies[2].endswith("Which one do you mean?")
    assert replies[3:] == ["Your timer for pasta is cancelled."]


def test_typed_answer_to_a_spoken_question_is_not_for_the_model() -> None:
    talk = conversation("en", said_every(ASKED), beside_model=True)
    talk.at(1000 + 3 * EACH_MS, lambda: talk.session.type("pasta"))
    replies = replies_of(talk.run())
    assert replies[-1] == "Your timer for pasta is cancelled."
