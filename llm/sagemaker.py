"""`sagemaker`: a model behind a SageMaker endpoint, in TGI's or LMI's (DJL) container."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Unpack

from llm.aws_request import SAGEMAKER
from llm.aws_service import AwsService, AwsSettings, path_part
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message, texts_of
from llm.openai_messages import JsonObject, message_json, options_json
from llm.paced import Pace, paced
from llm.payload import PAYLOADS, Payload, reading_of
from llm.refusal import refuse_functions
from llm.sagemaker_stream import SageMakerStream
from llm.stops import Stopping

Prompt = Callable[[Sequence[Message]], str]
"""Messages as the text that a model without a chat interface goes on from."""


class SageMakerChat:
    """A ChatModel over one SageMaker endpoint.

    Attributes:
        name: Of the endpoint, as in the configuration.
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
        first_token_timeout_s: float = 8.0,
        token_gap_timeout_s: float = 5.0,
        max_tokens: int | None = None,
        temperature: float | None = None,
        **settings: Unpack[AwsSettings],
    ) -> None:
        """Args:
            model: The endpoint's name (or ARN) in SageMaker.
            payload: The format of its answers; "auto" tells by their first bytes.
            prompt: Asks with `inputs` and `parameters`, for containers that know no chat messages; functions are
                refused then. None: asks with `messages`.
            stops: Where an answer to a prompt ends, at the latest: it is cut there, and the request closed.
            inference_component: Which model, where the endpoint has several.
            target_variant: Which variant, where it must not be chosen by weight.

        Raises ValueError, naming the endpoint and the setting, for what can never work.
        """
        if payload not in PAYLOADS:
            raise ValueError(f"llm endpoint {name!r}: payload must be one of {', '.join(PAYLOADS)}, not {payload!r}")
        self.name = name
        self._model = model
        self._payload = payload
        self._prompt = prompt
        self._stops = tuple(stops)
        self._max_tokens = max_tokens
        self._temperature = temperature
        chosen = {
            "x-amzn-sagemaker-inference-component": inference_component,
            "x-amzn-sagemaker-target-variant": target_variant,
        }
        self._headers = {header: value for header, value in chosen.items() if value}
        self._route = f"/endpoints/{path_part(model)}/invocations-response-stream"
        self._service = AwsService(name, SAGEMAKER, model, settings)
        self._pace = Pace(name, self._service.where, first_token_timeout_s, token_gap_timeout_s)

    @property
    def detail(self) -> str:
        """Kind, endpoint, address."""
        asked = "" if self._prompt is None else " (by prompt, without functions)"
        return f"sagemaker {self._model}{asked} at {self._service.where}"

    async def load(self) -> None:
        """Have credentials and two idle connections ready; again later to keep them. Never fails."""
        await self._service.load()

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answer the last message: see `ChatModel.stream`. Raises LlmRefused for functions where it asks by prompt."""
        if self._prompt is not None:
            why = "asked by its template, it takes no functions: use an endpoint that takes messages, or no tools"
            refuse_functions(self.name, options, why)
        private = texts_of(messages)
        inner = reading_of(self._payload, self.name, private)
        stream = SageMakerStream(self.name, inner, self._service.refusals, private=private)
        reading = Stopping(self.name, stream, self._stops, waiting=False)
        body = json.dumps(self._request(messages, options), ensure_ascii=False, separators=(",", ":"))
        arriving = self._service.post(
            self._route,
            body.encode("utf-8", "replace"),
            headers=self._headers,
            unsigned=options.headers,
            private=private,
        )
        async with aclosing(paced(arriving, reading, self._pace)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close connections. Idempotent; bounded in time."""
        await self._service.aclose()

    def _request(self, messages: Sequence[Message], options: ChatOptions) -> JsonObject:
        max_tokens = self._max_tokens if options.max_tokens is None else options.max_tokens
        sampling: JsonObject = {} if self._temperature is None else {"temperature": self._temperature}
        if self._prompt is not None:
            # Details tell why it ended; without them an answer that was cut looks like any other.
            parameters: JsonObject = {"details": True, "return_full_text": False, **sampling}
            if max_tokens is not None:
                parameters["max_new_tokens"] = max_tokens
            return {"inputs": self._prompt(messages), "parameters": parameters, "stream": True}
        request: JsonObject = {
            "messages": [message_json(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **sampling,
            **options_json(options),
        }
        if max_tokens is not None:
            request["max_tokens"] = max_tokens
        return request
