"""Every event, field and endpoint that the openai SDK knows has an answer, and the server gives it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.protocol.protocol_answers import Outcomes, probe_all, wrong_client_rows, wrong_server_rows
from support.protocol.protocol_probe import probed_server
from support.protocol.protocol_table import ROOT, Row, table
from support.protocol.realtime_sdk import client_fields, http_requests, server_fields
from support.servers.session_server import SessionServer

TAKEN = {"works", "error", "hint", "ignored"}
SPEECH = {"model": "repartee", "input": "Hello.", "voice": "alloy"}


def rows_of(part: str) -> dict[str, dict[str, Row]]:
    return {name: {row.path: row for row in rows} for (of, name), rows in table().items() if of == part}


def names_of_tests() -> set[str]:
    test = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)
    return {name for file in (ROOT / "tests").rglob("test_*.py") for name in test.findall(file.read_text("utf-8"))}


# ---- completeness ----


def test_every_field_of_the_clients_has_a_row() -> None:
    known = {kind: [field.path for field in fields] for kind, fields in client_fields().items()}
    assert {kind: list(rows) for kind, rows in rows_of("client").items()} == known


def test_every_field_of_the_server_has_a_row() -> None:
    known = {name: ["", *fields] for name, fields in server_fields().items()}
    assert {name: list(rows) for name, rows in rows_of("server").items()} == known


def test_every_endpoint_has_a_row() -> None:
    """A request that is refused as a whole needs no rows for its fields."""
    found = {name: set(rows) - {""} for name, rows in rows_of("http").items()}
    refused = {name for name, rows in rows_of("http").items() if rows[""].answer == "error"}
    assert found == {name: set() if name in refused else set(fields) for name, fields in http_requests().items()}


def test_each_answer_fits_its_part() -> None:
    answers = {"client": TAKEN, "server": {"sent", "no"}, "http": TAKEN}
    wrong = [
        (name, row.path)
        for (part, name), rows in table().items()
        for row in rows
        if row.answer not in answers[part] or (part == "server" and row.path and rows[0].answer == "no" != row.answer)
    ]
    assert wrong == []


def test_named_tests_exist() -> None:
    named = {row.how for rows in table().values() for row in rows if row.how.startswith("test_")}
    assert named - names_of_tests() == set()


def test_nothing_is_silently_ignored() -> None:
    ignored = [f"{name}: {row.path}" for (_, name), rows in table().items() for row in rows if row.answer == "ignored"]
    assert ignored == []


# ---- what clients send ----


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return asyncio.run(probe_all(tmp_path_factory.mktemp("probes"), table()))


def test_each_field_of_a_client_works_or_is_refused_by_name(outcomes: Outcomes) -> None:
    assert wrong_client_rows(table(), outcomes) == {}


def test_server_sends_what_the_table_says(outcomes: Outcomes) -> None:
    assert wrong_server_rows(table(), outcomes) == {}


# ---- HTTP ----


async def refusal(server: SessionServer, request: str, field: str, value: Any) -> tuple[int, dict[str, Any]]:
    """Sends a request with one more field; returns the status and the error."""
    method, path = re.sub(r"\{\w+\}", "some", request).split(" ")
    options: dict[str, Any] = {}
    if path == "/audio/transcriptions":
        name = f"{field}[]" if isinstance(value, list) else field
        options = {"files": {"file": ("a.wav", b"RIFF")}, "data": {"model": "repartee", name: value}}
    elif field:
        options = {"json": SPEECH | {field: value}}
    base = f"http://127.0.0.1:{server.port}/v1"
    async with httpx.AsyncClient(trust_env=False, base_url=base) as client:
        answer = await client.request(method, path, timeout=20, **options)
    return answer.status_code, answer.json().get("error", {})


async def test_refused_requests_and_fields_have_errors_in_openais_format(tmp_path: Path) -> None:
    wrong = []
    async with probed_server(tmp_path) as server:
        for name, rows in rows_of("http").items():
            for row in rows.values():
                if row.answer != "error" or row.how.startswith("test_"):
                    continue
                value = json.loads(row.how) if row.how else None
                status, error = await refusal(server, name, row.path, value)
                params = {row.path} if row.path else {None, *re.findall(r"\{(\w+)\}", name)}
                named = error.get("param") in params and {"message", "type", "code"} <= set(error)
                if not 400 <= status < 500 or not named:
                    wrong.append(f"{name}: {row.path}: {status} {error}")
    assert wrong == []
