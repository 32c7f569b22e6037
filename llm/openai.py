"""`openai`: any service with OpenAI's chat completions (vLLM, TGI, llama.cpp, Ollama, the clouds)."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from llm.address import base_url_of
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message, texts_of
from llm.http_stream import HttpStream
from llm.openai_messages import message_json, options_json
from llm.openai_stream import OpenAIStream
from llm.paced import Pace, paced

ROUTE = "/chat/completions"


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
        self.name = name
        self._model = model
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
        self._pace = Pace(name, self._http.where, first_token_timeout_s, token_gap_timeout_s)

    @property
    def detail(self) -> str:
        """Kind, model, address."""
        return f"openai {self._model} at {self._http.where}"

    async def load(self) -> None:
        """Have two idle connections ready; again later (when speech starts) to keep them. Never fails."""
        await self._http.warm("/models")

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answer the last message: see `ChatModel.stream`."""
        private = texts_of(messages)
        reading = OpenAIStream(self.name, private=private if self._key is None else (*private, self._key))
        arriving = self._http.post(ROUTE, self._body(messages, options), private=private, headers=options.headers)
        async with aclosing(paced(arriving, reading, self._pace)) as events:
            async for event in events:
                yield event

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
