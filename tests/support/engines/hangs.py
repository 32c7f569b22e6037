"""Hung engines are found soon."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from audio import hang_detection
from audio.stt.whisper import decode_scheduler
from audio.threads import engine_thread


@contextmanager
def hangs_found_soon() -> Generator[None]:
    """Takes an engine for hung that is blocked for 0.4 s; the program waits for 30. Only for engines that are held."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hang_detection, "BLOCKED_S", 0.4)
        for module in (decode_scheduler, engine_thread):
            patch.setattr(module, "STEP_S", 0.1)
        yield
