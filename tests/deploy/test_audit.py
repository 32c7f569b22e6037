"""The audit of the locked packages: against a local OSV service, and against an export of its database."""

import json
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from support.services.threaded_http import Quiet, http_server

from deploy import audit
from deploy.audit import LOCKS, REVIEWED, Pin, main, pins_in, reviewed_in

LOCK = """\
blue-paint==1.0 \\
    --hash=sha256:aa
Red.Paint[gloss,matt]==2.1 ; python_version < '3.12' \\
    --hash=sha256:bb
"""
OURS = "PYSEC-2030-1"
ENTRY = {
    "id": OURS,
    "aliases": ["CVE-2030-1234", "GHSA-aaaa-bbbb-cccc"],
    "summary": "Paint runs\x1b[31m down",
    "affected": [
        {
            "package": {"name": "Blue_Paint", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.2"}]}],
        }
    ],
}
TWIN = {**ENTRY, "id": "GHSA-aaaa-bbbb-cccc", "aliases": ["CVE-2030-1234"]}
WITHDRAWN = {**ENTRY, "id": "PYSEC-2030-2", "aliases": [], "withdrawn": "2030-01-01T00:00:00Z"}
ENTRIES = {str(one["id"]): one for one in (ENTRY, TWIN, WITHDRAWN)}
FOUND_LINE = "blue-paint 1.0: PYSEC-2030-1, CVE-2030-1234, GHSA-aaaa-bbbb-cccc: Paint runs?[31m down; repaired in 1.2"


@contextmanager
def osv(vulnerable: dict[str, list[str]], *, status: int = 200, body: bytes | None = None) -> Generator[str]:
    """Runs an OSV service that knows these ids by package name; or one that always answers with `body`."""

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            names = [query["package"]["name"] for query in sent["queries"]]
            assert {query["package"]["ecosystem"] for query in sent["queries"]} == {"PyPI"}
            first = "page_token" not in sent["queries"][0]
            results = [self._page(vulnerable.get(name, []), first=first) for name in names]
            self._send({"results": results})

        def _page(self, ids: list[str], *, first: bool) -> dict[str, Any]:
            """Returns the first id, or the others."""
            page = {"vulns": [{"id": one} for one in (ids[:1] if first else ids[1:])]} if ids else {}
            return {**page, "next_page_token": "more"} if first and len(ids) > 1 else page

        def do_GET(self) -> None:
            self._send(ENTRIES[self.path.removeprefix("/v1/vulns/")])

        def _send(self, answer: Any) -> None:
            content = json.dumps(answer).encode() if body is None else body
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with http_server(Handler) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "a.lock"
    path.write_text(LOCK)
    return path


def reviewed(folder: Path, text: str = "") -> str:
    path = folder / "advisories.toml"
    path.write_text(text)
    return f"--reviewed={path}"


def test_locks_are_read_with_normalized_names() -> None:
    assert pins_in(LOCK) == {Pin("blue-paint", "1.0"), Pin("red-paint", "2.1")}
    for file in LOCKS:
        pins = pins_in(file.read_text())
        assert {"httpx", "starlette", "websockets"} <= {pin.name for pin in pins}
        assert len(pins) > 50


def test_reviewed_advisories_of_this_repository_are_valid() -> None:
    reviewed_in(REVIEWED.read_text())


def test_vulnerable_package_fails_the_audit(lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with osv({"blue-paint": list(ENTRIES)}) as address:
        assert main([f"--service={address}", reviewed(tmp_path), str(lock)]) == 1
        lines = capsys.readouterr().out.splitlines()
    assert lines == [FOUND_LINE, f"2 packages checked against {address}: 1 affected"]


@pytest.mark.parametrize("name", [OURS, "CVE-2030-1234"])
def test_reviewed_advisory_passes(name: str, lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = f'[[reviewed]]\nid = "{name}"\npackage = "Blue.Paint"\nwhy = "We never let it dry."\n'
    with osv({"blue-paint": [OURS, "GHSA-aaaa-bbbb-cccc"]}) as address:
        assert main([f"--service={address}", reviewed(tmp_path, entry), str(lock)]) == 0
    assert "none affected" in capsys.readouterr().out


def test_reviewed_advisory_that_is_gone_is_reported(
    lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = f'[[reviewed]]\nid = "{OURS}"\npackage = "blue-paint"\nwhy = "We never let it dry."\n'
    with osv({}) as address:
        assert main([f"--service={address}", reviewed(tmp_path, entry), str(lock)]) == 0
    assert f"{OURS} is reviewed in advisories.toml and no longer reported" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (503, b"{}", "answers 503"),
        (302, b"{}", "answers 302"),
        (200, b"<html>", "does not answer with JSON"),
        (200, b"[]", "does not answer with a JSON object"),
        (200, b'{"results": []}', "another number of results"),
        (200, b'"' + b"x" * 100 + b'"', "more than 64 bytes"),
        (200, b'{"results": [null, 1]}', "does not have the format of OSV"),
        (200, b'{"results": [{"next_page_token": "x"}, {}]}', "another number of results"),
    ],
    ids=["unavailable", "redirect", "web page", "list", "too few", "too long", "other format", "pages end early"],
)
def test_missing_data_is_said_and_fails(
    status: int,
    body: bytes,
    why: str,
    lock: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit, "MAX_BYTES", 64)
    with osv({}, status=status, body=body) as address:
        assert main([f"--service={address}", reviewed(tmp_path), str(lock)]) == 3
    said = capsys.readouterr().out
    assert said.startswith("not checked: ")
    assert why in said


def test_service_that_cannot_be_reached_is_said(lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with osv({}) as address:
        pass
    assert main([f"--service={address}", reviewed(tmp_path), str(lock)]) == 3
    assert capsys.readouterr().out == f"not checked: {address} cannot be reached (ConnectError)\n"


@pytest.mark.parametrize(("version", "status"), [("1.0", 1), ("1.1.9", 1), ("1.2", 0), ("1.10", 0)], ids=str)
def test_export_is_read_without_the_network(version: str, status: int, tmp_path: Path) -> None:
    export, lock = tmp_path / "all.zip", tmp_path / "a.lock"
    lock.write_text(f"blue-paint=={version} \\\n")
    with zipfile.ZipFile(export, "w") as file:
        for name, entry in ENTRIES.items():
            file.writestr(f"{name}.json", json.dumps(entry))
    assert main([f"--data={export}", reviewed(tmp_path), str(lock)]) == status


@pytest.mark.parametrize(
    ("events", "affected"),
    [
        ([{"fixed": "1.2"}, {"introduced": "0"}], True),
        ([{"introduced": "2"}, {"fixed": "0.9"}, {"introduced": "0"}], False),
        ([{"introduced": "0"}, {"fixed": "0.9"}, {"introduced": "1.0"}], True),
        ([{"introduced": "0"}, {"last_affected": "1.0"}], True),
        ([{"introduced": "0"}, {"last_affected": "1.0rc1"}], False),
        ([{"introduced": "0"}, {"fixed": "2004d-1-x"}], True),
    ],
    ids=["any order", "between two ranges", "second range", "last affected", "after the last", "cannot be read"],
)
def test_ranges_of_an_advisory(events: list[dict[str, str]], *, affected: bool) -> None:
    assert audit._in_range(events, "1.0") is affected


@pytest.mark.parametrize(
    "entry", [[], {"affected": ["x"]}, {"affected": [{"ranges": [1], "package": {"name": "blue-paint"}}]}]
)
def test_export_of_another_format_is_said(
    entry: object, lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "all.zip"
    with zipfile.ZipFile(export, "w") as file:
        file.writestr("x.json", json.dumps(entry))
    assert main([f"--data={export}", reviewed(tmp_path), str(lock)]) == 3
    assert "does not have the format of OSV" in capsys.readouterr().out


def test_damaged_export_is_said(lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--data={lock}", reviewed(tmp_path), str(lock)]) == 3
    assert capsys.readouterr().out.startswith(f"not checked: {lock} cannot be read")


@pytest.mark.parametrize(
    "text",
    ["[[reviewed]]\nid = 'x'\n", "[[reviewed]]\nid='x'\npackage='y'\nwhy='no'\n", "reviewed = 1", "?"],
    ids=["fields are missing", "no sentence", "no table", "no TOML"],
)
def test_wrong_reviewed_file_is_refused(
    text: str, lock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([reviewed(tmp_path, text), str(lock)]) == 2
    assert "advisories.toml: " in capsys.readouterr().out
