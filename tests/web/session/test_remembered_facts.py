"""Facts that a server remembers for a browser: used in a later conversation, shown, edited, deleted, switched off."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from support.conversations.loaded_skills import loaded_skills
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    eventually,
    session_server,
    settings_for,
)

from assistant.pipeline.engines import Engines
from assistant.setup import build
from assistant.setup.answering.user_memory import user_memory
from assistant.storage.conversation_file import ConversationFile, owner_of_browser

MINE, OTHER = "a" * 40, "b" * 40
PATH = "/v1/repartee/memory"


@dataclass(slots=True)
class Loader(ScriptedEngineLoader):
    """Loads scripted engines with the skills and the memory before the model."""

    async def engines(self) -> Engines:
        scripted = await ScriptedEngineLoader.engines(self)
        effects, model = scripted.skill_effects, scripted.model
        asked = model if self.memory is None else self.memory.recalling(model, model, effects)
        return replace(scripted, model=build.answering(self.settings, loaded_skills(), asked, effects))


@asynccontextmanager
async def remembering(folder: Path, *, enabled: bool = True) -> AsyncGenerator[SessionServer]:
    environ = {"XDG_DATA_HOME": str(folder)}
    settings = settings_for(folder / "traces", "server.resume_s=0", f"memory.enabled={str(enabled).lower()}")
    loader = Loader(settings, environ, answers=("Fine.",))
    loader.memory = user_memory(settings, environ, lambda: None, lambda _what: None)
    file = ConversationFile(folder / "repartee" / "conversations" / "conversations.sqlite3", time.time)
    async with session_server(loader, None, conversations=file) as server, asyncio.TaskGroup() as tasks:
        running = None
        if loader.memory is not None:
            loader.memory.keeper.recall.embedder = None
            running = tasks.create_task(loader.memory.run())
        yield server
        if running is not None:
            running.cancel()


async def says(server: SessionServer, text: str, browser: str | None = MINE) -> str:
    """Says one thing in a conversation of its own. Returns the last request of the model; "" if a skill answered."""
    async with connected_client(server) as client:
        await keep(client, browser)
        await settled(server)
        await client.send("session.update", session={"type": "realtime", "repartee": {"playout": False}})
        await client.ask(text, until="repartee.trace")
    loader = server.connections.engine_pool.engine_loader
    assert isinstance(loader, Loader)
    asked = loader.models[-1].asked
    return str(asked[-1]) if asked else ""


async def settled(server: SessionServer) -> None:
    memory = server.connections.engine_pool.engine_loader.memory
    if memory is not None:
        async with asyncio.timeout(20):
            await memory.settle()


async def keep(client: RecordingClient, browser: str | None) -> None:
    conversation = None if browser is None else {"browser": browser}
    await client.send("session.update", session={"type": "realtime", "repartee": {"conversation": conversation}})
    if browser is not None:
        await client.until("repartee.conversation")


async def call(server: SessionServer, method: str = "GET", path: str = "", browser: str = MINE, **body: Any) -> Any:
    headers = {"Repartee-Browser": browser}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=headers) as http:
        return await http.request(method, PATH + path, json=body or None)


async def texts(server: SessionServer, browser: str = MINE) -> list[str]:
    return [fact["text"] for fact in (await call(server, browser=browser)).json()["data"]]


async def test_fact_is_used_in_the_next_conversation_of_the_browser(tmp_path: Path) -> None:
    async with remembering(tmp_path) as server:
        await says(server, "Remember that my daughter is called Ada.")
        await eventually_texts(server, ["my daughter is called Ada"])
        assert "called Ada" in await says(server, "How old is my daughter?")
        assert "called Ada" not in await says(server, "How old is my daughter?", OTHER)
        assert "called Ada" not in await says(server, "How old is my daughter?", None)
        assert await texts(server, OTHER) == []


async def eventually_texts(server: SessionServer, expected: list[str]) -> None:
    memory = server.connections.engine_pool.engine_loader.memory
    assert memory is not None
    file = memory.keeper.file
    await eventually(lambda: [fact.text for fact in file.facts(owner_of_browser(MINE))] == expected)


async def test_fact_is_edited_and_deleted(tmp_path: Path) -> None:
    async with remembering(tmp_path) as server:
        await says(server, "Remember that my daughter is called Ada.")
        await eventually_texts(server, ["my daughter is called Ada"])
        (fact,) = (await call(server)).json()["data"]
        assert (await call(server, "POST", fact=fact["key"], text="my daughter is called Eda")).status_code == 200
        assert "called Eda" in await says(server, "How old is my daughter?")
        refused = await call(server, "POST", fact=fact["key"], text="my PIN is 1234")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "not_kept")
        assert (await call(server, "DELETE", f"/{fact['key']}", OTHER)).status_code == 404
        assert (await call(server, "DELETE", f"/{fact['key']}")).status_code == 200
        assert await texts(server) == []
        assert "called Eda" not in await says(server, "How old is my daughter?")


async def test_all_facts_of_the_browser_are_deleted(tmp_path: Path) -> None:
    async with remembering(tmp_path) as server:
        await says(server, "Remember that I keep platypusses.")
        await eventually_texts(server, ["I keep platypusses"])
        assert (await call(server, "DELETE", browser=OTHER)).json() == {"deleted": 0}
        assert (await call(server, "DELETE")).json() == {"deleted": 1}
        assert await texts(server) == []


async def test_memory_is_switched_off_by_its_owner(tmp_path: Path) -> None:
    async with remembering(tmp_path) as server:
        await says(server, "Remember that my daughter is called Ada.")
        await eventually_texts(server, ["my daughter is called Ada"])
        await call(server, "POST", enabled=False)
        assert (await call(server)).json()["enabled"] is False
        assert "called Ada" not in await says(server, "How old is my daughter?")
        await says(server, "Remember that I live in Rome.")
        assert await texts(server) == ["my daughter is called Ada"]
        await call(server, "POST", enabled=True)
        assert "called Ada" in await says(server, "How old is my daughter?")


async def test_facts_are_deleted_where_the_memory_is_off(tmp_path: Path) -> None:
    async with remembering(tmp_path) as server:
        await says(server, "Remember that I keep platypusses.")
        await says(server, "Remember that I live in Rome.")
        await eventually_texts(server, ["I keep platypusses", "I live in Rome"])
    async with remembering(tmp_path, enabled=False) as server:
        listed = (await call(server)).json()
        assert (listed["offered"], len(listed["data"])) == (False, 2)
        assert (await call(server, "DELETE", f"/{listed['data'][0]['key']}")).status_code == 200
        assert await texts(server) == ["I keep platypusses"]
        assert (await call(server, "DELETE")).json() == {"deleted": 1}
        assert await texts(server) == []


async def test_server_without_a_memory_says_so(tmp_path: Path) -> None:
    async with remembering(tmp_path, enabled=False) as server:
        assert (await call(server)).json() == {"data": [], "enabled": False, "offered": False}
        assert (await call(server, "POST", enabled=True)).json()["error"]["code"] == "memory_off"
        assert (await call(server, "DELETE")).json() == {"deleted": 0}
        assert (await call(server, browser="short")).status_code == 400
