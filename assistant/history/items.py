"""The items of a conversation's history: messages, function calls and their outputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from assistant.history.item_id import ROOT as ROOT  # noqa: PLC0414 - part of this module's interface
from assistant.history.item_id import ItemId as ItemId  # noqa: PLC0414 - part of this module's interface
from assistant.history.mcp_items import McpItem
from assistant.models.language_names import NAMES
from llm.chat import CallExtra, FunctionCall, Image, Message


@dataclass(frozen=True, slots=True)
class TextPart:
    """A typed text of a user message."""

    text: str


@dataclass(frozen=True, slots=True)
class SoundPart:
    """A recording in a user message.

    Attributes:
        transcript: Its words; None: not transcribed yet, or not at all.
    """

    transcript: str | None


ContentPart = TextPart | SoundPart | Image


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words of the user.

    Attributes:
        id: Its id.
        text: The words.
        spoken: Whether they were spoken, not typed.
        continues: Whether the LLM sees it joined with the item before it, because the user went on.
        parts: The content of a client's message with a recording or an image; empty for all others.
        speaker: Label of who spoke: "S1", "S2", … or the name of an enrolled voice; "" if that is unknown.
        language: Code of the language, where the conversation follows the user's; else "".
    """

    id: ItemId
    text: str
    spoken: bool
    continues: bool = False
    parts: tuple[ContentPart, ...] = ()
    speaker: str = ""
    language: str = ""

    @property
    def images(self) -> tuple[Image, ...]:
        """The images that are kept."""
        return tuple(part for part in self.parts if isinstance(part, Image) and part.data)

    @classmethod
    def of_parts(cls, item_id: ItemId, parts: tuple[ContentPart, ...]) -> "UserMessage":
        """Returns a client's message; its text has a line for each text and transcript."""
        texts = [part.text if isinstance(part, TextPart) else part.transcript or ""
                 for part in parts if not isinstance(part, Image)]  # fmt: skip
        return cls(item_id, "\n".join(filter(None, texts)), spoken=False, parts=parts)


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A system message within the conversation."""

    id: ItemId
    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of one of the assistant's own tools during a reply, with its output.

    Attributes:
        call: The call.
        output: What the tool returned.
        at: How many characters of the reply, as the LLM wrote it, came before the call.
        round: Number of the LLM response that made the call. Calls of one response were made at once.
        number: Position of the call in that response. Outputs may have come in another order.
    """

    call: FunctionCall
    output: str
    at: int
    round: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """Words of the assistant, as far as they were heard.

    Attributes:
        id: Its id.
        text: The words.
        complete: Whether the whole reply was heard.
        tool_uses: Calls of the assistant's own tools, in order.
        markup: The same as the LLM wrote it, with its Markdown; "" if that is unknown or the same as `text`.
        unheard: What was written after it and not heard. Screens and exports show it; the LLM does not get it.
        withdrawn: The user went on just after it began, and another reply answers all that they said. The LLM does not
            get it.
    """

    id: ItemId
    text: str
    complete: bool = True
    tool_uses: tuple[ToolUse, ...] = ()
    markup: str = ""
    unheard: str = ""
    withdrawn: bool = False

    @property
    def written(self) -> str:
        """The words as the LLM wrote them."""
        return self.markup or self.text


@dataclass(frozen=True, slots=True)
class FunctionCallItem:
    """A call of a client's function by the LLM.

    Attributes:
        id: Its id.
        call_id: Id of the call, which its output refers to.
        name: Name of the function.
        arguments: JSON, as the LLM wrote it.
        extra: Service-specific data of the call.
    """

    id: ItemId
    call_id: str
    name: str
    arguments: str
    extra: CallExtra | None = None


@dataclass(frozen=True, slots=True)
class FunctionOutput:
    """The output of a client's function."""

    id: ItemId
    call_id: str
    output: str


PlainItem = UserMessage | SystemMessage | AssistantMessage | FunctionCallItem | FunctionOutput
Item = PlainItem | McpItem


