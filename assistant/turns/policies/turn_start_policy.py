"""Decides whether speech begins a user turn. Pure."""

from dataclasses import dataclass

from assistant.turns.settings import TurnSettings
from assistant.turns.state.speech_candidate import SpeechCandidate


@dataclass(frozen=True, slots=True)
class TurnStartPolicy:
    """Begins a turn once speech is confirmed.

    With push-to-talk, where the client ends turns, or where sound alone decides, any speech begins one.

    A candidate that has ended unconfirmed can still begin a turn, by its transcript; see `confirming_speech.py`.
    """

    def begins_turn(self, candidate: SpeechCandidate, settings: TurnSettings) -> bool:
        """Returns whether the candidate begins a turn now, after a speech frame."""
        at_once = settings.sound_decides or not settings.ends_by_silence
        return at_once or candidate.is_confirmed(settings.start)
