"""The bench of sizes: the labelled requests, and a small run on real sockets in virtual time."""

import pytest
from support.clocks.virtual_time import run_virtual

from bench.controlled_llm import LlmBehaviour
from bench.language_models.failover import served
from bench.language_models.tiers import (
    FILE,
    REPLY,
    Costs,
    Labelled,
    Outcome,
    ask_all,
    confusion,
    confusion_rows,
    labelled,
)

COSTS = Costs((0.1, 0.4), (2.5, 10.0), (600, 40))
REQUESTS = labelled(FILE.read_text(encoding="utf-8"))


def test_labels_and_halves_are_read() -> None:
    text = (
        "# comment\n\nen small Hello.\nen large Compare them.\nen small Paris? >> No.\nen small The capital? >> And?\n"
    )
    assert labelled(text) == [
        Labelled("en", "small", "Hello.", "", "make"),
        Labelled("en", "large", "Compare them.", "", "make"),
        Labelled("en", "small", "No.", "Paris?", "judge"),
        Labelled("en", "small", "And?", "The capital?", "make"),
    ]


def test_confusion_table_counts_every_request() -> None:
    table = confusion(REQUESTS)
    assert table.total == len(REQUESTS)
    rows = list(confusion_rows(REQUESTS))
    assert len(rows) == 2 + 2 + 4
    assert all(row.count("|") == rows[0].count("|") for row in rows)


@pytest.mark.slow
def test_score_gives_the_time_and_price_of_both_sizes() -> None:
    chosen = [one for one in REQUESTS if one.half == "judge"][::6]

    async def main() -> tuple[Outcome, Outcome, Outcome]:
        behaviours = [LlmBehaviour(ttft_ms=ms, tokens_per_s=60.0, reply=REPLY) for ms in (100.0, 500.0)]
        async with served(behaviours) as servers:
            large = await ask_all(servers, {"large"}, chosen, COSTS, 2)
            both = await ask_all(servers, {"small", "large"}, chosen, COSTS, 2)
            bridged = await ask_all(servers, {"small", "large"}, chosen, COSTS, 2, bridge=True)
            return large, both, bridged

    large, both, bridged = run_virtual(main(), sockets=True)
    assert both.cost < 0.7 * large.cost
    assert max(both.first_ms["small"]) < 200 < min(large.first_ms["small"])
    assert max(bridged.first_ms["large"]) < 300
    assert sum(both.by_large.values()) == sum(bridged.by_large.values()) > 0
    assert both.row("both").startswith("| both | 1")
