"""The history of a conversation, from which the LLM's messages are made.

A user message enters when its turn is committed, an assistant message as far as it was heard. A client may insert other
items. Only `set_heard`, `truncate` and `replace_message` change an item's text. The LLM sees the newest turns and all
system messages.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import assert_never

from assistant.history.cut_to_heard import SpokenTranscript, Stretch
from assistant.history.items import (
    ROOT,
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SystemMessage,
    ToolUse,
    UserMessage,
    answer_messages,
    call_messages,
    language_note,
    with_newest_images,
)
from assistant.history.mcp_items import (
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpItem,
    McpListTools,
    called,
)
from assistant.history.prompt_limits import HistoryLimits, items_to_remove, outside_prompt, tokens_of
from assistant.history.shown_speakers import without_numbers
from assistant.history.summary import Summary, SummaryRequest, items_to_summarize, summary_request
from assistant.turns.events import ReplyId
from audio.units import ReplySamples
from llm.chat import FunctionCall, Message

UNLIMITED_TOKENS = 1_000_000
"""More than any prompt has."""


@dataclass(frozen=True, slots=True)
class HeardReply:
    """The part of a reply that was heard so far.

    Attributes:
        reply_id: The reply.
        audio_end: Position up to which its audio was played.
        unheard: Stretches before it that were not played.
    """

    reply_id: ReplyId
    audio_end: ReplySamples
    unheard: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class HistorySnapshot:
    """The state of a history at one moment.

    Attributes:
        items: All items, in order.
        outside_prompt: Ids of the items that have left the prompt.
        summary: The summary in place of old turns; None: there is none.
        last_number: Number of the last item id that was given out.
    """

    items: tuple[Item, ...] = ()
    outside_prompt: tuple[ItemId, ...] = ()
    summary: Summary | None = None
    last_number: int = 0


@dataclass(slots=True)
class History:
    """The history of one conversation.

    Attributes:
        instructions: The system message; "" for none.
        max_turns: Maximum number of turns in the prompt. Beyond it several leave at once
            (`assistant/history/prompt_limits.py`).
        max_tokens: Maximum number of tokens in the prompt, as estimated there.
        own_max_tokens: A lower limit of the client; None: it has none.
        kept: Share of these tokens that is kept when there are more.
        truncates: Whether turns leave the prompt. Otherwise nothing is answered any more when there are too many.
        on_removed: Called with each item that is removed because the history is far too long.
        id_tag: Part of the ids of new items that no other conversation has; "" for none.
        speaker_of: Returns the label of who spoke in a turn, as far as is known; see `UserMessage.speaker`.
    """

    instructions: str
    max_turns: int
    max_tokens: int = UNLIMITED_TOKENS
    own_max_tokens: int | None = None
    kept: float = 0.5
    truncates: bool = True
    on_removed: Callable[[ItemId], None] = lambda _item: None
    id_tag: str = ""
    speaker_of: Callable[[int], str] = lambda _turn: ""
    _items: list[Item] = field(default_factory=list)
    _outside_prompt: frozenset[ItemId] = frozenset()  # items that have left the prompt
    _transcripts: dict[ItemId, SpokenTranscript] = field(default_factory=dict)
    _replies: dict[ReplyId, ItemId] = field(default_factory=dict)
    _last_number: int = 0
    _announced: ItemId | None = None  # id that clients know, of a user message that does not exist yet
    _placed: dict[int, ItemId] = field(default_factory=dict)  # messages by turn, whose words are not known yet
    _summary: Summary | None = None
    _offered: tuple[SummaryRequest, Summary] | None = None  # a summary that waits for a turn boundary

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in order."""
        return tuple(self._items)

    @property
    def items_with_words(self) -> tuple[Item, ...]:
        """The items before the first message whose words are still unknown. Later words do not change them."""
        unknown = set(self._placed.values())
        return tuple(takewhile(lambda item: item.id not in unknown, self._items))

    @property
    def limits(self) -> HistoryLimits:
        """The limits on the prompt."""
        tokens = self.max_tokens if self.own_max_tokens is None else min(self.max_tokens, self.own_max_tokens)
        return HistoryLimits(self.max_turns, tokens, self.kept)

    @property
    def _id_prefix(self) -> str:
        return f"item_{self.id_tag}_" if self.id_tag else "item_"

    def restore(self, items: Sequence[Item]) -> None:
        """Continues a conversation that was stored. Ids of its items are not assigned again.

        `items`: those of the stored conversation, then those of this one.
        """
        own = {item.id for item in self._items}
        pairs = zip(items, without_numbers(items), strict=True)
        self._items = [item if item.id in own else earlier for item, earlier in pairs]
        prefix = self._id_prefix
        numbers = [item.id.removeprefix(prefix) for item in items]
        self._last_number = max([self._last_number, *(int(number) for number in numbers if number.isdecimal())])
        self._apply_limits()

    def snapshot(self, unfinished: Sequence[HeardReply] = ()) -> HistorySnapshot:
        """Returns all that another history needs to continue this one. Changes nothing.

        `unfinished`: replies that are being played; they are cut at what was heard.
        """
        cut = {item.id: item for item in map(self._cut_message, unfinished) if item is not None}
        items = tuple(cut.get(item.id, item) for item in self._items)
        return HistorySnapshot(items, tuple(sorted(self._outside_prompt)), self._summary, self._last_number)

    def _cut_message(self, heard: HeardReply) -> AssistantMessage | None:
        item = self._replies.get(heard.reply_id)
        transcript = None if item is None else self._transcripts.get(item)
        if item is None or transcript is None:
            return None
        words = transcript.answer_heard(heard.audio_end, heard.unheard)
        return transcript.message(item, words, self._tool_uses_of(item), complete=False)

    def continue_from(self, snapshot: HistorySnapshot) -> None:
        """Continues a history that another process has begun. What this one has comes after it."""
        self._last_number = max(self._last_number, snapshot.last_number)
        self._outside_prompt, self._summary = frozenset(snapshot.outside_prompt), snapshot.summary
        self.restore([*snapshot.items, *self._items])

    def reserve(self) -> ItemId:
        """Returns a new id for a future item."""
        while True:
            self._last_number += 1
            item = ItemId(f"{self._id_prefix}{self._last_number}")
            if self.find(item) is None:
                return item

    def announce_user_item(self) -> ItemId:
        """Returns the id of the user message of speech that has begun. Clients receive it before the item exists."""
        self._announced = self.reserve()
        return self._announced

    def is_taken(self, item: ItemId) -> bool:
        """Returns whether this id is in use: by an item, a promised item, or ROOT."""
        return item in {ROOT, self._announced} or self.find(item) is not None

    def find(self, item: ItemId) -> Item | None:
        """Returns the item with this id, or None."""
        return next((candidate for candidate in self._items if candidate.id == item), None)

    def reply_of(self, item: ItemId) -> ReplyId | None:
        """Returns the reply whose message this item is, or None."""
        return next((reply_id for reply_id, known in self._replies.items() if known == item), None)

    def item_of(self, reply_id: ReplyId) -> ItemId | None:
        """Returns the message of this reply, or None."""
        return self._replies.get(reply_id)

    # ---- the prompt ----

    def messages(
        self,
        text: str = "",
        *,
        continues: bool = False,
        instructions: str | None = None,
        context: Sequence[Item] | None = None,
        turn: int | None = None,
        language: str = "",
    ) -> tuple[Message, ...]:
        """Returns the LLM messages for a reply to `text`; "": for a reply to the history as it is.

        Args:
            text: A user message that is not added to the history.
            continues: `text` continues the last user message.
            instructions: Replaces the conversation's own instructions.
            context: Replaces the items of the history.
            turn: The turn of `text`, whose speaker may be known.
            language: Of `text`; "": the conversation's only one.
        """
        items = self._in_prompt() if context is None else list(context)
        remembered = self._items if context is None else [*context, *_other_halves(context, self._items)]
        if text:
            speaker = "" if turn is None else self.speaker_of(turn)
            items.append(
                UserMessage(ItemId(""), text, spoken=True, continues=continues, speaker=speaker, language=language)
            )
        instructions = self.instructions if instructions is None else instructions
        system = (Message("system", instructions),) if instructions else ()
        summary = () if self._summary is None or context is not None else (self._summary.message,)
        return (*system, *summary, *_messages_of(items, remembered))

    def excess(self, text: str) -> str | None:
        """Returns why the prompt of a reply to `text` is too long; None if it is not, or is truncated."""
        if self.truncates:
            return None
        items = [*self._in_prompt(), UserMessage(ItemId(""), text, spoken=True)]
        tokens = sum(tokens_of(item) for item in items if not isinstance(item, SystemMessage))
        return None if tokens <= self.max_tokens else f"{tokens} tokens; allowed: {self.max_tokens}"

    def _in_prompt(self) -> list[Item]:
        return [item for item in self._items if item.id not in self._outside_prompt]

    # ---- the summary of old turns ----

    def summary_due(self) -> SummaryRequest | None:
        """Returns what is to be summarized; None unless the prompt is nearly full, or while a summary waits."""
        if self._offered is not None or not self.truncates:
            return None
        items = items_to_summarize(self._in_prompt(), self.limits)
        return summary_request(items, _messages_of(items, self._items), self._summary) if items else None

    def offer_summary(self, request: SummaryRequest, text: str) -> None:
        """Keeps a summary until `apply_summary`, unless it is empty or the items have changed since the request."""
        known = {item.id: item for item in self._items}
        if text.strip() and all(known.get(item.id) == item for item in request.items):
            self._offered = request, Summary(" ".join(text.split()), request.covers)

    def apply_summary(self) -> int:
        """At a turn boundary: puts an offered summary in place of its items. Returns how many items it replaces."""
        offered, self._offered = self._offered, None
        if offered is None:
            return 0
        request, self._summary = offered
        self._outside_prompt |= {item.id for item in request.items}
        return len(request.items)

    # ---- turns ----

    def place_user_message(self, turn: int) -> UserMessage:
        """Adds the message of a turn that has ended, as the announced item. Its words follow by `add_user_text`."""
        message = UserMessage(self._announced or self.reserve(), "", spoken=True)
        self._placed[turn] = message.id
        self._add_item(message)
        return message

    def is_placed(self, turn: int) -> bool:
        """Returns whether the message of this turn is in the history and its words are still unknown."""
        return turn in self._placed

    def add_user_text(
        self, text: str, turn: int | None = None, *, continues: bool = False, language: str = ""
    ) -> UserMessage:
        """Adds the words of the user's turn, or of a part of it, as the announced item or to the placed one.

        Without text, the client ended the turn, or its transcript was lost. A placed message that the client has
        deleted stays deleted.
        """
        placed = None if turn is None else self._placed.pop(turn, None)
        speaker = self.speaker_of(turn) if turn is not None and text else ""
        item = placed or self._announced or self.reserve()
        message = UserMessage(item, text, spoken=True, continues=continues, speaker=speaker, language=language)
        if placed is None:
            self._add_item(message)
        else:
            self.replace_message(message)
        return message

    def add_reply(self, reply_id: ReplyId, transcript: SpokenTranscript) -> ItemId:
        """Adds an empty message for a committed reply. `set_heard` fills it."""
        item = self.reserve()
        self._replies[reply_id] = item
        self._transcripts[item] = transcript
        self._add_item(AssistantMessage(item, "", complete=False))
        return item

    def set_heard(
        self,
        reply_id: ReplyId,
        audio_end: ReplySamples,
        *,
        complete: bool,
        unheard: Sequence[Stretch] = (),
        answer: str = "",
    ) -> str:
        """Stores the whole words of the reply up to `audio_end`, without `unheard` stretches. Returns them.

        `answer`: all words of the reply, even if they were not synthesized.

        A notice of the program at their beginning is returned, but not stored: the LLM has not said it.
        """
        item = self._replies.get(reply_id)
        transcript = None if item is None else self._transcripts.get(item)
        if item is None or transcript is None:
            return ""
        transcript.whole_answer = answer or transcript.whole_answer
        words = transcript.answer_heard(audio_end, unheard)
        whole = complete and transcript.all_heard(audio_end, unheard)
        self._replace(item, transcript.message(item, words, self._tool_uses_of(item), complete=whole))
        return transcript.text_heard(audio_end, unheard)

    def drop_unheard(self, reply_id: ReplyId | None) -> None:
        """Notes that what was not heard of the reply follows as a reply of its own."""
        item = None if reply_id is None else self._replies.get(reply_id)
        message = None if item is None else self.find(item)
        if isinstance(message, AssistantMessage):
            self._replace(message.id, replace(message, unheard=""))

    def truncate(self, item: ItemId, audio_end: ReplySamples) -> str | None:
        """Cuts the message permanently to the words before `audio_end`. Returns them; None if the reply is unknown."""
        transcript = self._transcripts.get(item)
        if transcript is None:
            return None
        transcript.cut(audio_end)
        words = transcript.answer
        withdrawn = isinstance(cut := self.find(item), AssistantMessage) and cut.withdrawn
        message = transcript.message(item, words, self._tool_uses_of(item), complete=False)
        self._replace(item, replace(message, withdrawn=True, unheard="") if withdrawn else message)
        return words

    def length(self, item: ItemId) -> ReplySamples | None:
        """Returns the length of the reply's audio, as far as made and not truncated; None if the reply is unknown."""
        transcript = self._transcripts.get(item)
        return None if transcript is None else transcript.samples

    def add_tool_call(self, reply_id: ReplyId, tool_use: ToolUse) -> None:
        """Adds a completed call of one of the assistant's own tools. It stays even if the reply is retracted."""
        item = self._replies.get(reply_id)
        answered = None if item is None else self.find(item)
        if isinstance(answered, AssistantMessage):
            self._replace(answered.id, replace(answered, tool_uses=(*answered.tool_uses, tool_use)))

    def retract(self, reply_id: ReplyId) -> None:
        """Removes the reply, because the user's turn continues. Completed tool calls stay."""
        item = self._replies.pop(reply_id, None)
        if item is not None and (tool_use := self._tool_uses_of(item)):
            self._transcripts.pop(item, None)
            self._replace(item, AssistantMessage(item, "", complete=False, tool_uses=tool_use))
        elif item is not None:
            self.delete(item)

    def remove_question(self, reply_id: ReplyId) -> tuple[ItemId, ...]:
        """Removes the user's words that a reply answers, because they are answered elsewhere. Returns their items."""
        reply = self._replies.get(reply_id)
        before = takewhile(lambda item: item.id != reply, self._items)
        spoken = [item for item in before if isinstance(item, UserMessage) and item.spoken]
        first = next((number for number in range(len(spoken) - 1, -1, -1) if not spoken[number].continues), 0)
        removed = tuple(item.id for item in spoken[first:])
        for item in removed:
            self.delete(item)
        return removed

    def withdraw(self, reply_id: ReplyId, audio_end: ReplySamples, unheard: Sequence[Stretch]) -> str:
        """Takes the reply out of the prompt, because the user's turn continues. Returns the words that were heard.

        The history shows them. A reply of which no whole word was heard is removed.
        """
        heard = self.set_heard(reply_id, audio_end, complete=False, unheard=unheard)
        item = self._replies.get(reply_id)
        message = None if item is None else self.find(item)
        if not isinstance(message, AssistantMessage) or not message.text:  # at most a notice of the program was heard
            self.retract(reply_id)
            return ""
        self._replace(message.id, replace(message, withdrawn=True, unheard=""))
        return heard

    def restore_withdrawn(self, turn: int) -> str | None:
        """Puts the last withdrawn reply of the turn back into the prompt, because the turn did not continue.

        Returns the words that were heard; None if there is no such reply.
        """
        items = [self.find(item) for reply_id, item in self._replies.items() if reply_id.turn == turn]
        withdrawn = [item for item in items if isinstance(item, AssistantMessage) and item.withdrawn]
        if not withdrawn:
            return None
        self._replace(withdrawn[-1].id, replace(withdrawn[-1], withdrawn=False))
        return withdrawn[-1].text

    def _tool_uses_of(self, item: ItemId) -> tuple[ToolUse, ...]:
        answered = self.find(item)
        return answered.tool_uses if isinstance(answered, AssistantMessage) else ()

    def add_function_call(self, call: FunctionCall) -> FunctionCallItem:
        """Adds the LLM's call of a client's function."""
        item = self.reserve()
        taken = {item.call_id for item in self._items if isinstance(item, FunctionCallItem)}
        taken |= {
            tool_use.call.call_id
            for item in self._items
            if isinstance(item, AssistantMessage)
            for tool_use in item.tool_uses
        }
        # Some services give the first call of every response the same id.
        call_id = f"call_{item}" if call.call_id in taken else call.call_id
        called = FunctionCallItem(item, call_id, call.name, call.arguments, call.extra)
        self._add_item(called)
        return called

    # ---- MCP servers of a client ----

    def add_mcp_item(self, item: McpItem) -> None:
        """Adds an item at the end."""
        self._add_item(item)

    def replace_mcp_item(self, item: McpItem) -> None:
        """Replaces an item by one with the same id, unless it was deleted meanwhile."""
        self._replace(item.id, item)

    # ---- changes by a client ----

    def insert(self, item: Item, after: ItemId | None = None) -> bool:
        """Inserts an item at the end or after another one (ROOT: at the beginning). Returns False if it is unknown."""
        place = len(self._items)
        if after == ROOT:
            place = 0
        elif after is not None:
            places = [place for place, item in enumerate(self._items) if item.id == after]
            if not places:
                return False
            place = places[0] + 1
        self._items.insert(place, item)
        if isinstance(item, UserMessage) and item.images:
            self._items = with_newest_images(self._items)
        self._apply_limits(item.id)
        return True

    def replace_message(self, message: UserMessage) -> bool:
        """Replaces a user message, whose words are known now. Returns False if there is no item with its id."""
        if self.find(message.id) is None:
            return False
        self._replace(message.id, message)
        self._apply_limits(message.id)
        return True

    def delete(self, item: ItemId) -> bool:
        """Deletes an item. Returns False if there is no such item. A summary of it is deleted, too."""
        known = self.find(item) is not None
        if self._summary is not None and item in self._summary.covers:
            self._summary = None
        if self._offered is not None and item in self._offered[1].covers:
            self._offered = None
        if isinstance(deleted := self.find(item), McpCall):
            self._remove_tool_use(deleted.call_id)
        self._remove({item})
        return known

    def _remove_tool_use(self, call_id: str) -> None:
        """Removes a call of a tool from the reply that made it."""
        for item in self._items:
            if isinstance(item, AssistantMessage) and any(used.call.call_id == call_id for used in item.tool_uses):
                kept = tuple(used for used in item.tool_uses if used.call.call_id != call_id)
                self._replace(item.id, replace(item, tool_uses=kept))

    def _add_item(self, item: Item) -> None:
        self._items.append(item)
        if item.id == self._announced:
            self._announced = None
        self._apply_limits(item.id)

    def _replace(self, item: ItemId, by: Item) -> None:
        self._items = [by if known.id == item else known for known in self._items]

    def _apply_limits(self, newest: ItemId | None = None) -> None:
        """Updates which turns are in the prompt, and removes items if the history is far too long."""
        limits = self.limits
        if self.truncates:
            self._outside_prompt = outside_prompt(self._items, self._outside_prompt, limits)
        if removed := items_to_remove(self._items, self._outside_prompt, newest, limits):
            self._remove(set(removed))
        for item in removed:
            self.on_removed(item)

    def _remove(self, removed: Set[ItemId]) -> None:
        self._items = [item for item in self._items if item.id not in removed]
        self._outside_prompt -= removed
        self._transcripts = {item: transcript for item, transcript in self._transcripts.items() if item not in removed}
        self._replies = {reply_id: item for reply_id, item in self._replies.items() if item not in removed}


