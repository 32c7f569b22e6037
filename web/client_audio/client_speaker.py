"""The loudspeaker of a client. Audio is sent ahead of real time, within a bound.

The played position is what the client reports; between two reports it advances in real time. A client that never
reports is assumed to play at once and in real time, also if it announced reports.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from audio.sound_id import SoundId
from audio.speaker import OnPlayed
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, reply_samples_of_ms

AHEAD_MS = 1000.0
"""Lead of the sent reply over its playback, in ms: bridges a pause of the network."""

PIECE_SAMPLES = reply_samples_of_ms(100)
"""Longest piece that is sent at once. Sent audio cannot be taken back; only the client can flush it."""

OWN_PLAYOUT_AHEAD_SAMPLES = reply_samples_of_ms(120_000)
"""Lead of the audio for a client that keeps its own playout, as those of OpenAI's service do: 5.8 MB, which are kept
until they are played, in case the connection is lost."""

TICK_S = 0.02
"""Interval of reports of the played position to the conversation."""
LATER_TICK_S = 0.1
"""The same after one second of a reply was played. Before that, the position decides whether a reply is retracted.
For an interruption and for the end of the reply the position is computed when they happen."""

SILENT_CLIENT_S = 2.0
"""A client that announced reports and sent none for this long is treated as one that does not report."""

BETWEEN_REPORTS_S = 0.3
"""Clients report about every 100 ms. When two reports are missing, the position stops until the next one."""

AWAY_TICK_S = 1.0
"""While the client is disconnected, interval of reports to the conversation that the reply waits and is not stuck."""


@dataclass(slots=True)
class _Playback:
    """Playback state of one reply at the client. Positions are samples of the reply."""

    sound_id: SoundId
    sent: int = 0
    session_position: int = 0  # last position reported to the conversation
    anchor: int = 0  # this sample was played at `anchor_s`
    anchor_s: float | None = None  # None: nothing is played yet
    first_sent_s: float = 0.0
    reported: int | None = None  # the client's latest report
    standing: bool = False  # the position has not advanced since the previous report
    ended: bool = False
    finished: bool = False
    ducked: bool = False
    held: bool = False
    kept: deque[tuple[int, Pcm]] = field(default_factory=deque)  # sent pieces that may have been lost on the way

    def heard(self, now_s: float) -> int:
        """Returns the position that is known to be played by now."""
        run_s = self._run_s(now_s)
        if self.reported is not None:
            most_s = 0.0 if self.standing else BETWEEN_REPORTS_S
            run_s = max(min(run_s, most_s), run_s - SILENT_CLIENT_S)
        return min(self.sent, self.anchor + int(run_s * REPLY_RATE_HZ))

    def expected(self, now_s: float) -> int:
        """Returns the position played by now if the client plays on and its reports are only late."""
        return min(self.sent, self.anchor + int(self._run_s(now_s) * REPLY_RATE_HZ))

    def leaves_at_s(self, sample: int) -> float:
        """Returns the loop time at which this sample was or will be played."""
        return (self.anchor_s or 0.0) + (sample - self.anchor) / REPLY_RATE_HZ

    def _run_s(self, now_s: float) -> float:
        return 0.0 if self.anchor_s is None else max(0.0, now_s - self.anchor_s)


class ClientSpeaker:
    """Implements `Speaker` for a network client. Not thread-safe: use it on the event loop.

    Attributes:
        on_played: See `Speaker`.
        send: Sends a piece of a reply's audio at once.
        on_duck: Called to duck the reply (True) or restore its volume (False).
        trusts_reports: Whether the client announced that it reports what it plays.
        paces: Whether replies are sent at most `ahead_ms` ahead. If not, they are sent as they are made.
        silent_clients: How often a reply began without the announced reports.
    """

    def __init__(self, ahead_ms: float) -> None:
        """`ahead_ms`: how much audio a client whose replies are paced may have received and not played."""
        self.on_played: OnPlayed = lambda _sound, _total, _leaves_at_s, _finished: None
        self.send: Callable[[SoundId, Pcm], None] = lambda _sound, _pcm: None
        self.on_duck: Callable[[SoundId, bool], None] = lambda _sound, _lower: None
        self.trusts_reports = False
        self.paces = True
        self.silent_clients = 0
        self._ahead_samples = reply_samples_of_ms(ahead_ms)
        self._playing: _Playback | None = None
        self._trailing: list[_Playback] = []  # replies that were sent completely and still play, in order
        self._last_closed: tuple[SoundId | None, ReplySamples] = (
            None,
            ReplySamples(0),
        )  # the reply that was closed last
        self._disconnected_s: float | None = None  # when the client was disconnected; None: it is connected
        self._changed = asyncio.Event()
        self._opened = asyncio.Event()

    @property
    def latency_s(self) -> float:
        """0: the latency of the client's device is part of its reports."""
        return 0.0

    def open(self, sound_id: SoundId) -> None:
        """See `Speaker.open`."""
        before = self._playing
        if before is not None and before.sound_id == sound_id:
            return
        if before is not None and before.ended and not before.finished:  # its end is to be reported yet
            self._trailing.append(before)
        self._playing = _Playback(sound_id)
        self._changed.set()
        self._opened.set()

    async def play_chunk(self, sound_id: SoundId, pcm: Pcm) -> bool:
        """See `Speaker.play_chunk`. Returns when the last piece was sent."""
        position = 0
        while (playing := self._open(sound_id)) is not None and not playing.ended:
            if position == len(pcm):
                return True
            take = min(PIECE_SAMPLES, len(pcm) - position)
            wait_s = self._wait_s(playing, take)
            if wait_s <= 0:
                self._send(playing, pcm[position : position + take])
                position += take
                continue
            self._changed.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return False

    def end(self, sound_id: SoundId) -> None:
        """See `Speaker.end`."""
        playing = self._open(sound_id)
        if playing is not None:
            playing.ended = True

    def close(self, sound_id: SoundId) -> ReplySamples:
        """See `Speaker.close`. The client drops what it has not played yet."""
        playing = self._open(sound_id)
        if playing is None:
            return self._last_closed[1] if self._last_closed[0] == sound_id else ReplySamples(0)
        played = ReplySamples(max(playing.session_position, playing.heard(self._now_s())))
        if playing in self._trailing:
            self._trailing.remove(playing)
            self._move_up(playing)
            return played
        if playing.finished:
            self.release()
            self.unduck()  # otherwise the client drops the ducked audio
        self._playing = None
        self._changed.set()
        self._last_closed = (sound_id, played)
        return played

    def _move_up(self, gone: _Playback) -> None:
        """Corrects the start times of the replies after one that was cut: they play that much sooner."""
        now_s = self._now_s()
        for behind in filter(None, (*self._trailing, self._playing)):
            if gone.anchor_s is not None and behind.anchor_s is not None and behind.anchor_s > now_s:
                behind.anchor_s = max(now_s, behind.anchor_s - max(0.0, gone.leaves_at_s(gone.sent) - now_s))

    def duck(self) -> None:
        """See `Speaker.duck`. The client lowers the volume."""
        if self._playing is not None:
            self._playing.ducked = True
            if not self._playing.held:
                self.on_duck(self._playing.sound_id, True)

    def unduck(self) -> None:
        """See `Speaker.unduck`."""
        if self._playing is not None and self._playing.ducked:
            self._playing.ducked = False
            if not self._playing.held:
                self.on_duck(self._playing.sound_id, False)

    def hold(self) -> None:
        """See `Speaker.hold`. What was sent cannot be held: the client lowers its volume, and gets no more."""
        playing = self._playing
        if playing is not None and not playing.held:
            playing.held = True
            if playing.sent and not playing.ducked:
                self.on_duck(playing.sound_id, True)

    def release(self) -> None:
        """See `Speaker.release`."""
        playing = self._playing
        if playing is not None and playing.held:
            playing.held = False
            self._changed.set()
            if playing.sent and not playing.ducked:
                self.on_duck(playing.sound_id, False)

    async def run(self) -> None:
        """Reports the played position to the conversation until cancelled."""
        while True:
            # Most of the time nothing plays.
            if not self._trailing and (self._playing is None or self._playing.finished):
                self._opened.clear()
                await self._opened.wait()
            await asyncio.sleep(self._tick_s())
            self._report_trailing()
            playing = self._playing
            if playing is not None and self._disconnected_s is None:
                self._report_played(playing, _loop_s())
            elif playing is not None and not playing.finished:
                self.on_played(
                    playing.sound_id,
                    ReplySamples(playing.session_position),
                    playing.leaves_at_s(playing.session_position),
                    False,
                )

    def _report_trailing(self) -> None:
        """Reports the positions of trailing replies and removes finished ones."""
        if self._disconnected_s is None:
            for trailing in list(self._trailing):
                self._report_played(trailing, _loop_s())
        self._trailing = [playback for playback in self._trailing if not playback.finished]

    def _tick_s(self) -> float:
        """Returns the time until the next report to the conversation."""
        if self._disconnected_s is not None:
            return AWAY_TICK_S
        playing = self._playing
        if playing is None or playing.session_position < REPLY_RATE_HZ or self._trailing:
            return TICK_S
        left_s = (playing.sent - playing.heard(_loop_s())) / REPLY_RATE_HZ
        return min(max(left_s, TICK_S), LATER_TICK_S)

    # ---- the client's reports ----

    def report(self, sound_id: SoundId, played_ms: float, *, finished: bool) -> None:
        """Takes a report that the client has played this much of a reply; `finished`: it will play no more of it."""
        playing = self._open(sound_id)
        if playing is None:
            return  # the reply is over
        position, before = min(reply_samples_of_ms(played_ms), playing.sent), playing.reported
        playing.reported, playing.standing = position, before is not None and position <= before
        playing.anchor, playing.anchor_s = position, _loop_s()
        if finished and playing.ended:
            playing.sent = playing.anchor = max(playing.session_position, position)
        self._changed.set()
        self._report_played(playing, playing.anchor_s)

    @property
    def is_disconnected(self) -> bool:
        """Whether the client is disconnected; see `RemoteSpeaker`."""
        return self._disconnected_s is not None

    def on_disconnect(self) -> None:
        """Marks the client as disconnected: nothing is sent or counted as played until it is back."""
        if self._disconnected_s is None:
            for trailing in self._trailing:  # their rest is never played
                trailing.sent = max(trailing.session_position, trailing.heard(_loop_s()))
            self._report_trailing()
            if self._playing is not None:
                self._report_played(self._playing, _loop_s())
            self._disconnected_s = _loop_s()

    def on_reconnect(self, sound_id: SoundId | None, received_ms: float | None) -> None:
        """Continues after a reconnect: sends again what the client has not received of the reply.

        Args:
            sound_id: The reply of which the client had received something.
            received_ms: How much of it. Of any other reply it has received nothing. None: unknown; nothing is sent
                again.
        """
        self._disconnected_s = None
        self._changed.set()
        playing, now_s = self._playing, _loop_s()
        if playing is None or received_ms is None:
            return
        received = reply_samples_of_ms(received_ms) if playing.sound_id == sound_id else ReplySamples(0)
        first = playing.kept[0][0] if playing.kept else playing.sent
        resent = max(first, min(received, playing.sent))
        if playing.anchor_s is not None:  # what did not arrive was not played
            playing.anchor, playing.anchor_s = min(playing.heard(now_s), resent), now_s
            playing.standing = False
        playing.first_sent_s = now_s
        for start, pcm in playing.kept:
            if start + len(pcm) > resent:
                self.send(playing.sound_id, pcm[max(0, resent - start) :])

    # ---- model of the client's playback ----

    def _now_s(self) -> float:
        """Returns loop time, which stands still while the client is disconnected."""
        return _loop_s() if self._disconnected_s is None else self._disconnected_s

    def _open(self, sound_id: SoundId) -> _Playback | None:
        known = filter(None, (*self._trailing, self._playing))
        return next((playing for playing in known if playing.sound_id == sound_id), None)

    def _before_s(self, now_s: float) -> float:
        """Returns the estimated time until the trailing replies have been played."""
        return sum((playback.sent - playback.expected(now_s)) / REPLY_RATE_HZ for playback in self._trailing)

    def _wait_s(self, playing: _Playback, samples: int) -> float:
        """Returns how long to wait before this many samples may be sent; 0 once nothing else is left to play."""
        if self._disconnected_s is not None:
            return AWAY_TICK_S
        if playing.held:
            return TICK_S
        now_s = _loop_s()
        unheard = playing.sent - playing.expected(now_s) + round(self._before_s(now_s) * REPLY_RATE_HZ)
        ahead = self._ahead_samples if self.paces else OWN_PLAYOUT_AHEAD_SAMPLES
        if unheard == 0 or unheard + samples <= ahead:
            return 0.0
        return max(TICK_S / 4, (unheard + samples - ahead) / REPLY_RATE_HZ)

    def _send(self, playing: _Playback, pcm: Pcm) -> None:
        now_s = _loop_s()
        if playing.sent == 0:
            playing.first_sent_s = now_s
        if playing.heard(now_s) == playing.sent and (playing.anchor_s is not None or not self.trusts_reports):
            self._report_played(playing, now_s)
            # Playback starts, or starts again, with this piece, after the rest of the trailing replies.
            playing.anchor, playing.anchor_s = playing.sent, now_s + self._before_s(now_s)
            playing.standing = False
        self.send(playing.sound_id, pcm)
        playing.kept.append((playing.sent, pcm.copy()))
        playing.sent += len(pcm)
        while playing.kept and playing.kept[0][0] + len(playing.kept[0][1]) < playing.session_position - REPLY_RATE_HZ:
            playing.kept.popleft()

    def _report_played(self, playing: _Playback, now_s: float) -> None:
        """Reports to the conversation what was played since the last report."""
        if playing.anchor_s is None and playing.sent and now_s - playing.first_sent_s > SILENT_CLIENT_S:
            self.silent_clients += 1
            playing.anchor_s = playing.first_sent_s
        heard = playing.heard(now_s)
        ending = playing.ended and heard >= playing.sent and not playing.finished
        if (heard <= playing.session_position and not ending) or playing.finished:
            return
        first, playing.session_position = playing.session_position, heard
        playing.finished = ending
        self.on_played(playing.sound_id, ReplySamples(heard), playing.leaves_at_s(first), ending)


def _loop_s() -> float:
    return asyncio.get_running_loop().time()
