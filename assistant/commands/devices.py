"""Implements `repartee devices`: lists the sound devices and tests them."""

import asyncio
import json
import math
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from audio.card.microphone import CardMicrophone
from audio.card.speaker import CardSpeaker
from audio.devices import Device, Direction, list_devices, noun, pick
from audio.noisy_libraries import hushed
from audio.sound_id import NamedSound
from audio.units import REPLY_RATE_HZ, Pcm

METER_FLOOR_DBFS = -60.0
METER_CELLS = 40
_METER_EVERY_S = 0.1

_TONE_HZ = (440.0, 660.0)
_TONE_DBFS = -20.0
_TONE_NOTE_S = 0.4
_TONE_FADE_S = 0.02
_TONE_LIMIT_S = 10.0
"""Longest time in s to play two short notes; after that the loudspeaker does not work."""


@dataclass(frozen=True, slots=True)
class DevicesOptions:
    """Options of the command.

    Attributes:
        input: The microphone; see `audio.devices.pick`.
        output: The loudspeaker.
        meter_s: Seconds to show the microphone's level; None: not at all.
        tone: Whether to play two notes.
        as_json: Whether to print everything as one JSON object.
    """

    input: str = ""
    output: str = ""
    meter_s: float | None = None
    tone: bool = False
    as_json: bool = False


def devices(options: DevicesOptions, console: Console) -> int:
    """Runs the command. Returns the exit status: 1 if there is no device.

    Raises DeviceError if the library is missing, or a requested device does not exist or cannot be opened.
    """
    with hushed():
        devices = list_devices()
        reported: dict[str, object] = {"devices": [asdict(device) for device in devices]}
        seen = Console(quiet=True) if options.as_json else console
        show(devices, seen)
        if devices and options.input:
            pick(devices, options.input, "input")
        if devices and options.output:
            pick(devices, options.output, "output")
        if devices and options.meter_s is not None:
            reported["meter"] = asyncio.run(_meter(options.input, options.meter_s, seen))
        if devices and options.tone:
            reported["tone"] = asyncio.run(_play_tone(options.output, seen))
        if options.as_json:
            console.print_json(json.dumps(reported), ensure_ascii=True)
    return 0 if devices else 1


def show(devices: Sequence[Device], console: Console) -> None:
    """Prints the tables of both directions."""
    if not devices:
        console.print(
            "no device: no microphone and no loudspeaker was found. Plug one in, or start the sound server "
            "(PulseAudio or PipeWire). The demo and the web page work without them.",
            soft_wrap=True,
        )
        return
    for direction in ("input", "output"):
        console.print(_table(devices, direction))
        console.print()


def _table(devices: Sequence[Device], direction: Direction) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in (f"{noun(direction)}s", "", "host API", "channels", "rate", "latency"):
        table.add_column(heading, overflow="fold")
    able = [device for device in devices if device.channels(direction) > 0]
    for device in able:
        latency_s = device.low_input_latency_s if direction == "input" else device.low_output_latency_s
        table.add_row(
            Text(f"{device.index} {device.name}"),
            "default" if device.is_default(direction) else "",
            device.host_api,
            str(device.channels(direction)),
            f"{device.default_rate_hz} Hz",
            f"{latency_s * 1000:.0f} ms",
        )
    if not able:
        table.add_row("none")
    return table


async def _meter(device_name: str, seconds: float, console: Console) -> dict[str, object]:
    """Shows the level for some seconds and prints the verdict. Returns the results for JSON."""
    troubles = _Reports(console)
    microphone = CardMicrophone(device_name, report=troubles.add_line)
    loop = asyncio.get_running_loop()
    loudest_dbfs, until_s, shown_s, opened = -math.inf, loop.time() + seconds, 0.0, ""
    with Live(console=console, auto_refresh=False, transient=True) as live:
        async with aclosing(microphone.frames()) as frames:
            async for _ in frames:
                now_s = loop.time()
                if now_s >= until_s:
                    break
                if now_s - shown_s < _METER_EVERY_S:
                    continue
                shown_s = now_s
                loudest_dbfs = max(loudest_dbfs, microphone.level_dbfs)
                opened = opened if microphone.opened is None else microphone.opened.device
                live.update(Text(f"{meter(microphone.level_dbfs)}  {opened}"), refresh=True)
    message = verdict(loudest_dbfs, microphone.overflows)
    console.print(message, soft_wrap=True)
    return {
        "device": opened,
        "loudest_dbfs": None if loudest_dbfs == -math.inf else round(loudest_dbfs, 1),
        "overflows": microphone.overflows,
        "verdict": message,
        "troubles": troubles.reported,
    }


