"""Renders messages as one prompt text, for services that take no messages.

The formats of Llama 2, Llama 3 and ChatML are built in; any other format is the model's own Jinja template. The
capabilities of a template are determined once, by rendering a few test words through it:

- If it accepts no system message, that text is put before the next question.
- If user and assistant must alternate, a missing question becomes an empty one.
- The control tokens that it puts between an answer and the next question are the stop sequences.

Texts of users, tools and the model are data: control tokens in them are broken up (see `ControlTokens`).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from llm.chat import ChatOptions, FunctionCall, Message, texts_of
from llm.errors import LlmRefused
from llm.http_errors import SPOKEN_REQUEST, quoted, refuse_functions
from llm.templates.jinja_template import RENDER_ERRORS, JinjaTemplate, Turn
from llm.templates.role_alternation import SEPARATOR, joined
from llm.templates.template_file import TemplateError, TemplateSource, read_template

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "llama2": {"bos_token": "<s>", "eos_token": "</s>"},
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "chatml": {"eos_token": "<|im_end|>"},
}
"""Built-in formats by name, with their special tokens."""

TEMPLATES = Path(__file__).parent

MAX_STOPS = 4
"""TGI's default limit of stop sequences (`--max-stop-sequences`)."""

_SYSTEM, _QUESTION, _ANSWER, _LATER_SYSTEM, _NEXT_QUESTION = (
    f"zq{word}zq" for word in ("one", "two", "three", "four", "five")
)
"""Words that templates are tested with; no template contains them."""


_BARRED = r"<[|｜][^<>|｜\s]{1,60}[|｜]>"
"""`<|name|>`: most tokenizers reserve this form, whether or not the template uses the particular token."""

_TAGGED = r"<</?[A-Z]{2,20}>>|</?[A-Za-z][\w.-]{0,40}>|\[/?[A-Z][A-Z_]{1,40}\]"
"""`<s>`, `<end_of_turn>`, `[INST]`, `<<SYS>>`: control tokens only if the model's own files name them."""

_ANY = re.compile(f"{_BARRED}|{_TAGGED}")

MIN_TOKEN_CHARS = 3
"""Shorter tokens are punctuation."""


def control_tokens_in(source: str) -> frozenset[str]:
    """Returns the texts in a template or prompt that have the form of a control token."""
    return frozenset(_ANY.findall(source))


class ControlTokens:
    """The control tokens of one model. Breaks them up in texts of users, tools and models.

    A service reads a prompt as one text. A pasted "<|im_end|>" would otherwise end its message and could begin a system
    message. A space is inserted after the first character of every control token: the tokenizer then reads plain text,
    and the model can still read it. Formats that mark roles by words ("USER:", "### Instruction:") cannot be protected
    in this way, because they cannot be distinguished from prose.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """Compiles the pattern. `tokens`: as the model's files name them; those with spaces are ignored."""
        # `<|name|>` tokens are matched by their form: a tokenizer may have hundreds of them.
        known = {token for token in tokens if _is_control(token) and not re.fullmatch(_BARRED, token)}
        either = "|".join([_BARRED, *map(re.escape, sorted(known))])
        first = "".join(sorted({"<", *(token[0] for token in known)}))
        # The test of the first character keeps the search fast. One space breaks all tokens that begin at the same
        # position, and matching one character at a time also finds a token that begins inside another.
        self._pattern = re.compile(f"(?=[{re.escape(first)}])(?={either})(.)")

    def break_up(self, text: str) -> str:
        """Returns `text` without any complete control token."""
        return self._pattern.sub(r"\1 ", text)


def _is_control(token: str) -> bool:
    return len(token) >= MIN_TOKEN_CHARS and not re.search(r"\s", token)


def load_template(endpoint: str, template: str, *, now: datetime | None = None) -> "ChatTemplate":
    """Loads the template that the setting `template` names: one of BUILT_IN, or the path of a file.

    Args:
        endpoint: The endpoint's name in the configuration, for errors.
        template: The configured name or path.
        now: The date, as `ChatTemplate.prompt` gets it; some templates require one.

    Raises:
        ValueError: The template cannot be used; the text names the endpoint, the key and the remedy.
    """
    try:
        if template in BUILT_IN:
            text = (TEMPLATES / f"{template}.jinja").read_text(encoding="utf-8")
            source = TemplateSource(text, BUILT_IN[template])
        elif Path(template).suffix in {".jinja", ".jinja2", ".j2", ".json"}:
            source = read_template(Path(template))
        else:
            known = ", ".join(BUILT_IN)
            raise TemplateError(f"it is neither one of {known} nor a .jinja or .json file: name one of these")  # noqa: TRY301
        return ChatTemplate(endpoint, template, source, now=now)
    except TemplateError as error:
        raise ValueError(f"llm endpoint {endpoint!r}: template {template!r}: {error}") from error


