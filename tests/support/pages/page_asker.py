"""Asks a running server what its page asks it, as a browser of this machine does."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from support.servers.session_server import ScriptedEngineLoader, SessionServer, session_server, settings_for

from assistant.config.edit import ConfigFile
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from web.access.access_control import AccessControl
from web.page_api.setup import SetupParts


@dataclass(frozen=True)
class Asker:
    """Sends requests to a server, as its page in a browser of this machine does."""

    server: SessionServer
    file: Path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Sends a request. `headers`: with _ for -; empty ones are left out."""
        sent = {"sec-fetch-site": "same-origin"}
        if method == "POST":
            sent |= {"origin": self.origin, "content-type": "application/json"}
        sent = {name: value for name, value in {**sent, **_dashed(headers)}.items() if value}
        async with httpx.AsyncClient(trust_env=False, base_url=self.origin) as client:
            content = None if body is None else httpx.Request("POST", "http://x", json=body).content
            return await client.request(method, path, content=content, headers=sent, timeout=30)

    def settings(self) -> Settings:
        return load_settings(self.file if self.file.exists() else None, {}, ()).settings


def _dashed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def served(folder: Path, test: Callable[[Asker], Awaitable[None]], *, token: str | None = None, **environ: str) -> None:
    """Runs a test against a running server that offers the first steps."""
    file = folder / "mine" / "config.toml"

    def parts(access_control: AccessControl) -> SetupParts:
        own = ConfigFile(file, creates_folder=True)
        return SetupParts(own, settings_for(folder / "traces"), {}, environ, access_control, ports=())

    async def main() -> None:
        loader = ScriptedEngineLoader(settings_for(folder / "traces"), {})
        async with session_server(loader, token, make_setup=parts) as server:
            await test(Asker(server, file))

    asyncio.run(main())
