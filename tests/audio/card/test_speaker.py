"""The loudspeaker of a card, in virtual time."""

import asyncio
import itertools
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest
from support.sound.fake_cards import FakeLibrary, device, playback, run_card

from audio.card.speaker import CardSpeaker
from audio.card.stream import StreamCallback
from audio.errors import DeviceError
from audio.sound_id import NamedSound, SoundId
from audio.units import Pcm

pytestmark = pytest.mark.virtual_time

A, B = NamedSound("a"), NamedSound("b")

LATENCY_S = 0.03


class SpeakerHarness:
    """A loudspeaker with the audio and reports it produced. It is its own echo reference."""

    def __init__(self, library: FakeLibrary) -> None:
        self.portaudio = library
        self.said: list[str] = []
        self.blocks: list[tuple[float, Pcm]] = []
        self.reference_blocks: list[tuple[float, Pcm, int]] = []
        self.played: list[tuple[SoundId, int, float, bool]] = []
        self.speaker = CardSpeaker(report=self.said.append, echo_reference=self, library=library)
        self.speaker.on_played = lambda *what: self.played.append(what)

    def add_reference(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        self.reference_blocks.append((leaves_s, pcm.copy(), rate_hz))

    @property
    def sound(self) -> Pcm:
        return np.concatenate([pcm for _, pcm in self.blocks])


@asynccontextmanager
async def playing(*, rate_hz: int = 24_000) -> AsyncGenerator[SpeakerHarness]:
    harness = SpeakerHarness(FakeLibrary(device("desk", default=True, rate_hz=rate_hz)))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(harness.speaker.run())
        heard: Callable[[Pcm, float], None] = lambda pcm, at_s: harness.blocks.append((at_s, pcm))  # noqa: E731
        card = tasks.create_task(run_card(harness.portaudio, playback(heard, LATENCY_S)))
        yield harness
        await harness.speaker.aclose()
        await running
        card.cancel()
    assert harness.portaudio.streams == []


def level(n: int, value: int = 1000) -> Pcm:
    return np.full(n, value, np.int16)


@pytest.mark.parametrize("rate_hz", [24_000, 48_000, 44_100, 16_000], ids="{} Hz".format)
async def test_reply_is_played_and_dated(rate_hz: int) -> None:
    async with playing(rate_hz=rate_hz) as harness:
        await asyncio.sleep(0.5)
        harness.speaker.open(A)
        assert await harness.speaker.play_chunk(A, level(12_000))
        harness.speaker.end(A)
        await asyncio.sleep(1.0)
    key, total, _, finished = harness.played[-1]
    assert (key, total, finished) == (A, 12_000, True)
    assert harness.speaker.counts.underruns == 0
    # Compares the real start and end of the audio in the card's blocks with the reported ones.
    loud = np.flatnonzero(abs(harness.sound) > 500)
    assert len(loud) / rate_hz == pytest.approx(0.5, abs=0.002)
    begun_s = harness.blocks[0][0]
    assert harness.played[0][2] == pytest.approx(begun_s + loud[0] / rate_hz, abs=0.002)
    reference_blocks = [at_s for at_s, pcm, _ in harness.reference_blocks if pcm.any()]
    assert reference_blocks[0] == pytest.approx(harness.played[0][2])
    assert harness.reference_blocks[0][2] == 24_000
    assert np.diff([at_s for at_s, _, _ in harness.reference_blocks][5:]) == pytest.approx(0.01, abs=0.005)


async def test_duck_and_close_take_effect_within_one_block() -> None:
    async with playing() as harness:
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(40_000, 10_000))
        await asyncio.sleep(0.5)
        harness.speaker.duck()
        at = len(harness.blocks)
        await asyncio.sleep(0.1)
        assert harness.blocks[at][1][-1] < 7000
        assert harness.blocks[at + 2][1][-1] == pytest.approx(1259, abs=2)
        harness.speaker.unduck()
        await asyncio.sleep(0.1)
        taken = harness.speaker.close(A)
        at = len(harness.blocks)
        await asyncio.sleep(0.1)
        assert np.count_nonzero(harness.blocks[at][1]) == 120  # the fade
        assert not harness.blocks[at + 1][1].any()
        assert harness.played[-1][1] == taken
        assert not await harness.speaker.play_chunk(A, level(10))