def meter(level_dbfs: float) -> str:
    """Returns a bar from -60 dBFS to full scale, and the level."""
    share = 1 - max(METER_FLOOR_DBFS, min(0.0, level_dbfs)) / METER_FLOOR_DBFS
    cells = round(share * METER_CELLS)
    figure = "silence" if level_dbfs <= METER_FLOOR_DBFS else f"{level_dbfs:.0f} dBFS"
    return f"{'█' * cells}{'·' * (METER_CELLS - cells)} {figure}"


def verdict(loudest_dbfs: float, overflows: int) -> str:
    """Returns what the levels say about the microphone."""
    times = "once" if overflows == 1 else f"{overflows} times"
    lost = f" Sound was lost {times}, because the machine is busy." if overflows else ""
    if loudest_dbfs <= METER_FLOOR_DBFS:
        return f"No sound arrived: the microphone is muted, or it is the wrong one (choose with --input).{lost}"
    if loudest_dbfs < -45:
        return f"Loudest: {loudest_dbfs:.0f} dBFS. That is quiet: raise the microphone's level, or move nearer.{lost}"
    if loudest_dbfs > -3:
        return f"Loudest: {loudest_dbfs:.0f} dBFS. That is too loud: lower the microphone's level.{lost}"
    return f"Loudest: {loudest_dbfs:.0f} dBFS. That is fine.{lost}"


async def _play_tone(device_name: str, console: Console) -> dict[str, object]:
    """Plays two notes to the last sample and names the device. Returns the results for JSON."""
    troubles = _Reports(console)
    speaker = CardSpeaker(device_name, report=troubles.add_line)
    ended, sound_id = asyncio.Event(), NamedSound("note")

    def played(_sound: object, _total: int, _leaves_at_s: float, finished: bool) -> None:
        if finished:
            ended.set()

    speaker.on_played = played
    async with asyncio.TaskGroup() as tasks:
        card = tasks.create_task(speaker.run(), name="speaker")
        speaker.open(sound_id)
        async with asyncio.timeout(_TONE_LIMIT_S):
            await speaker.play_chunk(sound_id, tone())
            speaker.end(sound_id)
            await ended.wait()
            opened = speaker.opened
            await asyncio.sleep(speaker.latency_s + _TONE_FADE_S)
        card.cancel()
    message = "The loudspeaker was disconnected before the notes were played."
    if opened is not None:
        message = (
            f'Two notes were played on "{opened.device}" ({opened.host_api}, {opened.rate_hz} Hz, '
            f"{speaker.latency_s * 1000:.0f} ms). If you heard none, its volume is too low, or it is the wrong one "
            "(choose with --output)."
        )
    console.print(message, soft_wrap=True)
    return {
        "device": "" if opened is None else opened.device,
        "verdict": message,
        "troubles": troubles.reported,
    }


@dataclass(frozen=True, slots=True)
class _Reports:
    """Shows and stores the reports of a sound card."""

    console: Console
    reported: list[str] = field(default_factory=list)

    def add_line(self, what: str) -> None:
        self.console.print(what)
        self.reported.append(what)


def tone() -> Pcm:
    """Returns two notes, faded in and out, int16 at 24 kHz."""
    samples = round(_TONE_NOTE_S * REPLY_RATE_HZ)
    at_s = np.arange(samples) / REPLY_RATE_HZ
    edge = np.minimum(1, np.minimum(at_s, at_s[::-1]) / _TONE_FADE_S)
    loudness = 10 ** (_TONE_DBFS / 20) * math.sqrt(2) * 32_767
    notes = [np.sin(2 * math.pi * hz * at_s) * edge * loudness for hz in _TONE_HZ]
    return np.rint(np.concatenate(notes)).astype(np.int16)
