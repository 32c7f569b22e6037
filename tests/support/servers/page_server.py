"""Runs the real server in a separate thread for browser tests, and creates microphone sound with speech."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from support.pages.page_browser import RECORDINGS, load_recording
from support.servers.session_server import SessionServer, real_engines, session_server
from support.services import llm_server

from assistant.setup.answering.user_memory import UserMemory
from assistant.storage.conversation_file import ConversationFile
from web.access.access_control import AccessControl
from web.page_api.setup import SetupParts

RATE_HZ = 16_000
PAGE_MODULES = Path(__file__).parents[2] / "web" / "page_modules"
READY_WITHIN_S = 20

Float = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Speech:
    """A recording, the bounds of its speech, and its words."""

    sound: Float
    begins_s: float
    ends_s: float
    words: str


def speech(name: str) -> Speech:
    """Returns a recording of tests/recordings with its labels."""
    lines = (RECORDINGS / "manifest.jsonl").read_text().splitlines()
    (label,) = [one for one in map(json.loads, lines) if one["id"] == name]
    return Speech(load_recording(name), label["speech_start_s"], label["speech_end_s"], label.get("transcript", ""))


def room_tone(seconds: float) -> Float:
    """Returns the recordings' room noise without speech, forwards and backwards, so that it repeats without a seam."""
    quiet = load_recording("rhasspy3_what-time-is-it")[: int(0.5 * RATE_HZ)]
    both = np.concatenate([quiet, quiet[::-1]])
    return np.resize(both, int(seconds * RATE_HZ)).astype(np.float32)


def write_microphone_wav(path: Path, *parts: Speech | float) -> Path:
    """Writes a WAV for the microphone: speech, and room noise of the given seconds between."""
    sounds = [part.sound if isinstance(part, Speech) else room_tone(part) for part in parts]
    soundfile.write(path, np.concatenate(sounds), RATE_HZ, subtype="PCM_16")
    return path


@dataclass(frozen=True, slots=True)
class Running:
    """A server running in another thread."""

    server: SessionServer
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/"

    def records(self) -> list[dict[str, Any]]:
        """Returns the trace records on disk."""
        return self.server.records()

    def break_connections(self) -> None:
        """Breaks every socket, as if a cable was pulled."""
        self.loop.call_soon_threadsafe(self._break)

    def _break(self) -> None:
        for connection in list(self.server.server.server_state.connections):
            connection.transport.abort()


@contextmanager
def page_server(
    traces: Path,
    *assignments: str,
    answers: Sequence[str] = (),
    transcripts: Sequence[str] = ("what time is it",),
    conversations: ConversationFile | None = None,
    make_setup: Callable[[AccessControl], SetupParts] | None = None,
    memory: UserMemory | None = None,
) -> Iterator[Running]:
    """Runs a server with real engines and scripted transcripts.

    A fake service gives each turn its answer, or else the skills answer.
    """
    running: list[Running] = []
    loops: list[asyncio.AbstractEventLoop] = []
    ready, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        async with AsyncExitStack() as stack:
            url, also = "", assignments
            if answers:
                also = ("skills.before_llm=false", *assignments)
                scripts = [llm_server.answer(*(f"{word} " for word in text.split(" "))) for text in answers]
                url = (await stack.enter_async_context(llm_server.serving(*scripts, by_turn=True))).url
            engine_loader = real_engines(traces, url, *also, transcripts=transcripts)
            engine_loader.memory = memory
            origins = engine_loader.settings.server.origins
            server = await stack.enter_async_context(
                session_server(
                    engine_loader, allowed_origins=origins, conversations=conversations, make_setup=make_setup
                )
            )
            app = server.server.config.app
            assert isinstance(app, Starlette)
            app.router.routes.insert(
                0, Mount("/test", StaticFiles(directory=PAGE_MODULES))
            )  # what the page imports for tests
            running.append(Running(server, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(main())
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="server", daemon=True)
    thread.start()
    try:
        assert ready.wait(READY_WITHIN_S), "the server does not start"
        assert running, "the server did not start"
        yield running[0]
    finally:
        # A server that is still starting stops once it has started; pytest must not wait for its thread.
        with suppress(RuntimeError):  # its loop has ended, because it failed
            for loop in loops:
                loop.call_soon_threadsafe(stop.set)
        thread.join(READY_WITHIN_S)
