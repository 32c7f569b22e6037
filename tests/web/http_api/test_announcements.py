"""POST /v1/announce at the real server: who hears an announcement, in which room, and who may make one."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    real_engines,
    session_server,
    settings_for,
)

TOKEN = "a-token-of-enough-characters"
KEY = {"Authorization": f"Bearer {TOKEN}"}
DINNER = {"text": "Dinner  is\nready."}


async def announce(server: SessionServer, body: object, key: str = TOKEN) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{server.port}") as client:
        return await client.post("/v1/announce", json=body, headers={"Authorization": f"Bearer {key}"}, timeout=20)


async def states(server: SessionServer, **body: Any) -> dict[str, str]:
    response = await announce(server, {**DINNER, **body})
    assert response.status_code == 200
    return {room["room"]: room["state"] for room in response.json()["rooms"]}


async def enter(client: RecordingClient, room: str) -> RecordingClient:
    await client.send("session.update", session={"type": "realtime", "repartee": {"room": room, "playout": True}})
    await client.until("session.updated")
    return client


def served(folder: Path) -> Any:
    return session_server(ScriptedEngineLoader(settings_for(folder), {}), TOKEN)


async def test_announcement_is_spoken_in_the_rooms_that_it_names(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as server,
        connected_client(server, KEY) as kitchen,
        connected_client(server, KEY) as bath,
    ):
        await enter(kitchen, "Kitchen")
        await enter(bath, "Bath")
        assert await states(server, rooms=["kitchen", "Attic", "KITCHEN"]) == {
            "Kitchen": "spoken",
            "Attic": "nobody there",
        }
        done = await kitchen.until("response.done")
        told = kitchen.events_of("repartee.announcement")[0]
        assert (told["text"], told["response_id"]) == ("Dinner is ready.", done["response"]["id"])
        assert done["response"]["output"][0]["content"][0]["transcript"] == "Dinner is ready."
        assert kitchen.sound_ms > 0
        assert await states(server, rooms=["Kitchen"]) == {"Kitchen": "waiting"}  # the first one still plays
        assert bath.events_of("response.created") == []


async def test_assistant_knows_what_it_has_announced(tmp_path: Path) -> None:
    async with session_server(real_engines(tmp_path), TOKEN) as server, connected_client(server, KEY) as kitchen:
        assert await states(server) == {"": "spoken"}
        await kitchen.until("response.done")
        await asyncio.sleep(kitchen.sound_ms / 1000)  # it counts as played in real time
        await kitchen.ask("what did you say", count=2)
        words = "".join(event["delta"] for event in kitchen.events_of("response.output_audio_transcript.delta"))
        assert words.count("Dinner is ready.") == 2


async def test_announcement_without_rooms_is_spoken_in_all(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        assert await states(server) == {}
        async with connected_client(server, KEY) as kitchen, connected_client(server, KEY) as other:
            await enter(kitchen, "Kitchen")
            assert await states(server) == {"Kitchen": "spoken", "": "spoken"}
            await kitchen.until("response.done")
            await other.until("response.done")


async def test_client_of_a_secret_neither_makes_nor_hears_announcements(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{server.port}") as client:
            made = await client.post("/v1/realtime/client_secrets", json={}, headers=KEY)
        secret = made.json()["value"]
        async with connected_client(server, {"Authorization": f"Bearer {secret}"}) as guest:
            await enter(guest, "Kitchen")
            assert await states(server, rooms=["Kitchen"]) == {"Kitchen": "nobody there"}
            assert (await announce(server, DINNER, secret)).status_code == 401


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": "..."}, "text"),
        ({"text": "x" * 1001}, "text"),
        ({**DINNER, "rooms": []}, "rooms"),
        ({**DINNER, "rooms": ["x" * 81]}, "rooms[0]"),
        ({**DINNER, "priority": "loud"}, "priority"),
        ({**DINNER, "room": "Kitchen"}, "room"),
    ],
)
async def test_wrong_announcement_is_refused_by_field(tmp_path: Path, body: object, param: str) -> None:
    async with served(tmp_path) as server:
        response = await announce(server, body)
        assert (response.status_code, response.json()["error"]["param"]) == (400, param)
