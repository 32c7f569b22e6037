"""Finds loud voiced stretches of a recording by level and pitch alone: a reference for detectors of speech.

It does not depend on a detector. It finds only the vowels of a clear voice, so it measures missed speech, not false
starts.
"""

import numpy as np
import numpy.typing as npt

from audio.end_of_turn.prosody import HOP_SAMPLES, HOPS_PER_S, ProsodyTrack
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples
from audio.vad import VadResult

Bools = npt.NDArray[np.bool_]

HOP_MS = 1000 * HOP_SAMPLES / MIC_RATE_HZ

_BATCH_FRAMES = 10
_SPEAKING = VadResult(speaking=True, boundary=Samples(0), probability=1.0)  # so that pitch is always computed

_CLARITY = 0.7
"""Periodicity from which a hop is voiced."""

_PITCH_LOG2_HZ = (np.log2(65.0), np.log2(420.0))
_BELOW_PEAK_DB = 20.0
"""A loud hop is at most this much below the 95th percentile of the voiced hops."""

_ABOVE_FLOOR_DB = 15.0
"""A loud hop is at least this much above the 10th percentile of all hops."""

_WINDOW_DELAY_HOPS = 2
"""Pitch is that of the last 49 ms, so its middle is two hops earlier."""

_LONGEST_GAP_HOPS = 30 // 10
_SHORTEST_HOPS = 60 // 10
_FEWEST_VOICED_HOPS = HOPS_PER_S // 10


def loud_voiced(pcm: Pcm) -> Bools:
    """Returns for each hop of 10 ms whether it belongs to a loud voiced stretch of at least 60 ms."""
    level_db, clarity, pitch = _prosody(pcm)
    voiced = (clarity >= _CLARITY) & (pitch > _PITCH_LOG2_HZ[0]) & (pitch < _PITCH_LOG2_HZ[1])
    above_db = float(np.percentile(level_db, 10)) + _ABOVE_FLOOR_DB
    clear = voiced & (level_db >= above_db)
    if clear.sum() < _FEWEST_VOICED_HOPS:
        return np.zeros(len(level_db), dtype=np.bool_)
    loud = clear & (level_db >= float(np.percentile(level_db[clear], 95)) - _BELOW_PEAK_DB)
    without_gaps = ~kept(~loud, _LONGEST_GAP_HOPS + 1)
    stretches = kept(without_gaps, _SHORTEST_HOPS)
    return np.concatenate([stretches[_WINDOW_DELAY_HOPS:], np.zeros(_WINDOW_DELAY_HOPS, dtype=np.bool_)])


def kept(hops: Bools, shortest: int) -> Bools:
    """Returns `hops` without the stretches shorter than `shortest` hops."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], hops, [False]]).astype(np.int8)))
    result = np.zeros_like(hops)
    for begin, end in edges.reshape(-1, 2):
        result[begin:end] = end - begin >= shortest
    return result


def _prosody(pcm: Pcm) -> tuple["npt.NDArray[np.float32]", "npt.NDArray[np.float32]", "npt.NDArray[np.float32]"]:
    """Returns level (dBFS), clarity (0..1) and pitch (log2 Hz) of each hop."""
    track = ProsodyTrack()
    batch = _BATCH_FRAMES * FRAME_SAMPLES
    hops = batch // HOP_SAMPLES
    rows: list[tuple[npt.NDArray[np.float32], ...]] = []
    padded = np.pad(pcm, (0, -len(pcm) % batch))
    for start in range(0, len(padded), FRAME_SAMPLES):
        track.push_frame(Frame(Samples(start), padded[start : start + FRAME_SAMPLES]), _SPEAKING)
        if (start + FRAME_SAMPLES) % batch == 0:
            rows.append(tuple(row[-hops:].copy() for row in (track.level_db, track.clarity, track.pitch)))
    level_db, clarity, pitch = (np.concatenate(column)[: len(pcm) // HOP_SAMPLES] for column in zip(*rows, strict=True))
    return level_db, clarity, pitch
