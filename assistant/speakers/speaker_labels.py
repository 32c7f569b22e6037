"""Labels speech with the name of an enrolled voice, or with S1, S2, ... No I/O, no clock."""

from collections.abc import Sequence

from assistant.speakers.thresholds import THRESHOLDS, SpeakerThresholds
from assistant.speakers.voiceprint import Voiceprint
from audio.speaker_embedding.embedder import Embedding

UNKNOWN = ""
"""The label of speech whose speaker is not known."""


class SpeakerLabels:
    """The voices of one conversation.

    Attributes:
        current: The label of the last speech; UNKNOWN before the first.
    """

    def __init__(self, enrolled: Sequence[Voiceprint] = (), thresholds: SpeakerThresholds = THRESHOLDS) -> None:
        """Begins a conversation in which only the enrolled voices are known."""
        self.current = UNKNOWN
        self._thresholds = thresholds
        self._enrolled = list(enrolled)
        self._others: list[Voiceprint] = []

    @property
    def voices(self) -> tuple[Voiceprint, ...]:
        """The known voices: those that are enrolled, and those that this conversation has numbered."""
        return (*self._enrolled, *self._others)

    def label(self, embedding: Embedding, speech_s: float) -> str:
        """Returns the label that `learn` would give a stretch of speech. Changes nothing.

        A voice that spoke last keeps its label at a lower similarity than another one needs. Speech that is too short,
        or is between a known and a new voice, keeps the last label.
        """
        limits = self._thresholds
        if speech_s < limits.min_speech_s:
            return self.current
        similarities = {voice.name: voice.similarity(embedding) for voice in self.voices}
        lead = {name: similarity - self._least(name) for name, similarity in similarities.items()}
        best = max(lead, key=lambda name: lead[name], default=UNKNOWN)
        likely, same_as_last = similarities.get(best, -1.0), similarities.get(self.current, -1.0)
        if same_as_last >= limits.keep_voice and likely - same_as_last < limits.min_lead:
            return self.current
        if lead.get(best, -1.0) >= 0:
            return best
        if max(similarities.values(), default=-1.0) >= limits.new_voice:
            return self.current
        return f"S{len(self._others) + 1}" if len(self._others) < limits.max_voices else UNKNOWN

    def learn(self, embedding: Embedding, speech_s: float) -> str:
        """Returns the label of a stretch of speech, and remembers its voice."""
        label = self.label(embedding, speech_s)
        self.current = label
        if label and speech_s >= self._thresholds.min_speech_s:
            self._learn(label, embedding, speech_s)
        return label

    def _least(self, name: str) -> float:
        """Returns the similarity from which speech is of a known voice."""
        is_enrolled = any(voice.name == name for voice in self._enrolled)
        return self._thresholds.enrolled_voice if is_enrolled else self._thresholds.same_voice

    def _learn(self, label: str, embedding: Embedding, speech_s: float) -> None:
        """Adds speech to a voice, unless that is enrolled: what was taught does not change."""
        limits = self._thresholds
        if all(voice.name != label for voice in self.voices):
            self._others.append(Voiceprint(label, embedding, speech_s))
            return
        for number, voice in enumerate(self._others):
            if voice.name == label and voice.similarity(embedding) >= limits.same_voice:
                self._others[number] = voice.with_speech(embedding, speech_s, limits.max_memory_s)