async def test_reply_continues_silently_while_card_is_lost() -> None:
    async with playing() as harness:
        before = harness.portaudio.devices
        await asyncio.sleep(6.0)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(36_000))
        harness.speaker.end(A)
        await asyncio.sleep(0.5)
        harness.portaudio.unplug()
        await asyncio.sleep(0.9)
        assert not harness.played[-1][3]  # in real time
        await asyncio.sleep(0.3)
        assert harness.played[-1][1:4:2] == (36_000, True)
        assert harness.played[-1][2] == math.inf  # it is not audible
        assert harness.speaker.silent_samples == pytest.approx(24_000, abs=600)
        assert "replies are silent" in harness.said[0]
        harness.portaudio.devices = before
        await asyncio.sleep(5.0)
        assert harness.said[-1] == 'the loudspeaker "desk" is back'
        at = len(harness.blocks)
        harness.speaker.open(B)
        await harness.speaker.play_chunk(B, level(2400))
        harness.speaker.end(B)
        await asyncio.sleep(0.2)
        assert sum(np.count_nonzero(pcm) for _, pcm in harness.blocks[at:]) == 2400


async def test_reply_waits_for_a_stream_that_is_started_again() -> None:
    async with playing() as harness:
        await asyncio.sleep(6.0)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(36_000))
        harness.speaker.end(A)
        harness.portaudio.takes_s = 0.3  # a busy machine
        for _ in range(2):
            await asyncio.sleep(0.5)
            harness.portaudio.streams[0].lane.ended()
        await asyncio.sleep(5.0)
        assert harness.played[-1][1:4:2] == (36_000, True)
        assert harness.speaker.silent_samples == 0
        assert np.count_nonzero(harness.sound) == pytest.approx(36_000, abs=600)
        (said,) = harness.said
        assert "stopped for a moment and was started again: this machine is busy" in said


async def test_interruption_by_other_card_is_not_reported() -> None:
    async with playing() as harness:
        await asyncio.sleep(1.0)
        harness.portaudio.streams[0].interrupted = True
        harness.portaudio.streams[0].lane.ended()
        await asyncio.sleep(0.2)
        assert harness.speaker.opened is not None
        assert len(harness.portaudio.opens) == 2
        assert harness.said == []


async def test_chime_plays_only_without_reply() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.1)
        harness.speaker.chime(level(1000, 500))
        await asyncio.sleep(0.1)
        assert np.count_nonzero(harness.sound) == 1000
        assert harness.played == []
        harness.speaker.chime(level(24_000, 500))
        await asyncio.sleep(0.1)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(2400, 1000))
        harness.speaker.end(A)
        at = len(harness.blocks)
        await asyncio.sleep(0.5)
        assert np.count_nonzero(np.concatenate([pcm for _, pcm in harness.blocks[at:]])) == 2400
        assert harness.played[-1][1] == 2400


async def test_chime_fades_out_when_it_is_stopped() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.1)
        harness.speaker.chime(level(24_000, 5000))
        await asyncio.sleep(0.1)
        harness.speaker.stop_chime()
        at = len(harness.blocks)
        await asyncio.sleep(0.2)
        rest = np.concatenate([pcm for _, pcm in harness.blocks[at:]])
        sounding = np.flatnonzero(rest)
        assert 0 < len(sounding) <= 120
        assert np.abs(np.diff(rest.astype(int))).max() < 100
        harness.speaker.stop_chime()


async def test_reply_over_a_loud_chime_is_clipped() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.1)
        harness.speaker.chime(level(24_000, 30_000))
        await asyncio.sleep(0.1)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(2400, 30_000))
        harness.speaker.end(A)
        await asyncio.sleep(0.3)
        assert harness.sound.min() >= 0
        assert harness.sound.max() == 32_767


async def test_underflow_is_counted() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.1)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(4800))
        await asyncio.sleep(0.05)
        harness.portaudio.streams[0].lane.block(bytearray(480), 240, 0.0, 0.0, flagged=True)
        assert harness.speaker.underflows == 1
        assert harness.speaker.counts.underruns == 1


@pytest.mark.virtual_time
async def test_failure_to_open_at_start_is_raised() -> None:
    library = FakeLibrary()
    library.refusing = DeviceError("busy")
    harness = SpeakerHarness(library)
    with pytest.raises(DeviceError, match="busy"):
        await harness.speaker.run()
    harness.speaker.open(A)
    assert not await harness.speaker.play_chunk(A, level(10))


