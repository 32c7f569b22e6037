"""Conversations that the server keeps for a browser: what is stored, continued, listed, exported and deleted."""

import asyncio
import itertools
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    eventually,
    session_server,
    settings_for,
)

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnEvidence
from assistant.end_of_turn.priors import PauseCounts, SpeakerPauseStats
from assistant.history.items import ItemId, UserMessage
from assistant.pipeline.engines import Engines
from assistant.pipeline.session import Session
from assistant.storage import conversation_export
from assistant.storage.conversation_export import message_objects
from assistant.storage.conversation_file import ConversationFile, KeptConversation, owner_of_browser
from web.page_api import conversations
from web.session.kept_conversation import GONE, NOT_OFFERED

MINE, OTHER = "a" * 40, "b" * 40
PATH = "/v1/repartee/conversations"


@asynccontextmanager
async def keeping(
    folder: Path, *, offered: bool = True, token: str | None = None, answers: tuple[str, ...] = ("Ten.", "May.")
) -> AsyncGenerator[SessionServer]:
    loader = ScriptedEngineLoader(settings_for(folder / "traces", "server.resume_s=0"), {}, answers=answers)
    file = ConversationFile(folder / "c.sqlite3", time.time, timeout_s=0.2) if offered else None
    async with session_server(loader, token, conversations=file) as server:
        yield server


async def keep(client: RecordingClient, conversation: dict[str, Any] | None) -> dict[str, Any]:
    """Asks for keeping. Returns the server's answer."""
    count = len(client.events_of("repartee.conversation")) + 1
    await client.send("session.update", session={"type": "realtime", "repartee": {"conversation": conversation}})
    return await client.until("repartee.conversation", count)


async def exchange(client: RecordingClient, text: str) -> None:
    count = len(client.events_of("repartee.trace")) + 1
    await client.send("session.update", session={"type": "realtime", "repartee": {"playout": False}})
    await client.ask(text, until="repartee.trace", count=count)


async def call(server: SessionServer, path: str, browser: str = MINE, method: str = "GET", **params: Any) -> Any:
    headers = {"Repartee-Browser": browser} if browser else {}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=headers) as http:
        return await http.request(method, path, params=params)


def rows(folder: Path) -> int:
    if not (folder / "c.sqlite3").exists():
        return 0
    with closing(sqlite3.connect(folder / "c.sqlite3")) as database, suppress(sqlite3.OperationalError):
        count: int = database.execute("SELECT count(*) FROM items").fetchone()[0]
        return count
    return 0  # its tables are being made


def model_requests(server: SessionServer) -> list[str]:
    loader = server.connections.engine_pool.engine_loader
    assert isinstance(loader, ScriptedEngineLoader)
    return [str(messages) for model in loader.models for messages in model.asked]


