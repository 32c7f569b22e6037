"""Lists sound cards through a separate process (`device_watcher_process`). Blocking: call it in a thread."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

from audio.device import Device
from audio.errors import DeviceError
from audio.portaudio.alsa_config import lacking
from audio.portaudio.listing import from_facts

LIMIT_S = 4.0
"""Timeout of one listing, in seconds, including the start of the process; it takes 0.1 s, later 0.03 s."""


class DeviceWatcher:
    """Starts the process at the first listing, and again if it has died. Not thread-safe."""

    def __init__(
        self, command: tuple[str, ...] = (sys.executable, "-m", "audio.portaudio.device_watcher_process")
    ) -> None:
        """`command`: command line of the process."""
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def look(self) -> tuple[Device, ...]:
        """Returns the current devices. Raises DeviceError if no answer came within the limit."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._start()
        process = self._process
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.daemon = True
        limit.start()
        try:
            return self._ask(process)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.close()
            if process.returncode == -signal.SIGABRT:
                why = lacking(os.environ, sys.platform) or "check the output of `aplay -l`"
                raise DeviceError(f"ALSA crashes every program that lists the sound cards; {why}") from error
            raise DeviceError(
                f"the sound cards could not be listed within {LIMIT_S:g} s; if other programs have no sound "
                "either, restart the sound system"
            ) from error
        finally:
            limit.cancel()

    def close(self) -> None:
        """Ends the process. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait(LIMIT_S)

    def _start(self) -> subprocess.Popen[str]:
        # Messages of the libraries must not appear on the screen, which belongs to the conversation.
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(  # noqa: S603 - our own module
            self._command, stdin=pipe, stdout=pipe, stderr=nowhere, encoding="utf-8"
        )

    @staticmethod
    def _ask(process: subprocess.Popen[str]) -> tuple[Device, ...]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("look\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if "error" in answer:
            raise DeviceError(answer["error"])
        return from_facts(answer["devices"])
