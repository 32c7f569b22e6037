"""Adapts the silence timeout to the latency of the sound card.

Profiles that promise a reply within 500 ms leave 40 ms for frames and output (docs/lab/turn-taking.md). A desktop's
sound server alone takes 60 ms. The excess is subtracted from the ceiling of the silence timeout.
"""

import asyncio
from dataclasses import replace

from assistant.commands.talk.cards import Cards
from assistant.end_of_turn.estimator import EndOfTurnProfile
from assistant.pipeline.session import Session
from audio.units import FRAME_MS

TICK_S = 0.5
STEP_MS = 10.0
"""Change of a card's latency in ms that is applied. The latency is reported with every block and varies by a few ms."""

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


async def follow_card_latency(session: Session, cards: Cards) -> None:
    """Reduces the end-of-turn wait by the card's latency, to keep replies within 500 ms. Follows device changes."""
    own, taken_ms = session.turns.settings.profile, 0.0
    while own is not None:
        if abs(cards.latency_ms - taken_ms) >= STEP_MS:
            taken_ms = cards.latency_ms
            session.turns.settings = replace(session.turns.settings, profile=adapt_to_card(own, taken_ms))
        await asyncio.sleep(TICK_S)
