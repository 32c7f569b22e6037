"""Resources of AWS are deleted after a failure and when they are due."""

from datetime import UTC, datetime

import pytest
from support.services.aws_accounts import VirtualWait

from deploy.aws.clients import DeployError
from deploy.aws.expiry import DELETE_AFTER
from deploy.aws.lifecycle import DELETING, GONE, asked_state, delete_and_wait, deleted_after_failure, expired_names

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_resource_is_deleted_after_an_interruption_that_cannot_delete_it() -> None:
    def delete() -> None:
        raise DeployError("x is not deleted")

    with (
        pytest.raises(DeployError, match=r"^interrupted; and x is not deleted$"),
        deleted_after_failure("x", print, delete),
    ):
        raise KeyboardInterrupt


def test_second_interruption_says_that_the_resource_may_run() -> None:
    def delete() -> None:
        raise KeyboardInterrupt

    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), deleted_after_failure("x", said.append, delete):
        raise DeployError("no capacity")
    assert said[-1] == "x: interrupted while it was deleted; it may still run, and cost money"


@pytest.mark.parametrize(
    ("states", "requests"),
    [
        (["Creating", "InService", DELETING, GONE], 1),
        (["Failed (no capacity)", "Failed (no capacity)", GONE], 1),
        ([DELETING, DELETING, GONE], 0),
        ([GONE], 0),
    ],
    ids=["still created", "failed", "already being deleted", "missing"],
)
def test_deletion_is_requested_once_and_waited_for(states: list[str], requests: int) -> None:
    asked: list[bool] = []
    delete_and_wait(
        "x",
        lambda: states.pop(0),
        lambda: asked.append(True),
        VirtualWait().waiting(),
        frozenset({"InService", "Failed"}),
        frozenset({"Creating"}),
    )
    assert (len(asked), states) == (requests, [])


def test_expiry_that_cannot_be_read_is_reported_and_the_others_expire() -> None:
    tags = {
        "a": [{"Key": DELETE_AFTER, "Value": "soon"}],
        "b": [{"Key": DELETE_AFTER, "Value": "2026-01-01T11:00:00Z"}],
        "c": [{"Key": DELETE_AFTER, "Value": "2026-01-01T13:00:00Z"}],
        "d": [],
    }
    said: list[str] = []
    found = [(f"repartee-{arn}", arn) for arn in tags]
    assert expired_names([*found, ("another", "b")], tags.__getitem__, NOON, said.append) == ["repartee-b"]
    assert [line.partition(":")[0] for line in said] == ["repartee-a"]


def test_state_has_the_reason_of_a_failure() -> None:
    def state(**described: object) -> str:
        return asked_state(lambda: described, "s", "r")

    assert state(s="Failed", r="no capacity") == "Failed (no capacity)"
    assert state(s="Failed") == "Failed (no reason given)"
    assert state(s="InService") == "InService"
