"""An engine that was chosen, for the screen and the trace."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine in use, as it is shown to the user.

    Attributes:
        stage: "vad", "turn", "stt", "llm", "cache", "tools" or "tts".
        name: Name of the engine.
        detail: One line about it.
        why: Why it is used: configured, or the engine that it replaces, with the reason.
        fallback: Whether it replaces the configured engine.
        load_ms: How long loading and warming up took.
    """

    stage: str
    name: str
    detail: str
    why: str
    fallback: bool
    load_ms: float
