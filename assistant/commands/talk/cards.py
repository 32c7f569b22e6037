"""The sound devices of `repartee talk`: microphone, loudspeaker and echo control."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from assistant.commands.talk.controls import NOT_YET, DeviceChoice
from assistant.registry.engine_choice import EngineChoice
from audio.card.microphone import CardMicrophone, FrameCleaner
from audio.card.speaker import CardSpeaker, EchoReference
from audio.card.stream import Opened
from audio.devices import Device, Direction, list_devices, pick
from audio.errors import DeviceError, EchoUnavailable
from audio.speaker import WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm, Samples, ms_of_samples

if TYPE_CHECKING:
    from assistant.pipeline.listening_sounds import SoundOutput
    from audio.echo.canceller import EchoCanceller


CLOSE_TIMEOUT_S = 1.0

CANCELED_INTERRUPT_AFTER_MS = 300.0
"""Least speech in ms that interrupts a reply with an echo canceller. The remaining echo is sometimes detected as speech
for 100 to 200 ms, which only ducks the reply. The figures of docs/lab/echo.md were measured with this value."""

_AS_TEXT = "replies are shown as text"
_CONNECT = "connect one and start again"

_CHIME_HZ = (660.0, 990.0)
_CHIME_S = 0.09
_CHIME_LEVEL = 0.08  # of full scale, -22 dBFS: audible but not disturbing


class NoSpeaker(WavSpeaker):
    """Implements what `Cards` needs of a `CardSpeaker`, on a machine without one: replies are shown as text."""

    opened: Opened | None = None
    level_dbfs = -math.inf
    silent_samples = 0
    underflows = 0

    def __init__(self) -> None:
        """Creates the loudspeaker that is missing."""
        super().__init__(lambda _at_s, _pcm: None)

    def chime(self, _pcm: Pcm) -> None:
        """Plays nothing."""

    async def use(self, _wanted: str) -> NoReturn:
        """Raises DeviceError: a conversation that began without a loudspeaker goes on without one."""
        raise DeviceError("replies are shown as text, because there was no loudspeaker at the start: start again")


class DeviceChoices(Protocol):
    """The sound devices that the user chose, as in the section `audio` of the configuration."""

    @property
    def input(self) -> str: ...

    @property
    def output(self) -> str: ...

    @property
    def echo(self) -> str: ...


class Echo(FrameCleaner, EchoReference, Protocol):
    """Receives the loudspeaker's audio and removes its echo from the microphone's audio."""


@dataclass(slots=True)
class Cards:
    """Microphone and loudspeaker. Not thread-safe: call it on the event loop.

    Attributes:
        echo: The echo control, in one line.
        chosen: Echo control and devices, for the table and the trace.
        lacking: Which devices the machine did not have at the start. Without a microphone the user types; without a
            loudspeaker replies are shown as text.
    """

    microphone: CardMicrophone
    speaker: CardSpeaker | NoSpeaker
    echo: str
    chosen: tuple[EngineChoice, ...]
    _devices: tuple[Device, ...]
    _canceller: "EchoCanceller | None" = None
    _half_duplex: bool = False
    _was_open: set[Direction] = field(default_factory=set)
    lacking: frozenset[Direction] = frozenset()
    _has_keys: bool = True

    @property
    def notice(self) -> str:
        """Message about missing devices; "" if there are both."""
        if "input" not in self.lacking:
            instead = _AS_TEXT if self._has_keys else f"nothing is answered; {_CONNECT}"
            return "" if not self.lacking else f"no loudspeaker was found: {instead}"
        remedy = "connect one and use /mute to open it, or type what you want to say"
        if not self._has_keys:
            remedy = f"{_CONNECT}; `repartee devices` lists them"
        no_speaker = "; no loudspeaker either" if "output" in self.lacking else ""
        instead = f": {_AS_TEXT}" if no_speaker and self._has_keys else ""
        return f"no microphone was found: {remedy}{no_speaker}{instead}"

    async def use(self, direction: Direction, name: str) -> None:
        """Switches to another device. On failure raises DeviceError and keeps the old one."""
        card = self.microphone if direction == "input" else self.speaker
        await card.use(name)

    async def refresh(self) -> None:
        """Lists the devices again."""
        self._devices = await asyncio.to_thread(list_devices)

    @property
    def ready(self) -> bool:
        """Whether both streams are open. A microphone muted for push-to-talk may be closed."""
        plays = self.speaker.opened is not None or "output" in self.lacking
        return plays and (self.microphone.opened is not None or self.microphone.muted)

    @property
    def has_microphone(self) -> bool:
        """Whether there was a microphone at the start, or one was connected and opened since."""
        if self.microphone.opened is not None:
            self._was_open.add("input")
        return "input" not in self.lacking or "input" in self._was_open

    def choices(self) -> Sequence[DeviceChoice]:
        """Returns the devices as last listed."""
        used = {"input": self.microphone.opened, "output": self.speaker.opened}
        directions: tuple[Direction, ...] = ("input", "output")
        return [
            DeviceChoice(direction, device.full_name, _is_same(device, used[direction]))
            for direction in directions
            for device in self._devices
            if device.channels(direction)
        ]

    def line(self, direction: Direction) -> str:
        """Returns the device in one line, or why there is none."""
        card = self.microphone if direction == "input" else self.speaker
        if card.opened is not None:
            self._was_open.add(direction)
            return shown(card.opened)
        if direction in self.lacking and (direction == "output" or self.microphone.muted):
            return "none was found"
        if direction == "input" and self.microphone.muted:
            return "closed"
        return "disconnected; it is used again when it returns" if direction in self._was_open else NOT_YET

    def in_use(self) -> dict[str, str]:
        """Returns the current devices by name, for the trace."""
        microphone, speaker = self.microphone.opened, self.speaker.opened
        without = "closed" if self.microphone.muted else "gone"
        return {
            "microphone": without if microphone is None else microphone.device,
            "speaker": "gone" if speaker is None else speaker.device,
        }

    @property
    def latency_ms(self) -> float:
        """Latency that both devices add to a reply, as last reported: input lag plus output latency."""
        return (self.microphone.lag_s + self.speaker.latency_s) * 1000

    @property
    def interrupt_after_ms(self) -> float:
        """Least speech in ms that may interrupt a reply, given the echo of this device."""
        return 0.0 if self._canceller is None else CANCELED_INTERRUPT_AFTER_MS

    @property
    def sound_output(self) -> "SoundOutput | None":
        """Plays listening sounds; None if the microphone would be muted meanwhile, just when the user may go on."""
        return None if self._half_duplex else self.speaker

    def counts(self) -> dict[str, int]:
        """Returns counts of lost audio, for display."""
        return {
            "underruns": self.speaker.counts.underruns,
            "overflows": self.microphone.overflows,
            "underflows": self.speaker.underflows,
        }

    def counters(self) -> dict[str, int]:
        """Returns the counts for the trace, with figures on the accuracy of both device clocks."""
        counters = {
            **self.counts(),
            "unheard_ms": round(self.speaker.silent_samples * 1000 / REPLY_RATE_HZ),
            "microphone_latency_ms": round(self.microphone.lag_s * 1000),
            "speaker_latency_ms": round(self.speaker.latency_s * 1000),
        }
        if self._canceller is not None:
            reference = self._canceller.reference
            counters |= {
                "echo_lead_ms": round(self._canceller.delay_ms),
                "echo_gaps": reference.gaps,
                "echo_steps": reference.steps,
                "echo_late_ms": round(ms_of_samples(Samples(reference.late_samples))),
            }
        return counters

    async def aclose(self) -> None:
        """Closes both devices, with a time limit."""
        for card in (self.microphone, self.speaker):
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await card.aclose()
            except TimeoutError:
                continue  # the sound server hangs: the program ends without it


def open_cards(audio: DeviceChoices, report: Callable[[str], None], *, has_keys: bool = True) -> Cards:
    """Lists the devices and loads what is needed, without opening a stream. Blocking: call it in a thread.

    Args:
        audio: The devices that the user chose.
        report: Called with problems.
        has_keys: Whether the user has a keyboard and a screen, which the messages speak of.

    Raises:
        DeviceError: PortAudio or the device is missing.
        EchoUnavailable: `audio.echo` is "cancel" and the extra is missing.
    """
    devices = list_devices()
    directions: tuple[Direction, ...] = ("input", "output")
    lacking = frozenset(each for each in directions if not any(device.channels(each) for device in devices))
    echo, chosen, canceller = _no_echo() if lacking else _echo(audio, _HALF_WITH_KEYS if has_keys else _HALF)
    return Cards(
        CardMicrophone(audio.input, report=report, clean=echo),
        NoSpeaker() if "output" in lacking else CardSpeaker(audio.output, report=report, echo_reference=echo),
        chosen.detail,
        (
            chosen,
            _chosen_device(devices, audio.input, "input", lacking, "type instead" if has_keys else _CONNECT),
            _chosen_device(devices, audio.output, "output", lacking, _AS_TEXT if has_keys else _CONNECT),
        ),
        devices,
        canceller,
        chosen.name == "half-duplex",
        lacking=lacking,
        _has_keys=has_keys,
    )


def _chosen_device(
    devices: Sequence[Device], device_name: str, direction: Direction, lacking: frozenset[Direction], instead: str
) -> EngineChoice:
    """Returns the device for the table, or what the user does instead. Raises DeviceError."""
    stage = "microphone" if direction == "input" else "speaker"
    if direction in lacking and not device_name:
        return EngineChoice(stage, "none", instead, "none was found", False, 0.0)
    device = pick(devices, device_name, direction)
    return EngineChoice(stage, device.name, device.host_api, _why(device_name), False, 0.0)


def shown(opened: Opened) -> str:
    """Returns one open stream in a line."""
    return (
        f"{opened.device}, {opened.host_api}, {opened.rate_hz / 1000:g} kHz, blocks of {opened.block_ms:.0f} ms, "
        f"latency {opened.latency_ms:.0f} ms"
    )


def chime(*, falling: bool = False) -> Pcm:
    """Returns the ready sound: two soft tones, the second higher, or lower if it falls. int16 at 24 kHz."""
    at_s = np.arange(round(_CHIME_S * REPLY_RATE_HZ)) / REPLY_RATE_HZ
    shape = np.sin(math.pi * at_s / _CHIME_S) ** 2
    tones = [np.sin(2 * math.pi * hertz * at_s) * shape for hertz in sorted(_CHIME_HZ, reverse=falling)]
    pcm: Pcm = np.rint(np.concatenate(tones) * _CHIME_LEVEL * 32767).astype(np.int16)
    return pcm


def _echo(audio: DeviceChoices, half_duplex: str) -> "tuple[Echo | None, EngineChoice, EchoCanceller | None]":
    from audio.echo.half_duplex import HalfDuplex  # noqa: PLC0415 - imports only numpy

    if audio.echo == "headphones":
        return None, _chosen_echo("headphones", "no echo control: wear headphones", "as configured"), None
    if audio.echo == "half-duplex":
        return HalfDuplex(), _chosen_echo("half-duplex", half_duplex, "as configured"), None
    try:
        from audio.echo.canceller import EchoCanceller  # noqa: PLC0415 - loads a library of 10 MB

        canceller = EchoCanceller()
    except EchoUnavailable as error:
        if audio.echo == "cancel":
            raise
        why = f"instead of cancel, because {error}"
        return HalfDuplex(), _chosen_echo("half-duplex", half_duplex, why, fallback=True), None
    why = "as configured" if audio.echo == "cancel" else "auto: its library is installed"
    return canceller, _chosen_echo("cancel", "the reply is removed from the microphone's signal", why), canceller


def _no_echo() -> "tuple[Echo | None, EngineChoice, EchoCanceller | None]":
    return None, _chosen_echo("none", "no echo without a microphone and a loudspeaker", "no device"), None


def _chosen_echo(name: str, detail: str, why: str, *, fallback: bool = False) -> EngineChoice:
    return EngineChoice("echo", name, detail, why, fallback, 0.0)


_HALF = "the microphone is off while a reply plays"
_HALF_WITH_KEYS = f"{_HALF}: interrupt with a key"


def _is_same(device: Device, opened: Opened | None) -> bool:
    return opened is not None and (device.name, device.host_api) == (opened.device, opened.host_api)


def _why(device_name: str) -> str:
    return "as configured" if device_name else "the system's default"
