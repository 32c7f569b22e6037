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
        """Returns the label of a stretch of speech, and remembers its voice.

        A voice that spoke last keeps its label at a lower similarity than another one needs. Speech that is too short,
        or is between a known and a new voice, keeps the last label.
        """
        limits = self._thresholds
        if speech_s < limits.min_speech_s:
            return self.current
        similarities = {voice.name: voice.similarity(embedding) for voice in self.voices}
        best = max(similarities, key=lambda name: similarities[name], default=UNKNOWN)
        likely, same_as_last = similarities.get(best, -1.0), similarities.get(self.current, -1.0)
        goes_on = same_as_last >= limits.keep_voice and likely - same_as_last < limits.min_lead
        if goes_on or likely >= limits.same_voice:
            self.current = self.current if goes_on else best
            self._learn(embedding, speech_s)
        elif likely < limits.new_voice:
            self.current = self._new_voice(embedding, speech_s)
        return self.current

    def _new_voice(self, embedding: Embedding, speech_s: float) -> str:
        """Numbers another voice. Returns its label; UNKNOWN if there are too many."""
        if len(self._others) >= self._thresholds.max_voices:
            return UNKNOWN
        label = f"S{len(self._others) + 1}"
        self._others.append(Voiceprint(label, embedding, speech_s))
        return label

    def _learn(self, embedding: Embedding, speech_s: float) -> None:
        """Adds speech to the current voice, unless that is enrolled: what was taught does not change."""
        for number, voice in enumerate(self._others):
            if voice.name == self.current and voice.similarity(embedding) >= self._thresholds.same_voice:
                self._others[number] = voice.with_speech(embedding, speech_s, self._thresholds.max_memory_s)
