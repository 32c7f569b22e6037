"""The noise floor: what raises it and how fast."""

import numpy as np

from audio.vad.speech_tracker import NoiseGate

MARGIN_DB = 6.0


def open_states(gate: NoiseGate, levels_db: list[float]) -> list[bool]:
    return [gate.is_open(level_db) for level_db in levels_db]


def room_levels(db: float, frames: int) -> list[float]:
    return [db + wobble for wobble in np.resize([-0.5, 0.5, 0.0], frames)]


def speech_levels(frames: int, loud_db: float = -25.0, quiet_db: float = -45.0) -> list[float]:
    """Syllables of 160 ms: loud, with a dip between them."""
    return list(
        np.resize([loud_db - 4, loud_db, loud_db - 1, loud_db - 5, loud_db - 9, quiet_db, quiet_db, -38], frames)
    )


def test_gate_stays_closed_in_steady_room() -> None:
    assert not any(open_states(NoiseGate(MARGIN_DB), room_levels(-30, 200)))


def test_speech_opens_gate_at_once() -> None:
    gate = NoiseGate(MARGIN_DB)
    open_states(gate, room_levels(-60, 50))
    assert gate.is_open(-40)


def test_steady_noise_step_closes_gate_within_300_ms() -> None:
    gate = NoiseGate(MARGIN_DB)
    open_states(gate, room_levels(-60, 100))
    heard = open_states(gate, room_levels(-30, 100))
    assert heard[0]
    assert not any(heard[15:])


def test_unsteady_noise_closes_gate_within_minimum_window() -> None:
    gate = NoiseGate(MARGIN_DB)
    open_states(gate, room_levels(-60, 100))
    rain = [float(level) for level in np.random.default_rng(0).uniform(-32, -27, 200)]
    assert not any(open_states(gate, rain)[76:])


def test_floor_falls_with_noise() -> None:
    gate = NoiseGate(MARGIN_DB)
    open_states(gate, room_levels(-15, 500))
    gate.is_open(-60)
    assert gate.floor_db == -60
    assert gate.is_open(-45)


def test_long_speech_keeps_gate_open() -> None:
    gate = NoiseGate(MARGIN_DB)
    open_states(gate, room_levels(-55, 100))
    heard = open_states(gate, speech_levels(1500))
    assert sum(heard[-400:]) >= 250


def test_stream_that_starts_with_words_opens_gate() -> None:
    assert sum(open_states(NoiseGate(MARGIN_DB), speech_levels(80))[5:]) >= 45


def test_last_bit_is_not_loud_after_digital_silence() -> None:
    gate = NoiseGate(MARGIN_DB)
    open_states(gate, [-100.0] * 100)
    assert not gate.is_open(-80)
    assert gate.is_open(-50)


def test_reset_clears_noise_floor() -> None:
    used = NoiseGate(MARGIN_DB)
    open_states(used, room_levels(-20, 100))
    used.reset()
    assert open_states(used, speech_levels(40)) == open_states(NoiseGate(MARGIN_DB), speech_levels(40))
