"""The simulation of batched decodes."""

import pytest

from bench.batches import waits_s

CALL_S = {1: 0.1, 2: 0.2, 4: 0.4}


def test_rare_requests_wait_only_for_their_decode() -> None:
    assert waits_s(CALL_S, 1, 0.0001, 200) == pytest.approx([0.1] * 200)


def test_batches_of_proportional_duration_do_not_help() -> None:
    single, batched = waits_s(CALL_S, 1, 8.0, 2000), waits_s(CALL_S, 4, 8.0, 2000)
    assert sum(batched) >= sum(single)


def test_free_batches_help() -> None:
    free = {1: 0.1, 4: 0.1}
    assert max(waits_s(free, 4, 8.0, 2000)) < max(waits_s(free, 1, 8.0, 2000))
