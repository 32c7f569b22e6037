"""Records the events of turn taking without their words, so that a replay makes the same decisions. No I/O, no clock.

Each event that a session reports becomes one entry of `event_entries.py`; frames without changes share one.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from assistant.turns.events import FrameProcessed, InterimTranscript, PlaybackProgress, ReportedEvent
from assistant.turns.log.event_entries import event_entry, frames_entry, probability_byte, settings_entry
from assistant.turns.settings import TurnSettings
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms

MAX_ENTRIES = 20_000
"""Limit on the entries between two records, more than an hour of events. If there are more, the oldest are dropped;
`before` shows how many are missing."""

MAX_FRAMES = 3000
"""Limit on the speech frames in one entry: one minute. An entry holds the probability of each speech frame; of silence
only the length."""

PROGRESS_INTERVAL = samples_of_ms(500)
"""Interval, in samples, at which unchanged progress reports are kept. Turn taking only checks that one arrived within
seconds."""


@dataclass(frozen=True, slots=True)
class LogEntries:
    """The entries since the last `drain`.

    Attributes:
        before: The number of entries before these, including dropped ones.
        entries: The entries, oldest first.
    """

    before: int
    entries: tuple[str, ...]


@dataclass(slots=True)
class EventLog:
    """Records the turn-taking events of one conversation.

    Attributes:
        salt: The key for hashes of words. It is never written to the trace.
    """

    salt: bytes
    _entries: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_ENTRIES))
    _count: int = 0
    _settings: TurnSettings | None = None
    _last: FrameProcessed | None = None  # the last frame of the open frame entry
    _frames: int = 0
    _probabilities: bytearray = field(default_factory=bytearray)
    _playing: PlaybackProgress | None = None  # the last report
    _logged: PlaybackProgress | None = None  # the last report that has an entry
    _partial: str = ""

    def add_event(self, event: ReportedEvent, settings: TurnSettings) -> None:
        """Records the next event and the settings in effect. Call it before the event is handled."""
        if settings != self._settings:
            self._settings, self._partial = settings, ""
            self._add_entry(settings_entry(settings))
        match event:
            case FrameProcessed():
                if self._playing is not self._logged and self._playing is not None:
                    self._add_last_progress(event.position)
                self._add_frame(event)
            case PlaybackProgress():
                self._playing = event
                if self._logged is None or _is_new(self._logged, event):
                    self._logged = event
                    self._add_entry(event_entry(event, self.salt))
            case InterimTranscript(was_requested=False):
                entry = event_entry(event, self.salt)
                if entry.partition(" ")[2].partition(" ")[2] != self._partial:
                    self._partial = entry.partition(" ")[2].partition(" ")[2]
                    self._add_entry(entry)
            case _:
                self._add_entry(event_entry(event, self.salt))

    def drain(self) -> LogEntries:
        """Returns and removes the entries since the last call."""
        self._flush()
        entries = tuple(self._entries)
        self._entries.clear()
        return LogEntries(self._count - len(entries), entries)

    def forget(self) -> None:
        """Drops the entries since the last `drain`. The gap shows in `before` of the next entries."""
        self._flush()
        self._entries.clear()
        self._count += 1  # always leave a gap, since a replay of the following entries would lack the state before it
        self._settings = self._playing = self._logged = None
        self._partial = ""

    def _add_frame(self, event: FrameProcessed) -> None:
        if self._last is not None and (not _shares_entry(self._last, event) or len(self._probabilities) >= MAX_FRAMES):
            self._flush()
        self._last = event
        self._frames += 1
        if event.vad.speaking:  # the probability only matters for speech
            self._probabilities.append(probability_byte(event.vad.probability))

    def _add_last_progress(self, now: Samples) -> None:
        """Records the last report, even if unchanged, once the reports have stopped."""
        if self._playing is not None and now - self._playing.position >= PROGRESS_INTERVAL:
            self._logged = self._playing
            self._add_entry(event_entry(self._playing, self.salt))

    def _add_entry(self, entry: str) -> None:
        self._flush()
        self._entries.append(entry)
        self._count += 1

    def _flush(self) -> None:
        if self._last is None:
            return
        self._entries.append(frames_entry(self._last, self._frames, bytes(self._probabilities)))
        self._count += 1
        self._last, self._frames, self._probabilities = None, 0, bytearray()


def _is_new(kept: PlaybackProgress, event: PlaybackProgress) -> bool:
    same = replace(event, position=kept.position) == kept
    return not same or event.position - kept.position >= PROGRESS_INTERVAL


def _shares_entry(last: FrameProcessed, event: FrameProcessed) -> bool:
    before, now = last.vad, event.vad
    same = (before.speaking, before.boundary, before.possible_end) == (now.speaking, now.boundary, now.possible_end)
    same = same and (before.possible_onset, before.above_noise, before.background_level) == (
        now.possible_onset,
        now.above_noise,
        now.background_level,
    )
    return same and event.position - last.position == FRAME_SAMPLES
