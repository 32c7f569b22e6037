"""Whether the server is well: what /readyz says, and what it must know of the engines for that. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

State = Literal["loading", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class EngineState:
    """One stage's engine.

    Attributes:
        stage: "vad", "turn", "stt", "llm" or "tts".
        state: "ready" is loaded and warm.
        name: The engine; "" while it is not chosen.
        detail: One line about it.
        why: Why this one, or what failed.
        fallback: Whether it runs in place of something else.
    """

    stage: str
    state: State
    name: str = ""
    detail: str = ""
    why: str = ""
    fallback: bool = False


class EngineHealth(Protocol):
    """The engines that all sessions share, as far as the server's shell knows them."""

    async def load(self) -> None:
        """Load and warm every engine. Raises EngineLoadError where a stage has none that works."""

    def state(self) -> Sequence[EngineState]:
        """Of every stage, also before and while it is loaded."""

    async def aclose(self) -> None:
        """Stop the engines; no session is left."""


def is_ready(states: Sequence[EngineState]) -> bool:
    """Whether a conversation can begin."""
    return bool(states) and all(engine.state == "ready" for engine in states)


def readiness(states: Sequence[EngineState], *, draining: bool) -> tuple[int, dict[str, object]]:
    """Status and JSON body of /readyz. Reasons, which may name paths, stay on the server's screen."""
    pending = [
        {"stage": engine.stage, "state": engine.state, "engine": engine.name or None}
        for engine in states
        if engine.state != "ready"
    ]
    if draining:
        return 503, {"status": "draining", "pending": pending}
    if is_ready(states):
        return 200, {"status": "ready", "pending": []}
    failed = any(engine.state == "failed" for engine in states)
    return 503, {"status": "failed" if failed else "loading", "pending": pending}
