"""Tests how soon speech ducks and stops a reply."""

from pathlib import Path

import numpy as np
from scripted_vad import ScriptedVad

from audio.units import FRAME_SAMPLES, samples_of_ms
from bench.beginnings import noises
from bench.interruptions import Interruptions, listened
from bench.recordings import read_recordings

RECORDINGS = Path(__file__).parents[1] / "recordings/manifest.jsonl"


def test_speech_is_timed_from_its_first_sample() -> None:
    found = Interruptions()
    vad = ScriptedVad((3100, 3600, 0.9), (4000, 4400, 0.9))
    found.speech(vad, np.zeros(250 * FRAME_SAMPLES, np.int16), samples_of_ms(3050))
    assert (found.ducked_ms, found.stopped_ms) == ([70.0], [90.0]), "20 ms until the VAD reports it"
    assert (found.voices, found.never, found.too_soon) == (1, 0, 0)


def test_early_stops_and_missed_speech_are_counted_separately() -> None:
    found = Interruptions()
    early = ScriptedVad((1000, 1100, 0.9), (3020, 3040, 0.5), (3100, 4000, 0.5))
    found.speech(early, np.zeros(250 * FRAME_SAMPLES, np.int16), samples_of_ms(3050))
    assert (found.voices, found.never, found.too_soon) == (1, 1, 1), "of the first three seconds nothing counts"


def test_every_stop_by_noise_counts_because_another_reply_follows() -> None:
    found = Interruptions()
    found.noise(ScriptedVad((1000, 1400, 0.9), (2000, 2400, 0.9)), np.zeros(250 * FRAME_SAMPLES, np.int16))
    assert (found.ducks, found.stops, found.audio_s) == (2, 2, 5.0)


def test_shipped_recordings_give_expected_delays() -> None:
    found = listened([one for one in read_recordings(RECORDINGS) if one.kind != "noise"])
    assert found.never == found.too_soon == 0
    assert np.median(found.ducked_ms) <= 80
    assert np.median(found.stopped_ms) <= 140
    quiet = listened([], list(noises(RECORDINGS, voices=False)))
    assert (quiet.ducks, quiet.stops) == (0, 0)
