"""The server's log on an output that does not take it."""

import errno
import io
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from web.observation.log_writer import LOST, MAX_LINES, LogWriter
from web.observation.server_log import LOGGING

ROOT = Path(__file__).parents[3]
WAIT_S = 20.0


@contextmanager
def logger_on(handler: logging.Handler) -> Generator[logging.Logger]:
    """Yields a logger with this handler alone."""
    logger = logging.getLogger("tests.log_writer")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield logger
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


def test_blocked_output_stops_nobody_and_lost_lines_are_counted() -> None:
    reading, writing = os.pipe()
    lines = 3 * MAX_LINES
    with os.fdopen(reading, encoding="utf-8") as output:
        with os.fdopen(writing, "w", encoding="utf-8") as stream, logger_on(LogWriter(stream)) as logger:
            for number in range(lines):  # would wait forever on the pipe, which holds 64 KiB
                logger.warning("%d %s", number, "x" * 200)
            read: list[str] = []
            reader = threading.Thread(target=lambda: read.extend(iter(output.readline, "")), daemon=True)
            reader.start()
            (writer,) = logger.handlers
            assert isinstance(writer, LogWriter)
            assert writer._all_written.wait(WAIT_S)
        reader.join(WAIT_S)
        assert not reader.is_alive()
    numbers = [int(line.split()[0]) for line in read if line[0].isdigit()]
    assert len(numbers) >= MAX_LINES
    assert numbers == sorted(set(numbers))
    before, after = LOST.split("{count}")
    lost = [int(line.removeprefix(before).split()[0]) for line in read if line.startswith(before)]
    assert all(line.rstrip().endswith(after) for line in read if not line[0].isdigit())
    assert len(numbers) + sum(lost) == lines


def test_lines_are_written_before_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as stream, logger_on(LogWriter(stream)) as logger:
        logger.warning("one")
        logger.warning("two")
        logger.handlers[0].flush()
    assert capfd.readouterr().err == "one\ntwo\n"


def test_closed_output_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w", encoding="utf-8")
    with logger_on(LogWriter(stream)) as logger:
        logger.warning("nobody reads this")
        logger.handlers[0].flush()
    stream.close()
    assert capfd.readouterr().err == ""


class FullDisk(io.RawIOBase):
    """An output with room for some bytes. It takes a part of what does not fit, as a file does."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room, self.taken = room, b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)[: self.room]
        if not part:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(part)
        self.taken += part
        return len(part)


def test_lines_that_a_full_disk_does_not_take_are_counted() -> None:
    disk = FullDisk(room=11)
    with logger_on(LogWriter(io.TextIOWrapper(io.BufferedWriter(disk), encoding="utf-8"))) as logger:
        for word in ("first", "second", "third"):  # the second is cut after "secon"
            logger.warning(word)
        logger.handlers[0].flush()
        assert disk.taken == b"first\nsecon"
        disk.room = 1000
        logger.warning("fourth")
        logger.handlers[0].flush()
        logger.warning("fifth")
        logger.handlers[0].flush()
    assert disk.taken.decode().splitlines() == ["first", "secon", "fourth", LOST.format(count=2), "fifth"]


def test_unread_log_does_not_keep_the_program_from_ending() -> None:
    program = f"""
import logging.config, sys
from web.observation.server_log import LOGGING
logging.config.dictConfig(LOGGING)
for _ in range({3 * MAX_LINES}):
    logging.warning("x" * 200)
sys.exit(3)
"""
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.PIPE) as process:
        try:
            assert process.wait(3 * WAIT_S) == 3
        finally:
            process.kill()


def test_server_logs_in_a_thread() -> None:
    handlers = LOGGING["handlers"]
    assert isinstance(handlers, dict)
    assert {one["class"] for one in handlers.values()} == {"web.observation.log_writer.LogWriter"}
