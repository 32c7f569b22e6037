"""Service `sagemaker`: a model behind a SageMaker endpoint, in TGI's or LMI's (DJL) container."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Unpack

from llm.answer_length import asked_tokens
from llm.answer_text.reasoning_habit import ReasoningHabit, habit_of
from llm.aws.errors import AwsRefusals, fault_of_frame
from llm.aws.frames import EventStreamReader
from llm.aws.payload import PAYLOADS, parser_for
from llm.aws.request import SAGEMAKER
from llm.aws.service import AwsService, AwsSettings, path_part
from llm.aws.settings import Payload
from llm.chat import NO_LIMIT, PLAIN, ChatEvent, ChatOptions, Message
from llm.context_limit import ContextLimit
from llm.http.request_body import NO_PARAMETERS, Parameters, checked, merged
from llm.http_errors import refuse_functions
from llm.openai.messages import JsonObject, messages_json, options_json
from llm.stops import StopSequenceParser
from llm.text_pieces import MoreText
from llm.token_deadlines import IncomingStream, StreamParser, with_deadlines

RESERVED = frozenset({"messages", "stream", "n", "tools", "tool_choice"})
RESERVED_WITH_PROMPT = frozenset({"details", "return_full_text"})
"""Fields that `parameters` must not contain, for requests with messages and with a prompt."""

Prompt = Callable[[Sequence[Message]], str]
"""Renders messages as a prompt, for a model without a chat interface."""


class SageMakerChat:
    """A ChatModel for one SageMaker endpoint.

    Attributes:
        name: The endpoint's name in the configuration.
    """

    def __init__(
        self,
        name: str,
        model: str,
        *,
        payload: Payload = "auto",
        prompt: Prompt | None = None,
        stops: Sequence[str] = (),
        inference_component: str | None = None,
        target_variant: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        **settings: Unpack[AwsSettings],
    ) -> None:
        """Initializes the client without I/O.

        Args:
            name: The endpoint's name in the configuration.
            model: The endpoint's name (or ARN) in SageMaker.
            payload: The format of its answers; "auto" detects it by their first bytes.
            prompt: Renders the prompt for containers without chat messages: the request has `inputs` and `parameters`,
                and functions are refused. None: the request has `messages`.
            stops: Stop sequences of a prompt: the answer is cut there and the request closed.
            inference_component: The model, if the endpoint has several.
            target_variant: The variant, if it must not be chosen by weight.
            max_tokens: Longest answer; None: the container's default.
            temperature: Sampling temperature; None: the container's default.
            parameters: Additional request fields under the container's names; with a prompt, fields of its
                `parameters`.
            settings: See `AwsSettings`.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        if payload not in PAYLOADS:
            raise ValueError(f"llm endpoint {name!r}: payload must be one of {', '.join(PAYLOADS)}, not {payload!r}")
        self.name = name
        self._context = ContextLimit(name)
        self._model = model
        self._payload = payload
        self._prompt = prompt
        self._habit = ReasoningHabit()
        self._stops = tuple(stops)
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._parameters = checked(name, parameters, reserved=RESERVED if prompt is None else RESERVED_WITH_PROMPT)
        chosen = {
            "x-amzn-sagemaker-inference-component": inference_component,
            "x-amzn-sagemaker-target-variant": target_variant,
        }
        self._headers = {header: value for header, value in chosen.items() if value}
        self._route = f"/endpoints/{path_part(model)}/invocations-response-stream"
        self._service = AwsService(name, SAGEMAKER, model, settings)

    @property
    def detail(self) -> str:
        """Kind, endpoint and address."""
        suffix = "" if self._prompt is None else " (by prompt, without functions)"
        return f"sagemaker {self._model}{suffix} at {self._service.where}"

    async def load(self) -> None:
        """Fetches credentials and opens two idle connections. Call it again later to keep them. Never fails."""
        await self._service.load()

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`. Raises LlmRefused for functions if it uses a prompt."""
        most = asked_tokens(options, self._max_tokens, self._parameters)
        return self._context.ask(
            lambda fitting: with_deadlines(lambda: self._ask(fitting, options), self._service.deadlines, most), messages
        )

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._service.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[IncomingStream, StreamParser]:
        if self._prompt is not None:
            why = "with a chat template it does not support functions: use an endpoint that takes messages, or no tools"
            refuse_functions(self.name, options, why)
        private = self._service.private(messages)
        prompt = None if self._prompt is None else self._prompt(messages)
        habit = self._habit if prompt is None else habit_of(prompt, self._stops)
        inner = parser_for(self._payload, self.name, private, habit, options.functions)
        stream = SageMakerStream(self.name, inner, self._service.refusals, private=private)
        request = self._request(messages, prompt, options)
        incoming = self._service.post(self._route, request, options, private, self._headers)
        return incoming, StopSequenceParser(self.name, stream, self._stops, read_on=False)

    def _request(self, messages: Sequence[Message], prompt: str | None, options: ChatOptions) -> JsonObject:
        sampling: JsonObject = {} if self._temperature is None else {"temperature": self._temperature}
        if prompt is not None:
            # Details contain the finish reason, without which a truncated answer is not recognizable.
            fixed: JsonObject = {"details": True, "return_full_text": False, **sampling}
            if self._max_tokens is not None:
                fixed["max_new_tokens"] = self._max_tokens
            parameters = merged(fixed, self._parameters)
            if options.max_tokens:
                parameters["max_new_tokens"] = options.max_tokens
            return {"inputs": prompt, "parameters": parameters, "stream": True}
        if self._max_tokens is not None and options.max_tokens != NO_LIMIT:
            sampling["max_tokens"] = self._max_tokens
        return {
            "messages": messages_json(messages, self.name),
            "stream": True,
            **merged({"stream_options": {"include_usage": True}, **sampling}, self._parameters),
            **options_json(options),
        }


class SageMakerStream:
    """Parses the body of InvokeEndpointWithResponseStream: messages around the container's own bytes. No I/O.

    A payload may end anywhere, even inside a line or a character. The container's format is parsed over all payloads.
    """

    def __init__(
        self, endpoint: str, inner: StreamParser, refusals: AwsRefusals, *, private: Sequence[str] = ()
    ) -> None:
        """Initializes the parser. `inner` parses the container's bytes; `private`: texts that errors must not quote."""
        self._inner = inner
        self._frames = EventStreamReader(endpoint)
        self._refusals = refusals
        self._private = private

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._inner.finishing

    def feed(self, data: bytes) -> Iterator[ChatEvent | MoreText]:
        """Yields the events in `data`, which may end anywhere. Raises LlmError."""
        for frame in self._frames.feed(data):
            if frame.kind == "event":
                if frame.name == "PayloadPart":
                    yield from self._inner.feed(frame.payload)
            elif self.finishing:
                yield from self._inner.end()  # the text is complete; only the token counts are lost
            else:
                raise self._refusals.error_of(fault_of_frame(frame), self._private)

    def end(self) -> Iterator[ChatEvent | MoreText]:
        """Ends the body. Raises LlmError if the answer is incomplete."""
        if not self.finishing:
            self._frames.end()
        yield from self._inner.end()
