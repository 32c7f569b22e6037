"""Searches this machine for language models while other work runs."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from assistant.config.loading import Loaded
from assistant.endpoint_probe.local_servers import AUTO, choose, mention
from llm.discovery import PORTS, FoundServer, discover, look

BESIDE_TIMEOUT_S = 5.0
"""Seconds: while engines load, the processor may be busy for longer than a server takes to answer. Nothing waits for
it."""


@asynccontextmanager
async def beside(ports: Sequence[int], *, enabled: bool) -> AsyncGenerator[list[FoundServer]]:
    """Searches while the block runs. The list is filled at the end; empty if nothing was found in time.

    The block is never delayed. `enabled`: whether to search at all.

    Not a TaskGroup, which would raise the block's error inside a group. A port that hangs does not affect the others.
    """
    servers: list[FoundServer] = []
    if not enabled:
        yield servers
        return
    loop = asyncio.get_running_loop()
    looks = [loop.create_task(look(port, BESIDE_TIMEOUT_S), name=f"port {port}") for port in ports]
    try:
        yield servers
    finally:
        for task in looks:
            task.cancel()
        if looks:
            await asyncio.wait(looks)
        results = [task.result() for task in looks if not task.cancelled()]
        servers += [server for server in results if server is not None]


async def with_llm_choice(loaded: Loaded, llm: str | None, console: Console, ports: Sequence[int] = PORTS) -> Loaded:
    """Returns the settings of a run with `--llm` and reports the choice. Without `--llm`, names usable servers.

    Raises ConfigError as `choose` does.
    """
    servers: Sequence[FoundServer] = ()
    if llm == AUTO or (llm is None and not loaded.settings.llm.endpoints):
        servers = await discover(ports)
    choice = choose(loaded.settings, llm, servers, ports)
    if choice.message:
        console.print(Text(choice.message, style="yellow" if choice.fallback else ""), soft_wrap=True)
    if mentioned := mention(loaded.settings, llm, servers):
        console.print(Text(mentioned, style="dim"), soft_wrap=True)
    return replace(loaded, settings=choice.settings)
