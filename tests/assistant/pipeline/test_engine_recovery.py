"""Tests of the error text of a failed engine."""

import pytest

from assistant.pipeline.engine_recovery import reason_of
from audio.errors import SttError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SttError("its process ended"), "its process ended"),
        (RuntimeError("it heard: the doctor said"), "internal error (RuntimeError)"),
        (AssertionError(), "internal error (AssertionError)"),
        (TimeoutError(), ""),
    ],
    ids=["engine error", "internal error", "internal error without text", "timeout"],
)
def test_reason_of_returns_engine_text_or_exception_type(error: Exception, message: str) -> None:
    assert reason_of(error) == message
