"""The sound card of `repartee talk`: microphone, loudspeaker, and what keeps the one from hearing the other."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assistant.commands.talk.controls import NOT_YET, DeviceChoice
from assistant.config.talk_settings import AudioSection
from assistant.pipeline.engines import EngineChoice
from audio.card.microphone import CardMicrophone, FrameCleaner
from audio.card.speaker import CardSpeaker, EchoReference
from audio.card.stream import Opened
from audio.devices import Device, Direction, list_devices, pick
from audio.errors import EchoUnavailable
from audio.units import REPLY_RATE_HZ, Pcm, Samples, ms_of_samples

if TYPE_CHECKING:
    from audio.echo.canceller import EchoCanceller

CLOSE_TIMEOUT_S = 1.0

CANCELED_INTERRUPT_AFTER_MS = 300.0
"""With a canceller voice must be sure for so long before it takes the floor: what is left of an echo is taken for a
voice for 100 to 200 ms now and then, which only ducks the reply. docs/echo.md is measured with it."""

_CHIME_HZ = (660.0, 990.0)
_CHIME_S = 0.09
_CHIME_LEVEL = 0.08  # of full scale, -22 dBFS: there, and not in the way


class Echo(FrameCleaner, EchoReference, Protocol):
    """Hears what goes to the loudspeaker, and takes it out of the microphone's sound."""


@dataclass(slots=True)
class Cards:
    """Both, and what is known of them. Lives on the event loop.

    Attributes:
        echo: What keeps the reply out of the microphone, in one line.
        chosen: The same, and the devices, for the table and the trace.
    """

    microphone: CardMicrophone
    speaker: CardSpeaker
    echo: str
    chosen: tuple[EngineChoice, ...]
    _devices: tuple[Device, ...]
    _canceller: "EchoCanceller | None" = None
    _was_open: set[Direction] = field(default_factory=set)

    async def use(self, direction: Direction, name: str) -> None:
        """Another device. Raises DeviceError and keeps the old one."""
        card = self.microphone if direction == "input" else self.speaker
        await card.use(name)

    async def look(self) -> None:
        """List the devices again."""
        self._devices = await asyncio.to_thread(list_devices)

    @property
    def ready(self) -> bool:
        """Both streams are open, but for a microphone that is meant to be closed: push-to-talk, and nobody presses."""
        return self.speaker.opened is not None and (self.microphone.opened is not None or self.microphone.muted)

    def choices(self) -> Sequence[DeviceChoice]:
        """The devices, as last listed."""
        used = {"input": self.microphone.opened, "output": self.speaker.opened}
        directions: tuple[Direction, ...] = ("input", "output")
        return [
            DeviceChoice(direction, device.full_name, _is_it(device, used[direction]))
            for direction in directions
            for device in self._devices
            if device.channels(direction)
        ]

    def line(self, direction: Direction) -> str:
        """The device in one line, or why there is none."""
        card = self.microphone if direction == "input" else self.speaker
        if card.opened is not None:
            self._was_open.add(direction)
            return shown(card.opened)
        if direction == "input" and self.microphone.muted:
            return "closed"
        return "gone; it is taken up again when it is back" if direction in self._was_open else NOT_YET

    def in_use(self) -> dict[str, str]:
        """The devices by name, for the trace: at this moment, also after a switch."""
        microphone, speaker = self.microphone.opened, self.speaker.opened
        without = "closed" if self.microphone.muted else "gone"
        return {
            "microphone": without if microphone is None else microphone.device,
            "speaker": "gone" if speaker is None else speaker.device,
        }

    @property
    def latency_ms(self) -> float:
        """What both take of an answer's time, as last told: from a sound to its coming, and from going to leaving."""
        return (self.microphone.lag_s + self.speaker.latency_s) * 1000

    @property
    def interrupt_after_ms(self) -> float:
        """The least voice that may interrupt a reply, for what of it comes back through this card."""
        return 0.0 if self._canceller is None else CANCELED_INTERRUPT_AFTER_MS

    def counts(self) -> dict[str, int]:
        """What was lost, for the screen."""
        return {
            "underruns": self.speaker.counts.underruns,
            "overflows": self.microphone.overflows,
            "underflows": self.speaker.underflows,
        }

    def facts(self) -> dict[str, int]:
        """The same for the trace, with what tells how well the clocks of both cards are known."""
        facts = {
            **self.counts(),
            "unheard_ms": round(self.speaker.silent_samples * 1000 / REPLY_RATE_HZ),
            "microphone_latency_ms": round(self.microphone.lag_s * 1000),
            "speaker_latency_ms": round(self.speaker.latency_s * 1000),
        }
        if self._canceller is not None:
            reference = self._canceller.reference
            facts |= {
                "echo_lead_ms": round(self._canceller.delay_ms),
                "echo_gaps": reference.gaps,
                "echo_steps": reference.steps,
                "echo_late_ms": round(ms_of_samples(Samples(reference.late_samples))),
            }
        return facts

    async def aclose(self) -> None:
        """Close both, within a limit."""
        for card in (self.microphone, self.speaker):
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await card.aclose()
            except TimeoutError:
                continue  # a sound server that hangs: the program ends without it


