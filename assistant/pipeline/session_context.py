"""Defines what the parts of a session share: engines, settings, recorder, clock, and ways to report."""

from collections.abc import Callable
from dataclasses import dataclass

from assistant.events import SessionEvent
from assistant.pipeline.engines import Engines, SessionSettings
from assistant.pipeline.recorder import Recorder
from assistant.turns.events import ReportedEvent
from audio.clock import StreamClock
from audio.units import Samples


@dataclass(slots=True)
class SessionContext:
    """Gives the parts of a session access to what they share.

    Attributes:
        engines: VAD, recognizer, LLM, voice and the other engines in use.
        settings: Time limits and language of the stages. A client may choose another language.
        recorder: Collects the trace of each turn.
        clock: The microphone's sample clock.
        position: Returns the position on the sample clock up to which frames were processed.
        dispatch: Passes an event to the turn-taking machine and applies its effects.
        on_event: Receives session events for the user interface or client.
        report_problem: Receives problem descriptions, one sentence each, without words of the conversation.
    """

    engines: Engines
    settings: SessionSettings
    recorder: Recorder
    clock: StreamClock
    position: Callable[[], Samples]
    dispatch: Callable[[ReportedEvent], None]
    on_event: Callable[[SessionEvent], None]
    report_problem: Callable[[str], None]