class ChatTemplate:
    """The prompt format of one model.

    Attributes:
        name: As in the configuration.
        stops: Stop sequences, at most MAX_STOPS.
    """

    def __init__(self, endpoint: str, name: str, source: TemplateSource, *, now: datetime | None = None) -> None:
        """Compiles and tests the template. Raises TemplateError if it cannot render a conversation."""
        self.name = name
        self._endpoint = endpoint
        self._jinja = JinjaTemplate(source)
        tokens = source.tokens or {}
        self._bos = tokens.get("bos_token", "")
        named = control_tokens_in(source.text)
        self._control = ControlTokens({*named, *source.special, *tokens.values()})
        self._supports_calls = "tool_calls" in source.text
        self.stops = self._find_stops(self._probe(now), tokens.get("eos_token", ""))

    def prompt(self, messages: Sequence[Message], *, now: datetime | None = None, bos: bool = True) -> str:
        """Returns the prompt that the model continues with its answer.

        Args:
            messages: Consecutive messages of one role are joined.
            now: For templates that state the date.
            bos: Whether the prompt begins with the model's beginning-of-text token, if its template adds one. False for
                services whose tokenizer adds it: a second one degrades quality.

        Raises:
            LlmRefused: The template cannot render these messages.
        """
        if not self._supports_calls and any(message.calls or message.role == "tool" for message in messages):
            raise self._refused("does not support function calls: use an endpoint that takes messages")
        try:
            text = self._jinja.render(self._turns(messages), now)
        except RENDER_ERRORS as error:
            quote = quoted(str(error), texts_of(messages))
            # Raised without the cause: that may quote the conversation.
            raise self._refused(f"does not accept this conversation: check that it is the model's own{quote}") from None
        return text if bos else text.removeprefix(self._bos)

    def reject_functions(self, options: ChatOptions) -> None:
        """Raises LlmRefused if functions are offered: templates have no common format for calls."""
        why = f"its template ({self.name}) does not support functions: use an endpoint that takes messages, or no tools"
        refuse_functions(self._endpoint, options, why)

    def _refused(self, what: str) -> LlmRefused:
        text = f"llm endpoint {self._endpoint!r}: its template ({self.name}) {what}"
        return LlmRefused(self._endpoint, text, spoken=SPOKEN_REQUEST, retryable=True)

    # ---- capabilities of the template ----

    def _probe(self, now: datetime | None) -> str:
        """Determines the template's capabilities. Returns a rendered plain conversation."""
        plain = [_turn("user", _QUESTION), _turn("assistant", _ANSWER), _turn("user", _NEXT_QUESTION)]
        system, later_system = _turn("system", _SYSTEM), _turn("system", _LATER_SYSTEM)
        try:
            text = self._jinja.render(plain, now)
        except RENDER_ERRORS as error:
            raise TemplateError(
                f"it does not accept a plain conversation ({error}): check that it is complete"
            ) from error
        if missing := [word for word in (_QUESTION, _ANSWER, _NEXT_QUESTION) if word not in text]:
            lost = "answers" if missing == [_ANSWER] else "questions"
            raise TemplateError(f"it leaves out {lost}: check that it is a chat template")
        self._system_first = self._renders_all([system, *plain], now)
        self._system_later = self._renders_all([*plain[:2], later_system, plain[2]], now)
        self._alternates = not self._renders_all(plain[1:], now)
        return text

    def _renders_all(self, turns: Sequence[Turn], now: datetime | None) -> bool:
        """Returns whether each of these messages appears in the rendered text exactly once."""
        try:
            text = self._jinja.render(turns, now)
        except RENDER_ERRORS:
            return False
        return all(text.count(str(turn["content"])) == 1 for turn in turns)

    def _find_stops(self, plain: str, eos: str) -> tuple[str, ...]:
        between = plain.partition(_ANSWER)[2].partition(_NEXT_QUESTION)[0]
        tokens = sorted(control_tokens_in(between), key=between.index)
        return tuple(dict.fromkeys(token for token in (eos, *tokens) if token not in {"", self._bos}))[:MAX_STOPS]

    # ---- messages in the form that the template accepts ----

    def _turns(self, messages: Sequence[Message]) -> list[Turn]:
        turns = self._place_system_messages(messages)
        if self._alternates:
            if turns and turns[0].role == "assistant":
                turns.insert(0, Message("user", ""))
            elif turns and turns[0].role == "system" and len(turns) > 1 and turns[1].role == "assistant":
                turns.insert(1, Message("user", ""))
            if not turns or turns[-1].role not in {"user", "tool"}:
                turns.append(Message("user", ""))
        return [self._turn_of(message) for message in turns]

    def _place_system_messages(self, messages: Sequence[Message]) -> list[Message]:
        """Returns the messages joined, with system messages only where the template accepts them."""
        placed: list[Message] = []
        unplaced: list[str] = []
        for message in joined(messages):
            if message.role == "system" and not (self._system_later if placed else self._system_first):
                unplaced.append(message.content)
            elif message.role == "user" and unplaced:
                placed.append(Message("user", SEPARATOR.join([*unplaced, message.content])))
                unplaced.clear()
            else:
                placed.append(message)
        if unplaced:
            placed.append(Message("user", SEPARATOR.join(unplaced)))
        return joined(placed)

    def _turn_of(self, message: Message) -> Turn:
        turn = _turn(message.role, self._control.break_up(message.content))
        if message.role == "tool":
            turn["tool_call_id"] = message.call_id
        if message.calls:
            turn["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": self._control.break_up(call.name), "arguments": self._arguments(call)},
                }
                for call in message.calls
            ]
        return turn

    def _arguments(self, call: FunctionCall) -> object:
        """Returns the arguments decoded, as templates expect them, with control tokens broken up.

        Decoding comes first, because a JSON escape could hide a token. Text that is not JSON stays text.
        """
        try:
            return self._break_up(json.loads(call.arguments))
        except (ValueError, RecursionError):
            return self._control.break_up(call.arguments)

    def _break_up(self, value: object) -> object:
        match value:
            case str():
                return self._control.break_up(value)
            case list():
                return [self._break_up(inner) for inner in value]
            case dict():
                return {self._break_up(key): self._break_up(inner) for key, inner in value.items()}
            case _:
                return value


def _turn(role: str, content: str) -> Turn:
    return {"role": role, "content": content}
