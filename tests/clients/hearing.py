"""A recognizer for the recorded question: it tells as many of its words as it got of its sound."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.session_server import WHAT_TIME, recording

from audio.stt import RecognitionStream, SegmentId, Transcript
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm

WHOLE = 0.85
"""Share of the recording's energy with which all of its words were heard; the rest is before and after them."""


def energy_of(pcm: Pcm, rate_hz: int) -> float:
    """Returns the energy of int16 (n,) sound."""
    return float(np.square(pcm, dtype=np.float64).sum()) / rate_hz


@dataclass
class QuestionRecognizer(SequenceRecognizer):
    """Recognizes the words of the recording `WHAT_TIME`."""

    _energy: dict[SegmentId, float] = field(default_factory=dict)

    def open(self, segment: SegmentId, on_partial: Callable[[Transcript], None]) -> RecognitionStream:
        self._energy[segment] = 0.0
        return super().open(segment, on_partial)

    def on_sound(self, segment: SegmentId, pcm: Pcm) -> None:
        self._energy[segment] += energy_of(pcm, MIC_RATE_HZ)

    def transcript_of(self, segment: SegmentId) -> str:
        words = self.transcripts[0].split()
        share = self._energy[segment] / (WHOLE * _recording_energy())
        return " ".join(words[: int(share * len(words))])


@cache
def _recording_energy() -> float:
    return energy_of(recording(WHAT_TIME), REPLY_RATE_HZ)
