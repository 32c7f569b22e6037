"""Looking for language models on this machine while something else goes on."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from assistant.commands.llm_endpoints.local_servers import AUTO, choose, mention
from assistant.config.loading import Loaded
from llm.discovery import PORTS, FoundServer, discover, look

BESIDE_TIMEOUT_S = 5.0
"""Engines that are being loaded may have the processor for longer than a server takes to answer, and nobody waits."""


@asynccontextmanager
async def beside(ports: Sequence[int], *, wanted: bool) -> AsyncGenerator[list[FoundServer]]:
    """Look while the block runs. The list is filled when it is left: empty if nothing was found, or not soon enough.

    The block is never held up for it. `wanted`: whether to look at all.

    Not a TaskGroup: what the block raises would come out of it as a group. One that hangs hides no other.
    """
    found: list[FoundServer] = []
    if not wanted:
        yield found
        return
    loop = asyncio.get_running_loop()
    looks = [loop.create_task(look(port, BESIDE_TIMEOUT_S), name=f"port {port}") for port in ports]
    try:
        yield found
    finally:
        for one in looks:
            one.cancel()
        if looks:
            await asyncio.wait(looks)
        results = [one.result() for one in looks if not one.cancelled()]
        found += [server for server in results if server is not None]


async def chosen(loaded: Loaded, llm: str | None, console: Console, ports: Sequence[int] = PORTS) -> Loaded:
    """The settings of a run with `--llm`, which is answered on the screen; without it, who else could answer is named.

    Raises ConfigError as `choose` does.
    """
    found: Sequence[FoundServer] = ()
    if llm == AUTO or (llm is None and not loaded.settings.llm.endpoints):
        found = await discover(ports)
    choice = choose(loaded.settings, llm, found, ports)
    if choice.said:
        console.print(Text(choice.said, style="yellow" if choice.fallback else ""), soft_wrap=True)
    if mentioned := mention(loaded.settings, llm, found):
        console.print(Text(mentioned, style="dim"), soft_wrap=True)
    return replace(loaded, settings=choice.settings)