def _other_halves(items: Sequence[Item], history: Sequence[Item]) -> list[Item]:
    """Returns the calls whose outputs are among `items`, and the outputs whose calls are, as far as only one is."""
    calls = {item.call_id for item in items if isinstance(item, FunctionCallItem)}
    outputs = {item.call_id for item in items if isinstance(item, FunctionOutput)}
    return [
        item
        for item in history
        if (isinstance(item, FunctionCallItem) and item.call_id in outputs - calls)
        or (isinstance(item, FunctionOutput) and item.call_id in calls - outputs)
    ]


def _language_notes(items: Sequence[Item]) -> dict[ItemId, tuple[Message, ...]]:
    """Returns what the LLM is told before each user message in another language than the one before."""
    notes: dict[ItemId, tuple[Message, ...]] = {}
    spoken = ""
    for item in items:
        if isinstance(item, UserMessage) and item.language not in {"", spoken}:
            notes[item.id] = (language_note(item.language),)
            spoken = item.language
    return notes


def _messages_of(  # noqa: PLR0912 - one case for each kind of item
    items: Sequence[Item], remembered: Sequence[Item]
) -> list[Message]:
    """Converts items to chat messages: each call directly before its output, and no call without an output.

    If only one of call and output is in the prompt, both are added at its place.
    """
    returned = {item.call_id: item for item in remembered if isinstance(item, FunctionOutput)}
    seen = {item.id for item in items}
    named = _named_messages([*remembered, *(item for item in items[-1:] if not item.id)])
    calls_outside_prompt = {
        call.call_id: call for call in remembered if isinstance(call, FunctionCallItem) and call.id not in seen
    }
    messages: list[Message] = []
    notes = _language_notes(items)
    for index, item in enumerate(items):
        last = messages[-1] if messages else None
        match item:
            case UserMessage():
                if not item.text and not item.images:
                    continue  # a turn without words is in the history only
                speaker = named.get(item.id, "")
                message = Message("user", item.text, images=item.images, speaker=speaker, item=item.id)
                if item.continues and last is not None and last.role == "user":
                    text = item.text if message.speaker == last.speaker else message.named_content
                    messages[-1] = replace(last, content=f"{last.content} {text}".strip())
                else:
                    messages += [*notes.get(item.id, ()), replace(message, language=item.language)]
            case SystemMessage():
                messages.append(Message("system", item.text))
            case AssistantMessage():
                messages += answer_messages("" if item.withdrawn else item.written, item.tool_uses)
            case FunctionCallItem():
                if not index or not isinstance(
                    items[index - 1], FunctionCallItem
                ):  # else added with the call before it
                    messages += _called_messages(_calls_from(items[index:]), returned)
            case FunctionOutput():
                if item.call_id in calls_outside_prompt and returned[item.call_id] is item:  # else added with its call
                    messages += _called_messages([calls_outside_prompt[item.call_id]], returned)
            case McpListTools() | McpApprovalRequest() | McpApprovalResponse() | McpCall():
                messages += call_messages("", called(item, remembered))
            case _:
                assert_never(item)
    return messages


def _named_messages(items: Sequence[Item]) -> dict[ItemId, str]:
    """Returns the speakers of the messages from the first message of a second speaker on.

    Messages before it stay as they were sent, so that the prompt cache of a service stays valid.
    """
    named: dict[ItemId, str] = {}
    speakers: set[str] = set()
    for item in items:
        if isinstance(item, UserMessage) and item.speaker:
            speakers.add(item.speaker)
            if len(speakers) > 1:
                named[item.id] = item.speaker
    return named


def _calls_from(items: Sequence[Item]) -> list[FunctionCallItem]:
    """Returns the function calls at the beginning of `items`: those of one LLM response."""
    return [
        item
        for item in takewhile(lambda item: isinstance(item, FunctionCallItem), items)
        if isinstance(item, FunctionCallItem)
    ]


def _called_messages(called: Sequence[FunctionCallItem], returned: Mapping[str, FunctionOutput]) -> list[Message]:
    calls = [FunctionCall(item.call_id, item.name, item.arguments, item.extra) for item in called]
    return call_messages("", [(call, returned[call.call_id].output) for call in calls if call.call_id in returned])
