"""Finds the underlying exception in nested exception groups."""


def first_of(error: BaseException) -> BaseException:
    """Returns the first exception of a group, at any depth; any other exception unchanged."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
