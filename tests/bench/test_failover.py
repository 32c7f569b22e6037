"""Real sockets: an endpoint dies, one is slow now and then, silence passes."""

import asyncio
from statistics import median

import pytest

from bench.failover import after_silence, dying, slow_now_and_then

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.real_time]


def test_a_dying_endpoint_costs_no_turn_and_hardly_any_time() -> None:
    turns = asyncio.run(dying())
    assert turns.lost == 0
    assert len(turns.first_tokens_s) == 10
    assert max(turns.first_tokens_s) <= 2 * median(turns.first_tokens_s)
    assert [tried.outcome for tried in turns.tried].count("failed") == 1


def test_one_that_falls_silent_is_given_up() -> None:
    turns = asyncio.run(dying(silently=True))
    assert turns.lost == 0
    # The hedge that is in hand from the start: half as long again as usual, and then the next one's time.
    assert max(turns.first_tokens_s) < 0.4


@pytest.mark.timeout(60)
def test_hedging_brings_the_slow_tail_down_at_little_cost() -> None:
    turns = asyncio.run(slow_now_and_then(600, 8))
    assert turns.lost == 0
    # Of a thousand turns on a quiet machine the 99th percentile is below 400 ms, too: docs/endpoints.md.
    assert turns.quantile_ms(0.98) < 400
    assert turns.extra_share <= 0.1


def test_the_first_turn_after_a_silence_is_as_fast_as_the_others() -> None:
    async def both() -> tuple[float, float, float]:
        (usual, warm), (_, cold) = await asyncio.gather(after_silence(6.0, warm=True), after_silence(6.0, warm=False))
        return median(usual.first_tokens_s), warm.first_tokens_s[0], cold.first_tokens_s[0]

    usual_s, warm_s, cold_s = asyncio.run(both())
    assert warm_s < usual_s + 0.05
    assert cold_s > usual_s + 0.1  # the servers did drop the connections
