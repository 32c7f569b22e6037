"""The life of a resource of AWS that costs money: deleted after a failure, when it is due, and waited for."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime

from deploy.aws.clients import DeployError, ignoring_missing
from deploy.aws.expiry import PREFIX, has_expired
from deploy.aws.waiting import Waiting

GONE = "deleted"
FAILED = "Failed"
DELETING = "Deleting"


def asked_state(ask: Callable[[], Mapping[str, object]], status: str, reason: str) -> str:
    """Returns the state of a resource, with the reason if it is FAILED; GONE if it is missing.

    Args:
        ask: Asks AWS to describe the resource.
        status: Name of the answer's field with the state.
        reason: Name of the answer's field with the reason of a failure.

    Raises:
        DeployError: AWS does not tell.
    """
    described: Mapping[str, object] = {}
    with ignoring_missing("asking for the state"):
        described = ask()
    state = str(described.get(status, GONE))
    return f"{FAILED} ({described.get(reason, 'no reason given')})" if state == FAILED else state


@contextmanager
def deleted_after_failure(name: str, say: Callable[[str], None], delete: Callable[[], None]) -> Generator[None]:
    """Deletes a resource again if the block that creates it fails or is interrupted.

    Raises:
        DeployError: The block failed; the text also says so if the resource could not be deleted.
    """
    try:
        yield
    except BaseException as error:
        say(f"{name}: it failed, so what was begun is deleted again")
        try:
            delete()
        except DeployError as second:
            raise DeployError(f"{str(error) or 'interrupted'}; and {second}") from error
        except KeyboardInterrupt:
            say(f"{name}: interrupted while it was deleted; it may still run, and cost money")
            raise
        raise


def delete_and_wait(  # noqa: PLR0917 - the resource, then the states
    name: str,
    state_of: Callable[[], str],
    delete: Callable[[], object],
    waiting: Waiting,
    deletable: frozenset[str],
    pending: frozenset[str],
) -> None:
    """Deletes a resource as soon as AWS takes the request, and waits until it is gone.

    Args:
        name: Its name.
        state_of: Asks for its state; GONE if it is missing.
        delete: Asks AWS to delete it.
        waiting: For the waits.
        deletable: States in which AWS takes the request.
        pending: States that end by themselves.

    Raises:
        DeployError: It remains.
    """

    def short_state() -> str:
        return state_of().partition(" ")[0]

    state = waiting.until(name, short_state, deletable | {DELETING, GONE}, pending)
    if state in deletable:
        delete()
    if state != GONE:
        waiting.until(name, short_state, frozenset({GONE}), deletable | {DELETING})


def expired_names(
    resources: Iterable[tuple[str, str]],
    tags_of: Callable[[str], Iterable[Mapping[str, str]]],
    now: datetime,
    say: Callable[[str], None],
) -> list[str]:
    """Returns the names of resources of these programs whose expiry has passed.

    Args:
        resources: Names and ARNs of resources.
        tags_of: Asks for the tags of an ARN.
        now: The time.
        say: Reports a resource whose expiry cannot be read.
    """
    expired = []
    for name, arn in resources:
        if not name.startswith(PREFIX):
            continue
        try:
            if has_expired(tags_of(arn), now):
                expired.append(name)
        except ValueError as error:
            say(f"{name}: its expiry cannot be read, so it is not deleted: {error}")
    return expired
