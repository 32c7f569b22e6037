"""Parts that replace hardware and servers in a program whose screen is tested; each is given to `Terminal` by name."""

import os
import sys
import threading
import time
from typing import Any

import numpy as np
from support.sound.fake_sounddevice import FakeSounddevice, FakeStream

LEVEL_DBFS = -26.0


class _Stream(FakeStream):
    """A stream that calls back in real time: a tone from the microphone, and a loudspeaker that plays."""

    overflows = False

    def start(self) -> None:
        super().start()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        frames, channels = self.asked["blocksize"], self.asked["channels"]
        period_s = frames / self.asked["samplerate"]
        at = np.arange(frames * channels)
        loud = 10 ** (LEVEL_DBFS / 20) * 2**0.5 * 32_767
        tone = np.rint(np.sin(2 * np.pi * at * 0.05) * loud).astype("<i2").tobytes()
        quiet = "QUIET_MICROPHONE" in os.environ
        data: Any = (bytes(len(tone)) if quiet else tone) if self.kind == "input" else bytearray(2 * frames * channels)
        next_s = time.monotonic()
        while not self.closed:
            self.call(data, frames)
            next_s += period_s
            time.sleep(max(0.0, next_s - time.monotonic()))


class _Sounddevice(FakeSounddevice):
    def RawInputStream(self, **asked: Any) -> FakeStream:  # noqa: N802
        return _Stream(self, "input", **asked)

    def RawOutputStream(self, **asked: Any) -> FakeStream:  # noqa: N802
        return _Stream(self, "output", **asked)


def with_cards() -> None:
    """Gives the program a microphone and a loudspeaker."""
    module: Any = _Sounddevice(("Built-in Audio Analog Stereo", "Windows WASAPI", 2, 2, 48_000))
    sys.modules["sounddevice"] = module
    # The process that lists devices would find those of the machine.
    from audio.portaudio import device_watcher  # noqa: PLC0415
    from audio.portaudio.listing import listed  # noqa: PLC0415

    setattr(device_watcher.DeviceWatcher, "look", lambda _self: listed(module))  # noqa: B010


def with_slow_hub() -> None:
    """Lets `models pull` download one megabyte in half a second, from no network."""
    from pathlib import Path  # noqa: PLC0415
    from types import SimpleNamespace  # noqa: PLC0415

    from assistant.models import pull  # noqa: PLC0415

    place: list[Path] = []

    def fetch(_client: object, _model: object, offer: Any, on_bytes: Any) -> None:
        for _ in range(10):
            time.sleep(0.05)
            on_bytes(offer.size_bytes // 10)
        place.append(Path("models/model.onnx"))

    offer = SimpleNamespace(size_bytes=1_000_000, commit="0" * 40)
    for name, value in {
        "offers": lambda *_: [offer],
        "_fetch_file": fetch,
        "_record_revision": lambda *_: None,
        "installed": lambda _: place[0] if place else None,
    }.items():
        setattr(pull, name, value)


def with_few_checks() -> None:
    """Leaves out the sections of `doctor` that load packages and engines: six seconds of processor time."""
    from assistant.commands.doctor import command  # noqa: PLC0415
    from assistant.commands.doctor.report import ReportSection  # noqa: PLC0415

    async def empty(*_given: object) -> ReportSection:
        return ReportSection("empty", "Empty", ())

    for name in ("versions", "devices", "engines"):
        setattr(command, name, empty)


def with_speaker_embedder() -> None:
    """Gives `voices add` a small network, a microphone, and three seconds of recording, all of it speech."""
    from dataclasses import dataclass  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from support.models.synthetic_speaker_embedder import spectrum_network  # noqa: PLC0415

    from assistant.commands.voices import adding  # noqa: PLC0415
    from assistant.enrolment import recording  # noqa: PLC0415
    from audio.units import Samples  # noqa: PLC0415
    from audio.vad import VadResult  # noqa: PLC0415

    @dataclass
    class AllIsSpeech:
        name: str = "all"
        end_bias_ms: float = 0.0

        def process(self, _frame: Any) -> VadResult:
            return VadResult(speaking=True, boundary=Samples(0), probability=1.0)

        def reset(self) -> None:
            pass

    with_cards()
    network = Path(os.environ["HOME"]).parent / "embedder.onnx"
    network.write_bytes(spectrum_network())
    setattr(adding, "installed", lambda _model: network)  # noqa: B010
    setattr(adding, "spare_vad", AllIsSpeech)  # noqa: B010
    setattr(adding, "RECORD_S", 3.0)  # noqa: B010
    setattr(recording, "MIN_SPEECH_S", 2.0)  # noqa: B010
