"""Stream parameters of each host API: block, latency, rate. Pure: one table with reasons."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PREFERRED = ("Windows WASAPI", "Core Audio", "PulseAudio", "ALSA", "Windows DirectSound", "MME", "Windows WDM-KS")
"""Order of host APIs whose default device is used. On Windows, PortAudio itself prefers MME, the slowest of four."""

_ALSA_CARD = "hw:"
"""Marks hardware devices: PortAudio names them "HDA Intel: ALC (hw:0,0)". All other ALSA devices are plug-ins."""


@dataclass(frozen=True, slots=True)
class StreamParameters:
    """Parameters for opening a stream.

    Attributes:
        input_block_ms: Interval of the microphone's callback. A frame has 20 ms: shorter has no advantage.
        input_latency_ms: Requested buffer; 0: the device's low latency.
        output_block_ms: Interval of the loudspeaker's callback: the longest delay of a duck or a close.
        output_latency_ms: Requested buffer; 0: the device's low latency.
        own_rate: Whether the device's own rate is tried first, with resampling here; else our rate.
        moves_streams: Whether the system itself moves streams to a new default device.
        why: The reason for these values.
    """

    input_block_ms: float
    input_latency_ms: float
    output_block_ms: float
    output_latency_ms: float
    own_rate: bool
    moves_streams: bool
    why: str


_PLUG_IN = StreamParameters(
    20,
    40,
    10,
    40,
    own_rate=False,
    moves_streams=True,
    why="a sound server resamples; below 40 ms it underflows (measured)",
)
_CARD = StreamParameters(
    10, 30, 10, 30, own_rate=True, moves_streams=False, why="few cards know 16 kHz; three periods survive a busy core"
)
_OTHER = StreamParameters(
    20, 0, 10, 0, own_rate=True, moves_streams=False, why="not known: the device's own proposals are taken"
)

PARAMETERS: Mapping[str, StreamParameters] = MappingProxyType(
    {
        "ALSA": _CARD,
        "ALSA plug-in": _PLUG_IN,
        "PulseAudio": _PLUG_IN,
        "OSS": StreamParameters(
            20, 0, 20, 0, own_rate=True, moves_streams=False, why="old: it supports only its own fragment sizes"
        ),
        "Core Audio": StreamParameters(
            10, 0, 10, 0, own_rate=True, moves_streams=False, why="a low latency that holds; another rate would be set"
        ),
        "Windows WASAPI": StreamParameters(
            10, 0, 10, 0, own_rate=True, moves_streams=False, why="shared mode: 10 ms periods, the mixer's rate only"
        ),
        "Windows WDM-KS": StreamParameters(
            10, 0, 10, 0, own_rate=True, moves_streams=False, why="the driver itself: its rate, its periods"
        ),
        "Windows DirectSound": StreamParameters(
            20, 60, 20, 60, own_rate=False, moves_streams=False, why="polled by a timer: below 60 ms it crackles"
        ),
        "MME": StreamParameters(
            20, 90, 20, 90, own_rate=False, moves_streams=False, why="the oldest: several buffers, or it crackles"
        ),
        "JACK Audio Connection Kit": StreamParameters(
            10, 0, 10, 0, own_rate=True, moves_streams=True, why="its server sets rate and period for everybody"
        ),
    }
)


def parameters_of(host_api: str, device: str) -> StreamParameters:
    """Returns the parameters for a device and host API, both named as by PortAudio."""
    if host_api == "ALSA" and _ALSA_CARD not in device:
        return PARAMETERS["ALSA plug-in"]
    return PARAMETERS.get(host_api, _OTHER)


def rates_of(parameters: StreamParameters, ours_hz: int, own_hz: int) -> tuple[int, ...]:
    """Returns the rates to try, in order. `ours_hz`: our rate; `own_hz`: the device's default rate."""
    first = (own_hz, ours_hz) if parameters.own_rate else (ours_hz, own_hz)
    return tuple(dict.fromkeys(rate for rate in (*first, 48_000, 44_100) if rate > 0))
