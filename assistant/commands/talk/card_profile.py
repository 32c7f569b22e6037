"""Adapts the silence timeout to the latency of the sound card. Pure.

Profiles that promise a reply within 500 ms leave 40 ms for frames and output (docs/lab/turn-taking.md). A desktop's
sound server alone takes 60 ms. The excess is subtracted from the ceiling of the silence timeout.
"""

from dataclasses import replace

from assistant.end_of_turn.estimator import EndOfTurnProfile
from audio.units import FRAME_MS

PROMISED_MS = 500.0

MIN_CEILING_MS = 380.0
"""Lower limit in ms. A Bluetooth headset's 250 ms cannot be compensated without cutting users off."""


def adapt_to_card(profile: EndOfTurnProfile, card_ms: float) -> EndOfTurnProfile:
    """Returns the profile adapted to a sound card with a total latency of `card_ms`.

    A profile without the promise is unchanged, and so is one whose ceiling leaves enough time. The promise does not
    cover users who pause often or turns that sound unfinished.
    """
    if profile.ceiling_ms > PROMISED_MS:
        return profile
    # Silence is only known to be long enough at the end of a frame.
    kept_ms = max(PROMISED_MS - FRAME_MS - card_ms, MIN_CEILING_MS, profile.floor_ms)
    return replace(profile, ceiling_ms=min(profile.ceiling_ms, kept_ms))
