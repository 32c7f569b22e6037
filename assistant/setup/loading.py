"""The interface of the engine loader to the loaders of single engines, and how engines are closed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from assistant.config.settings import Settings
from assistant.setup.answering import services
from audio.engine_lateness import EngineLateness
from audio.execution_provider import ProviderRequest, ProviderUser

CLOSE_TIMEOUT_S = 3.0


class Loading(Protocol):
    """The loading of all engines, of which each loader does a part.

    Attributes:
        settings: The settings. A loader leaves out what cannot be used.
        environ: Environment variables.
        local_problem: Why the installed model on this machine does not answer; "" if none is there or it does.
        lateness: Decides what is left out when the engines on this machine are late.
    """

    settings: Settings
    environ: Mapping[str, str]
    local_problem: str
    lateness: EngineLateness

    async def with_timeout(self, name: str, loading: Awaitable[None], provider: ProviderRequest | None = None) -> None:
        """Waits for a load. Raises EngineLoadError if it takes too long.

        `provider`: where an engine on ONNX Runtime computes. Some providers take longer to load.
        """

    def record_choice(
        self, stage: str, name: str, detail: str, why: str, began_s: float, *, fallback: bool = False
    ) -> None:
        """Records the engine of a stage, and why it was chosen."""

    def provider_of(self, stage: str, engine: ProviderUser) -> str:
        """Returns the name of the provider in which a loaded engine computes, and keeps it for the trace."""
        ...


async def close_engine(engine: services.Closable, report: Callable[[str], None]) -> None:
    """Closes an engine with a time limit."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await engine.aclose()
    except TimeoutError:
        report(f"{engine.name} did not stop within {CLOSE_TIMEOUT_S:g} s and was abandoned")


def now_s() -> float:
    """Returns the loop's time in seconds."""
    return asyncio.get_running_loop().time()
