"""Conversations with random mixtures of faults keep every rule of the design; see its helper of that name.

`make search` runs 10,000 of them, the gate 300.
"""

from collections import Counter

import pytest
from hypothesis import settings
from support.conversations.random_faults import FAULTS, failures_of, run, scenario_of

pytestmark = pytest.mark.slow

BLOCKS = 12
GATE = 300
SEARCHED = 10_000
STEP = 10
"""Seeds that are run at a time until each kind of fault was met."""

_met: Counter[str] = Counter()


def is_search() -> bool:
    """Returns whether `make search` runs this: its profile asks for more examples than the gate's."""
    return settings().max_examples >= 1000


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.timeout(900 if is_search() else 120)
def test_conversations_with_random_faults_keep_every_rule(block: int) -> None:
    count = SEARCHED if is_search() else GATE
    seeds = range(count * block // BLOCKS, count * (block + 1) // BLOCKS)
    assert list(failures_of(seeds, _met)) == []


@pytest.mark.timeout(600)
def test_random_faults_meet_every_kind() -> None:
    """A fault that no conversation meets would test nothing: further seeds are run until each kind was met."""
    met = Counter(_met)
    for seed in range(GATE, 3 * GATE, STEP):
        if all(met[kind] for kind in FAULTS):
            break
        assert list(failures_of(range(seed, seed + STEP), met)) == []
    assert [kind for kind in FAULTS if not met[kind]] == []


def test_same_seed_gives_the_same_conversation() -> None:
    first, second = (run(scenario_of(3)).result for _ in range(2))
    assert [(at_ms, type(event)) for at_ms, event in first.events] == [
        (at_ms, type(event)) for at_ms, event in second.events
    ]
