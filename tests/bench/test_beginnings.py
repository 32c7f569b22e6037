"""Tests which VAD onsets begin a turn."""

from pathlib import Path

import numpy as np
from scripted_vad import ScriptedVad

from audio.units import FRAME_SAMPLES
from audio.vad.silero.detector import SileroVad
from bench.beginnings import Beginnings, noises, speech

RECORDINGS = Path(__file__).parents[1] / "recordings/manifest.jsonl"


def test_soft_first_word_belongs_to_turn_and_noise_begins_none() -> None:
    found = Beginnings()
    found.listen(
        ScriptedVad((200, 400, 0.6), (600, 900, 0.9), (3000, 3200, 0.6)), np.zeros(250 * FRAME_SAMPLES, np.int16)
    )
    assert found.opened == 3
    assert found.later_ms == [400.0, 0.0]


def test_only_speech_in_shipped_recordings_begins_turn() -> None:
    spoken, noise, vad = Beginnings(), Beginnings(), SileroVad()
    for pcm in speech(RECORDINGS):
        spoken.listen(vad, pcm)
    for pcm in noises(RECORDINGS, voices=False):
        noise.listen(vad, pcm)
    assert len(spoken.later_ms) == spoken.opened >= 7
    assert noise.later_ms == []
