"""A text conversation with the assistant: presents itself to the session as a client of the Realtime protocol."""

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message, Scope

from assistant.skills.answers import REFUSED
from web.limits.session_acceptor import pass_config
from web.sockets.websocket_backpressure import set_abort
from web.wire.values.session_config import SessionConfig
from web.wyoming.events import WyomingError

NORMAL, LOST = 1000, 1006
"""Close codes that the session sees: the client left; its connection broke, and it may resume."""

ANSWER_TIMEOUT_S = 120.0
"""Time limit for an answer to begin, and for each part of it: a model may call tools."""

TRACE_TIMEOUT_S = 0.5
"""Time limit for the turn record, which follows the answer at once."""

_OURS = "wyoming"
"""Key in the metadata of the responses that are requested here; others are announcements."""


class TextSession:
    """One connection to a session. The session's task is `run`."""

    def __init__(self, config: SessionConfig, resume: str = "") -> None:
        """Prepares a connection. `resume`: the token of a conversation; "": a new one."""
        self.token = ""  # with which it can be resumed
        self.resumed = False
        self.refused = False  # the skills did not understand the last question, and there is no language model
        self._scope: Scope = {
            "type": "websocket",
            "path": "/v1/realtime",
            "query_string": urlencode({"resume": resume} if resume else {}).encode(),
            "headers": [],
            "subprotocols": [],
            "state": {},
        }
        pass_config(self._scope, replace(config, modality="text"), is_guest=False)
        set_abort(self._scope, self.leave)
        self._to_session: deque[Message] = deque([{"type": "websocket.connect"}])
        self._sent = asyncio.Event()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._refusal: WyomingError | None = None

    async def run(self, session: ASGIApp) -> None:
        """Runs the connection until `leave`, or until the session ends it."""
        try:
            await session(self._scope, self._receive, self._send)
        finally:
            self._events.put_nowait(None)

    def leave(self, *, lost: bool = False) -> None:
        """Ends the connection; `lost`: the conversation can be resumed for `server.resume_s`."""
        self._add({"type": "websocket.disconnect", "code": LOST if lost else NORMAL, "reason": ""})

    async def begin(self, language: str) -> None:
        """Waits until the session has begun, and sets its language; "": the server's. Raises WyomingError."""
        event = await self._next("session.created")
        described = event["session"]["repartee"]
        self.token, self.resumed = described["resume_token"], described["resumed"]
        audio = {"input": {"turn_detection": None, "transcription": {"language": language}}}
        session = {"type": "realtime", "output_modalities": ["text"], "audio": audio, "repartee": {"events": True}}
        self._tell("session.update", session=session)
        await self._next("session.updated")

    async def answer(self, text: str) -> AsyncGenerator[str]:
        """Yields the answer to a text as it comes. Raises WyomingError."""
        content = [{"type": "input_text", "text": text}]
        self._tell("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        key = secrets.token_hex(8)
        self._tell("response.create", response={"metadata": {_OURS: key}})
        response_id = ""
        while True:
            event = await self._next("response.created", "response.output_text.delta", "response.done")
            response = event.get("response", {})
            if event["type"] == "response.created" and (response.get("metadata") or {}).get(_OURS) == key:
                response_id = response["id"]
            elif event["type"] == "response.output_text.delta" and event["response_id"] == response_id:
                yield event["delta"]
            elif event["type"] == "response.done" and response.get("id") == response_id:
                if response["status"] not in {"completed", "incomplete"}:
                    raise WyomingError("answer_failed", "the assistant could not answer; try again in a moment")
                break
        with suppress(TimeoutError):
            async with asyncio.timeout(TRACE_TIMEOUT_S):
                answers = (await self._next("repartee.trace"))["trace"]["answers"]
                self.refused = any(answer["reason"] == REFUSED and not answer["dropped"] for answer in answers)

    async def _next(self, *kinds: str) -> dict[str, Any]:
        """Returns the next event of these types. Raises WyomingError."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                while (event := await self._events.get()) is not None:
                    if event["type"] == "error":
                        raise WyomingError(str(event["error"]["code"]), str(event["error"]["message"]))
                    if event["type"] in kinds:
                        return event
        except TimeoutError:
            raise WyomingError("timeout", "the assistant did not answer in time; try again in a moment") from None
        raise WyomingError("session_ended", "the conversation ended; ask again")

    # ---- the session's side ----

    def _tell(self, kind: str, **fields: object) -> None:
        self._add({"type": "websocket.receive", "text": json.dumps({"type": kind, **fields})})

    def _add(self, message: Message) -> None:
        self._to_session.append(message)
        self._sent.set()

    async def _receive(self) -> Message:
        while not self._to_session:
            self._sent.clear()
            await self._sent.wait()
        return self._to_session.popleft()

    async def _send(self, message: Message) -> None:
        if message["type"] == "websocket.send":
            self._events.put_nowait(json.loads(message["text"]))
        elif message["type"] == "websocket.close":
            self._events.put_nowait(None)
