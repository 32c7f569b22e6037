"""Service `tgi`: Text Generation Inference by its native route, which takes a prompt instead of messages.

For models whose template TGI does not know or applies wrongly. Service `openai` uses TGI's chat completions.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from typing import Unpack

from llm.answer_length import asked_tokens
from llm.answer_text.reasoning_habit import ReasoningHabit, habit_of
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message
from llm.context_limit import ContextLimit
from llm.http.request_body import NO_PARAMETERS, Parameters, checked
from llm.http.service import HttpService, HttpSettings
from llm.stops import StopSequenceParser
from llm.templates.chat_template import ChatTemplate
from llm.token_deadlines import IncomingStream, StreamParser, with_deadlines
from llm.token_stream import TokenStream

ROUTE = "/generate_stream"

WARM_ROUTE = "/info"
"""Returns static information. `/health` may run the model."""

DEFAULT_MAX_TOKENS = 512
"""Longest answer if nothing is configured. TGI's default of 100 tokens (formerly 20) stops inside a sentence."""

RESERVED = frozenset({"stop", "details", "return_full_text", "best_of"})
"""Fields that `parameters` must not contain. The template defines the stop sequences."""


class TgiChat:
    """A ChatModel for TGI's `/generate_stream`. It does not support functions.

    Read `stream` to its end: leaving it earlier, even at Finished, closes the connection.

    Attributes:
        name: The endpoint's name in the configuration.
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
        """Initializes the client without I/O. The first-token deadline includes the wait for a connection.

        Args:
            name: The endpoint's name in the configuration.
            url: The server's address ("http://127.0.0.1:8080"), with or without the route.
            template: As `load_template` returns it.
            model: Shown to the user only: a TGI server has one model and takes no name.
            max_tokens: Longest answer; None: DEFAULT_MAX_TOKENS.
            temperature: Sampling temperature; None: the server's default.
            parameters: Additional parameters, under TGI's names ("top_p", "repetition_penalty").
            bos: Whether the prompt begins with the model's beginning-of-text token; TGI's tokenizer adds it itself.
            now: Returns the date, for templates that state it; None: they get none.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        self.name = name
        self._context = ContextLimit(name)
        self._template = template
        self._bos = bos
        self._now = now
        parameters = checked(name, parameters, reserved=RESERVED)
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
        """Kind, model, template and address."""
        model = f"{self._model} " if self._model else ""
        return f"tgi {model}({self._template.name}) at {self._service.where}"

    async def load(self) -> None:
        """Opens two idle connections. Call it again when speech starts, to keep them open. Never fails."""
        await self._service.warm(WARM_ROUTE)

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`. Raises LlmRefused for functions."""
        most = asked_tokens(options, None, self._parameters, always=True)
        return self._context.ask(
            lambda fitting: with_deadlines(lambda: self._ask(fitting, options), self._service.deadlines, most), messages
        )

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._service.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[IncomingStream, StreamParser]:
        self._template.reject_functions(options)
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
        parser = TgiStream(
            self.name, stops=self._template.stops, private=private, habit=habit_of(prompt, self._template.stops)
        )
        return self._service.post(ROUTE, fields, options, private), parser


def _sampling(temperature: float | None) -> dict[str, object]:
    """Returns the sampling parameters. TGI rejects temperature 0; greedy decoding is `do_sample: false` there."""
    if temperature is None:
        return {}
    return {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}


class TgiStream(StopSequenceParser):
    """Parses one response body, without special tokens and up to the first stop sequence. No I/O.

    Token lines up to one with `generated_text` and, if requested, `details`:

    data:{"index":1,"token":{"id":9,"text":" Hi","logprob":-0.1,"special":false},"generated_text":null,"details":null}

    There is no [DONE]: an answer without its last line was cut short. The status is always 200. An error arrives as
    `data:{"error","error_type"}`, also in place of the first token.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        stops: Sequence[str] = (),
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
    ) -> None:
        """Initializes the parser. `private`: texts that errors must not quote. `habit`: see `ReasoningHabit`."""
        habit = habit or ReasoningHabit(stops=tuple(stops))
        lines = TokenStream(endpoint, private=private, suspect="any proxy in front of it", habit=habit)
        super().__init__(endpoint, lines, stops)
