"""A connection that is lost during a question: the question is neither lost nor done twice."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import pytest
from agent_checks import ask, speech_of
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web
from conftest import DOMAIN, TOKEN, WORDS, Model, Program
from homeassistant.core import HomeAssistant
from pytest_homeassistant_custom_component.common import MockConfigEntry


@dataclass
class Cutter:
    """Passes everything on to a server, and cuts the connection of a question once.

    Attributes:
        server: The server.
        cut_after: Event of the server after which it cuts, or of the client, which then does not arrive.
        forgets: Whether the server does not know the conversation any more.
        created: Number of questions that the client has sent.
    """

    server: Program
    cut_after: str = ""
    forgets: bool = False
    created: int = 0
    url: str = ""
    _lost: set[str] = field(default_factory=set)

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        async with ClientSession() as http:
            if request.headers.get("Upgrade", "").lower() != "websocket":
                async with http.get(f"{self.server.url}{request.path_qs}", headers=_headers(request)) as answer:
                    return web.Response(
                        body=await answer.read(), status=answer.status, content_type=answer.content_type
                    )
            path = request.path if self.forgets and self._lost else request.path_qs
            async with http.ws_connect(f"{self.server.url}{path}", headers=_headers(request)) as upstream:
                client = web.WebSocketResponse(protocols=("realtime",))
                await client.prepare(request)
                async with asyncio.TaskGroup() as tasks:
                    up = tasks.create_task(self._up(client, upstream))
                    down = tasks.create_task(self._down(client, upstream))
                    await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
                    up.cancel()
                    down.cancel()
                if request.transport is not None and self._lost:
                    request.transport.abort()
                return client

    async def _up(self, client: web.WebSocketResponse, upstream: ClientWebSocketResponse) -> None:
        async for message in client:
            event = json.loads(message.data)
            if self._cuts(event):
                upstream._response.connection.transport.abort()  # type: ignore[union-attr]
                return
            self.created += event["type"] == "response.create"
            await upstream.send_str(message.data)

    async def _down(self, client: web.WebSocketResponse, upstream: ClientWebSocketResponse) -> None:
        asked = self.created
        async for message in upstream:
            if message.type is not WSMsgType.TEXT:
                continue
            event = json.loads(message.data)
            if self._cuts(event):
                upstream._response.connection.transport.abort()  # type: ignore[union-attr]
                return
            is_of_answer = event["type"].startswith(("response.", "conversation.item.")) and self.created > asked
            if not (self.cut_after and is_of_answer):
                await client.send_str(message.data)

    def _cuts(self, event: dict[str, Any]) -> bool:
        if not self.cut_after or event["type"] != self.cut_after:
            return False
        self._lost.add(self.cut_after)
        self.cut_after = ""
        return True


def _headers(request: web.Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name in {"Authorization", "User-Agent"}}


@pytest.fixture
async def cutter(server: Program) -> AsyncGenerator[Cutter]:
    cutter, app = Cutter(server), web.Application()
    app.router.add_get("/{path:.*}", cutter.pass_on)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    cutter.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield cutter
    await runner.cleanup()


@pytest.fixture
async def entry(home: HomeAssistant, cutter: Cutter) -> MockConfigEntry:
    data = {"url": cutter.url, "token": TOKEN, "fingerprint": ""}
    made = MockConfigEntry(domain=DOMAIN, title="Repartee", data=data, unique_id=cutter.url)
    made.add_to_hass(home)
    assert await home.config_entries.async_setup(made.entry_id)
    await home.async_block_till_done()
    return made


@pytest.mark.parametrize("event", ["response.created", "response.done"])
async def test_question_that_has_arrived_is_not_asked_again(
    home: HomeAssistant, entry: MockConfigEntry, cutter: Cutter, model: Model, event: str
) -> None:
    """Its answer is under way, or complete in the history."""
    cutter.cut_after = event
    result = await ask(home, "tell me a story about a lamp")
    assert speech_of(result) == "".join(WORDS)
    assert (cutter.created, len(model.asked)) == (1, 1)


async def test_question_that_has_not_arrived_is_asked_again(
    home: HomeAssistant, entry: MockConfigEntry, cutter: Cutter, model: Model
) -> None:
    cutter.cut_after = "conversation.item.create"
    assert speech_of(await ask(home, "tell me a story about a lamp")) == "".join(WORDS)
    assert len(model.asked) == 1


async def test_question_is_asked_again_in_a_new_conversation(
    home: HomeAssistant, entry: MockConfigEntry, cutter: Cutter, model: Model
) -> None:
    cutter.cut_after, cutter.forgets = "response.created", True
    assert speech_of(await ask(home, "tell me a story about a lamp")) == "".join(WORDS)
    assert cutter.created == 2
