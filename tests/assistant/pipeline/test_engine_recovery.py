"""What is said of an engine that failed."""

import pytest

from assistant.pipeline.engine_recovery import reason_of
from audio.errors import SttError


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SttError("its process ended"), "its process ended"),
        (RuntimeError("it heard: the doctor said"), "internal error (RuntimeError)"),
        (AssertionError(), "internal error (AssertionError)"),
        (TimeoutError(), ""),
    ],
)
def test_a_reason_is_an_engines_own_sentence_or_only_a_kind_and_never_a_made_up_timeout(
    error: Exception, says: str
) -> None:
    assert reason_of(error) == says
