"""Implements turn taking as a state machine: events in, effects out. No I/O, no clock.

Read `turn_taking.py` first: its table has the handler of each event in each state. `state/states.py` has the states,
`events.py` and `effects.py` its input and output, `settings.py` the modes and all thresholds. `conversation.py` holds
what outlasts the states. `handlers/` has a file for each state, and `overlap_handlers.py` for speech during a reply.

Where each question is decided:

    Does a user turn start?                  `policies/turn_start_policy.py`
    Is the user's turn over?                 `policies/turn_end_policy.py`
    How long is silence waited for?          `assistant/end_of_turn/estimator.py`: `silence_timeout_ms`
    When does an attempt start?              `state/user_turn.py`: `speculate`
    When is its transcript requested again?  `assistant/pipeline/transcript_requests.py`
    When is the turn committed?              `handlers/commit.py`
    Is a pause attended with a "mhm"?        `policies/listening_sound_policy.py`
    Is speech during a reply interrupting?   `policies/overlap_policy.py`; `words/backchannel.py`
    Interrupt or retract the reply?          `handlers/interruption.py`
    Does an interrupted reply resume?        `handlers/commit.py`: `discard_turn`; `replies.py`
    What does a request replace?             `handlers/requests.py`
    What if speech follows a pending turn?   `state/queued_turns.py`, `handlers/queued_turn_start.py`
    Must a reply wait for a resuming user?   `state/resume_guard.py`
    Is the speech for the assistant?         `words/wake_phrase.py`; during a reply: `handlers/side_talk.py`
    When does push-to-talk end the turn?     `push_to_talk.py`: `take_action`
"""
