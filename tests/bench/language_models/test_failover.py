"""Tests failover on real sockets, in virtual time: an outage, occasional slow answers, and silence."""

import asyncio
from statistics import median

import pytest
from support.clocks.virtual_time import run_virtual

from bench.language_models.failover import after_silence, dying, slow_now_and_then

pytestmark = pytest.mark.slow


def test_dying_endpoint_loses_no_turn_and_little_time() -> None:
    turns = run_virtual(dying(), sockets=True)
    assert turns.lost == 0
    assert len(turns.first_tokens_s) == 10
    assert max(turns.first_tokens_s) <= 2 * median(turns.first_tokens_s)
    assert [tried.outcome for tried in turns.tried].count("failed") == 1


def test_silent_endpoint_is_abandoned() -> None:
    turns = run_virtual(dying(silently=True), sockets=True)
    assert turns.lost == 0
    # A hedge is available from the start: after 1.5 times the usual time the next endpoint is asked.
    assert max(turns.first_tokens_s) < 0.4


@pytest.mark.timeout(60)
def test_hedging_shortens_slow_tail_at_low_cost() -> None:
    turns = run_virtual(slow_now_and_then(600, 8), sockets=True)
    assert turns.lost == 0
    # With a thousand turns on an idle machine the 99th percentile is below 400 ms, too: docs/lab/endpoints.md.
    assert turns.quantile_ms(0.98) < 400
    assert turns.extra_share <= 0.1


def test_first_turn_after_silence_is_as_fast_as_others() -> None:
    async def both() -> tuple[float, float, float]:
        (usual, warm), (_, cold) = await asyncio.gather(after_silence(6.0, warm=True), after_silence(6.0, warm=False))
        return median(usual.first_tokens_s), warm.first_tokens_s[0], cold.first_tokens_s[0]

    usual_s, warm_s, cold_s = run_virtual(both(), sockets=True)
    assert warm_s < usual_s + 0.05
    assert cold_s > usual_s + 0.1  # the servers did drop the connections