@pytest.mark.parametrize("after_s", [0.2, 0.42, 0.44, 0.47], ids="after {} s".format)
@pytest.mark.parametrize("how", ["used", "followed"], ids=["device selected", "default device changed"])
async def test_device_change_keeps_count_of_played_samples(how: str, after_s: float) -> None:
    """The old stream is called until it is closed a little later; it must not pull audio or report the end."""
    async with playing() as harness:
        library = harness.portaudio
        # The default device is checked 3 s after opening, and found 0.1 s later.
        await asyncio.sleep(1.0 if how == "used" else 3.15 - after_s)
        library.takes_s = 0.05
        harness.speaker.open(A)
        begun_s = asyncio.get_running_loop().time()
        await harness.speaker.play_chunk(A, level(12_000))
        harness.speaker.end(A)
        await asyncio.sleep(after_s)
        library.devices = (device("desk"), device("headset", default=True, index=1))
        if how == "used":
            await harness.speaker.use("headset")
        await asyncio.sleep(4.0)
        assert harness.speaker.opened is not None
        assert harness.speaker.opened.device == "headset"
        totals = [total for _, total, _, _ in harness.played]
        assert totals == sorted(totals)
        assert totals[-1] == 12_000
        assert [finished for *_, finished in harness.played].count(True) == 1
        assert harness.played[-1][2] - begun_s < 1.0


@pytest.mark.virtual_time
async def test_only_one_stream_pulls_from_a_reply() -> None:
    """A new stream is called before the loop knows it, and an old one until it is closed."""
    heard: list[tuple[int, bool]] = []
    library = FakeLibrary(device("desk", default=True, rate_hz=24_000), device("headset", index=1, rate_hz=24_000))
    harness = SpeakerHarness(library)

    def tell(lane: StreamCallback, frames: int, now_s: float) -> None:
        data = np.zeros(frames, np.int16)
        lane.block(data.data, frames, now_s, now_s + LATENCY_S, flagged=False)
        heard.append((id(lane), bool(data.any())))

    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(harness.speaker.run())
        card = tasks.create_task(run_card(library, tell))
        await asyncio.sleep(0.1)
        library.takes_s = 0.1
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(36_000))
        await harness.speaker.use("headset")
        await asyncio.sleep(0.5)
        await harness.speaker.aclose()
        await playing
        card.cancel()
    sounding = [lane for lane, loud in heard if loud]
    assert len(set(sounding)) == 2
    changes = sum(one != other for one, other in itertools.pairwise(sounding))
    assert changes == 1


async def test_late_end_does_not_stop_chime() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.1)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(240))
        await asyncio.sleep(0.1)
        at = len(harness.blocks)
        harness.speaker.chime(level(1000, 500))
        harness.speaker.end(A)
        await asyncio.sleep(0.2)
        assert np.count_nonzero(np.concatenate([pcm for _, pcm in harness.blocks[at:]])) == 1000
        assert harness.played[-1][3]


def flag(harness: SpeakerHarness, times: int = 1) -> None:
    """The card reports an underrun."""
    lane = harness.portaudio.streams[0].lane
    for _ in range(times):
        lane.block(bytearray(480), 240, 0.0, 0.0, flagged=True)


async def underrun_repeatedly(harness: SpeakerHarness) -> None:
    for _ in range(3):
        flag(harness)
        await asyncio.sleep(0.2)


async def test_repeated_underruns_lengthen_buffer_between_replies() -> None:
    async with playing() as harness:
        await asyncio.sleep(1.2)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(24_000))
        harness.speaker.end(A)
        await underrun_repeatedly(harness)
        assert len(harness.portaudio.opens) == 1  # not during a reply
        await asyncio.sleep(1.2)
        assert harness.played[-1][1:4:2] == (24_000, True)
        assert harness.speaker.opened is not None
        assert [wish.buffer_ms for wish in harness.portaudio.opens] == [0.0, 40.0]
        assert harness.speaker.opened.latency_ms == 40.0
        (said,) = harness.said
        assert '"desk" had gaps 3 times in 10 s' in said
        assert "buffer is now 40 ms instead of 20" in said
        assert harness.speaker.underflows == 3
        # A recovered device keeps the length.
        before = harness.portaudio.devices
        harness.portaudio.unplug()
        await asyncio.sleep(0.5)
        harness.portaudio.devices = before
        await asyncio.sleep(5.0)
        assert harness.speaker.opened is not None
        assert harness.speaker.opened.latency_ms == 40.0
        # Nothing is known about another device.
        harness.portaudio.devices = (device("desk", default=True), device("headset", index=1))
        await harness.speaker.use("headset")
        assert harness.speaker.opened.latency_ms == 20.0


