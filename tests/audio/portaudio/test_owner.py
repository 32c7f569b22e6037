"""The PortAudio owner with a scripted sounddevice module, and the device watcher process."""

import asyncio
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from typing import Any

import pytest
from support.sound.fake_sounddevice import FakeSounddevice, PortAudioError

import audio.portaudio.owner
from audio.card.stream import Opened, StreamRequest
from audio.device import Device
from audio.errors import DeviceError
from audio.portaudio import device_watcher_process
from audio.portaudio.device_watcher import DeviceWatcher
from audio.portaudio.listing import as_facts, from_facts, listed, load
from audio.portaudio.owner import PortAudio

DESK = ("desk (hw:0,0)", "ALSA", 1, 2, 44_100)
USB = ("usb (hw:1,0)", "ALSA", 1, 2, 48_000)


class FakeWatcher(DeviceWatcher):
    """Lists scripted devices and counts the calls."""

    def __init__(self, module: FakeSounddevice) -> None:
        super().__init__()
        self.looks = 0
        self.hidden: set[str] = set()
        self._module = module

    def look(self) -> tuple[Device, ...]:
        self.looks += 1
        return listed(FakeSounddevice(*(one for one in self._module.plugged if one[0] not in self.hidden)))


class RecordingCallback:
    """A stream callback that records its calls."""

    def __init__(self, opened: Opened, channels: int) -> None:
        self.last_s = 0.0
        self.finished = False
        self.opened = opened
        self.channels = channels
        self.blocks: list[tuple[int, float, float, bool]] = []

    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        self.blocks.append((frames, card_s, first_s, flagged))

    def ended(self) -> None:
        self.finished = True


class Owner:
    def __init__(self, module: FakeSounddevice) -> None:
        self.module = module
        self.lookout = FakeWatcher(module)
        self.portaudio = PortAudio(self.lookout)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Generator[Owner]:
    module = FakeSounddevice(DESK)
    monkeypatch.setattr(audio.portaudio.owner, "load", lambda: module)
    monkeypatch.setattr("atexit.register", lambda _: None)
    monkeypatch.setattr(audio.portaudio.owner, "LIMIT_S", 0.5)
    made = Owner(module)
    yield made
    module.hanging.set()
    made.portaudio.leave()
    assert module.streams == []


IN, OUT = StreamRequest("input", "", 16_000), StreamRequest("output", "", 24_000)


async def test_stream_is_opened_with_parameters_of_host_api(owner: Owner) -> None:
    stream = await owner.portaudio.open(IN, RecordingCallback)
    assert stream.opened == Opened("desk (hw:0,0)", "ALSA", 44_100, 10, 25.0)
    asked = stream.handle.asked
    assert (asked["blocksize"], asked["latency"], asked["dtype"], asked["device"]) == (441, 0.03, "int16", 0)
    longer = await owner.portaudio.open(StreamRequest("output", "", 24_000, buffer_ms=80.0), RecordingCallback)
    assert longer.handle.asked["latency"] == 0.08
    stream.handle.call(bytes(882), 441)
    assert stream.lane.blocks == [(441, 1.0, 0.9, True)]
    speaker = await owner.portaudio.open(OUT, RecordingCallback)
    speaker.handle.call(bytearray(882), 441)
    assert speaker.lane.blocks == [(441, 1.0, 1.1, False)]
    await owner.portaudio.close(stream)
    assert stream.lane.finished
    assert stream.handle.closed
    assert not speaker.handle.closed
    assert owner.module.threads == {"portaudio"}


async def test_rates_and_channels_are_tried_until_one_works(owner: Owner) -> None:
    def refuse(asked: dict[str, Any]) -> Exception | None:
        if asked["samplerate"] != 48_000:
            return PortAudioError("no", -9997)
        return PortAudioError("no", -9998) if asked["channels"] == 1 else None

    owner.module.refuse = refuse
    stream = await owner.portaudio.open(OUT, RecordingCallback)
    assert (stream.opened.rate_hz, stream.lane.channels) == (48_000, 2)
    assert owner.module.attempts == [(44_100, 1), (44_100, 2), (24_000, 1), (24_000, 2), (48_000, 1), (48_000, 2)]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PortAudioError("Device unavailable", -9985), "is busy: another program uses it"),
        (PortAudioError("x", -9999, (0, -16, "Device or resource busy")), "is busy"),
        (
            PortAudioError("Invalid sample rate", -9997),
            r"accepts none of the sample rates 44100 Hz, 24000 Hz, 48000",
        ),
        (
            PortAudioError("x", -9999, (0, -5, "Input/output error")),
            r"cannot be opened \(Input/output error\): check that",
        ),
        (PortAudioError("Invalid device", -9996), "is gone"),
        (RuntimeError("odd"), "the sound system failed"),
    ],
    ids=["device unavailable", "resource busy", "invalid rate", "input/output error", "invalid device", "other error"],
)
async def test_failure_is_reported(owner: Owner, error: Exception, message: str) -> None:
    owner.module.refuse = lambda _: error
    with pytest.raises(DeviceError, match=message):
        await owner.portaudio.open(OUT, RecordingCallback)


