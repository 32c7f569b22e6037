"""The service worker of the page: it keeps the page's files, so that the page opens where the server cannot be reached.

The script names each file with its hash. A file that changes changes the script; the browser then stores the new files
and forgets the old ones, all together.
"""

import asyncio
import base64
import hashlib
import json
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

PATH = "/service-worker.js"
"""At the root, because a service worker handles only addresses below its own."""

_SUFFIXES = frozenset({".css", ".flac", ".html", ".js", ".png", ".svg", ".webmanifest"})
_MAX_FILES = 500
_MAX_BYTES = 5_000_000


def shell_files(static: Path) -> dict[str, str]:
    """Returns the SHA-256, in base64, of each file of the page by its address; "" is the page itself."""
    hashes: dict[str, str] = {}
    size = 0
    for file in sorted(static.rglob("*")):
        if file.suffix not in _SUFFIXES or not file.is_file():
            continue
        content = file.read_bytes()
        size += len(content)
        if len(hashes) >= _MAX_FILES or size > _MAX_BYTES:
            break
        path = file.relative_to(static).as_posix()
        name = "" if path == "index.html" else f"static/{path}"
        hashes[name] = base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")
    return hashes


def service_worker(static: Path) -> str:
    """Returns the script of the service worker for the files as they are now."""
    files = shell_files(static)
    version = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]
    script = (static / "app" / "service-worker.js").read_text(encoding="utf-8")
    return f"const SHELL = {json.dumps({'version': version, 'files': files})};\n{script}"


class ServiceWorker:
    """The endpoint of the script. Browsers ask for it when the page is opened, and at least once a day."""

    def __init__(self, static: Path) -> None:
        """Serves the script for the files in this folder."""
        self._static = static

    async def answer(self, _request: Request) -> Response:
        """Answers a request."""
        script = await asyncio.to_thread(service_worker, self._static)
        return Response(script, media_type="text/javascript", headers={"Cache-Control": "no-cache"})
