"""Conversations with random mixtures of faults keep every rule of the design; see its helper of that name.

`make search` runs 10,000 of them, the gate 60, and more until each kind of fault was met.
"""

from collections import Counter

import pytest
from support.conversations.random_faults import FAULTS, failures_of, run, scenario_of
from support.examples import is_search

pytestmark = pytest.mark.slow

BLOCKS = 6
GATE = 60
SEARCHED = 10_000

_met: Counter[str] = Counter()


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.timeout(1800 if is_search() else 120)
def test_conversations_with_random_faults_keep_every_rule(block: int) -> None:
    count = SEARCHED if is_search() else GATE
    seeds = range(count * block // BLOCKS, count * (block + 1) // BLOCKS)
    assert list(failures_of(seeds, _met)) == []


@pytest.mark.timeout(600)
def test_random_faults_meet_every_kind() -> None:
    """A fault that no conversation meets would test nothing: conversations with the other kinds are run, too."""
    met = Counter(_met)
    for seed in range(GATE, 15 * GATE):
        missing = {kind for kind in FAULTS if not met[kind]}
        if missing & {fault.kind for fault in scenario_of(seed).faults}:
            assert list(failures_of(range(seed, seed + 1), met)) == []
    assert [kind for kind in FAULTS if not met[kind]] == []


def test_same_seed_gives_the_same_conversation() -> None:
    first, second = (run(scenario_of(3)).result for _ in range(2))
    assert [(at_ms, type(event)) for at_ms, event in first.events] == [
        (at_ms, type(event)) for at_ms, event in second.events
    ]
