"""Plays a server's replies in order, stops them at once, and reports the played position."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from assistant.turns.events import ReplyId
from audio.sound_id import NamedSound, SoundId
from audio.speaker import Speaker
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples
from web.remote.sound.jitter_buffer import GATHER_LIMIT_S, JitterBuffer
from web.remote.sound.reply_playback import ReplyPlayback

MAX_WAITING_SAMPLES = 60 * REPLY_RATE_HZ
"""Audio that may wait to be played. A server sends a few seconds ahead; more than this is dropped and reported."""

MAX_KEPT_SAMPLES = 60 * REPLY_RATE_HZ
"""Audio of the last reply that is kept to repeat it."""

STUCK_AFTER_S = 5.0
"""Longest wait for the loudspeaker to report the end of a reply."""

TOO_FAST = "the server sends sound faster than it can be played: part of the reply is missing"

Report = Callable[[ReplyId, ReplyPlayback], None]


@dataclass(slots=True)
class RemotePlayback:
    """Plays the replies of one conversation. Not thread-safe: use it on the event loop.

    Attributes:
        audible: Called when a reply has become audible.
        progress: Called about ten times a second with the position of a reply, and when it is over.
        trouble: Called with one sentence when audio is lost.
        playing: The reply that plays or is about to.
        jitter_buffer: Decides how much to buffer before a reply starts or continues.
    """

    speaker: Speaker
    audible: Report = lambda _reply, _played: None
    progress: Report = lambda _reply, _played: None
    trouble: Callable[[str], None] = lambda _what: None
    playing: ReplyId | None = None
    jitter_buffer: JitterBuffer = field(default_factory=JitterBuffer)
    _played: dict[ReplyId, ReplyPlayback] = field(default_factory=dict)
    _waiting: deque[tuple[SoundId, Pcm | None]] = field(default_factory=deque)  # None: the end of the reply
    _waiting_samples: int = 0
    _closed: set[SoundId] = field(default_factory=set)  # replies whose further audio is dropped
    _open: SoundId | None = None  # the reply that is open at the loudspeaker
    _given: int = 0  # samples of it that were passed to the loudspeaker
    _ended: SoundId | None = None  # the reply whose audio is complete
    _kept: list[Pcm] = field(default_factory=list)  # the audio of the last reply
    _kept_samples: int = 0
    _repeats: int = 0
    _reported: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.speaker.on_played = self._took

    # ---- received audio ----

    def sound(self, reply_id: ReplyId, pcm: Pcm) -> None:
        """Queues the next audio of a reply."""
        if reply_id in self._closed or not len(pcm):
            return
        if reply_id not in self._played:
            self._begin(reply_id)
        if self._waiting_samples + len(pcm) > MAX_WAITING_SAMPLES:
            if not self._reported:
                self._reported = True
                self.trouble(TOO_FAST)
            return
        self._played[reply_id].came(pcm, _now_s())
        if self._kept_samples < MAX_KEPT_SAMPLES:
            self._kept.append(pcm)
            self._kept_samples += len(pcm)
        self._queue_chunk(reply_id, pcm)

    def end(self, reply_id: ReplyId) -> None:
        """Ends a reply whose audio is complete."""
        if reply_id in self._played and reply_id not in self._closed and self._ended != reply_id:
            self._ended = reply_id
            self._queue_chunk(reply_id, None)

    def stop(self) -> None:
        """Stops playback and drops queued audio."""
        cut = self.playing
        self._waiting.clear()
        self._waiting_samples = 0
        if self._open is not None:
            self.speaker.close(self._open)
            self.speaker.unduck()
            self._closed.add(self._open)
        self._open = self.playing = None
        if cut is not None:
            self._closed.add(cut)
            self.progress(cut, self._played[cut])
        self._changed.set()

    def forget(self) -> None:
        """Forgets all replies, because another conversation uses the same reply ids."""
        self.stop()
        self._played.clear()
        self._closed.clear()
        self._ended = None

    def loudness(self, *, lower: bool) -> None:
        """Ducks the reply or restores its volume."""
        if lower:
            self.speaker.duck()
        else:
            self.speaker.unduck()

    def again(self) -> bool:
        """Repeats the last reply from the kept audio; returns False if there is none."""
        if not self._kept:
            return False
        self.stop()
        self._repeats += 1
        sound_id = NamedSound(f"repetition {self._repeats}")
        self._queue_chunk(sound_id, np.concatenate(self._kept))
        self._queue_chunk(sound_id, None)
        return True

    def received_ms(self, reply_id: ReplyId) -> float:
        """Returns how much of a reply has arrived; after a reconnect the server continues from there."""
        return 0.0 if reply_id not in self._played else self._played[reply_id].arrived * 1000 / REPLY_RATE_HZ

    @property
    def sounding(self) -> bool:
        """Whether something plays or is about to."""
        return self._open is not None or bool(self._waiting)

    @property
    def played_ms(self) -> float | None:
        """Played length of the current reply; None if none plays."""
        return None if self.playing is None else self._played[self.playing].heard_ms(_now_s())

    # ---- the loudspeaker ----

    async def run(self) -> None:
        """Passes queued audio to the loudspeaker until cancelled."""
        while True:
            self._changed.clear()
            if not self._waiting:
                await self._changed.wait()
                continue
            sound_id, pcm = self._waiting.popleft()
            if sound_id in self._closed:
                continue
            if sound_id != self._open:
                await self._until_silent()
                if sound_id in self._closed:
                    continue
                self._begin_at_the_speaker(sound_id)
            if pcm is None:
                self.speaker.end(sound_id)
                continue
            if self._must_buffer(sound_id):
                await self._buffer_reply(sound_id, pcm)
                if sound_id in self._closed:
                    continue
            self._waiting_samples -= len(pcm)
            self._given += len(pcm)
            await self.speaker.play_chunk(sound_id, pcm)

    def _begin_at_the_speaker(self, sound_id: SoundId) -> None:
        self._open, self._given = sound_id, 0
        self.speaker.open(sound_id)
        self.jitter_buffer.begin()

    def _must_buffer(self, sound_id: SoundId) -> bool:
        """Returns whether to buffer: at the start of a reply, and after an underrun."""
        if not isinstance(sound_id, ReplyId) or sound_id not in self._played:
            return False  # a repeated reply is complete already
        played = self._played[sound_id]
        if self._given == 0:
            return True
        if played.taken < self._given or not played.dry(_now_s(), self.speaker.latency_s):
            return False
        self.jitter_buffer.ran_dry()
        return True

    async def _buffer_reply(self, sound_id: SoundId, first: Pcm) -> None:
        """Waits until enough of the reply has arrived, or all of it, up to `GATHER_LIMIT_S`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_LIMIT_S):
                while self._open == sound_id and not self._enough(sound_id, first):
                    self._changed.clear()
                    await self._changed.wait()

    def _enough(self, sound_id: SoundId, first: Pcm) -> bool:
        here = len(first)
        for other, pcm in self._waiting:
            if here >= self.jitter_buffer.samples or other != sound_id or pcm is None:
                return True
            here += len(pcm)
        return here >= self.jitter_buffer.samples

    async def _until_silent(self) -> None:
        """Waits until the previous reply has finished, because opening the next one would cut it."""
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + STUCK_AFTER_S
        while self._open is not None:
            self._changed.clear()
            try:
                async with asyncio.timeout_at(give_up_s):
                    await self._changed.wait()
            except TimeoutError:
                return

    def _took(self, sound_id: SoundId, total: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        if finished and sound_id == self._open:
            self._open = None
            self.jitter_buffer.over()
            self._changed.set()
        if not isinstance(sound_id, ReplyId) or sound_id not in self._played:
            return
        played, now_s = self._played[sound_id], _now_s()
        if played.took(total, leaves_at_s, finished=finished):
            self.audible(sound_id, played)
        if played.report_due(now_s) or finished:
            self.progress(sound_id, played)
        if finished and self.playing == sound_id:
            self.playing = None

    def _begin(self, reply_id: ReplyId) -> None:
        if self.playing is not None and self.playing != self._ended:
            self.end(self.playing)  # its end was never announced
        self._played = {
            known: playback for known, playback in self._played.items() if known == self.playing
        }  # it may still play
        self._played[reply_id] = ReplyPlayback()
        self._closed &= {self._open}
        self.playing = reply_id
        self._kept, self._kept_samples, self._reported = [], 0, False

    def _queue_chunk(self, sound_id: SoundId, pcm: Pcm | None) -> None:
        self._waiting.append((sound_id, pcm))
        self._waiting_samples += 0 if pcm is None else len(pcm)
        self._changed.set()


def _now_s() -> float:
    return asyncio.get_running_loop().time()
