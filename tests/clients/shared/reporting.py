"""The common parts of all Python client programs: features, their run, and the report. Needs no installed package.

A client program defines one function for each feature. It is started with one argument, the settings as JSON. It runs
each feature on its own connection, several at a time, and prints one line of JSON for each.
"""

import asyncio
import inspect
import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

LIMIT_S = 40.0
"""Time limit of one feature."""

AT_ONCE = 3
"""Features that run at the same time; most of their time they wait for sound."""

BLOCK_S = 0.1
RATE_HZ = 24_000

QUESTION = "what time is it"
ANSWER = "It is noon."
STORY_REQUEST = "Tell me the long story."
LAMP_REQUEST = "Switch the lamp on."
LAMP_ANSWER = "The lamp is on."
GREETING = "Welcome to the castle."
IMAGE_ANSWER = "I see a picture."
MCP_REQUEST = "How is the weather in Oslo?"
"""Texts that `answering_service.py` knows or says."""

LAMP = {
    "type": "function",
    "name": "set_lamp",
    "description": "Switches the lamp.",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
}

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
"""A red pixel, as a data URL."""


class RefusedError(Exception):
    """The server refused what the feature needs with an error of the protocol."""


class MissingError(Exception):
    """The server gave an answer, but without what the feature is for."""


@dataclass(frozen=True)
class Settings:
    """Address of the server, and the sound that is sent to it.

    Attributes:
        url: Base URL of the server, ending in /v1.
        tls_url: The same with TLS.
        stalled_url: Like `url`; the network stalls in the speech.
        stalled_tls_url: The same with TLS.
        certificate: PEM file of the certificate authority.
        speech: A recorded question, 24 kHz PCM.
        mcp_url: URL of an MCP server; "" if the program does not use one.
    """

    url: str
    tls_url: str
    stalled_url: str
    stalled_tls_url: str
    certificate: str
    speech: bytes
    mcp_url: str

    @property
    def stalled(self) -> "Settings":
        """Returns the same with a network that stalls."""
        return replace(self, url=self.stalled_url)

    @property
    def with_tls(self) -> "Settings":
        """Returns the same with TLS."""
        return replace(self, url=self.tls_url)

    @property
    def websocket_url(self) -> str:
        """Returns the base URL for WebSockets."""
        return self.url.replace("http://", "ws://")


Feature = Callable[[Settings], Any]
_features: dict[str, Feature] = {}


def feature(name: str) -> Callable[[Feature], Feature]:
    """Registers a function, plain or async, as the test of a feature."""

    def register(test: Feature) -> Feature:
        _features[name] = test
        return test

    return register


def blocks(speech: bytes) -> list[bytes]:
    """Splits sound into blocks of 100 ms."""
    size = int(BLOCK_S * RATE_HZ) * 2
    return [speech[at : at + size] for at in range(0, len(speech), size)]


SILENCE = bytes(int(BLOCK_S * RATE_HZ) * 2)


class Pace:
    """Says how long to wait so that a block is sent every 100 ms."""

    def __init__(self) -> None:
        self._due_s = time.monotonic()

    def wait_s(self) -> float:
        """Returns the time until the next block."""
        self._due_s += BLOCK_S
        return max(0.0, self._due_s - time.monotonic())


async def say(speech: bytes, send: Callable[[bytes], Awaitable[object]]) -> None:
    """Sends the speech, then silence, in real time until it is cancelled."""
    pace = Pace()
    parts = blocks(speech)
    while True:
        await send(parts.pop(0) if parts else SILENCE)
        await asyncio.sleep(pace.wait_s())


async def until(holds: Callable[[], Any], failure: Callable[[], Exception | None] = lambda: None) -> Any:
    """Waits until a condition holds. Returns its value; raises the failure if there is one."""
    while True:
        if (error := failure()) is not None:
            raise error
        if value := holds():
            return value
        await asyncio.sleep(0.02)


def run_features() -> None:
    """Runs all features of the program and prints the answers."""
    fields = json.loads(sys.argv[1])
    only = set(fields.pop("only", ()))
    settings = Settings(**{**fields, "speech": Path(fields["speech"]).read_bytes()})
    asyncio.run(_run_all(settings, {name: test for name, test in _features.items() if not only or name in only}))


async def _run_all(settings: Settings, features: dict[str, Feature]) -> None:
    turn = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(_run(name, test, settings, turn) for name, test in features.items()))


async def _run(name: str, test: Feature, settings: Settings, turn: asyncio.Semaphore) -> None:
    async with turn:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(LIMIT_S):
                if inspect.iscoroutinefunction(test):
                    await test(settings)
                else:
                    await asyncio.to_thread(test, settings)
            answer, detail = "works", ""
        except RefusedError as refusal:
            answer, detail = "refused", str(refusal)
        except MissingError as missing:
            answer, detail = "missing", str(missing)
        except BaseExceptionGroup as group:
            answer, detail = _answer_of_group(group)
        except Exception:  # noqa: BLE001 - one failure must not hide the other features
            answer, detail = "failed", traceback.format_exc()
        seconds = round(time.monotonic() - began_s, 1)
        line = {"feature": name, "answer": answer, "detail": detail[-2000:], "s": seconds}
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()


def _answer_of_group(group: BaseExceptionGroup[BaseException]) -> tuple[str, str]:
    for kind, answer in ((RefusedError, "refused"), (MissingError, "missing")):
        found = group.subgroup(kind)
        if found is not None:
            return answer, str(found.exceptions[0])
    return "failed", "".join(traceback.format_exception(group))
