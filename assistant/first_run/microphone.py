"""Judges a microphone by its levels. Pure."""

import math
from dataclasses import dataclass
from typing import Literal

SILENT_DBFS = -60.0
QUIET_DBFS = -45.0
LOUD_DBFS = -3.0

CHECK_S = 4.0
"""Seconds of one check."""

Verdict = Literal["silent", "quiet", "clipped", "fine"]


@dataclass(frozen=True, slots=True)
class MicrophoneVerdict:
    """Result of the microphone check.

    Attributes:
        verdict: The judgement.
        text: The judgement and the remedy, in words.
    """

    verdict: Verdict
    text: str


def judge(loudest_dbfs: float) -> MicrophoneVerdict:
    """Judges the loudest level in dBFS that was seen; -inf if no sound arrived."""
    if loudest_dbfs <= SILENT_DBFS or math.isnan(loudest_dbfs):
        return MicrophoneVerdict(
            "silent", "No signal: the microphone is muted, or it is the wrong one. Unmute it, or choose another."
        )
    if loudest_dbfs < QUIET_DBFS:
        return MicrophoneVerdict("quiet", "Too quiet: raise the microphone's level, or move nearer.")
    if loudest_dbfs > LOUD_DBFS:
        return MicrophoneVerdict("clipped", "Clipped: your voice is too loud. Lower the microphone's level.")
    return MicrophoneVerdict("fine", "Fine: the microphone hears you well.")
