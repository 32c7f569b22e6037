"""No HTTP client of the program follows redirects with a key."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.packages import PACKAGES

from assistant.models.hub import hub_client

ROOT = Path(__file__).parents[2]

HUB = "assistant/models/hub.py"
"""The only module that follows redirects: files of models are stored elsewhere. Its requests have no key."""

KNOWN_CLIENTS = {"assistant/trace/otlp_session.py": "requests", "llm/environment.py": "urllib.request"}
"""Modules with another HTTP library than httpx. The first has a test of its own; the second reads proxy variables."""

ABOUT_HTTP = re.compile(r"httpx|_redirects|(import|from) (requests|http\.client|aiohttp|urllib)")
CREATED = frozenset({"Client", "AsyncClient"})


@functools.cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Returns the modules that may send a request."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text() for file in files}
    return tuple((name, ast.parse(text)) for name, text in texts.items() if ABOUT_HTTP.search(text))


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_redirects_are_followed_for_models_only() -> None:
    following = {
        name
        for name, tree in modules()
        for call in calls(tree)
        for option in call.keywords
        if option.arg in {"follow_redirects", "allow_redirects"}
        if not (isinstance(option.value, ast.Constant) and option.value.value is False)
    }
    assert following == {HUB}


def test_clients_are_made_in_known_modules() -> None:
    made = {
        name
        for name, tree in modules()
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in CREATED
        and ast.unparse(call.func.value) in {"httpx", "httpx2"}
    }
    assert made == {
        HUB, "assistant/commands/doctor/capacity.py", "assistant/support/json_http.py",
        "assistant/tools/client_mcp_connection.py", "assistant/tools/mcp_server.py",
        "assistant/trace_report/subscription.py", "llm/http/client.py",
    }  # fmt: skip


def test_no_other_http_library_is_used() -> None:
    libraries = {"requests", "urllib.request", "http.client", "aiohttp"}
    found = {
        name: imported
        for name, tree in modules()
        for node in ast.walk(tree)
        for imported in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if imported in libraries
    }
    assert found == KNOWN_CLIENTS


def test_request_for_a_model_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    with hub_client() as client:
        request = client.build_request("GET", "https://hub.example/model")
        assert "hunter2" not in str(request.headers.raw)
        assert client.auth is None
        assert not client.follow_redirects
