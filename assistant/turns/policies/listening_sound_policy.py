"""Decides whether a pause of the user is attended with a listening sound, a soft "mhm". No I/O, no clock.

The sound tells a user who pauses to think that the assistant still listens. It neither ends nor delays anything.
"""

from dataclasses import dataclass

from assistant.turns.settings import TurnSettings
from assistant.turns.state.user_turn import UserTurn
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult


@dataclass(frozen=True, slots=True)
class ListeningSoundPolicy:
    """Attends a pause that sounds unfinished, once, if the user said something and the turn does not end soon."""

    def is_due(
        self, turn: UserTurn, position: Samples, vad: VadResult, last_at: Samples | None, settings: TurnSettings
    ) -> bool:
        """Returns whether the sound begins with this silent frame.

        `last_at` is the beginning of the last sound of the conversation; None before the first.
        """
        thresholds = settings.listening_sounds
        if thresholds is None or turn.pause_attended or not turn.sounds_unfinished or vad.possible_onset:
            return False
        timeout_ms = turn.silence_timeout_ms
        if timeout_ms is None or not settings.ends_by_silence or not turn.will_be_answered or not _has_words(turn):
            return False
        silence = position - turn.speech_end
        if silence < samples_of_ms(thresholds.after_ms):
            return False
        if silence + samples_of_ms(thresholds.min_time_left_ms) > samples_of_ms(timeout_ms):
            return False
        return last_at is None or position - last_at >= samples_of_s(thresholds.min_interval_s)


def _has_words(turn: UserTurn) -> bool:
    """Returns whether the turn has words for the assistant. Noise and side talk are not attended."""
    words = None if turn.attempt is None else turn.attempt.words
    return words is not None and bool(words.new_text) and not words.low_confidence and not words.ignored_because
