"""`repartee talk --headless`: a satellite, in a process that holds no command line, configuration or screen.

The command becomes this process (`become_satellite`), so that a small board has the memory of one program, not of two:
80 instead of 100 MB. It prints states and problems, and no words that people say.
"""

import asyncio
import ctypes
import gc
import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import NoReturn

from assistant.commands.talk.cards import Cards, chime, open_cards
from assistant.commands.talk.text import printable
from assistant.config.errors import ConfigError
from assistant.events import Problem, SessionEvent
from assistant.registry.engine_choice import EngineChoice
from assistant.support.exception_groups import first_of
from audio.errors import AudioError
from audio.noisy_libraries import hushed
from audio.portaudio.owner import library_in_use
from repartee.wake_words import WakeWords
from web.access.server_token import token_of
from web.remote.address import address_of
from web.remote.server_trust import client_tls
from web.remote.state_display import shown_state, state_display
from web.remote.talk import RemoteTalk

VARIABLE = "REPARTEE_SATELLITE_PROCESS"
"""Environment variable with the options of the process, as JSON."""

CONFIG_ERROR_STATUS = 2
AUDIO_ERROR_STATUS = 1
"""Exit status without a sound card: a service manager starts the program again, for the card may be plugged in."""


@dataclass(frozen=True, slots=True)
class DeviceWishes:
    """The sound devices, as in the section `audio` of the configuration."""

    input: str
    output: str
    echo: str


@dataclass(frozen=True, slots=True)
class SatelliteOptions:
    """Settings of a satellite.

    Attributes:
        server: The value of `--server`.
        tls_fingerprint: The value of `--tls-fingerprint`.
        tls_ca: The value of `--tls-ca`.
        devices: The sound devices.
        phrases: The wake words as they are spoken, by name.
        detector: Module and function that make their detector.
        after_word_s: How long after the wake word speech may begin.
        listen_s: How long after a reply speech may begin without the wake word.
        sounds: Whether sounds signal that it listens, and that nothing was heard.
        room: Name of its room; "" for none.
        state_command: Program that shows its state; "" for none.
        state_file: File that contains its state; "" for none.
    """

    server: str
    tls_fingerprint: str | None
    tls_ca: str | None
    devices: DeviceWishes
    phrases: dict[str, str]
    detector: tuple[str, str]
    after_word_s: float
    listen_s: float
    sounds: bool
    room: str
    state_command: str
    state_file: str

    @property
    def wake_words(self) -> WakeWords:
        """The wake words, whose detector is not loaded yet."""
        module, name = self.detector
        return WakeWords(self.phrases, getattr(import_module(module), name), self.after_word_s, self.listen_s)


def become_satellite(options: SatelliteOptions) -> NoReturn:
    """Replaces this program by the satellite's process; runs it within this one where that is not possible."""
    text = json.dumps(asdict(options))
    if os.name != "posix":
        sys.exit(run(options))
    sys.stdout.flush()
    environ = {**os.environ, VARIABLE: text, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.execve(sys.executable, [sys.executable, "-P", "-m", "repartee.satellite"], environ)  # noqa: S606


def options_of(text: str) -> SatelliteOptions:
    """Parses the environment variable."""
    fields = json.loads(text)
    module, name = fields["detector"]
    return SatelliteOptions(**{**fields, "devices": DeviceWishes(**fields["devices"]), "detector": (module, name)})


def run(options: SatelliteOptions) -> int:
    """Runs the satellite until a signal ends it. Returns the exit status."""
    problem, status = "", 0
    try:
        with hushed(library_in_use):
            asyncio.run(_Satellite(options).hold())
    except* ConfigError as errors:
        problem, status = str(first_of(errors)), CONFIG_ERROR_STATUS
    except* AudioError as errors:
        problem, status = str(first_of(errors)), AUDIO_ERROR_STATUS
    if problem:
        sys.stderr.write(f"repartee: {printable(problem)}\n")
    return status


def _print(label: str, text: str) -> None:
    with suppress(BrokenPipeError):
        print(f"{label}: {printable(text)}", flush=True)  # noqa: T201 - its output


class _Satellite:
    """One satellite, from opening the sound card to hanging up."""

    def __init__(self, options: SatelliteOptions) -> None:
        self._options = options
        self._display = state_display(options.state_command, options.state_file, self._trouble)
        self._shown = ""
        self._ready = False

    async def hold(self) -> None:
        """Runs the conversation until a signal ends it."""
        options, loop = self._options, asyncio.get_running_loop()
        address = address_of(options.server)

        def report(what: str) -> None:
            loop.call_soon_threadsafe(self._trouble, what)

        cards = await asyncio.to_thread(open_cards, options.devices, report, has_keys=False)
        if cards.notice:
            self._trouble(cards.notice)
        talk = RemoteTalk(
            address,
            token_of(os.environ),
            cards.microphone,
            cards.speaker,
            self._note_event,
            lambda chosen: self._greeted(cards, chosen),
            interrupt_after_ms=cards.interrupt_after_ms or None,
            sound_output=cards.sound_output,
            tls=client_tls(address, options.tls_fingerprint, options.tls_ca),
            waking=options.wake_words.waking(cards, self._trouble, sounds=options.sounds),
            room=options.room,
            keeps_trying=True,
        )
        talk.on_step = lambda: self._show_state(talk)
        self._show_state(talk)
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with suppress(AttributeError, NotImplementedError):  # Windows ends the program itself
                loop.add_signal_handler(getattr(signal, name), talk.leave)
        try:
            async with nullcontext() if self._display is None else self._display.running():
                await talk.run()
        finally:
            await cards.aclose()

    def _show_state(self, talk: RemoteTalk) -> None:
        state = shown_state(talk.floor)
        if state == self._shown:
            return
        self._shown = state
        _print("state", state)
        if self._display is not None:
            self._display.show(state)

    def _greeted(self, cards: Cards, chosen: Sequence[EngineChoice]) -> None:
        if self._ready:
            return
        self._ready = True
        for engine in (*chosen, *cards.chosen):
            _print(engine.stage, f"{engine.name}, {engine.detail}{' (fallback)' if engine.fallback else ''}")
        _print("ready", f'say "{" or ".join(self._options.phrases.values())}"')
        if self._options.sounds:
            cards.speaker.chime(chime())
        gc.collect()
        _return_memory()

    def _note_event(self, event: SessionEvent) -> None:
        if isinstance(event, Problem):
            self._trouble(event.text)

    def _trouble(self, what: str) -> None:
        _print("problem", what)


def _return_memory() -> None:
    """Returns what loading has used and freed to the system: 3 MB."""
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)  # as in repartee.cli
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    sys.exit(run(options_of(os.environ.pop(VARIABLE))))
