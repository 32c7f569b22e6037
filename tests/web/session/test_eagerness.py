"""The eagerness of semantic_vad: three profiles with their own waits."""

import itertools

import pytest

from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation
from assistant.end_of_turn.estimator import EndOfTurnEstimate, silence_timeout_ms
from assistant.turns.settings import TurnSettings
from web.session.client_settings import turn_settings
from web.wire.values.session_config import Eagerness, SemanticVad, SessionConfig

LIMITS_MS: dict[Eagerness, float] = {"low": 8000, "medium": 4000, "high": 2000}
"""Longest waits of OpenAI's service."""


def timeout_ms(eagerness: Eagerness, estimate: EndOfTurnEstimate) -> float:
    settings = turn_settings(TurnSettings(), "auto", SessionConfig(turn_detection=SemanticVad(eagerness)))
    assert settings.profile is not None
    return silence_timeout_ms(estimate, settings.profile)


@pytest.mark.parametrize("pausing", [0.0, 0.5])
def test_higher_eagerness_never_waits_longer(pausing: float) -> None:
    for probability in (0.02, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95):
        estimate = EndOfTurnEstimate(probability, 200.0, 300.0, "sound", pausing)
        waits = [timeout_ms(eagerness, estimate) for eagerness in ("high", "medium", "low")]
        assert waits == sorted(waits)
        if probability < 0.8:  # else the turn surely sounds finished
            assert waits[0] < waits[1] < waits[2]


def test_no_wait_is_longer_than_that_of_openai() -> None:
    dictations = [NOTHING, *(Dictation(kind, "incomplete") for kind in ("digits", "announcement"))]
    for (eagerness, limit_ms), dictation, probability in itertools.product(
        LIMITS_MS.items(), dictations, (0.01, 0.3, 0.9)
    ):
        estimate = EndOfTurnEstimate(probability, 200.0, 300.0, "sound", 0.5, dictation)
        assert timeout_ms(eagerness, estimate) <= limit_ms
