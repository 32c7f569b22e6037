"""Numbers of random examples: few in `make test`, many in `make search`."""

from hypothesis import settings

SEARCH_FROM = 1000


def is_search() -> bool:
    """Returns whether `make search` runs: its profile asks for more examples than the gate's."""
    return settings().max_examples >= SEARCH_FROM


def examples(count: int) -> int:
    """Returns `count`, or the number of the profile of `make search`."""
    return settings().max_examples if is_search() else count
