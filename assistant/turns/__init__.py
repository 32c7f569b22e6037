"""Implements turn taking as a pure state machine: events in, effects out; no I/O and no clock.

Where each question is decided:

    Does a user turn start?                  `turn_taking.py`: `_on_idle_frame`; `speech_candidate.py`
    Is the user's turn over?                 `turn_taking.py`: `_on_silence`
    How long is silence waited for?          `assistant/end_of_turn/estimator.py`: `silence_timeout_ms`
    When is the transcript requested?        `user_turn.py`: `speculate`
    When is the turn committed?              `states.py`: `commit_if_ready`
    Interruption, by length and certainty?   `overlap.py`: `Overlap.interrupts`
    Interruption or backchannel, by words?   `turn_taking.py`: `_on_interim_transcript`; `backchannel.py`: the words
    Interrupt or retract the reply?          `states.py`: `interrupt_or_retract`
    Does an interrupted reply resume?        `states.py`: `discard_turn`, `request_resume`
    Must a reply wait for a resuming user?   `resume_guard.py`
    Is the speech for the assistant?         `wake_phrase.py`
    When does push-to-talk end the turn?     `push_to_talk.py`: `take_action`
"""
