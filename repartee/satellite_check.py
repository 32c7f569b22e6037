"""`repartee doctor --satellite`: checks what a satellite needs, without the rest of the program."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assistant.checks.result import CheckResult
from assistant.config.errors import ConfigError
from assistant.config.settings import Settings
from assistant.setup.listening.wake_words import wake_word_engine, wake_words
from assistant.support.console import terminal
from audio.devices import list_devices
from audio.errors import AudioError
from web.access.server_token import token_of
from web.remote.address import address_of
from web.remote.close_reasons import CloseReason
from web.remote.server_trust import client_tls
from web.remote.state_display import state_display
from web.remote.wire import RemoteWire, ServerLostError

PACKAGES = ("numpy", "soxr", "sounddevice", "websockets")
"""Modules of packages without which there is no satellite; the wake words are checked by themselves."""

SPEAKERPHONE = "or use a speakerphone that removes the echo itself, with --echo headphones"


def check_satellite(
    settings: Settings, server: str | None, tls_fingerprint: str | None = None, tls_ca: str | None = None
) -> list[CheckResult]:
    """Returns what works and what is missing.

    Args:
        settings: The settings.
        server: The value of `--server`; None: the server is not checked.
        tls_fingerprint: The value of `--tls-fingerprint`.
        tls_ca: The value of `--tls-ca`.
    """
    results = [_packages(), _wake_words(settings), *_devices(), _echo(settings)]
    results += _state(settings)
    if server is not None:
        results.append(asyncio.run(_server(server, tls_fingerprint, tls_ca)))
    return results


def print_check(
    settings: Settings, server: str | None, tls_fingerprint: str | None = None, tls_ca: str | None = None
) -> int:
    """Prints the results, one a line. Returns the exit status: 1 if something does not work."""
    console = terminal()
    results = check_satellite(settings, server, tls_fingerprint, tls_ca)
    for result in results:
        remedy = f"; {result.remedy}" if result.remedy else ""
        console.print(f"{result.level:5}{result.name}: {result.text}{remedy}", soft_wrap=True, markup=False)
    return int(any(result.level == "fail" for result in results))


def _packages() -> CheckResult:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        return CheckResult("fail", "packages", f"{', '.join(missing)} missing", remedy="run `make satellite`")
    return CheckResult("ok", "packages", "all that a satellite needs")


def _wake_words(settings: Settings) -> CheckResult:
    names = settings.talk.wake_word.split() or list(wake_words())[:1]
    try:
        wake_word_engine(names).make(names)
    except AudioError as error:
        return CheckResult("fail", "wake word", str(error))
    chosen = " ".join(names) if settings.talk.wake_word else "none chosen: add --wake-word okay_nabu"
    return CheckResult("ok", "wake word", chosen)


def _devices() -> list[CheckResult]:
    try:
        devices = list_devices()
    except AudioError as error:
        return [CheckResult("fail", "sound", str(error))]
    microphones = [device.name for device in devices if device.channels("input")]
    speakers = [device.name for device in devices if device.channels("output")]
    return [
        CheckResult("ok", "microphone", ", ".join(microphones))
        if microphones
        else CheckResult("fail", "microphone", "none was found", remedy="plug one in; `repartee devices` lists them"),
        CheckResult("ok", "loudspeaker", ", ".join(speakers))
        if speakers
        else CheckResult("warn", "loudspeaker", "none was found", remedy="plug one in; nothing can be answered"),
    ]


def _echo(settings: Settings) -> CheckResult:
    if settings.audio.echo in {"headphones", "half-duplex"}:
        return CheckResult("ok", "echo", settings.audio.echo)
    if find_spec("livekit") is not None:
        return CheckResult("ok", "echo", "the reply is removed from the microphone's signal")
    remedy = f"to interrupt by voice: `make satellite ECHO=cancel`, {SPEAKERPHONE}"
    return CheckResult("info", "echo", "while a reply plays, the microphone is off", remedy=remedy)


def _state(settings: Settings) -> list[CheckResult]:
    results, satellite = [], settings.satellite
    try:
        state_display(satellite.state_command, satellite.state_file, lambda _what: None)
    except ConfigError as error:
        return [CheckResult("fail", "state", str(error))]
    if satellite.state_command:
        program = (shlex.split(satellite.state_command) or [""])[0]
        works = shutil.which(program) is not None
        text = satellite.state_command if works else f"{program} was not found"
        results.append(CheckResult("ok" if works else "fail", "state command", text))
    if satellite.state_file:
        folder = Path(satellite.state_file).expanduser().absolute().parent
        works = os.access(folder, os.W_OK)
        text = satellite.state_file if works else f"the folder {folder} does not exist or is not writable"
        results.append(CheckResult("ok" if works else "fail", "state file", text))
    return results


@dataclass(slots=True)
class _Greeting:
    """Hangs up when the server has opened a session."""

    wire: RemoteWire = field(init=False)
    is_open: bool = False

    def event(self, event: Mapping[str, Any]) -> None:
        if event.get("type") == "session.created":
            self.is_open = True
            self.wire.leave()

    def resume(self) -> Mapping[str, str]:
        return {}

    def connection_lost(self, ending: CloseReason) -> None:
        raise ServerLostError(ending.sentence)


async def _server(server: str, tls_fingerprint: str | None, tls_ca: str | None) -> CheckResult:
    try:
        address, greeting = address_of(server), _Greeting()
        tls = client_tls(address, tls_fingerprint, tls_ca)
        greeting.wire = RemoteWire(address, token_of(os.environ), greeting, tls)
        await greeting.wire.run()
    except (ConfigError, ServerLostError) as error:
        return CheckResult("fail", "server", str(error))
    return CheckResult("ok", "server", f"{address.place} opens a conversation")