def open_cards(audio: AudioSection, duck_db: float, report: Callable[[str], None]) -> Cards:
    """Look at the devices and load what is needed. Blocks: call it in a thread. Nothing is opened yet.

    Raises:
        DeviceError: There is no PortAudio, or no such device.
        EchoUnavailable: `audio.echo` is "cancel" and the extra is missing.
    """
    devices = list_devices()
    microphone, speaker = pick(devices, audio.input, "input"), pick(devices, audio.output, "output")
    echo, chosen, canceller = _echo(audio)
    return Cards(
        CardMicrophone(audio.input, report=report, clean=echo),
        CardSpeaker(audio.output, report=report, duck_db=duck_db, heard=echo),
        chosen.detail,
        (
            chosen,
            EngineChoice("microphone", microphone.name, microphone.host_api, _why(audio.input), False, 0.0),
            EngineChoice("speaker", speaker.name, speaker.host_api, _why(audio.output), False, 0.0),
        ),
        devices,
        canceller,
    )


def shown(opened: Opened) -> str:
    """One open stream in a line."""
    return (
        f"{opened.device}, {opened.host_api}, {opened.rate_hz / 1000:g} kHz, blocks of {opened.block_ms:.0f} ms, "
        f"latency {opened.latency_ms:.0f} ms"
    )


def chime() -> Pcm:
    """Two soft tones, the second higher: it listens."""
    at_s = np.arange(round(_CHIME_S * REPLY_RATE_HZ)) / REPLY_RATE_HZ
    shape = np.sin(math.pi * at_s / _CHIME_S) ** 2
    tones = [np.sin(2 * math.pi * hertz * at_s) * shape for hertz in _CHIME_HZ]
    pcm: Pcm = np.rint(np.concatenate(tones) * _CHIME_LEVEL * 32767).astype(np.int16)
    return pcm


def _echo(audio: AudioSection) -> "tuple[Echo | None, EngineChoice, EchoCanceller | None]":
    from audio.echo.half_duplex import HalfDuplex  # noqa: PLC0415 - with numpy only, and on use

    if audio.echo == "headphones":
        return None, _chosen_echo("headphones", "nothing is taken out: wear headphones", "as configured"), None
    if audio.echo == "half-duplex":
        return HalfDuplex(), _chosen_echo("half-duplex", _HALF, "as configured"), None
    try:
        from audio.echo.canceller import EchoCanceller  # noqa: PLC0415 - loads a library of 10 MB

        canceller = EchoCanceller()
    except EchoUnavailable as error:
        if audio.echo == "cancel":
            raise
        why = f"in place of canceling: {error}"
        return HalfDuplex(), _chosen_echo("half-duplex", _HALF, why, fallback=True), None
    why = "as configured" if audio.echo == "cancel" else "auto: its library is at hand"
    return canceller, _chosen_echo("cancel", "the reply is taken out of the microphone's sound", why), canceller


def _chosen_echo(name: str, detail: str, why: str, *, fallback: bool = False) -> EngineChoice:
    return EngineChoice("echo", name, detail, why, fallback, 0.0)


_HALF = "the microphone is silent while a reply sounds: interrupt with a key"


def _is_it(device: Device, opened: Opened | None) -> bool:
    return opened is not None and (device.name, device.host_api) == (opened.device, opened.host_api)


def _why(wanted: str) -> str:
    return "as configured" if wanted else "the system's default"
