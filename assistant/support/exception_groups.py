"""Errors that came together, out of however many task groups."""


def first_of(error: BaseException) -> BaseException:
    """The first of a group, however deep; one that came alone as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