async def test_new_device_is_listed_and_other_stream_interrupted(owner: Owner) -> None:
    stream = await owner.portaudio.open(IN, RecordingCallback)
    with pytest.raises(DeviceError, match='no loudspeaker is called "usb"'):
        await owner.portaudio.open(StreamRequest("output", "usb", 24_000), RecordingCallback)
    assert not stream.handle.closed  # nothing new: the stream stays open
    owner.module.plugged.append(USB)
    assert [device.name for device in await owner.portaudio.look()] == [DESK[0], USB[0]]
    assert not stream.handle.closed
    found = await owner.portaudio.open(StreamRequest("output", "usb", 24_000), RecordingCallback)
    assert found.opened.device == USB[0]
    assert stream.interrupted
    assert stream.lane.finished
    again = await owner.portaudio.open(IN, RecordingCallback)
    assert not found.lane.finished
    assert not again.interrupted


async def test_fresh_listing_without_changes_interrupts_no_stream(owner: Owner) -> None:
    stream = await owner.portaudio.open(IN, RecordingCallback)
    await owner.portaudio.open(StreamRequest("output", "", 24_000, fresh=True), RecordingCallback)
    assert owner.lookout.looks == 1
    assert not stream.interrupted


async def test_call_to_hanging_sound_system_times_out(owner: Owner) -> None:
    stream = await owner.portaudio.open(IN, RecordingCallback)
    owner.module.hanging.clear()
    with pytest.raises(DeviceError, match="has not answered for"):
        await owner.portaudio.close(stream)
    late = owner.portaudio.open(OUT, RecordingCallback)
    with pytest.raises(DeviceError, match="has not answered for"):
        await late
    owner.module.hanging.set()
    await owner.portaudio.look()
    await owner.portaudio.look()
    assert owner.module.streams == []  # the late stream was closed again


async def test_expired_calls_are_skipped_after_hang(owner: Owner) -> None:
    """A supervisor retries every few seconds; after a hang only one stream is wanted, not one per attempt."""
    stream = await owner.portaudio.open(OUT, RecordingCallback)
    owner.module.hanging.clear()
    closing = owner.portaudio.close(stream)
    openings = [owner.portaudio.open(OUT, RecordingCallback) for _ in range(6)]
    with pytest.raises(DeviceError, match="has not answered for"):
        await closing
    for opening in openings:
        with pytest.raises(DeviceError, match="has not answered for"):
            await opening
    before = len(owner.module.attempts)
    owner.module.hanging.set()
    await owner.portaudio.look()
    assert stream.handle.closed  # a close is executed even if it is late
    assert len(owner.module.attempts) == before
    assert owner.module.streams == []


async def test_card_that_requires_all_channels_is_opened(owner: Owner) -> None:
    """As microphone arrays do in the shared mode of Windows."""
    owner.module.plugged[:] = [("array", "Windows WASAPI", 6, 0, 48_000)]
    owner.module.refuse = lambda asked: PortAudioError("no", -9998) if asked["channels"] != 6 else None
    await owner.portaudio.look()
    await owner.portaudio.look()
    stream = await owner.portaudio.open(IN, RecordingCallback)
    assert (stream.opened.rate_hz, stream.lane.channels) == (48_000, 6)


async def test_library_is_initialized_again_after_failure(owner: Owner) -> None:
    begin = owner.module._initialize
    await owner.portaudio.look()

    def fails() -> None:
        raise PortAudioError("Internal error", -9986)

    owner.module._initialize = fails  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match="the sound system failed"):
        await owner.portaudio.look()
    owner.module._initialize = begin  # type: ignore[method-assign]
    assert len(await owner.portaudio.look()) == 1
    await owner.portaudio.look()
    assert owner.module._initialized == 1


async def test_card_missing_in_list_because_in_use_is_no_change(owner: Owner) -> None:
    """ALSA lists only devices that can be opened: another process does not see cards that we hold."""
    owner.module.plugged[:] = [USB, DESK]
    await owner.portaudio.look()
    await owner.portaudio.look()
    stream = await owner.portaudio.open(StreamRequest("output", "desk", 24_000), RecordingCallback)
    owner.lookout.hidden = {DESK[0]}
    for _ in range(3):
        await owner.portaudio.open(StreamRequest("input", "usb", 16_000, fresh=True), RecordingCallback)
    assert not stream.interrupted
    owner.module.plugged.append(("new (hw:2,0)", "ALSA", 1, 2, 48_000))
    await owner.portaudio.open(StreamRequest("input", "new", 16_000, fresh=True), RecordingCallback)
    assert stream.interrupted


