"""Decides when the user's turn is over. No I/O, no clock.

How long silence is waited for follows from the EOT probability; see `assistant/end_of_turn/estimator.py`.
"""

from dataclasses import dataclass

from assistant.turns.settings import TurnSettings
from assistant.turns.state.states import EndedBy
from assistant.turns.state.user_turn import UserTurn
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


@dataclass(frozen=True, slots=True)
class TurnEndPolicy:
    """Ends a turn after the silence timeout, or at the maximum length.

    With push-to-talk only the maximum length ends a turn here. Where the client ends turns, nothing does.
    """

    def ended_by(self, turn: UserTurn, position: Samples, vad: VadResult, settings: TurnSettings) -> EndedBy | None:
        """Returns what ends the turn with this frame, or None if it goes on.

        In a silence, `turn.speech_end` is the end of the speech before it.
        """
        if settings.ends_by_client:
            return None
        if vad.speaking or settings.ends_by_key:  # no silence that may end the turn
            return EndedBy.MAX_LENGTH if turn.is_too_long(position, settings) else None
        timeout_ms = settings.hangover_ms if turn.silence_timeout_ms is None else turn.silence_timeout_ms
        if position - turn.speech_end < samples_of_ms(timeout_ms):
            return None
        if not settings.sound_decides:
            turn.resume_guard.add_frame(position, vad, settings)
            if turn.resume_guard.holds:
                return None
        return EndedBy.FINAL_SILENCE if settings.silence_is_final else EndedBy.SILENCE
