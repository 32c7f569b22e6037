"""Implements turn taking as a state machine: events in, effects out. No I/O, no clock.

Read `turn_taking.py` first: its table has the handler of each event in each state. `states.py` defines the states,
`events.py` and `effects.py` its input and output, `settings.py` the modes and all thresholds. `conversation.py` holds
what outlasts the states. The handlers are in the file of their state: `idle.py`, `confirming_speech.py`,
`user_speaking.py`, `awaiting_transcript.py`, `replying.py`, and `overlap_handlers.py` for speech during a reply.

Where each question is decided:

    Does a user turn start?                  `turn_start_policy.py`
    Is the user's turn over?                 `turn_end_policy.py`
    How long is silence waited for?          `assistant/end_of_turn/estimator.py`: `silence_timeout_ms`
    When does an attempt start?              `user_turn.py`: `speculate`
    When is its transcript requested again?  `assistant/pipeline/transcript_requests.py`
    When is the turn committed?              `commit.py`
    Is a pause attended with a "mhm"?        `listening_sound_policy.py`
    Is speech during a reply interrupting?   `overlap_policy.py`; `backchannel.py`: the words
    Interrupt or retract the reply?          `interruption.py`
    Does an interrupted reply resume?        `commit.py`: `discard_turn`; `replies.py`
    What does a request replace?             `requests.py`
    What if speech follows a pending turn?   `queued_turns.py`, `queued_turn_start.py`
    Must a reply wait for a resuming user?   `resume_guard.py`
    Is the speech for the assistant?         `wake_phrase.py`; during a reply: `side_talk.py`
    When does push-to-talk end the turn?     `push_to_talk.py`: `take_action`
"""
