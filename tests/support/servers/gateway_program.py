"""A gateway with scripted engines in its own process, for tests that kill it: FOLDER REDIS_URL. Prints its port."""

import asyncio
import signal
import sys
from pathlib import Path

from support.servers.gateways import gateway, loader


async def _main(folder: Path, url: str) -> None:
    async with gateway(loader(folder), url) as server:
        signal.signal(signal.SIGTERM, server.server.handle_exit)
        print(server.port, flush=True)  # noqa: T201 - for the test
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2]))
