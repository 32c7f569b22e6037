"""Messages as the one text that a model continues, for services that know nothing of messages.

Built in are the formats of Llama 2, Llama 3 and ChatML; any other comes as the model's own Jinja template. What a
template can carry is found out once, by rendering a few words through it: where it takes no system message, that is put
before the question after it; where questions and answers must alternate, a missing question is an empty one; and the
control tokens that it puts between an answer and the next question are where an answer stops.

What people, tools and the model said is data: control tokens in it are broken up (`control_tokens`).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from llm.chat import ChatOptions, FunctionCall, Message, texts_of
from llm.control_tokens import ControlTokens, control_tokens_in
from llm.errors import LlmRefused
from llm.http_errors import SPOKEN_REQUEST, quoted, refuse_functions
from llm.jinja_template import RENDER_ERRORS, JinjaTemplate, Turn
from llm.role_alternation import JOINT, joined
from llm.template_file import TemplateError, TemplateSource, read_template

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "llama2": {"bos_token": "<s>", "eos_token": "</s>"},
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "chatml": {"eos_token": "<|im_end|>"},
}
"""Formats by name, with their tokens."""

TEMPLATES = Path(__file__).parent / "templates"

MAX_STOPS = 4
"""TGI refuses more, unless it was started with another --max-stop-sequences."""

_SYSTEM, _ASKED, _ANSWERED, _REMARK, _AGAIN = (f"zq{word}zq" for word in ("one", "two", "three", "four", "five"))
"""What templates are tried with: words that no template says itself."""


def load_template(endpoint: str, template: str, *, now: datetime | None = None) -> "ChatTemplate":
    """The template that a configuration's `template` names: one of BUILT_IN, or the path of a file.

    `now`: as `ChatTemplate.prompt` will get it: some templates cannot do without.
    Raises ValueError, naming the endpoint, the key and the remedy.
    """
    try:
        if template in BUILT_IN:
            text = (TEMPLATES / f"{template}.jinja").read_text(encoding="utf-8")
            source = TemplateSource(text, BUILT_IN[template])
        elif Path(template).suffix in {".jinja", ".jinja2", ".j2", ".json"}:
            source = read_template(Path(template))
        else:
            known = ", ".join(BUILT_IN)
            raise TemplateError(f"it is none of {known}, and no .jinja or .json file: name one of these")  # noqa: TRY301
        return ChatTemplate(endpoint, template, source, now=now)
    except TemplateError as error:
        raise ValueError(f"llm endpoint {endpoint!r}: template {template!r}: {error}") from error


class ChatTemplate:
    """One model's format.

    Attributes:
        name: As in the configuration.
        stops: Where an answer ends, at the latest; at most MAX_STOPS.
    """

    def __init__(self, endpoint: str, name: str, source: TemplateSource, *, now: datetime | None = None) -> None:
        """Raises TemplateError for a template that no conversation fits into."""
        self.name = name
        self._endpoint = endpoint
        self._jinja = JinjaTemplate(source)
        tokens = source.tokens or {}
        self._bos = tokens.get("bos_token", "")
        named = control_tokens_in(source.text)
        self._control = ControlTokens({*named, *source.special, *tokens.values()})
        self._carries_calls = "tool_calls" in source.text
        self.stops = self._found_stops(self._try(now), tokens.get("eos_token", ""))

    def prompt(self, messages: Sequence[Message], *, now: datetime | None = None, bos: bool = True) -> str:
        """What the model continues with its answer.

        Args:
            messages: Consecutive ones of one role become one.
            now: For templates that say the date.
            bos: Begin with the model's token for the beginning of a text, if its template does. False for services
                whose tokenizer adds it: twice is one too many, and costs quality.

        Raises:
            LlmRefused: These messages do not fit into the template.
        """
        if not self._carries_calls and any(message.calls or message.role == "tool" for message in messages):
            raise self._refused("has no place for calls of functions: use an endpoint with messages of its own")
        try:
            text = self._jinja.render(self._turns(messages), now)
        except RENDER_ERRORS as error:
            says = quoted(str(error), texts_of(messages))
            # Without the cause: it may quote what was said.
            raise self._refused(f"does not take this conversation: check that it is the model's own{says}") from None
        return text if bos else text.removeprefix(self._bos)

    def without_functions(self, options: ChatOptions) -> None:
        """Raises LlmRefused where functions are offered: what a model would call in, each has its own language for."""
        why = f"its template ({self.name}) carries no functions: use an endpoint with messages of its own, or no tools"
        refuse_functions(self._endpoint, options, why)

    def _refused(self, what: str) -> LlmRefused:
        text = f"llm endpoint {self._endpoint!r}: its template ({self.name}) {what}"
        return LlmRefused(self._endpoint, text, spoken=SPOKEN_REQUEST, retryable=True)

    # ---- what the template can carry ----

    def _try(self, now: datetime | None) -> str:
        """Find out; returns a plain conversation as it comes out."""
        plain = [_turn("user", _ASKED), _turn("assistant", _ANSWERED), _turn("user", _AGAIN)]
        system, remark = _turn("system", _SYSTEM), _turn("system", _REMARK)
        try:
            text = self._jinja.render(plain, now)
        except RENDER_ERRORS as error:
            raise TemplateError(f"it does not take a plain conversation ({error}): check that it is whole") from error
        if missing := [word for word in (_ASKED, _ANSWERED, _AGAIN) if word not in text]:
            lost = "answers" if missing == [_ANSWERED] else "questions"
            raise TemplateError(f"it leaves out {lost}: check that it is a chat template")
        self._system_first = self._carries([system, *plain], now)
        self._system_later = self._carries([*plain[:2], remark, plain[2]], now)
        self._alternates = not self._carries(plain[1:], now)
        return text

    def _carries(self, turns: Sequence[Turn], now: datetime | None) -> bool:
        """Whether all of these messages come through, each once."""
        try:
            text = self._jinja.render(turns, now)
        except RENDER_ERRORS:
            return False
        return all(text.count(str(turn["content"])) == 1 for turn in turns)

    def _found_stops(self, plain: str, eos: str) -> tuple[str, ...]:
        between = plain.partition(_ANSWERED)[2].partition(_AGAIN)[0]
        found = sorted(control_tokens_in(between), key=between.index)
        return tuple(dict.fromkeys(token for token in (eos, *found) if token not in {"", self._bos}))[:MAX_STOPS]

    # ---- messages as it wants them ----

    def _turns(self, messages: Sequence[Message]) -> list[Turn]:
        turns = self._with_system_in_its_place(messages)
        if self._alternates:
            if turns and turns[0].role == "assistant":
                turns.insert(0, Message("user", ""))
            elif turns and turns[0].role == "system" and len(turns) > 1 and turns[1].role == "assistant":
                turns.insert(1, Message("user", ""))
            if not turns or turns[-1].role not in {"user", "tool"}:
                turns.append(Message("user", ""))
        return [self._turn_of(message) for message in turns]

    def _with_system_in_its_place(self, messages: Sequence[Message]) -> list[Message]:
        """Joined, with system messages only where the template has a place for them."""
        placed: list[Message] = []
        homeless: list[str] = []
        for message in joined(messages):
            if message.role == "system" and not (self._system_later if placed else self._system_first):
                homeless.append(message.content)
            elif message.role == "user" and homeless:
                placed.append(Message("user", JOINT.join([*homeless, message.content])))
                homeless.clear()
            else:
                placed.append(message)
        if homeless:
            placed.append(Message("user", JOINT.join(homeless)))
        return joined(placed)

    def _turn_of(self, message: Message) -> Turn:
        turn = _turn(message.role, self._control.broken_up(message.content))
        if message.role == "tool":
            turn["tool_call_id"] = message.call_id
        if message.calls:
            turn["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": self._control.broken_up(call.name), "arguments": self._arguments(call)},
                }
                for call in message.calls
            ]
        return turn

    def _arguments(self, call: FunctionCall) -> object:
        """As templates want them: decoded, where the model wrote JSON. Escapes could hide a token before that."""
        try:
            return self._broken_up(json.loads(call.arguments))
        except (ValueError, RecursionError):
            return self._control.broken_up(call.arguments)

    def _broken_up(self, value: object) -> object:
        match value:
            case str():
                return self._control.broken_up(value)
            case list():
                return [self._broken_up(inner) for inner in value]
            case dict():
                return {self._broken_up(key): self._broken_up(inner) for key, inner in value.items()}
            case _:
                return value


def _turn(role: str, content: str) -> Turn:
    return {"role": role, "content": content}
