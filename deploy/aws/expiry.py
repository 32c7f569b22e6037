"""A tag that says when a resource is to be deleted, so that nothing is forgotten and paid for."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

DELETE_AFTER = "repartee-delete-after"
PREFIX = "repartee-"
"""Beginning of the names of everything that these programs create; they delete nothing else."""

LIMIT_HOURS = 72.0


def expiry(now: datetime, hours: float) -> str:
    """Returns the value of the tag. Raises ValueError if `hours` is not positive or too long."""
    if not 0 < hours <= LIMIT_HOURS:
        raise ValueError(f"hours must be more than 0 and at most {LIMIT_HOURS:g}, not {hours:g}")
    return (now.astimezone(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def has_expired(tags: Iterable[Mapping[str, str]], now: datetime) -> bool:
    """Returns whether the tags have an expiry that has passed. Raises ValueError if it is not a time.

    `tags`: with the keys Key and Value, in any case.
    """
    for tag in tags:
        fields = {name.lower(): value for name, value in tag.items()}
        if fields["key"] == DELETE_AFTER:
            return datetime.strptime(fields["value"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) <= now
    return False


def full_name(name: str) -> str:
    """Returns the name with PREFIX. Raises ValueError if AWS would refuse it."""
    whole = name if name.startswith(PREFIX) else f"{PREFIX}{name}"
    if len(whole) > 50 or not all(part.isascii() and part.isalnum() for part in whole.split("-")):
        raise ValueError(f"the name must have letters, digits and single hyphens, 50 at most: {whole!r}")
    return whole