async def test_new_default_device_starts_with_own_buffer_length() -> None:
    async with playing() as harness:
        await asyncio.sleep(1.2)
        await underrun_repeatedly(harness)
        await asyncio.sleep(0.5)
        assert harness.speaker.opened is not None
        assert harness.speaker.opened.latency_ms == 40.0
        harness.portaudio.devices = (device("desk"), device("headset", default=True, index=1))
        await asyncio.sleep(4.0)
        assert (harness.speaker.opened.device, harness.speaker.opened.latency_ms) == ("headset", 20.0)
        assert len(harness.said) == 2  # longer, and another device: not that it is at its maximum
        await underrun_repeatedly(harness)
        await asyncio.sleep(0.5)
        assert harness.speaker.opened.latency_ms == 40.0


@pytest.mark.parametrize("begins_s", [0.4, 0.45, 0.55], ids="reply at {} s".format)
async def test_reply_during_buffer_lengthening_is_played_completely(begins_s: float) -> None:
    async with playing() as harness:
        await asyncio.sleep(1.2)
        harness.portaudio.takes_s = 0.2
        flag(harness)
        await asyncio.sleep(0.05)
        flag(harness)
        await asyncio.sleep(0.05)
        flag(harness)
        await asyncio.sleep(begins_s - 0.3)
        at = len(harness.blocks)
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(12_000))
        harness.speaker.end(A)
        await asyncio.sleep(2.0)
        assert harness.speaker.opened is not None
        assert harness.speaker.opened.latency_ms == 40.0
        assert harness.speaker.silent_samples == 0
        assert sum(np.count_nonzero(pcm) for _, pcm in harness.blocks[at:]) == 12_000
        assert harness.played[-1][1:4:2] == (12_000, True)
        assert math.isfinite(harness.played[-1][2])


async def test_longer_buffer_is_requested_once_if_card_ignores_it() -> None:
    async with playing() as harness:
        harness.portaudio.most_ms = 20.0
        await asyncio.sleep(1.2)
        await underrun_repeatedly(harness)
        await asyncio.sleep(2.0)
        assert "its buffer of 20 ms is at its maximum" in harness.said[0].lower()
        await underrun_repeatedly(harness)
        await asyncio.sleep(2.0)
        assert (len(harness.portaudio.opens), len(harness.said)) == (2, 1)


async def test_refused_longer_buffer_is_not_requested_again() -> None:
    async with playing() as harness:
        await asyncio.sleep(1.2)
        harness.portaudio.refusing = DeviceError("too long")
        await underrun_repeatedly(harness)
        assert harness.speaker.opened is None
        harness.portaudio.refusing = None
        await asyncio.sleep(2.0)
        assert harness.speaker.opened is not None
        assert [wish.buffer_ms for wish in harness.portaudio.opens][:3] == [0.0, 40.0, 0.0]
        assert harness.speaker.opened.latency_ms == 20.0
        assert harness.said[0] == "too long"


async def test_resting_loudspeaker_closes_its_stream_until_the_next_sound() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.5)
        harness.speaker.may_rest = True
        await asyncio.sleep(3.0)
        assert harness.portaudio.streams == []
        assert harness.speaker.opened is not None
        assert harness.said == []
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(12_000))
        harness.speaker.end(A)
        await asyncio.sleep(1.5)
        assert harness.played[-1][1:4:2] == (12_000, True)
        assert harness.speaker.silent_samples == 0
        assert sum(np.count_nonzero(pcm) for _, pcm in harness.blocks) == 12_000


async def test_loudspeaker_that_was_lost_while_it_rested_is_silent() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.5)
        harness.speaker.may_rest = True
        await asyncio.sleep(3.0)
        harness.portaudio.devices = ()
        harness.speaker.may_rest = False
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(12_000))
        harness.speaker.end(A)
        await asyncio.sleep(5.0)
        assert harness.played[-1][1:4:2] == (12_000, True)
