"""Judges whether speech is of the voices that the assistant listens to. No I/O, no clock."""

from collections.abc import Sequence
from typing import Literal

from assistant.speakers.thresholds import THRESHOLDS, SpeakerThresholds
from assistant.speakers.verdict import VoiceVerdict
from assistant.speakers.voiceprint import Voiceprint
from audio.speaker_embedding.embedder import Embedding, mean_embedding

FocusMode = Literal["first", "enrolled"]
"""The voices that the assistant listens to: that of the first turn, or those that are enrolled."""

FIRST = "first"


class VoiceFocus:
    """The voices that one conversation listens to. Until one is known, it listens to all.

    Attributes:
        mode: Which voices it listens to.
        enrolled: The enrolled voices. Their speech has their names.
    """

    def __init__(
        self, mode: FocusMode, enrolled: Sequence[Voiceprint] = (), thresholds: SpeakerThresholds = THRESHOLDS
    ) -> None:
        """Begins a conversation. It listens to the enrolled voices only in the mode of that name."""
        self.mode: FocusMode = mode
        self.enrolled = tuple(enrolled)
        self._thresholds = thresholds
        self._voices = tuple(enrolled) if mode == "enrolled" else ()
        self._ignored: list[Voiceprint] = []  # turns of one voice that were ignored in a row

    @property
    def voices(self) -> tuple[Voiceprint, ...]:
        """The voices that it listens to; empty: all."""
        return self._voices

    def judge(self, windows: Sequence[Embedding]) -> VoiceVerdict:
        """Returns whose voice the recent speech is.

        Args:
            windows: Embeddings of the last windows of one stretch of speech, at least one. More than
                `SpeakerThresholds.max_windows` are ignored.
        """
        limits, recent = self._thresholds, list(windows)[-self._thresholds.max_windows :]
        if not self._voices:
            return "unsure"
        similarity = self.similarity(mean_embedding(recent))
        other = limits.other[min(len(recent), len(limits.other)) - 1]
        if similarity < other:
            return "other"
        return "own" if similarity >= limits.own else "unsure"

    def similarity(self, embedding: Embedding) -> float:
        """Returns the similarity to the most similar voice that it listens to; -1 if there is none."""
        return max((voice.similarity(embedding) for voice in self._voices), default=-1.0)

    def learn(self, speech: Sequence[tuple[Embedding, float]], *, called: bool = False) -> None:
        """Takes the speech of a turn that the assistant answers: embeddings with seconds of speech.

        In the mode "first", the first turn with enough speech is the voice that it listens to; later turns of that
        voice are added to it. A voice that speaks the wake phrase (`called`) takes its place. An enrolled voice does
        not change.
        """
        self._ignored.clear()
        total_s = sum(seconds for _, seconds in speech)
        if self.mode != "first" or total_s < self._thresholds.min_first_s:
            return
        turn = Voiceprint.of(FIRST, speech)
        if not self._voices:
            self._voices = (turn,)
        elif self._voices[0].similarity(turn.embedding) >= self._thresholds.own:
            learned = self._voices[0].with_speech(turn.embedding, total_s, self._thresholds.max_memory_s)
            self._voices = (learned,)
        elif called:
            self._voices = (turn,)

    def let_go(self, ignored: Sequence[tuple[Embedding, float]]) -> bool:
        """Takes the speech of a turn that was ignored. Returns whether the first voice is let go for it.

        That is so after `SpeakerThresholds.max_ignored` turns of one voice in a row: it probably is the user, and the
        first turn was another person's. Until the next answered turn, every voice counts. An enrolled voice stays.
        """
        if self.mode != "first":
            return False
        turn = Voiceprint.of("", ignored)
        if self._ignored and self._ignored[0].similarity(turn.embedding) < self._thresholds.same_voice:
            self._ignored.clear()
        self._ignored.append(turn)
        if len(self._ignored) < self._thresholds.max_ignored:
            return False
        self._ignored.clear()
        self._voices = ()
        return True