async def test_stream_of_cancelled_opening_is_closed(owner: Owner) -> None:
    opening = owner.portaudio.open(IN, RecordingCallback)
    opening.cancel()
    for _ in range(3):
        await owner.portaudio.look()
    assert owner.module.streams == []


def test_list_and_leave_work_without_event_loop(owner: Owner) -> None:
    assert [device.name for device in owner.portaudio.list_now()] == [DESK[0]]
    owner.module.plugged.append(USB)
    devices = owner.portaudio.list_now()
    assert [device.name for device in devices] == [DESK[0], USB[0]]
    assert from_facts(as_facts(devices)) == devices
    assert devices[0].default_input
    assert not devices[1].default_output


def test_first_call_has_longer_timeout(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call loads the libraries of the sound system."""

    def slowly() -> FakeSounddevice:
        time.sleep(2 * audio.portaudio.owner.LIMIT_S)
        return owner.module

    monkeypatch.setattr(audio.portaudio.owner, "load", slowly)
    assert len(owner.portaudio.list_now()) == 1


def test_sound_system_that_hangs_at_first_call(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio.portaudio.owner, "FIRST_LIMIT_S", 0.2)
    awake = threading.Event()

    def hangs() -> FakeSounddevice:
        awake.wait()
        return owner.module

    monkeypatch.setattr(audio.portaudio.owner, "load", hangs)

    async def look() -> None:
        await owner.portaudio.look()

    with pytest.raises(DeviceError, match=r"has not answered for 0\.2 s: restart it"):
        owner.portaudio.list_now()
    with pytest.raises(DeviceError, match=r"has not answered for 0\.2 s: restart it"):
        asyncio.run(look())
    awake.set()
    assert len(owner.portaudio.list_now()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the status at the end cannot be had")
def test_exit_status_is_kept_while_sound_system_is_busy() -> None:
    """ALSA crashes if a thread is inside it at exit; here the last exit handler aborts."""
    program = (
        "import ctypes, sys, time\n"
        "from audio.errors import DeviceError\n"
        "from audio.portaudio import owner\n"
        "here = ctypes.CDLL(None)\n"
        "here.on_exit(here.abort, None)\n"
        "owner.FIRST_LIMIT_S, owner.LEAVE_LIMIT_S = 0.1, 0.1\n"
        "owner.load = lambda: time.sleep(60)\n"
        "try:\n"
        "    owner.PortAudio().list_now()\n"
        "except DeviceError as error:\n"
        "    print('told:', error)\n"
        "    sys.exit(3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 3, ended.stderr
    assert ended.stdout.startswith("told: the sound system has not answered for 0.1 s")


def test_default_of_preferred_host_api_is_used() -> None:
    windows = FakeSounddevice(("a", "MME", 1, 1, 44_100), ("b", "Windows WASAPI", 1, 1, 48_000))
    assert [device.name for device in listed(windows) if device.default_input] == ["b"]
    assert listed(FakeSounddevice()) == ()


def test_missing_library_names_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise OSError("PortAudio library not found")

    monkeypatch.setattr("audio.portaudio.listing.import_module", missing)
    with pytest.raises(DeviceError, match="apt-get install libportaudio2"):
        load()


def test_watcher_process_is_reused_and_restarted() -> None:
    program = (
        "import sys\n"
        "for n, _ in enumerate(sys.stdin):\n"
        "    if n == 2: break\n"
        '    print(\'{"devices": []}\' if n == 0 else \'{"error": "no library"}\', flush=True)'
    )
    lookout = DeviceWatcher((sys.executable, "-c", program))
    assert lookout.look() == ()
    with pytest.raises(DeviceError, match="no library"):
        lookout.look()
    with pytest.raises(DeviceError, match="could not be listed"):  # the process has died
        lookout.look()
    assert lookout.look() == ()
    lookout.close()


def test_failure_of_watcher_process_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise PortAudioError("Error initializing PortAudio: Internal error", -9986)

    monkeypatch.setattr(device_watcher_process, "load", broken)
    monkeypatch.setattr("sys.stdin", io.StringIO("look\nlook\n"))
    device_watcher_process.main()
    answers = [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == 2
    assert answers[0].startswith("the sound system failed (PortAudioError: ")
    assert "initializing" in answers[0]


def test_watcher_process_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audio.portaudio.device_watcher.LIMIT_S", 0.3)
    lookout = DeviceWatcher((sys.executable, "-c", "import time; time.sleep(60)"))
    with pytest.raises(DeviceError, match="could not be listed"):
        lookout.look()


def test_real_watcher_process_answers() -> None:
    lookout = DeviceWatcher()
    assert isinstance(lookout.look(), tuple)
    lookout.close()
