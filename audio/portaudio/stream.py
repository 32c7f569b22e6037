"""Opens a PortAudio stream with its host API's parameters. Called only in PortAudio's thread."""

from typing import Any

from audio.card.stream import CardStream, L, Make, Opened, StreamRequest
from audio.device import Device
from audio.portaudio.host_apis import parameters_of


def started(
    library: Any, wish: StreamRequest, device: Device, make: Make[L], *, rate_hz: int, channels: int
) -> CardStream[L]:
    """Opens and starts a stream. Raises what the library raises."""
    parameters = parameters_of(device.host_api, device.name)
    inward = wish.direction == "input"
    block_ms = parameters.input_block_ms if inward else parameters.output_block_ms
    latency_ms = max(parameters.input_latency_ms if inward else parameters.output_latency_ms, wish.buffer_ms)
    lanes: list[L] = []  # filled before `start`, which triggers the first callback

    def callback(data: Any, frames: int, times: Any, flags: Any) -> None:
        first_s = times.inputBufferAdcTime if inward else times.outputBufferDacTime
        flagged = bool(flags.input_overflow if inward else flags.output_underflow)
        lanes[0].block(data, frames, times.currentTime, first_s, flagged=flagged)

    def ended() -> None:
        for lane in lanes:
            lane.ended()

    kind = library.RawInputStream if inward else library.RawOutputStream
    handle = kind(
        samplerate=rate_hz,
        blocksize=round(rate_hz * block_ms / 1000),
        device=device.index,
        channels=channels,
        dtype="int16",
        latency=latency_ms / 1000 or "low",
        callback=callback,
        finished_callback=ended,
    )
    opened = Opened(device.name, device.host_api, rate_hz, block_ms, round(handle.latency * 1000, 1))
    lanes.append(make(opened, channels))
    try:
        handle.start()
    except library.PortAudioError:
        handle.close()
        raise
    return CardStream(opened, device, lanes[0], handle)
