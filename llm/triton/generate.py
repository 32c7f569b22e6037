"""Service `triton`: a model on Triton by its generate extension over HTTP (`/v2/models/M/generate_stream`)."""

import itertools
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Unpack
from urllib.parse import quote

from llm.answer_length import asked_tokens
from llm.answer_text.reasoning_habit import habit_of
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message
from llm.context_limit import ContextLimit
from llm.http.request_body import NO_PARAMETERS, Parameters, checked
from llm.http.service import HttpService, HttpSettings
from llm.stops import StopSequenceParser
from llm.templates.chat_template import ChatTemplate
from llm.token_deadlines import IncomingStream, StreamParser, with_deadlines
from llm.triton.generate_stream import TEXT_OUTPUT, TritonStream

WARM_ROUTE = "/v2/health/ready"

DEFAULT_MAX_TOKENS = 512
"""Longest answer if nothing is configured. vLLM's default of 16 tokens stops inside a sentence; TensorRT-LLM has none.
"""


@dataclass(frozen=True, slots=True)
class TritonInputs:
    """Names of a model's inputs and its output; "" for an input that the model does not have.

    Attributes:
        nested: Whether inputs are fields of `parameters`, where only strings, numbers and booleans are permitted;
            otherwise they are beside the prompt.
        text: The prompt.
        output: The output with the text.
        stream: Requests streaming.
        max_tokens: Longest answer.
        temperature: Sampling temperature.
        stop: Stop sequences, a list of strings; not permitted with `nested`.
        exclude_input: Keeps the prompt out of the answer.
    """

    nested: bool
    text: str = "text_input"
    output: str = TEXT_OUTPUT
    stream: str = "stream"
    max_tokens: str = "max_tokens"
    temperature: str = "temperature"
    stop: str = ""
    exclude_input: str = "exclude_input_in_output"

    @property
    def reserved(self) -> frozenset[str]:
        """Inputs that `parameters` must not contain."""
        return frozenset({"id", "parameters", self.text, self.stream, self.exclude_input, self.stop})

    def __post_init__(self) -> None:
        """Raises ValueError for names that the protocol does not permit."""
        if self.nested and self.stop:
            raise ValueError(f"stop ({self.stop!r}) takes a list, which cannot be nested in parameters: leave it empty")
        if not self.text or not self.output:
            raise ValueError("text and output must name the model's input and output, not be empty")


VLLM = TritonInputs(nested=True)
"""Triton's vLLM backend. Stop sequences are applied by the client, which then closes the request."""

TENSORRT_LLM = TritonInputs(nested=False, stop="stop_words")
"""The `ensemble` and `tensorrt_llm_bls` models of the TensorRT-LLM backend."""

BACKENDS: Mapping[str, TritonInputs] = MappingProxyType({"vllm": VLLM, "tensorrt_llm": TENSORRT_LLM})


class TritonChat:
    """A ChatModel for Triton's generate extension. It does not support functions.

    Read `stream` to its end: leaving it earlier, even at Finished, closes the connection.

    Attributes:
        name: The endpoint's name in the configuration.
    """

    def __init__(
        self,
        name: str,
        url: str,
        model: str,
        *,
        template: ChatTemplate,
        version: str = "",
        inputs: TritonInputs = VLLM,
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        echo: bool = False,
        bos: bool = False,
        now: Callable[[], datetime] | None = None,
        **settings: Unpack[HttpSettings],
    ) -> None:
        """Initializes the client without I/O. The first-token deadline includes the wait for a connection.

        Args:
            name: The endpoint's name in the configuration.
            url: The server's address ("http://127.0.0.1:8000"), with or without the whole route.
            model: The model's name on the server.
            template: As `load_template` returns it.
            version: Version of the model; "": Triton's choice.
            inputs: Names of the model's inputs: one of BACKENDS, or custom ones.
            max_tokens: Longest answer; None: DEFAULT_MAX_TOKENS.
            temperature: Sampling temperature; None: the backend's default.
            parameters: Additional inputs under the model's names ("top_p"; "return_finish_reason" for vLLM).
            echo: Whether the backend repeats the prompt before the answer regardless of `exclude_input`.
            bos: Whether the prompt begins with the model's beginning-of-text token; the tokenizers of both backends add
                it.
            now: Returns the date, for templates that state it; None: they get none.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        if not model:
            raise ValueError(f"llm endpoint {name!r}: model must name a model of the server, not be empty")
        self.name = name
        self._context = ContextLimit(name)
        self._model = model
        self._template = template
        self._inputs = inputs
        self._echo = echo
        self._bos = bos
        self._now = now
        self._parameters = _named(
            {
                inputs.stream: True,
                inputs.exclude_input: True,
                inputs.max_tokens: DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens,
                inputs.temperature: temperature,
                **checked(name, parameters, reserved=inputs.reserved, flat=inputs.nested),
            }
        )
        self._route = f"/v2/models/{_quoted(model)}{f'/versions/{_quoted(version)}' if version else ''}/generate_stream"
        self._run = secrets.token_hex(4)  # distinguishes this client from others of the server
        self._requests = itertools.count(1)
        example = "http://127.0.0.1:8000"
        self._service = HttpService(name, url, settings, route=self._route, model=model, example=example)

    @property
    def detail(self) -> str:
        """Kind, model, template and address."""
        return f"triton {self._model} ({self._template.name}) at {self._service.where}"

    async def load(self) -> None:
        """Opens two idle connections. Call it again when speech starts, to keep them open. Never fails."""
        await self._service.warm(WARM_ROUTE)

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`. Raises LlmRefused for functions."""
        own = self._parameters.get(self._inputs.max_tokens)
        most = asked_tokens(options, own if isinstance(own, int) else None, {}, always=True)
        return self._context.ask(
            lambda fitting: with_deadlines(lambda: self._ask(fitting, options), self._service.deadlines, most), messages
        )

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._service.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[IncomingStream, StreamParser]:
        self._template.reject_functions(options)
        now = None if self._now is None else self._now()
        prompt = self._template.prompt(messages, now=now, bos=self._bos)
        private = self._service.private(messages)
        echo = prompt if self._echo else ""
        habit = habit_of(prompt, self._template.stops)
        parser = TritonStream(self.name, text_output=self._inputs.output, echo=echo, private=private, habit=habit)
        incoming = self._service.post(self._route, self._fields(prompt, options), options, private)
        return incoming, StopSequenceParser(self.name, parser, self._template.stops, read_on=False)

    def _fields(self, prompt: str, options: ChatOptions) -> dict[str, object]:
        named: dict[str, object] = dict(self._parameters)
        if options.max_tokens and self._inputs.max_tokens:
            named[self._inputs.max_tokens] = options.max_tokens
        if self._inputs.stop and self._template.stops:
            named[self._inputs.stop] = self._template.stops
        return {
            "id": f"repartee-{self._run}-{next(self._requests)}",
            self._inputs.text: prompt,
            **({"parameters": named} if self._inputs.nested else named),
        }


def _named(parameters: Mapping[str, object]) -> dict[str, object]:
    """Returns the parameters that have a name and a value."""
    return {name: value for name, value in parameters.items() if name and value is not None}


def _quoted(part: str) -> str:
    return quote(part, safe="")
