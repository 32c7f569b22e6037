"""`tgi`: Text Generation Inference by its native route, which takes a prompt instead of messages.

TGI's other route, OpenAI's chat completions, is service `openai`. This one is for models whose template TGI does not
know, or knows wrongly.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from types import MappingProxyType

from llm.address import base_url_of
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message, texts_of
from llm.chat_template import ChatTemplate
from llm.http_stream import HttpStream
from llm.paced import Pace, paced
from llm.tgi_stream import TgiStream

ROUTE = "/generate_stream"

WARM_ROUTE = "/info"
"""Constant facts; `/health` may ask the model for a token."""

DEFAULT_MAX_TOKENS = 512
"""Longest answer where nobody says: TGI's own default of 100 tokens (once 20) stops in the middle of a sentence."""

Parameter = str | int | float | bool


class TgiChat:
    """A ChatModel over TGI's `/generate_stream`.

    Read `stream` to its end: leaving it at Finished, too, costs the connection. Functions cannot be carried.

    Attributes:
        name: Of the endpoint, as in the configuration.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        template: ChatTemplate,
        model: str = "",
        api_key: str | None = None,
        first_token_timeout_s: float = 8.0,
        token_gap_timeout_s: float = 5.0,
        connect_timeout_s: float = 3.0,
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Mapping[str, Parameter] = MappingProxyType({}),
        bos: bool = False,
        now: Callable[[], datetime] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`url` is the server's address ("http://127.0.0.1:8080"), with or without the route.

        Args:
            template: As `load_template` gives it.
            model: For people: a server has one model, and takes no name.
            parameters: Further ones, as TGI names them ("top_p", "repetition_penalty").
            bos: The prompt begins with the model's token for the beginning of a text; TGI's tokenizer adds it itself.
            now: The time of day, for templates that say it; None: they are not offered any.

        The first-token deadline counts from the call of `stream` and covers waiting for a connection.
        Raises ValueError, naming the endpoint and the setting, for what can never work.
        """
        self.name = name
        self._template = template
        self._bos = bos
        self._now = now
        self._parameters = {
            "max_new_tokens": DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens,
            **_sampling(temperature),
            **parameters,
        }
        # A key read from a file or a shell often ends in a newline.
        self._key = (api_key or "").strip() or None
        self._http = HttpStream(
            name,
            base_url_of(name, url, route=ROUTE, example="http://127.0.0.1:8080"),
            model=model or "the one it serves",
            api_key=self._key,
            headers=headers or {},
            connect_timeout_s=connect_timeout_s,
        )
        self._pace = Pace(name, self._http.where, first_token_timeout_s, token_gap_timeout_s)
        self._model = model

    @property
    def detail(self) -> str:
        """Kind, model, template, address."""
        model = f"{self._model} " if self._model else ""
        return f"tgi {model}({self._template.name}) at {self._http.where}"

    async def load(self) -> None:
        """Have two idle connections ready; again later (when speech starts) to keep them. Never fails."""
        await self._http.warm(WARM_ROUTE)

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answer the last message: see `ChatModel.stream`. Raises LlmRefused for functions."""
        self._template.without_functions(options)
        private = texts_of(messages)
        known = private if self._key is None else (*private, self._key)
        reading = TgiStream(self.name, stops=self._template.stops, private=known)
        arriving = self._http.post(ROUTE, self._body(messages, options), private=private, headers=options.headers)
        async with aclosing(paced(arriving, reading, self._pace)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close connections. Idempotent; bounded in time."""
        await self._http.aclose()

    def _body(self, messages: Sequence[Message], options: ChatOptions) -> bytes:
        now = None if self._now is None else self._now()
        parameters: dict[str, object] = {
            **self._parameters,
            "stop": self._template.stops,
            "details": True,
            "return_full_text": False,
        }
        if options.max_tokens is not None:
            parameters["max_new_tokens"] = options.max_tokens
        request = {"inputs": self._template.prompt(messages, now=now, bos=self._bos), "parameters": parameters}
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _sampling(temperature: float | None) -> dict[str, Parameter]:
    """TGI refuses a temperature of 0: its word for always taking the likeliest token is not to sample."""
    if temperature is None:
        return {}
    return {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
