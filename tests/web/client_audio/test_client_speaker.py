"""Times at which audio is sent to a client, and counts as played; in virtual time."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clocks.virtual_time import run_virtual

from audio.sound_id import NamedSound, SoundId
from audio.units import Pcm, ReplySamples
from web.client_audio.client_speaker import BETWEEN_REPORTS_S, PIECE_SAMPLES, SILENT_CLIENT_S, ClientSpeaker

pytestmark = pytest.mark.virtual_time

REPLY = NamedSound("reply")
AHEAD_MS = 1000


def sound(ms: float, start_ms: float = 0.0) -> Pcm:
    """Returns samples whose values are their positions in the reply."""
    at = round(start_ms * 24)
    return (np.arange(at, at + round(ms * 24)) % 30_000).astype(np.int16)


def heard(ms: float) -> object:
    """Matches this many samples, up to rounding errors of the clock."""
    return pytest.approx(ms * 24, abs=1)


@dataclass
class Client:
    """A client: the audio it received, and the playback reports to the conversation."""

    speaker: ClientSpeaker = field(default_factory=lambda: ClientSpeaker(AHEAD_MS))
    sent: list[tuple[float, SoundId, Pcm]] = field(default_factory=list)  # with ms since the start
    reports: list[tuple[float, int, bool]] = field(default_factory=list)
    leaves_at_ms: list[float] = field(default_factory=list)
    zero_s: float = 0.0

    def __post_init__(self) -> None:
        self.speaker.send = lambda key, pcm: self.sent.append((self.now_ms, key, pcm.copy()))
        self.speaker.on_played = self._played

    @property
    def now_ms(self) -> float:
        return round((asyncio.get_running_loop().time() - self.zero_s) * 1000, 3)

    @property
    def sent_ms(self) -> float:
        return sum(len(pcm) for _, _, pcm in self.sent) / 24

    @property
    def reported_ms(self) -> float:
        return max((total for _, total, _ in self.reports), default=0) / 24

    @property
    def finished_at_ms(self) -> list[float]:
        return [at_ms for at_ms, _, finished in self.reports if finished]

    def _played(self, sound_id: SoundId, total: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        assert sound_id == REPLY
        self.reports.append((self.now_ms, total, finished))
        self.leaves_at_ms.append(round((leaves_at_s - self.zero_s) * 1000, 3))

    async def report(self, after_ms: float, played_ms: float, *, finished: bool = False) -> None:
        await self.at(after_ms)
        self.speaker.report(REPLY, played_ms, finished=finished)

    async def at(self, ms: float) -> None:
        await asyncio.sleep(max(0.0, self.zero_s + ms / 1000 - asyncio.get_running_loop().time()))


@asynccontextmanager
async def open_reply(*, trusted: bool = False) -> AsyncGenerator[Client]:
    """Runs a speaker with an open reply while the block runs."""
    client = Client(zero_s=asyncio.get_running_loop().time())
    client.speaker.trusts_reports = trusted
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(client.speaker.run())
        client.speaker.open(REPLY)
        yield client
        running.cancel()


async def play(client: Client, ms: float) -> bool:
    whole = await client.speaker.play_chunk(REPLY, sound(ms))
    client.speaker.end(REPLY)
    return whole


# ---- pacing ----


async def test_audio_is_sent_up_to_the_bound_then_as_it_plays() -> None:
    async with open_reply() as client:
        assert await play(client, 3000)
        assert client.now_ms == pytest.approx(2000, abs=30)  # the last piece was sent earlier by the bound
    assert [at_ms for at_ms, _, _ in client.sent[:10]] == [0] * 10
    ahead_ms = [100 * number + 100 - at_ms for number, (at_ms, _, _) in enumerate(client.sent)]
    assert max(ahead_ms) <= AHEAD_MS + 1
    assert min(ahead_ms[10:]) >= AHEAD_MS - 30
    assert max(len(pcm) for _, _, pcm in client.sent) == PIECE_SAMPLES
    np.testing.assert_array_equal(np.concatenate([pcm for _, _, pcm in client.sent]), sound(3000))


async def test_position_is_reported_often_at_first_and_end_at_once() -> None:
    async with open_reply() as client:
        assert await play(client, 3450)
        await client.at(3600)
    at_ms = [at_ms for at_ms, _, _ in client.reports]
    gaps_ms = [after - before for before, after in pairwise(at_ms)]
    assert max(gap for gap, at in zip(gaps_ms, at_ms, strict=False) if at < 950) <= 21
    assert sum(at > 1050 for at in at_ms) <= 25
    assert max(gaps_ms) <= 101
    assert client.finished_at_ms == pytest.approx([3450], abs=21)
    assert client.reported_ms == 3450


async def test_end_after_all_was_played_is_reported_at_once() -> None:
    async with open_reply() as client:
        assert await client.speaker.play_chunk(REPLY, sound(1500))
        await client.at(1550)
        client.speaker.end(REPLY)
        await client.at(1700)
    assert client.finished_at_ms == pytest.approx([1550], abs=21)


async def test_held_reply_is_lowered_at_client_and_sent_no_further() -> None:
    async with open_reply() as client:
        ducks: list[bool] = []
        client.speaker.on_duck = lambda _, lower: ducks.append(lower)
        playing = asyncio.create_task(play(client, 3000))
        await client.at(300)
        client.speaker.hold()
        client.speaker.duck()
        sent_ms = client.sent_ms
        await client.at(500)
        client.speaker.release()
        assert (client.sent_ms, ducks) == (sent_ms, [True]), "it is still ducked"
        client.speaker.unduck()
        assert await playing
        assert (client.sent_ms, ducks) == (heard(3000 / 24), [True, False])


async def test_bound_smaller_than_a_piece_still_sends_audio() -> None:
    async def scene(client: Client) -> None:
        assert await play(client, 500)

    client = Client(ClientSpeaker(ahead_ms=10))
    client.zero_s = asyncio.get_running_loop().time()
    client.speaker.open(REPLY)
    await scene(client)
    assert client.sent_ms == 500


async def test_closed_reply_takes_no_audio_even_while_waiting() -> None:
    async with open_reply() as client:
        assert not await client.speaker.play_chunk(NamedSound("another"), sound(100))
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(client.speaker.play_chunk(REPLY, sound(5000)))
            await client.at(500)
            assert client.speaker.close(REPLY) == heard(500)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert playing.done()
        assert not playing.result()
        await client.at(3000)
    assert {key for _, key, _ in client.sent} == {REPLY}
    assert client.sent_ms == pytest.approx(1450, abs=60)
    assert client.reported_ms <= 500


# ---- a client without reports ----


async def test_client_without_reports_plays_at_once_in_real_time() -> None:
    async with open_reply() as client:
        await client.at(200)
        await play(client, 1000)
        await client.at(3000)
    assert client.finished_at_ms == [pytest.approx(1200, abs=21)]
    assert client.reported_ms == 1000
    assert client.leaves_at_ms[0] == 200
    assert all(total / 24 == pytest.approx(at_ms - 200, abs=0.1) for at_ms, total, done in client.reports if not done)


async def test_late_audio_is_played_late() -> None:
    async with open_reply() as client:
        await client.speaker.play_chunk(REPLY, sound(300))
        await client.at(1000)  # slow synthesis: 700 ms of silence at the client
        await client.speaker.play_chunk(REPLY, sound(300, 300))
        client.speaker.end(REPLY)
        await client.at(1100)
        assert client.speaker.close(REPLY) == heard(400)
    assert client.reported_ms <= 400
    assert 1000 in client.leaves_at_ms  # the first position reported after the silence


async def test_end_is_reported_if_the_next_reply_begins_just_before_the_report() -> None:
    async with open_reply() as client:
        await play(client, 200)
        client.speaker.on_disconnect()
        await asyncio.sleep(5)
        client.speaker.on_reconnect(None, None)
        client.speaker.open(NamedSound("next"))
        await asyncio.sleep(0.1)
        assert len(client.finished_at_ms) == 1


async def test_end_is_reported_once_even_after_the_last_audio() -> None:
    async with open_reply() as client:
        await client.speaker.play_chunk(REPLY, sound(300))
        await client.at(1000)
        assert client.finished_at_ms == []
        client.speaker.end(REPLY)
        await client.at(2000)
    assert client.finished_at_ms == [1020]


# ---- reports ----


async def test_reports_set_the_played_position() -> None:
    async with open_reply(trusted=True) as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(play(client, 1000))
        await client.at(280)
        assert client.reports == []  # nothing counts as played before the first report
        await client.report(300, 20)
        await client.at(500)
        assert client.speaker.close(REPLY) == heard(220)
    assert client.reported_ms <= 220
    assert client.leaves_at_ms[0] == 280


async def test_impossible_reports_are_clamped() -> None:
    async with open_reply(trusted=True) as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(play(client, 1500))
        await client.report(100, 1e9)  # more than was sent
        assert client.reported_ms == 1000
        await client.report(101, 400)  # less than before
        assert client.reported_ms == 1000
        await client.at(700)
    totals = [total for _, total, _ in client.reports]
    assert totals == sorted(totals)
    assert max(totals) <= 1500 * 24


async def test_reports_about_another_reply_are_ignored() -> None:
    async with open_reply() as client:
        await play(client, 500)
        client.speaker.report(NamedSound("an old one"), 400, finished=True)
        await client.at(200)
        assert client.reported_ms <= 200


async def test_finished_report_ends_reply_with_audio_left() -> None:
    async with open_reply(trusted=True) as client:
        await play(client, 800)
        await client.report(300, 780, finished=True)
        assert client.finished_at_ms == [300]
        assert client.speaker.close(REPLY) == 780 * 24
        await client.at(2000)
    assert client.finished_at_ms == [300]


async def test_stalled_playback_between_reports_is_not_counted() -> None:
    async with open_reply(trusted=True) as client:
        await client.speaker.play_chunk(REPLY, sound(300))
        await client.report(20, 0)
        await client.at(1000)
        await client.speaker.play_chunk(REPLY, sound(500, 300))
        await client.at(1100)
        assert client.speaker.close(REPLY) == heard(400)


@pytest.mark.parametrize("every_ms", [90, 100, 250], ids="report every {} ms".format)
@pytest.mark.parametrize("stands_at_ms", [0, 300, 500, 1500, 2500], ids="standstill at {} ms".format)
async def test_reported_standstill_stops_the_position(stands_at_ms: int, every_ms: int) -> None:
    async with open_reply(trusted=True) as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(play(client, 3000))
        for at_ms in range(0, stands_at_ms + 2000, every_ms):
            await client.report(50 + at_ms, min(at_ms, stands_at_ms))
        believed_ms = client.speaker.close(REPLY) / 24
        assert stands_at_ms <= believed_ms <= stands_at_ms + every_ms
    assert client.finished_at_ms == []
    assert client.sent_ms <= stands_at_ms + AHEAD_MS + every_ms


async def test_position_advances_again_after_standstill() -> None:
    async with open_reply(trusted=True) as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(play(client, 1500))
        for at_ms in range(0, 2600, 100):
            await client.report(at_ms, min(at_ms, 500) if at_ms < 1500 else at_ms - 1000)
    assert client.finished_at_ms == [pytest.approx(2500, abs=21)]


async def test_position_stops_without_reports_and_continues_after_silent_client_s() -> None:
    async with open_reply(trusted=True) as client:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(play(client, 3000))
            await client.report(100, 0)
            await client.report(200, 100)
            await client.at(200 + SILENT_CLIENT_S * 1000)
            assert client.reported_ms == pytest.approx(100 + BETWEEN_REPORTS_S * 1000, abs=1)
            assert client.sent_ms > 2500  # it may still be playing
        await client.at(6000)
    assert client.finished_at_ms == [pytest.approx(200 + SILENT_CLIENT_S * 1000 + 2900, abs=101)]


async def test_missing_announced_reports_are_assumed_as_real_time() -> None:
    async with open_reply(trusted=True) as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(play(client, 3000))
        await client.at(SILENT_CLIENT_S * 1000 - 30)
        assert client.reports == []
        await client.at(6000)
    assert client.speaker.silent_clients == 1
    assert client.reported_ms == 3000
    assert len(client.finished_at_ms) == 1


# ---- reconnecting ----


async def test_reconnected_client_gets_the_rest_of_the_reply() -> None:
    rest: list[int] = []
    async with open_reply() as client:
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(play(client, 3000))
            await client.at(500)
            client.speaker.on_disconnect()
            before = len(client.sent)
            reported_ms = client.reported_ms
            await client.at(20_000)
            assert len(client.sent) == before
            assert client.reported_ms == reported_ms  # time stands still during the disconnect
            assert client.reports[-1][0] >= 19_000  # but the conversation learns that the reply waits
            client.speaker.on_reconnect(REPLY, 900)
            assert not playing.done()
            rest.append(before)
        await client.at(25_000)
    np.testing.assert_array_equal(
        np.concatenate([pcm for _, _, pcm in client.sent[rest[0] :]]), sound(3000)[900 * 24 :]
    )
    assert client.reported_ms == 3000
    assert client.finished_at_ms == [pytest.approx(20_000 + 2100, abs=30)]


async def test_end_waits_for_resent_audio() -> None:
    async with open_reply() as client:
        await play(client, 900)
        await client.at(300)
        client.speaker.on_disconnect()
        await client.at(4000)
        client.speaker.on_reconnect(REPLY, 500)
        await client.at(6000)
    assert client.finished_at_ms == [pytest.approx(4400, abs=21)]
    np.testing.assert_array_equal(
        np.concatenate([pcm for at_ms, _, pcm in client.sent if at_ms == 4000]), sound(900)[500 * 24 :]
    )


async def test_audio_counted_as_played_may_have_been_lost() -> None:
    """The disconnect was noticed late: audio that counted as played had not arrived."""
    async with open_reply() as client:
        await play(client, 1900)
        await client.at(1200)
        client.speaker.on_disconnect()
        client.speaker.on_reconnect(REPLY, 600)
        await client.at(1500)
        assert client.speaker.close(REPLY) == pytest.approx(
            1200 * 24, abs=30 * 24
        )  # reported positions are not taken back
    again = np.concatenate([pcm for at_ms, _, pcm in client.sent if at_ms == 1200])
    np.testing.assert_array_equal(again, sound(1900)[600 * 24 :][: len(again)])


async def test_received_audio_of_another_reply_does_not_count() -> None:
    async with open_reply() as client:
        client.speaker.on_disconnect()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(play(client, 500))
            await client.at(1000)
            client.speaker.on_reconnect(NamedSound("an old one"), 400)
    np.testing.assert_array_equal(np.concatenate([pcm for _, _, pcm in client.sent]), sound(500))


async def test_close_while_disconnected_returns_earlier_position() -> None:
    async with open_reply() as client:
        await play(client, 900)
        await client.at(300)
        client.speaker.on_disconnect()
        await client.at(60_000)
        assert client.speaker.close(REPLY) == heard(300)


# ---- random operations ----


@dataclass
class RandomActions:
    """A client and its reply under random operations; checks all results."""

    client: Client
    received: list[Pcm] = field(default_factory=list)  # the client's own stream
    voice: "asyncio.Queue[Pcm | None]" = field(default_factory=asyncio.Queue)
    furthest: int = 0
    given_ms: int = 0
    ended: bool = False
    shut: bool = False

    def __post_init__(self) -> None:
        self.client.speaker.send = self._sent
        self.client.speaker.on_played = self._report

    @property
    def stream(self) -> Pcm:
        return np.concatenate([*self.received, sound(0)])

    def _sent(self, _sound: SoundId, pcm: Pcm) -> None:
        assert not self.shut
        self.received.append(pcm.copy())
        self.furthest = max(self.furthest, len(self.stream))

    def _report(self, _sound: SoundId, total: ReplySamples, _leaves_at_s: float, finished: bool) -> None:
        assert not self.shut
        assert self.client.reported_ms * 24 <= total <= self.furthest
        assert not self.client.finished_at_ms
        self.client.reports.append((self.client.now_ms, total, finished))

    async def speak(self) -> None:
        while (pcm := await self.voice.get()) is not None:
            if not await self.client.speaker.play_chunk(REPLY, pcm):
                return
        self.client.speaker.end(REPLY)

    def play(self, ms: int) -> None:
        if not self.ended:
            self.voice.put_nowait(sound(ms, self.given_ms))
            self.given_ms += ms

    def end(self, _: int = 0) -> None:
        if not self.ended:
            self.ended = True
            self.voice.put_nowait(None)

    def report(self, played_ms: int) -> None:
        self.client.speaker.report(REPLY, played_ms, finished=False)

    def finish(self, played_ms: int) -> None:
        self.client.speaker.report(REPLY, played_ms, finished=True)

    def go(self, _: int) -> None:
        self.client.speaker.on_disconnect()

    def come_back(self, received_ms: int) -> None:
        """Reconnects. The client has at most what was sent, and at least what it has played."""
        have = self.stream
        received_ms = min(max(received_ms, math.ceil(self.client.reported_ms)), len(have) // 24)
        self.received = [have[: received_ms * 24]]
        self.client.speaker.on_reconnect(REPLY, received_ms)

    def shut_door(self, _: int) -> None:
        played = self.client.speaker.close(REPLY)
        assert self.shut or self.client.reported_ms * 24 <= played <= self.furthest
        self.shut = True


_MS = st.integers(0, 4000)
_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.none(), st.sampled_from([1, 30, 200, 900, 2500])),
        st.tuples(st.just(RandomActions.play), st.sampled_from([5, 80, 350, 1500])),
        st.tuples(st.sampled_from([RandomActions.report, RandomActions.finish, RandomActions.come_back]), _MS),
        st.tuples(st.sampled_from([RandomActions.go, RandomActions.end, RandomActions.shut_door]), st.just(0)),
    ),
    max_size=15,
)


@settings(max_examples=25)
@given(_ACTIONS, st.booleans())
def test_told_position_was_sent_and_only_grows(
    actions: list[tuple[Callable[[RandomActions, int], None] | None, int]], trusted: bool
) -> None:
    """Also: nothing is sent or reported of a closed reply, and the client's stream has no gap."""

    async def main() -> None:
        async with open_reply(trusted=trusted) as client:
            storm = RandomActions(client)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(storm.speak())
                for act, number in actions:
                    if act is None:
                        await asyncio.sleep(number / 1000)
                    else:
                        act(storm, number)
                storm.end()
                storm.come_back(10_000)
                await asyncio.sleep(storm.given_ms / 1000 + SILENT_CLIENT_S + 1)
            assert storm.shut or len(client.finished_at_ms) == 1
            stream = storm.stream
            np.testing.assert_array_equal(stream, sound(storm.given_ms)[: len(stream)])
            assert storm.shut or len(stream) == storm.given_ms * 24

    run_virtual(main())


async def test_speaker_does_not_wake_while_nothing_plays() -> None:
    steps = 0
    loop = asyncio.get_running_loop()
    real = loop.call_at

    def counted(*args: object, **kwargs: object) -> asyncio.TimerHandle:
        nonlocal steps
        steps += 1
        return real(*args, **kwargs)  # type: ignore[arg-type]

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(Client().speaker.run())
        await asyncio.sleep(0.1)
        loop.call_at = counted  # type: ignore[method-assign]
        await asyncio.sleep(5)
        running.cancel()
    assert steps <= 2
