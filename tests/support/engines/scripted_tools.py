"""Scripted tools and an LLM that calls them, for simulations in virtual time."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from support.conversations.simulation import ScriptedModel

from assistant.tools import ToolError
from llm.chat import (
    PLAIN,
    CallExtra,
    ChatEvent,
    ChatOptions,
    Finished,
    Function,
    FunctionCall,
    Message,
    RequestSent,
    SlotAcquired,
    Token,
)
from llm.openai.messages import message_json, options_json

WEATHER = Function("home_weather", "The weather at a place.", '{"type":"object","properties":{"place":{}}}')
SIGNED = '{"extra_content":{"google":{"thought_signature":"CpcBAXLI2nw="}}}'
ADD = Function("home_add", "Put something on the list.", '{"type":"object"}')


@dataclass(slots=True)
class ScriptedTools:
    """Answers every call alike, after a delay."""

    takes_s: float = 0.2
    waits_s: dict[str, float] = field(default_factory=dict)  # delays by arguments, instead
    result: str = "sunny"
    fails: bool = False
    functions: tuple[Function, ...] = (WEATHER, ADD)
    called: list[tuple[float, str, str]] = field(default_factory=list)  # (time, name, arguments)
    returned: int = 0
    cancelled: int = 0
    listening: int = 0

    async def call(self, name: str, arguments: str) -> str:
        loop = asyncio.get_running_loop()
        self.called.append((loop.time(), name, arguments))
        try:
            await asyncio.sleep(self.waits_s.get(arguments, self.takes_s))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fails:
            raise ToolError("the tool server home is not there at the moment; say so")
        self.returned += 1
        return self.result

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        self.listening += 1

        def leave() -> None:
            self.listening -= 1

        return leave


@dataclass(frozen=True, slots=True)
class Calls:
    """An answer with text followed by function calls; for `CallingModel`."""

    calls: tuple[tuple[str, str], ...]
    text: str = ""


def calls(name: str = "home_weather", arguments: str = '{"place":"here"}', text: str = "") -> Calls:
    return Calls(((name, arguments),), text)


@dataclass(slots=True)
class CallingModel(ScriptedModel):
    """An LLM whose rule maps the messages to an answer. Records its requests as on the wire."""

    rule: Callable[[Sequence[Message], ChatOptions], str | Calls] = lambda _messages, _options: "Yes."
    wired: list[str] = field(default_factory=list)
    options: list[ChatOptions] = field(default_factory=list)
    signs: bool = False  # the first call of each answer, as Gemini does

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.asked.append(tuple(messages))
        self.options.append(options)
        # As an OpenAI-compatible service would receive it, in prompt order.
        self.wired.append(json.dumps(options_json(options).get("tools")) + "".join(map(as_text, messages)))
        answer = self.rule(messages, options)
        answer = answer if isinstance(answer, Calls) else Calls((), answer)
        finished = False
        try:
            yield SlotAcquired()
            yield RequestSent(0.01)
            await asyncio.sleep(self.first_token_ms / 1000)
            for number, word in enumerate(answer.text.split(" ") if answer.text else []):
                yield Token(word if number == 0 else f" {word}")
                await asyncio.sleep(self.token_ms / 1000)
            for number, (name, arguments) in enumerate(answer.calls):
                extra = CallExtra(self.name, SIGNED) if self.signs and number == 0 else None
                # The same names in every answer, as some services do.
                yield FunctionCall(f"call_{number}", name, arguments, extra)
            yield Finished("tool_calls" if answer.calls else "stop", 100, 10, cached_tokens=50)
            finished = True
        finally:
            self.cancelled += not finished


def as_text(message: Message) -> str:
    return json.dumps(message_json(message)) + "\n"


def last_user(messages: Sequence[Message]) -> int:
    """Returns the index of the last user message."""
    return max(at for at, message in enumerate(messages) if message.role == "user")


def looked_up(messages: Sequence[Message]) -> bool:
    """Returns whether a tool has returned since the last user message."""
    return any(message.role == "tool" for message in messages[last_user(messages) :])
