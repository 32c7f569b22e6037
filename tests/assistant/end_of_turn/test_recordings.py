"""Tests of the EOT estimate on recordings, with the real VAD."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnEvidence, fitted_turn_end
from audio.end_of_turn.prosody import ProsodyTrack
from audio.end_of_turn.prosody_features import Prosody, prosody_at
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm, Samples, samples_of_ms, samples_of_s
from audio.vad.silero.detector import SileroVad

RECORDINGS = Path(__file__).parents[2] / "recordings"
LEAD_S = 0.3

pytestmark = pytest.mark.slow

# Features at 200 ms of silence after the last word.
GOLDEN = {
    "rhasspy3_turn-on-the-lamp.wav": {
        "pitch_end_st": 1.03,
        "level_end_db": -21.34,
        "peak_db": -5.57,
        "lengthening": -0.29,
        "rate_hz": 2.15,
        "voiced_share": 0.9,
    },
    "pocketsphinx_goforward.wav": {
        "pitch_end_st": -4.67,
        "level_end_db": -17.61,
        "peak_db": -16.5,
        "lengthening": -2.55,
        "rate_hz": 4.24,
        "voiced_share": 0.27,
    },
}


def silences(name: str) -> list[tuple[float, Prosody]]:
    """Returns for each silence of 200 ms the end of its speech, in s of the recording, and the features."""
    pcm: Pcm = soundfile.read(RECORDINGS / name, dtype="int16")[0]
    whole = np.concatenate([np.zeros(samples_of_s(LEAD_S), np.int16), pcm, np.zeros(samples_of_s(0.6), np.int16)])
    vad, track = SileroVad(), ProsodyTrack()
    onset: Samples | None = None
    found: dict[Samples, Prosody] = {}
    for start in range(0, len(whole) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), whole[start : start + FRAME_SAMPLES])
        result = vad.process(frame)
        track.push_frame(frame, result)
        if result.speaking and onset is None:
            onset = result.boundary
        is_long = not result.speaking and frame.end - result.boundary >= samples_of_ms(200)
        if onset is not None and is_long and result.boundary not in found:
            found[result.boundary] = prosody_at(track, onset, result.boundary)
    return [(edge / 16_000 - LEAD_S, prosody) for edge, prosody in found.items()]


@pytest.mark.parametrize("name", GOLDEN)
def test_features_of_recording_match_golden_values(name: str) -> None:
    _, prosody = silences(name)[-1]
    assert {key: prosody.named()[key] for key in GOLDEN[name]} == pytest.approx(GOLDEN[name], rel=0.06, abs=0.06)


def test_each_pause_of_hesitating_speaker_gets_an_estimate() -> None:
    files = [path.name for path in RECORDINGS.glob("*internalsil*")]
    estimates: list[EndOfTurnEstimate] = [
        fitted_turn_end().estimate(EndOfTurnEvidence(200, prosody)) for _, prosody in silences(files[0])
    ]
    assert len(estimates) >= 4
    assert all(0 < estimate.probability < 1 for estimate in estimates)


def test_text_and_smart_turn_separate_complete_command_from_its_start() -> None:
    end_s, prosody = silences("rhasspy3_turn-on-the-lamp.wav")[-1]
    assert end_s == pytest.approx(1.92, abs=0.1)
    whole = fitted_turn_end().estimate(
        EndOfTurnEvidence(200, prosody, "turn on the lamp", known_sentence=True, smart_turn=0.97)
    )
    broken = fitted_turn_end().estimate(EndOfTurnEvidence(200, prosody, "turn on the", smart_turn=0.05))
    assert broken.probability < 0.3 < 0.7 < whole.probability
