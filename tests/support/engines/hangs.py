"""Hung engines are found soon."""

import pytest

from audio import hang_detection
from audio.stt.whisper import decode_scheduler
from audio.threads import engine_thread


def find_hangs_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes an engine for hung that is blocked for 0.4 s; the program waits for 30."""
    monkeypatch.setattr(hang_detection, "BLOCKED_S", 0.4)
    for module in (decode_scheduler, engine_thread):
        monkeypatch.setattr(module, "STEP_S", 0.1)