async def test_conversation_is_kept_listed_and_continued(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        async with connected_client(server) as client:
            kept = await keep(client, {"browser": MINE})
            assert kept["kept"] is True
            await exchange(client, "set a pasta timer")
        await eventually(lambda: rows(tmp_path) == 2)
        listed = (await call(server, PATH)).json()
        assert [(one["id"], one["title"], one["turns"]) for one in listed["data"]] == [
            (kept["id"], "set a pasta timer", 1)
        ]
        assert listed["keeps"] is True
        async with connected_client(server) as client:
            assert (await keep(client, {"browser": MINE, "id": kept["id"]}))["id"] == kept["id"]
            added = [event["item"] for event in client.events_of("conversation.item.added")]
            assert [item["role"] for item in added] == ["user", "assistant"]
            await exchange(client, "and the date")
            assert any("pasta timer" in asked and "and the date" in asked for asked in model_requests(server))
        await eventually(lambda: rows(tmp_path) == 4)
        one = (await call(server, f"{PATH}/{kept['id']}")).json()
        assert [message["text"] for message in one["messages"]] == [
            "set a pasta timer", "Ten.", "and the date", "Ten.",
        ]  # fmt: skip


async def test_markdown_of_a_reply_is_kept_sent_again_and_exported(tmp_path: Path) -> None:
    written = "Look:\n\n```py\nx = 1\n```"
    async with keeping(tmp_path, answers=(written, "May.")) as server:
        async with connected_client(server) as client:
            await client.send("session.update", session={"type": "realtime", "repartee": {"markup": True}})
            kept = await keep(client, {"browser": MINE})
            await exchange(client, "write code")
        await eventually(lambda: rows(tmp_path) == 2)
        one, text = await call(server, f"{PATH}/{kept['id']}"), await call(server, f"{PATH}/{kept['id']}/export")
        answered = one.json()["messages"][1]
        assert (answered["text"], answered["markup"]) == ("Look: Here is the Python code.", written)
        assert f"**Repartee:**\n\n{written}\n" in text.text
        assert len((await call(server, PATH, query="x = 1")).json()["data"]) == 1
        for markup in (True, False):
            async with connected_client(server) as client:
                await client.send("session.update", session={"type": "realtime", "repartee": {"markup": markup}})
                await keep(client, {"browser": MINE, "id": kept["id"]})
                item = client.events_of("conversation.item.added")[1]["item"]
                assert item["content"][0]["transcript"] == "Look: Here is the Python code."
                assert item.get("repartee") == ({"markup": written} if markup else None)
                if markup:
                    await exchange(client, "change the second line")
                    assert "'Look:\\n\\n```py\\nx = 1\\n```'" in model_requests(server)[-1]


async def test_conversation_without_consent_leaves_nothing(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        async with connected_client(server) as client:
            await client.send("session.update", session={"type": "realtime", "repartee": {"conversation": None}})
            await exchange(client, "a secret")
        await asyncio.sleep(0.1)
    assert not (tmp_path / "c.sqlite3").exists()


async def test_keeping_ends_when_the_client_says_so(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        async with connected_client(server) as client:
            await keep(client, {"browser": MINE})
            await exchange(client, "kept")
            await eventually(lambda: rows(tmp_path) == 2)
            assert await keep(client, None) | {"event_id": ""} == {
                "type": "repartee.conversation", "event_id": "", "id": None, "kept": False,
            }  # fmt: skip
            await exchange(client, "a secret")
        await asyncio.sleep(0.1)
        assert rows(tmp_path) == 2


async def test_repeated_settings_keep_one_conversation(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        async with connected_client(server) as client:
            kept = await keep(client, {"browser": MINE})
            for conversation in ({"browser": MINE}, {"browser": MINE, "id": kept["id"]}):
                update = {"type": "realtime", "repartee": {"conversation": conversation}}
                await client.send("session.update", session=update)
            await exchange(client, "one")
        await eventually(lambda: rows(tmp_path) == 2)
        assert len((await call(server, PATH)).json()["data"]) == 1
        assert len(client.events_of("repartee.conversation")) == 1


async def test_other_browser_gets_nothing(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        async with connected_client(server) as client:
            kept = await keep(client, {"browser": MINE})
            await exchange(client, "set a pasta timer")
        await eventually(lambda: rows(tmp_path) == 2)
        assert (await call(server, PATH, OTHER)).json()["data"] == []
        assert (await call(server, PATH, OTHER, query="pasta")).json()["data"] == []
        for method, path in (("GET", ""), ("GET", "/export"), ("DELETE", "")):
            answer = await call(server, f"{PATH}/{kept['id']}{path}", OTHER, method)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "conversation_not_found")
        assert (await call(server, PATH, OTHER, "DELETE")).json() == {"deleted": 0}
        async with connected_client(server) as client:
            mine = await keep(client, {"browser": OTHER, "id": kept["id"]})
            assert mine["kept"]
            assert mine["id"] != kept["id"]
            assert client.events_of("conversation.item.added") == []
            assert [event["text"] for event in client.events_of("repartee.notice")] == [GONE]
        assert len((await call(server, PATH)).json()["data"]) == 1


async def test_request_without_a_valid_secret_is_refused(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        for browser in ("", "short", "a" * 200, "a" * 40 + "'", "a b c d " * 8 + "e"):
            for method in ("GET", "DELETE"):
                answer = await call(server, PATH, browser, method)
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, "browser_missing"), browser


async def test_path_traversal_finds_nothing(tmp_path: Path) -> None:
    nothing = ({"data": [], "has_more": False, "keeps": True}, {"deleted": 0})
    traversals = ("..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "x" * 65, "a%00b", "%27%20OR%201=1", "no-such-one")
    async with keeping(tmp_path) as server:
        for name, method in itertools.product(traversals, ("GET", "DELETE")):
            answer = await call(server, f"{PATH}/{name}", MINE, method)
            assert answer.status_code in {200, 404, 405}, name
            if answer.status_code == 200:  # the client has resolved ".." itself
                assert answer.json() in nothing, name


async def test_values_out_of_bounds_are_refused(tmp_path: Path) -> None:
    bounds = {"query": ("x" * 201,), "limit": ("0", "1e9", "x"), "before": ("nan", "-1")}
    async with keeping(tmp_path) as server:
        for name, value in ((name, value) for name, values in bounds.items() for value in values):
            answer = await call(server, PATH, **{name: value})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_value"), (name, value)
        for method in ("POST", "PUT", "PATCH"):
            assert (await call(server, PATH, MINE, method)).status_code == 405


async def test_search_export_and_delete(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        for text in ("set a pasta timer", "turn on <b>the</b> light"):
            async with connected_client(server) as client:
                kept = await keep(client, {"browser": MINE})
                await exchange(client, text)
        await eventually(lambda: rows(tmp_path) == 4)
        for query, titles in (("pasta", ["set a pasta timer"]), ("light", ["turn on <b>the</b> light"]), ('"', [])):
            found = (await call(server, PATH, query=query)).json()["data"]
            assert [one["title"] for one in found] == titles
        first = (await call(server, PATH, limit=1)).json()
        assert (len(first["data"]), first["has_more"]) == (1, True)
        rest = (await call(server, PATH, before=first["data"][0]["changed_s"])).json()
        assert [one["title"] for one in rest["data"]] == ["set a pasta timer"]
        path = f"{PATH}/{kept['id']}"
        markdown = await call(server, f"{path}/export")
        assert "**You:** turn on <b>the</b> light\n\n**Repartee:** Ten." in markdown.text
        assert markdown.headers["content-disposition"].startswith("attachment; filename=")
        assert markdown.headers["x-content-type-options"] == "nosniff"
        as_json = (await call(server, f"{path}/export", format="json")).json()
        assert as_json["messages"][0]["text"] == "turn on <b>the</b> light"
        assert (await call(server, f"{path}/export", format="html")).status_code == 400
        assert (await call(server, path, MINE, "DELETE")).json() == {"deleted": 1}
        assert (await call(server, path, MINE, "DELETE")).status_code == 404
        assert (await call(server, PATH, MINE, "DELETE")).json() == {"deleted": 1}
        assert rows(tmp_path) == 0


async def test_conversation_is_read_and_written_outside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def made(kept: KeptConversation) -> list[dict[str, object]]:
        threads.append(threading.current_thread())
        return message_objects(kept)

    monkeypatch.setattr(conversations, "message_objects", made)
    monkeypatch.setattr(conversation_export, "message_objects", made)
    async with keeping(tmp_path) as server:
        with closing(ConversationFile(tmp_path / "c.sqlite3", time.time)) as file:
            said = UserMessage(ItemId("item_1"), "half a pair: \ud83d", spoken=True)
            file.create(owner_of_browser(MINE), "one", "2026-01-31T09:30:00+00:00", [said])
        path = f"{PATH}/one"
        assert (await call(server, path)).json()["messages"][0]["text"] == said.text
        for form in ("json", "markdown"):
            answer = await call(server, f"{path}/export", format=form)
            assert answer.status_code == 200
            assert "half a pair: ?" in answer.text
    assert len(threads) == 3
    assert threading.main_thread() not in threads


async def test_server_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    async with keeping(tmp_path, offered=False) as server:
        assert (await call(server, PATH)).json() == {"data": [], "has_more": False, "keeps": False}
        async with connected_client(server) as client:
            assert (await keep(client, {"browser": MINE}))["kept"] is False
            await exchange(client, "go on")
            assert [event["text"] for event in client.events_of("repartee.notice")] == [NOT_OFFERED]


async def test_unusable_file_is_one_sentence_and_the_conversation_goes_on(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite3").write_bytes(b"this is no database" * 100)
    async with keeping(tmp_path) as server:
        assert (await call(server, PATH)).json()["error"]["code"] == "conversations_unavailable"
        async with connected_client(server) as client:
            await keep(client, {"browser": MINE})
            await exchange(client, "one")
            await exchange(client, "two")
            await client.until("repartee.notice")
            await exchange(client, "three")
            assert len(client.events_of("repartee.notice")) == 1
            assert "not kept" in client.events_of("repartee.notice")[0]["text"]


async def test_token_is_required_and_client_secrets_keep_nothing(tmp_path: Path) -> None:
    async with keeping(tmp_path, token="the-token-of-this-server") as server:
        assert (await call(server, PATH)).status_code == 401
        headers = {"Authorization": "Bearer the-token-of-this-server"}
        async with httpx.AsyncClient(base_url=server.openai, headers=headers) as http:
            secret = (await http.post("/realtime/client_secrets", json={})).json()["value"]
        async with connected_client(server, {"Authorization": f"Bearer {secret}"}) as client:
            assert (await keep(client, {"browser": MINE}))["kept"] is False
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {secret}"}) as http:
            assert (await http.get(f"http://127.0.0.1:{server.port}{PATH}")).status_code == 401


class NoEstimator:
    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        raise NotImplementedError


class EstimatingLoader(ScriptedEngineLoader):
    async def engines(self) -> Engines:
        return replace(await super().engines(), end_of_turn=NoEstimator())


@asynccontextmanager
async def keeping_pauses(folder: Path, *, consent: bool = True) -> AsyncGenerator[SessionServer]:
    loader = EstimatingLoader(settings_for(folder / "traces", "server.resume_s=0"), {}, answers=("Ten.",) * 9)
    file = ConversationFile(folder / "c.sqlite3", lambda: 1.8e9, keeps_pauses=consent)
    async with session_server(loader, conversations=file) as server:
        yield server


def session_of(server: SessionServer) -> Session:
    return list(server.connections._conversations.values())[-1].realtime_session.session


def kept_counts(folder: Path, browser: str = MINE) -> PauseCounts | None:
    return ConversationFile(folder / "c.sqlite3", lambda: 1.8e9).pauses().get(owner_of_browser(browser))


PAUSING = SpeakerPauseStats().with_pause(500.0).with_pause(700.0).with_turn()


async def talk_with_pauses(client: RecordingClient, server: SessionServer) -> None:
    await keep(client, {"browser": MINE})
    session_of(server).pause_stats = PAUSING
    await exchange(client, "well")


async def test_next_conversation_of_a_browser_begins_with_its_pauses(tmp_path: Path) -> None:
    async with keeping_pauses(tmp_path) as server:
        async with connected_client(server) as client:
            await talk_with_pauses(client, server)
        await eventually(lambda: kept_counts(tmp_path) == PAUSING.counts)
        for browser, counts in ((OTHER, PauseCounts()), (MINE, PAUSING.counts)):
            async with connected_client(server) as client:
                await keep(client, {"browser": browser})
                assert session_of(server).pause_stats.counts == counts
        async with connected_client(server) as client:
            await exchange(client, "nobody's question")
            assert session_of(server).pause_stats == SpeakerPauseStats(), "who keeps nothing is a stranger"


async def test_without_the_setting_no_pauses_are_kept(tmp_path: Path) -> None:
    async with keeping_pauses(tmp_path, consent=False) as server, connected_client(server) as client:
        await talk_with_pauses(client, server)
    assert rows(tmp_path) == 2
    assert kept_counts(tmp_path) is None


async def test_deletion_of_all_conversations_also_ends_the_pauses_in_use(tmp_path: Path) -> None:
    async with keeping_pauses(tmp_path) as server, connected_client(server) as client:
        await talk_with_pauses(client, server)
        await eventually(lambda: kept_counts(tmp_path) == PAUSING.counts)
        await keep(client, None)
        await keep(client, {"browser": MINE})
        assert session_of(server).pause_stats == PAUSING, "they are not added twice"
        await keep(client, None)
        assert (await call(server, PATH, method="DELETE")).json() == {"deleted": 1}
        assert kept_counts(tmp_path) is None
        await keep(client, {"browser": MINE})
        assert session_of(server).pause_stats == SpeakerPauseStats()


async def test_damaged_pauses_are_told_once(tmp_path: Path) -> None:
    async with keeping_pauses(tmp_path) as server:
        async with connected_client(server) as client:
            await talk_with_pauses(client, server)
        await eventually(lambda: kept_counts(tmp_path) == PAUSING.counts)
        with closing(sqlite3.connect(tmp_path / "c.sqlite3")) as database, database:
            database.execute("UPDATE pauses SET turns = -1")
        async with connected_client(server) as client:
            await keep(client, {"browser": MINE})
            assert (await client.until("repartee.notice"))["code"] == "pauses_damaged"
            assert session_of(server).pause_stats == SpeakerPauseStats()
