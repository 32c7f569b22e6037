"""`openai`: any service with OpenAI's chat completions (vLLM, TGI, llama.cpp, Ollama, the clouds)."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress

from llm.address import base_url_of
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Message, Queued, Sent
from llm.errors import LlmError, LlmTooSlow
from llm.http_stream import HttpStream
from llm.openai_messages import message_json, options_json
from llm.openai_stream import OpenAIStream

ROUTE = "/chat/completions"

USAGE_TIMEOUT_S = 0.5
"""From finish_reason to the token counts and the end mark, which are due at once; the answer does not hang on them."""

DRAIN_TIMEOUT_S = 0.05
"""From the end mark to the end of the body, after which the connection can be used again."""

SPOKEN_TOO_SLOW = "My language model did not answer in time."
SPOKEN_STALLED = "My language model stopped in the middle of its answer."


class OpenAIChat:
    """A ChatModel over an OpenAI-compatible service.

    Read `stream` to its end: leaving it at Finished, too, costs the connection.

    Attributes:
        name: Of the endpoint, as in the configuration.
    """

    def __init__(
        self,
        name: str,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        first_token_timeout_s: float = 8.0,
        token_gap_timeout_s: float = 5.0,
        connect_timeout_s: float = 3.0,
        max_tokens: int | None = None,
        temperature: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`url` is the base ("http://127.0.0.1:8000/v1") or the whole address of the chat completions.

        The first-token deadline counts from the call of `stream` and covers waiting for a connection.
        Raises ValueError, naming the endpoint and the setting, for what can never work.
        """
        for setting, value_s in (
            ("first_token_timeout_s", first_token_timeout_s),
            ("token_gap_timeout_s", token_gap_timeout_s),
            ("connect_timeout_s", connect_timeout_s),
        ):
            if not value_s > 0:
                raise ValueError(f"llm endpoint {name!r}: {setting} must be greater than 0, not {value_s}")
        self.name = name
        self._model = model
        self._first_token_timeout_s = first_token_timeout_s
        self._token_gap_timeout_s = token_gap_timeout_s
        options = {"max_tokens": max_tokens, "temperature": temperature}
        self._options = {key: value for key, value in options.items() if value is not None}
        # A key read from a file or a shell often ends in a newline.
        self._key = (api_key or "").strip() or None
        self._http = HttpStream(
            name,
            base_url_of(name, url, route=ROUTE),
            model=model,
            api_key=self._key,
            headers=headers or {},
            connect_timeout_s=connect_timeout_s,
        )

    @property
    def detail(self) -> str:
        """Kind, model, address."""
        return f"openai {self._model} at {self._http.where}"

    async def load(self) -> None:
        """Have two idle connections ready; again later (when speech starts) to keep them. Never fails."""
        await self._http.warm("/models")

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answer the last message: see `ChatModel.stream`."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._first_token_timeout_s
        private = tuple(message.content for message in messages)
        reading = OpenAIStream(self.name, private=private if self._key is None else (*private, self._key))
        body = self._body(messages, options)
        waiting_for = "connection"
        async with aclosing(self._http.post(ROUTE, body, private=private)) as arriving:
            while True:
                try:
                    async with asyncio.timeout_at(deadline_s):
                        item = await anext(arriving, None)
                except TimeoutError as error:
                    if not reading.finishing:
                        raise self._too_slow(waiting_for) from error
                    item = None
                if isinstance(item, Queued | Sent):
                    yield item
                    waiting_for = "first content token"
                    continue
                was_finishing = reading.finishing
                for event in reading.end() if item is None else reading.feed(item):
                    yield event
                    if isinstance(event, Finished):
                        await self._drain(arriving)
                        return
                    # Counted from when the listener comes back: its own time is not the service's.
                    deadline_s = loop.time() + self._token_gap_timeout_s
                    waiting_for = "next content token"
                if reading.finishing and not was_finishing:
                    deadline_s = min(deadline_s, loop.time() + USAGE_TIMEOUT_S)

    async def aclose(self) -> None:
        """Close connections. Idempotent; bounded in time."""
        await self._http.aclose()

    def _body(self, messages: Sequence[Message], options: ChatOptions) -> bytes:
        request = {
            "model": self._model,
            "messages": [message_json(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._options,
            **options_json(options),
        }
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _too_slow(self, waiting_for: str) -> LlmTooSlow:
        gap = waiting_for == "next content token"
        limit, value_s = (
            ("token_gap_timeout_s", self._token_gap_timeout_s)
            if gap
            else ("first_token_timeout_s", self._first_token_timeout_s)
        )
        text = f"llm endpoint {self.name!r} at {self._http.where} gave no {waiting_for} within {value_s:g} s"
        return LlmTooSlow(
            self.name,
            f"{text}: see the server's load, or raise {limit}",
            spoken=SPOKEN_STALLED if gap else SPOKEN_TOO_SLOW,
            retryable=True,
        )

    async def _drain(self, arriving: AsyncGenerator[Queued | Sent | bytes]) -> None:
        with suppress(LlmError, TimeoutError):
            async with asyncio.timeout(DRAIN_TIMEOUT_S):
                async for _ in arriving:
                    pass
