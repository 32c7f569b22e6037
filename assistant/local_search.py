"""Looking for language models on this machine while something else goes on."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from llm.discovery import FoundServer, discover


@asynccontextmanager
async def beside(ports: Sequence[int], *, wanted: bool) -> AsyncGenerator[list[FoundServer]]:
    """Look while the block runs. The list is filled when it is left: empty if nothing was found, or not soon enough.

    The block is never held up for it. `wanted`: whether to look at all.

    Not a TaskGroup: what the block raises would come out of it as a group.
    """
    found: list[FoundServer] = []
    if not wanted:
        yield found
        return
    looking = asyncio.get_running_loop().create_task(discover(ports), name="localhost")
    try:
        yield found
    finally:
        looking.cancel()
        await asyncio.wait({looking})
        if not looking.cancelled():
            found += looking.result()
