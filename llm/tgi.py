"""`tgi`: Text Generation Inference by its native route, which takes a prompt instead of messages.

TGI's other route, OpenAI's chat completions, is service `openai`. This one is for models whose template TGI does not
know, or knows wrongly.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from typing import Unpack

from llm.chat import PLAIN, ChatEvent, ChatOptions, Message
from llm.chat_template import ChatTemplate
from llm.http.request_body import NO_PARAMETERS, Parameters, checked
from llm.http.service import HttpService, HttpSettings
from llm.reasoning_filter import habit_of
from llm.tgi_stream import TgiStream
from llm.token_deadlines import Arriving, StreamParser, paced

ROUTE = "/generate_stream"

WARM_ROUTE = "/info"
"""Constant facts; `/health` may ask the model for a token."""

DEFAULT_MAX_TOKENS = 512
"""Longest answer where nobody says: TGI's own default of 100 tokens (once 20) stops in the middle of a sentence."""

OURS = frozenset({"stop", "details", "return_full_text", "best_of"})
"""Fields that no parameter may be; an answer ends where the template says."""


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
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        bos: bool = False,
        now: Callable[[], datetime] | None = None,
        **settings: Unpack[HttpSettings],
    ) -> None:
        """`url` is the server's address ("http://127.0.0.1:8080"), with or without the route.

        Args:
            template: As `load_template` gives it.
            model: For people: a server has one model, and takes no name.
            parameters: Further ones, as TGI names them ("top_p", "repetition_penalty").
            bos: The prompt begins with the model's token for the beginning of a text; TGI's tokenizer adds it itself.
            now: The time of day, for templates that say it; None: they are not offered any.

        The first-token deadline counts from the first pull and covers waiting for a connection.
        Raises ValueError, naming the endpoint and the setting, for what can never work.
        """
        self.name = name
        self._template = template
        self._bos = bos
        self._now = now
        parameters = checked(name, parameters, ours=OURS)
        self._parameters = {
            "max_new_tokens": DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens,
            **({} if "temperature" in parameters else _sampling(temperature)),
            **parameters,
        }
        example = "http://127.0.0.1:8080"
        self._service = HttpService(
            name, url, settings, route=ROUTE, model=model or "the one it serves", example=example
        )
        self._model = model

    @property
    def detail(self) -> str:
        """Kind, model, template, address."""
        model = f"{self._model} " if self._model else ""
        return f"tgi {model}({self._template.name}) at {self._service.where}"

    async def load(self) -> None:
        """Have two idle connections ready; again later (when speech starts) to keep them. Never fails."""
        await self._service.warm(WARM_ROUTE)

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answer the last message: see `ChatModel.stream`. Raises LlmRefused for functions."""
        return paced(lambda: self._ask(messages, options), self._service.pace)

    async def aclose(self) -> None:
        """Close connections. Idempotent; bounded in time."""
        await self._service.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[Arriving, StreamParser]:
        self._template.without_functions(options)
        private = self._service.private(messages)
        now = None if self._now is None else self._now()
        parameters = {
            **self._parameters,
            "stop": self._template.stops,
            "details": True,
            "return_full_text": False,
        }
        if options.max_tokens:
            parameters["max_new_tokens"] = options.max_tokens
        prompt = self._template.prompt(messages, now=now, bos=self._bos)
        fields = {"inputs": prompt, "parameters": parameters}
        reading = TgiStream(self.name, stops=self._template.stops, private=private, habit=habit_of(prompt))
        return self._service.post(ROUTE, fields, options, private), reading


def _sampling(temperature: float | None) -> dict[str, object]:
    """TGI refuses a temperature of 0: its word for always taking the likeliest token is not to sample."""
    if temperature is None:
        return {}
    return {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
