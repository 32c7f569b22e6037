"""The documentation lists every error code and path of the HTTP endpoints."""

import re
from pathlib import Path

from web.access.access_control import CALLS_PATH
from web.access.body_limits import MAX_BYTES
from web.page_api.model_pulls import PATH as LISTED_MODELS_PATH
from web.page_api.voices import PATH as VOICES_PATH
from web.routes import MODELS_PATH

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8").split("## HTTP endpoints\n")[1].split("\n## ")[0]
CODES = (ROOT / "docs" / "lab" / "protocol.md").read_text(encoding="utf-8").split("## Errors over HTTP\n")[1]
ELSEWHERE = {
    "invalid_json", "invalid_type", "invalid_value", "missing_required_parameter", "unknown_parameter",
}  # fmt: skip
"""Codes of fields, as in `error` events."""


def test_documentation_names_every_http_error() -> None:
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "web").rglob("*.py")]
    raised = re.compile(r"""\bApiError\(\s*[0-9]+,\s*"([a-z0-9_]+)\"""")
    codes = {code for source in sources for code in raised.findall(source)} - ELSEWHERE
    rows = [row.split("|")[1] for row in CODES.splitlines() if row.startswith("| `")]
    named = {code for row in rows for code in re.findall("`([a-z0-9_]+)`", row)} - {"code"}
    assert {"unknown_url", "body_timeout", "voice_failed"} < codes
    assert codes - named == set()
    assert named - codes == {
        "token_missing", "token_wrong", "client_secret_invalid", "rate_limit_exceeded", "server_loading",
        "server_draining",
    }  # fmt: skip


def test_documentation_names_every_path() -> None:
    named = set(re.findall(r"`(?:GET|POST) (/v1/[^`]+)`", GUIDE))
    assert named == {
        *MAX_BYTES,
        MODELS_PATH,
        LISTED_MODELS_PATH,
        VOICES_PATH,
        f"{MODELS_PATH}/{{id}}",
        f"{CALLS_PATH}/{{id}}/hangup",
    }
