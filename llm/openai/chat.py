"""Service `openai`: any service with OpenAI's chat completions (vLLM, TGI, llama.cpp, Ollama, cloud services)."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Unpack

from llm.answer_length import asked_tokens
from llm.answer_text.reasoning_habit import ReasoningHabit, begins_unmarked
from llm.chat import NO_LIMIT, PLAIN, ChatEvent, ChatOptions, Message
from llm.context_limit import ContextLimit
from llm.errors import LlmRefused
from llm.http.request_body import NO_PARAMETERS, Parameters, checked, merged
from llm.http.service import HttpService, HttpSettings
from llm.http_errors import OPTIONAL_FIELDS
from llm.model_list import own_name
from llm.model_wakeup import ModelWakeup
from llm.openai.messages import JsonObject, messages_json, options_json
from llm.openai.stream import OpenAIStream
from llm.token_deadlines import IncomingStream, StreamParser, with_deadlines

log = logging.getLogger(__name__)

ROUTE = "/chat/completions"

WAKEUP_MESSAGES = (Message("user", "Hello."),)
"""A request for one token that makes a server load its model."""

RESERVED = frozenset({"model", "messages", "stream", "n", "tools", "tool_choice", "functions", "function_call"})
"""Fields that `parameters` must not contain."""


_REASONING_PARAMETERS = frozenset(
    {
        *("chat_template_kwargs", "reasoning", "reasoning_effort", "reasoning_format", "include_reasoning"),
        *("enable_thinking", "thinking", "think", "thinking_budget"),
    }
)
"""Parameters that control reasoning, or how it is returned."""


class OpenAIChat:
    """A ChatModel for an OpenAI-compatible service.

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
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        waits_when_busy: bool = False,
        **settings: Unpack[HttpSettings],
    ) -> None:
        """Initializes the client without I/O. The first-token deadline includes the wait for a connection.

        Args:
            name: The endpoint's name in the configuration.
            url: The base address ("http://127.0.0.1:8000/v1") or the whole address of the chat completions.
            model: The model's name on the service.
            max_tokens: Longest answer; None: the service's default.
            temperature: Sampling temperature; None: the service's default.
            parameters: Additional request fields, under the service's names. `max_completion_tokens` replaces
                `max_tokens`. A field of OPTIONAL_FIELDS that is False is omitted.
            waits_when_busy: Whether to ask again, once, after the wait that a busy service asks for (`Retry-After`),
                if it ends before the first-token deadline. For a service without others beside it.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        self.name = name
        self._context = ContextLimit(name)
        self._model = model
        self._waits_when_busy = waits_when_busy
        parameters = checked(name, parameters, reserved=RESERVED)
        self._limit = "max_completion_tokens" if "max_completion_tokens" in parameters else "max_tokens"
        self._max_tokens = max_tokens
        given = {} if temperature is None else {"temperature": temperature}
        self._configured_fields = frozenset(parameters)
        self._omitted = {field for field in OPTIONAL_FIELDS if parameters.get(field) is False}
        self._fixed = merged({"stream_options": {"include_usage": True}, **given}, parameters)
        # A configured reasoning setting overrides the guess from the model's name.
        self._habit_known = bool(_REASONING_PARAMETERS & parameters.keys())
        self._habit = ReasoningHabit(begins_unmarked=not self._habit_known and begins_unmarked(model))
        self._service = HttpService(name, url, settings, route=ROUTE, model=model)
        self._wakeup = ModelWakeup(name, lambda: self._ask(WAKEUP_MESSAGES, ChatOptions(max_tokens=1)))

    @property
    def detail(self) -> str:
        """Kind, model and address."""
        return f"openai {self._model} at {self._service.where}"

    async def load(self) -> None:
        """Opens two idle connections. Call it again when speech starts, to keep them open. Never fails."""
        listed = await self._service.warm("/models")
        if listed and not self._habit_known:
            self._habit_known = True
            self._habit.begins_unmarked |= begins_unmarked(own_name(listed, self._model))

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`."""
        most = asked_tokens(options, self._max_tokens, self._fixed)
        events = self._context.ask(
            lambda fitting: with_deadlines(lambda: self._ask(fitting, options), self._service.deadlines, most), messages
        )
        # Only in private networks: an additional request to a public service might cost money.
        return self._wakeup.watch(events) if self._service.private_address else events

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._wakeup.aclose()
        await self._service.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[IncomingStream, StreamParser]:
        private = self._service.private(messages)
        parser = OpenAIStream(self.name, private=private, habit=self._habit, functions=options.functions)
        return self._incoming(messages, options, private), parser

    async def _incoming(
        self, messages: Sequence[Message], options: ChatOptions, private: Sequence[str]
    ) -> IncomingStream:
        """Yields the answer to the request; repeats the request without each field that the service does not accept."""
        deadline_s = asyncio.get_running_loop().time() + self._service.deadlines.first_token_timeout_s
        may_wait = self._waits_when_busy
        while True:
            fields = self._fields(messages, options)
            try:
                async with aclosing(self._service.post(ROUTE, fields, options, private)) as incoming:
                    async for item in incoming:
                        yield item
            except LlmRefused as refusal:
                wait_s = refusal.retry_after_s
                if may_wait and wait_s is not None and asyncio.get_running_loop().time() + wait_s < deadline_s:
                    may_wait = False
                    await asyncio.sleep(wait_s)
                    continue
                if refusal.field not in fields or refusal.field in self._configured_fields:
                    raise  # a configured field is for the user to remove
                self._omit(refusal.field)
            else:
                return

    def _fields(self, messages: Sequence[Message], options: ChatOptions) -> JsonObject:
        fields: JsonObject = {"model": self._model, "messages": messages_json(messages, self.name), "stream": True}
        if self._max_tokens is not None and options.max_tokens != NO_LIMIT:
            fields[self._limit] = self._max_tokens
        fields |= {**self._fixed, **options_json(options, limit=self._limit)}
        return {field: value for field, value in fields.items() if field not in self._omitted}

    def _omit(self, field: str) -> None:
        """Omits the field from all further requests."""
        if field not in self._omitted:
            log.warning(
                "llm endpoint %r does not accept %s, so it is no longer sent: see docs/endpoints.md", self.name, field
            )
        self._omitted.add(field)
        if field == "max_tokens":
            self._limit = "max_completion_tokens"
