"""The time after a reply in which speech needs no wake phrase."""

from types import SimpleNamespace
from typing import cast

import pytest
from support.conversations.simulation import Simulation, Utterance

from assistant.commands.talk.cards import Cards
from assistant.commands.talk.command import LocalTalker
from assistant.pipeline.session import Session
from assistant.turns.state.states import Phase
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.units import samples_of_s

ASKED = Utterance(1000, 2000, "hey computer what time is it")


def test_lost_words_of_others_do_not_keep_the_window_open() -> None:
    others = [Utterance(6000, 7000, "to somebody else"), Utterance(15_000, 16_000, "to somebody else")]
    simulation = Simulation([ASKED, *others], length_ms=20_000)
    simulation.wake_phrase = WakePhraseGate(WakePhrase("hey computer"), samples_of_s(8))
    for at_ms in (5000, 14_000):  # it is restarted meanwhile
        simulation.at(at_ms, lambda: setattr(simulation.recognizer, "hangs", True))
    chunks = simulation.run().chunks
    assert sum("I could not hear that" in chunk for chunk in chunks) == 1


@pytest.mark.parametrize(
    ("phase", "window_open", "addressed", "floor"),
    [
        (Phase.USER_SPEAKING, False, False, "asleep"),
        (Phase.AWAITING_TRANSCRIPT, False, False, "asleep"),
        (Phase.USER_SPEAKING, False, True, "hearing"),
        (Phase.IDLE, True, False, "listening"),
        (Phase.IDLE, False, False, "asleep"),
    ],
)
def test_assistant_is_asleep_while_others_speak(phase: Phase, window_open: bool, addressed: bool, floor: str) -> None:
    session = SimpleNamespace(
        turns=SimpleNamespace(phase=phase), wake_window_open=window_open, hears_assistant_addressed=addressed
    )
    assert LocalTalker(cast("Session", session), cast("Cards", None), "").floor == floor