def language_note(language: str) -> Message:
    """Returns what the LLM is told before the first words of the user in a language.

    It depends only on the messages, so the prompt only grows, and a server's prompt cache stays valid.
    """
    name = NAMES.get(language, language)
    return Message("system", f"The user speaks {name} now. Answer in {name}.")


MAX_OUTPUT_CHARS = 100_000
"""Longest output of a function in the prompt, also of a client's, which `max_result_chars` does not bound."""


def bounded_output(output: str) -> str:
    """Returns the output of a function as the LLM sees it."""
    if len(output) <= MAX_OUTPUT_CHARS:
        return output
    return f"{output[:MAX_OUTPUT_CHARS]} … (cut: {len(output)} characters, {MAX_OUTPUT_CHARS} are kept)"


def answer_messages(text: str, used: tuple[ToolUse, ...]) -> tuple[Message, ...]:
    """Returns a reply as LLM messages: each call after the words that came before it, and followed by its output.

    The result is the same during the reply and later, so that a server's prompt cache stays valid.
    """
    messages: list[Message] = []
    since = 0
    for (_, position), group in groupby(used, lambda use: (use.round, use.at)):
        words, since = text[since:position].strip(), max(since, position)
        called = sorted(group, key=lambda use: use.number)
        messages += call_messages(words, [(use.call, use.output) for use in called])
    rest = text[since:].strip()
    return (*messages, Message("assistant", rest)) if rest else tuple(messages)


def call_messages(text: str, called: Sequence[tuple[FunctionCall, str]]) -> list[Message]:
    """Returns the text of a response, then each call directly followed by its output: some chat templates need that.

    If a service attached extra data to a call, all calls come before all outputs, as in its response. Gemini signs only
    the first of several calls and rejects the others alone.
    """
    if any(call.extra is not None for call, _ in called):
        results = [Message("tool", bounded_output(output), call_id=call.call_id) for call, output in called]
        return [Message("assistant", text, tuple(call for call, _ in called)), *results]
    messages: list[Message] = []
    for call, output in called:
        messages += [Message("assistant", text, (call,)), Message("tool", bounded_output(output), call_id=call.call_id)]
        text = ""
    return messages


def is_rest_of(interrupted: AssistantMessage, following: Item | None) -> bool:
    """Returns whether an item is the rest of the interrupted reply: the same last words, from a sentence's start on."""
    if not isinstance(following, AssistantMessage) or not interrupted.unheard:
        return False
    rest = _letters(following.written + following.unheard)
    return bool(rest) and _letters(interrupted.written + interrupted.unheard).endswith(rest)


def without_resumed_rests(items: Sequence[Item]) -> tuple[Item, ...]:
    """Returns the items; the rest of a reply that follows as a reply of its own is no longer unheard."""
    return tuple(
        replace(item, unheard="") if isinstance(item, AssistantMessage) and is_rest_of(item, following) else item
        for item, following in zip_longest(items, items[1:])
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


MAX_IMAGES = 20
"""Images of one history; also the most that Bedrock takes in a request."""

MAX_IMAGE_CHARS = 8_000_000
"""Characters of their base64 text, 6 MB of image files. One request sends all of it to the LLM service."""


def with_newest_images(items: Sequence[Item]) -> list[Item]:
    """Returns the items, in order, with their newest images. Older images keep their place, without data."""
    count, chars = 0, 0
    kept: list[Item] = []
    for item in reversed(items):
        if not isinstance(item, UserMessage) or not item.images:
            kept.append(item)
            continue
        parts: list[ContentPart] = []
        for part in reversed(item.parts):
            if not isinstance(part, Image) or not part.data:
                parts.append(part)
                continue
            count, chars = count + 1, chars + len(part.data)
            within = count <= MAX_IMAGES and chars <= MAX_IMAGE_CHARS
            parts.append(part if within else replace(part, data=""))
        kept.append(replace(item, parts=tuple(reversed(parts))))
    return kept[::-1]
