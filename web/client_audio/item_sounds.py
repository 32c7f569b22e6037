"""Keeps the sound of a session's newest items, for clients that retrieve it. Bounded; no I/O."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from assistant.history.items import ItemId
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, samples_of_ms

MAX_ITEM_S = 16.0
"""Longest sound of a content part, so that a message with it stays below 1 MiB: common clients accept no more."""

MAX_BYTES = 3 << 20
"""Sound kept for one session: 65 s of replies, or 98 s of the user's speech."""

MAX_ITEMS = 256
"""Items with sound that are remembered."""

RECENT_FRAMES = 75
"""1.5 s before the newest frame are kept at any time: an onset is reported later than it was."""

MAX_SPEECH_FRAMES = 1000
"""20 s of speech are kept until the turn is committed. Of a longer turn no sound is kept."""

TAPE_RATE_HZ = MIC_RATE_HZ

MARGIN_MS = 200
"""Sound kept before the onset and after the end of speech."""


@dataclass(slots=True)
class _Sound:
    """The sound of a content part; `lost`: it is not kept, because it was too long or too old."""

    rate_hz: int
    pieces: list[Pcm] = field(default_factory=list)
    lost: bool = False

    @property
    def size(self) -> int:
        return sum(piece.nbytes for piece in self.pieces)

    @property
    def too_long(self) -> bool:
        return self.size > MAX_ITEM_S * self.rate_hz * 2

    def drop(self) -> None:
        self.pieces, self.lost = [], True


class ItemSounds:
    """The sound of content parts. The oldest is dropped when there is too much; an item's sound is whole or absent."""

    def __init__(self) -> None:
        self._sounds: dict[tuple[ItemId, int], _Sound] = {}
        self._size = 0

    def keep_sound(self, item: ItemId, part: int, pieces: Iterable[Pcm], rate_hz: int) -> None:
        """Keeps the sound of a part, int16 (n,) each."""
        if (before := self._sounds.pop((item, part), None)) is not None:
            self._size -= before.size
        self._sounds[item, part] = sound = _Sound(rate_hz, list(pieces))
        if sound.too_long:
            sound.drop()
        self._size += sound.size
        self._apply_limits()

    def add_reply(self, item: ItemId, pcm: Pcm) -> None:
        """Adds the next sound of a reply, int16 (n,) at 24 kHz."""
        sound = self._sounds.setdefault((item, 0), _Sound(REPLY_RATE_HZ))
        if not sound.lost:
            sound.pieces.append(pcm)
            self._size += pcm.nbytes
            if sound.too_long:
                self._size -= sound.size
                sound.drop()
            elif self._size > MAX_BYTES:
                self._apply_limits()

    def cut(self, item: ItemId, end_ms: float) -> None:
        """Cuts the sound of a reply to what was heard."""
        sound = self._sounds.get((item, 0))
        if sound is None or sound.lost:
            return
        self._size -= sound.size
        left, pieces = max(0, round(end_ms * sound.rate_hz / 1000)), sound.pieces
        sound.pieces = []
        for piece in pieces:
            if left > 0:
                sound.pieces.append(piece[:left])
            left -= len(piece)
        self._size += sound.size

    def forget(self, item: ItemId) -> None:
        """Drops the sound of a deleted item."""
        for key in [key for key in self._sounds if key[0] == item]:
            self._size -= self._sounds.pop(key).size

    def has(self, item: ItemId) -> bool:
        """Returns whether sound of this item is kept."""
        return any(known == item and sound.pieces for (known, _), sound in self._sounds.items())

    def of(self, item: ItemId) -> dict[int, tuple[Pcm, int]]:
        """Returns the sound of each part that is kept, int16 (n,), and its sample rate."""
        return {
            part: (np.concatenate(sound.pieces), sound.rate_hz)
            for (known, part), sound in self._sounds.items()
            if known == item and sound.pieces
        }

    def _apply_limits(self) -> None:
        for sound in self._sounds.values():  # the oldest first
            if self._size <= MAX_BYTES:
                break
            self._size -= sound.size
            sound.drop()
        while len(self._sounds) > MAX_ITEMS:
            self._size -= self._sounds.pop(next(iter(self._sounds))).size


class SpeechTape:
    """Keeps the user's sound while a turn is not committed yet, and the last moment before."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._starts: dict[int, int] = {}

    def add_frame(self, frame: Frame) -> None:
        """Adds the next frame. The frame is kept, not copied."""
        self._frames.append(frame)
        if len(self._frames) > (MAX_SPEECH_FRAMES if self._starts else RECENT_FRAMES):
            self._shrink()

    def begin(self, turn: int, onset_ms: float) -> None:
        """Starts to keep the sound of a turn, unless it is kept already."""
        self._starts.setdefault(turn, max(0, samples_of_ms(onset_ms - MARGIN_MS)))

    def end(self, turn: int, end_ms: float | None) -> Sequence[Pcm]:
        """Returns the sound of a turn that has ended, at 16 kHz; none if it was too long. None: up to now."""
        start = self._starts.pop(turn, None)
        end = None if end_ms is None else samples_of_ms(end_ms + MARGIN_MS)
        frames = self._frames
        kept_frames = []
        if start is not None and frames and frames[0].start <= start + FRAME_SAMPLES:
            kept_frames = [frame.pcm for frame in frames if frame.end > start and (end is None or frame.start < end)]
        self._shrink()
        return kept_frames

    def _shrink(self) -> None:
        """Drops turns that are too long or never ended, and frames that no other turn needs."""
        frames = self._frames
        first = frames[-MAX_SPEECH_FRAMES].start if len(frames) >= MAX_SPEECH_FRAMES else 0
        self._starts = {turn: start for turn, start in self._starts.items() if start + FRAME_SAMPLES >= first}
        while len(frames) > (MAX_SPEECH_FRAMES if self._starts else RECENT_FRAMES):
            frames.popleft()
