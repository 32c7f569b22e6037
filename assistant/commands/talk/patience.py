"""How long a silence is waited for where the sound card itself takes a part of the time: pure.

The ceilings of the profiles that promise an answer within 500 ms leave 40 ms for frames and the way to the ear
(docs/turn-taking.md). A desktop's sound server alone takes 60 ms: what it takes more is taken off the ceiling.
"""

from dataclasses import replace

from assistant.end_of_turn.estimator import EndOfTurnProfile
from audio.units import FRAME_MS

PROMISED_MS = 500.0

LEAST_CEILING_MS = 380.0
"""Not lower, whatever the card takes: a Bluetooth headset's 250 ms cannot be made up for by cutting people off."""


def with_card(patience: EndOfTurnProfile, card_ms: float) -> EndOfTurnProfile:
    """The same, kept to the promise with a sound card that takes `card_ms`, microphone and loudspeaker together.

    A profile that promises nothing stays as it is; so does one whose ceiling leaves enough. Nothing is promised to who
    pauses often, nor where a turn sounds unfinished.
    """
    if patience.ceiling_ms > PROMISED_MS:
        return patience
    # The silence is known to be long enough with the end of a frame.
    kept_ms = max(PROMISED_MS - FRAME_MS - card_ms, LEAST_CEILING_MS, patience.floor_ms)
    return replace(patience, ceiling_ms=min(patience.ceiling_ms, kept_ms))
