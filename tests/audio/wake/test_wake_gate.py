"""The transitions of the wake-word gate, in virtual time."""

import pytest

from audio.units import samples_of_ms
from audio.wake.gate import Activity, Attention, WakeWordGate

ASLEEP, AWAKE = Attention.ASLEEP, Attention.AWAKE
WORD, NONE, SPEECH, REPLY = "word", Activity.NONE, Activity.SPEECH, Activity.REPLY


@pytest.mark.parametrize(
    ("steps", "attention"),
    [
        ([(20, NONE)], ASLEEP),
        ([(1000, WORD), (1020, NONE)], AWAKE),
        ([(1000, WORD), (6000, NONE)], AWAKE),
        ([(1000, WORD), (6020, NONE)], ASLEEP),
        ([(1000, WORD), (5000, WORD), (9000, NONE)], AWAKE),
        ([(1000, WORD), (6000, SPEECH), (20_000, SPEECH)], AWAKE),
        ([(1000, WORD), (6000, SPEECH), (20_000, NONE)], ASLEEP),
        ([(1000, WORD), (7000, REPLY), (15_000, NONE)], AWAKE),
        ([(1000, WORD), (7000, REPLY), (15_020, NONE)], ASLEEP),
        ([(1000, REPLY), (1020, NONE)], AWAKE),
        ([(1000, WORD), (1020, REPLY), (5000, NONE), (9020, NONE)], AWAKE),
        ([(1000, WORD), (8000, NONE), (8020, WORD), (8040, NONE)], AWAKE),
    ],
)
def test_gate_follows_its_table(steps: list[tuple[int, str | Activity]], attention: Attention) -> None:
    gate = WakeWordGate(after_word=samples_of_ms(5000), after_reply=samples_of_ms(8000))
    for at_ms, step in steps:
        if isinstance(step, Activity):
            gate.add_frame(samples_of_ms(at_ms), step)
        else:
            gate.wake(samples_of_ms(at_ms))
    assert gate.attention is attention


def test_without_window_the_conversation_sleeps_after_a_reply() -> None:
    gate = WakeWordGate(after_word=samples_of_ms(5000), after_reply=samples_of_ms(0))
    gate.wake(samples_of_ms(0))
    gate.add_frame(samples_of_ms(6000), REPLY)
    assert gate.awake
    gate.add_frame(samples_of_ms(6020), NONE)
    assert not gate.awake
