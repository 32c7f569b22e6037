"""Clients learn no address of the operator's network."""

import json
from pathlib import Path

import pytest
from support.servers.session_server import connected_client, real_engines, session_server
from support.services.llm_server import serving

from web.wire.outgoing.hidden_addresses import HIDDEN, without_addresses


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "llm endpoint 'near' at http://10.0.0.5:8000/v1: see its log",
            "llm endpoint 'near' at [address]: see its log",
        ),
        ("its final address (https://a.example/x?key=1), not http://b", "its final address ([address]), not [address]"),
        ("it is at grpc://[fe80::1]:9000/m.", "it is at [address]."),
        ("redis://user:word@10.0.0.7:6379/0 is away", "[address] is away"),
        ("near: openai m", "near: openai m"),
        ("a:// and http: stay", "a:// and http: stay"),
    ],
)
def test_addresses_in_texts_are_hidden(text: str, shown: str) -> None:
    assert without_addresses(text) == shown


async def test_client_learns_no_address_of_an_endpoint(tmp_path: Path) -> None:
    head = b"HTTP/1.1 302 X\r\nlocation: http://inner.example/path\r\ncontent-length: 0\r\n\r\n"
    async with (
        serving((head,)) as llm,
        session_server(real_engines(tmp_path, llm.url)) as server,
        connected_client(server) as caller,
    ):
        await caller.send("session.update", session={"type": "realtime", "repartee": {"events": True}})
        await caller.ask("explain photosynthesis to me please", until="repartee.trace")
        (done,) = caller.events_of("response.done")
        (notice,) = caller.events_of("repartee.notice")
        said = [done["response"]["status_details"]["error"]["message"], notice["text"]]
        events = json.dumps(caller.events)
    assert all("llm endpoint 'near' answers HTTP 302" in text and HIDDEN in text for text in said)
    assert "inner.example" not in events
    assert "http://" not in events
