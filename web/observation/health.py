"""Computes the answer of /readyz from the state of the engines. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from assistant.pipeline.missing_engines import NoRecognizer

State = Literal["loading", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class EngineState:
    """State of one stage's engine.

    Attributes:
        stage: "vad", "turn", "stt", "llm" or "tts".
        state: "ready" is loaded and warm.
        name: The engine's name; "" until it is chosen.
        detail: One line of details.
        why: Why this engine was chosen, or what failed.
        fallback: Whether it runs in place of the requested engine.
    """

    stage: str
    state: State
    name: str = ""
    detail: str = ""
    why: str = ""
    fallback: bool = False


class EngineHealth(Protocol):
    """The interface of the shared engines that the server needs."""

    async def load(self) -> None:
        """Loads and warms every engine. Raises EngineLoadError if a stage has no working engine."""

    def state(self) -> Sequence[EngineState]:
        """Returns the state of every stage, also before and during loading."""

    async def aclose(self) -> None:
        """Stops the engines after the last session has ended."""


def is_ready(states: Sequence[EngineState]) -> bool:
    """Returns whether a conversation can begin."""
    return bool(states) and all(engine.state == "ready" for engine in states)


def readiness(
    states: Sequence[EngineState], *, draining: bool, refusing: str | None = None, admits: bool = False
) -> tuple[int, dict[str, object]]:
    """Returns status and JSON body of /readyz, without reasons of engines, which may contain paths.

    `missing`, if present, lists the stages without an engine: speech recognition, so that only typed text is answered.

    Args:
        states: The engines.
        draining: Whether the server shuts down.
        refusing: Why a new session would be refused; None: it would be admitted.
        admits: Whether the status tells that a new session would be admitted, for load balancers.
    """
    status, body = _readiness(states, draining=draining)
    return 503 if admits and refusing is not None else status, {**body, "refusing": refusing}


def _readiness(states: Sequence[EngineState], *, draining: bool) -> tuple[int, dict[str, object]]:
    pending = [
        {"stage": engine.stage, "state": engine.state, "engine": engine.name or None}
        for engine in states
        if engine.state != "ready"
    ]
    if draining:
        return 503, {"status": "draining", "pending": pending}
    if is_ready(states):
        missing = [engine.stage for engine in states if engine.name == NoRecognizer.name]
        return 200, {"status": "ready", "pending": [], **({"missing": missing} if missing else {})}
    failed = any(engine.state == "failed" for engine in states)
    return 503, {"status": "failed" if failed else "loading", "pending": pending}
