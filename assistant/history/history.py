"""What was said: the history that a language model gets to see.

The conversation alone owns the history. A user's words enter when their turn is committed, an assistant's as far as
they were heard; whatever else enters was put there by the client. Items change in one way only: `heard`. The model
sees the newest turns of it, and all that a client instructs.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import assert_never

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
)
from assistant.history.spoken_transcript import SpokenTranscript, Stretch
from assistant.history.truncation import HistoryLimits, given_up, unseen
from assistant.turns.events import ReplyId
from audio.units import ReplySamples
from llm.chat import FunctionCall, Message

UNLIMITED_TOKENS = 1_000_000


@dataclass(slots=True)
class History:
    """The history of one conversation.

    Attributes:
        instructions: The system message; "" for none.
        max_turns: Older turns leave the prompt, many at a time, so that it stays bounded
            (`assistant/history/truncation.py`).
        max_tokens: As estimated there.
        on_given_up: Told of each item that is not remembered any longer, for there are far too many.
    """

    instructions: str
    max_turns: int
    max_tokens: int = UNLIMITED_TOKENS
    on_given_up: Callable[[ItemId], None] = lambda _item: None
    _items: list[Item] = field(default_factory=list)
    _unseen: frozenset[ItemId] = frozenset()  # what the model does not see any more
    _scripts: dict[ItemId, SpokenTranscript] = field(default_factory=dict)
    _replies: dict[ReplyId, ItemId] = field(default_factory=dict)
    _made: int = 0
    _promised: ItemId | None = None  # told already, and not remembered yet

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything that is remembered, in order."""
        return tuple(self._items)

    def restore(self, items: Sequence[Item]) -> None:
        """Go on from what was said before, in another conversation. No id of it is given to anything else."""
        self._items = list(items)
        numbers = [item.id.removeprefix("item_") for item in items]
        self._made = max([self._made, *(int(number) for number in numbers if number.isdecimal())])
        self._forget()

    def reserve(self) -> ItemId:
        """The id of an item that is yet to come."""
        while True:
            self._made += 1
            item = ItemId(f"item_{self._made}")
            if self.find(item) is None:
                return item

    def promise(self) -> ItemId:
        """The same, for one that others are told of before it is there."""
        self._promised = self.reserve()
        return self._promised

    def is_taken(self, item: ItemId) -> bool:
        """Whether this names something already: an item, one that was promised, or the place before all."""
        return item in {ROOT, self._promised} or self.find(item) is not None

    def find(self, item: ItemId) -> Item | None:
        """The item of this id, if it is remembered."""
        return next((one for one in self._items if one.id == item), None)

    def reply_of(self, item: ItemId) -> ReplyId | None:
        """The reply whose words this item is, if it is one."""
        return next((reply for reply, known in self._replies.items() if known == item), None)

    # ---- what the model sees ----

    def messages(
        self, said: str = "", *, continues: bool = False, instructions: str | None = None
    ) -> tuple[Message, ...]:
        """The messages that ask for an answer to `said`, which is not remembered by this; "": to what is there.

        `continues`: it goes on from the user's last words. `instructions`: in place of the conversation's own.
        """
        items = [item for item in self._items if item.id not in self._unseen]
        if said:
            items.append(UserMessage(ItemId(""), said, spoken=True, continues=continues))
        instructions = self.instructions if instructions is None else instructions
        system = (Message("system", instructions),) if instructions else ()
        return (*system, *_messages_of(items, self._items))

    # ---- a turn ----

    def add_user_text(self, item: ItemId, text: str, *, continues: bool = False) -> UserMessage:
        """The user's turn, or a part of it, is over and these were its words."""
        said = UserMessage(item, text, spoken=True, continues=continues)
        self._add(said)
        return said

    def answering(self, reply: ReplyId, script: SpokenTranscript) -> ItemId:
        """A reply has the floor: what of it is heard will be this item, and is nothing yet."""
        item = self.reserve()
        self._replies[reply] = item
        self._scripts[item] = script
        self._add(AssistantMessage(item, "", complete=False))
        return item

    def heard(self, reply: ReplyId, audio_end: ReplySamples, *, complete: bool, unheard: Sequence[Stretch] = ()) -> str:
        """The reply's sound was played up to here, partly `unheard`: remember its whole words. Returns them."""
        item = self._replies.get(reply)
        script = None if item is None else self._scripts.get(item)
        if item is None or script is None:
            return ""
        words = script.text_heard(audio_end, unheard)
        whole = complete and script.all_heard(audio_end, unheard)
        self._replace(item, AssistantMessage(item, words, complete=whole, tool_uses=self._used(item)))
        return words

    def truncate(self, item: ItemId, audio_end: ReplySamples) -> str | None:
        """Whoever played the reply heard no more of it than this, and never will: remember so much. Returns the words.

        None where this is no reply of ours that is remembered.
        """
        script = self._scripts.get(item)
        if script is None:
            return None
        script.cut(audio_end)
        self._replace(item, AssistantMessage(item, script.text, complete=False, tool_uses=self._used(item)))
        return script.text

    def length(self, item: ItemId) -> ReplySamples | None:
        """Of the reply's sound, as far as it was made and not truncated. None where no reply of ours is remembered."""
        script = self._scripts.get(item)
        return None if script is None else script.samples

    def add_tool_call(self, reply: ReplyId, used: ToolUse) -> None:
        """A tool of the assistant's own was called for this reply, and returned: that stays, whatever becomes of it."""
        item = self._replies.get(reply)
        answered = None if item is None else self.find(item)
        if isinstance(answered, AssistantMessage):
            self._replace(answered.id, replace(answered, tool_uses=(*answered.tool_uses, used)))

    def retract(self, reply: ReplyId) -> None:
        """The turn goes on: what was to answer it is gone, but for what tools have done."""
        item = self._replies.pop(reply, None)
        if item is not None and (used := self._used(item)):
            self._scripts.pop(item, None)
            self._replace(item, AssistantMessage(item, "", complete=False, tool_uses=used))
        elif item is not None:
            self.delete(item)

    def _used(self, item: ItemId) -> tuple[ToolUse, ...]:
        answered = self.find(item)
        return answered.tool_uses if isinstance(answered, AssistantMessage) else ()

    def add_function_call(self, call: FunctionCall) -> FunctionCallItem:
        """The model calls a function of the client's."""
        item = self.reserve()
        taken = {one.call_id for one in self._items if isinstance(one, FunctionCallItem)}
        taken |= {
            used.call.call_id for one in self._items if isinstance(one, AssistantMessage) for used in one.tool_uses
        }
        # Some services name the first call of every answer the same.
        call_id = f"call_{item}" if call.call_id in taken else call.call_id
        called = FunctionCallItem(item, call_id, call.name, call.arguments, call.extra)
        self._add(called)
        return called

    # ---- what a client does to it ----

    def insert(self, item: Item, after: ItemId | None = None) -> bool:
        """Remember an item: at the end, or behind another one (ROOT: before all). False where there is none such."""
        at = len(self._items)
        if after == ROOT:
            at = 0
        elif after is not None:
            found = [place for place, one in enumerate(self._items) if one.id == after]
            if not found:
                return False
            at = found[0] + 1
        self._items.insert(at, item)
        self._forget(item.id)
        return True

    def delete(self, item: ItemId) -> bool:
        """Forget an item; False where there is none such."""
        known = self.find(item) is not None
        self._remove({item})
        return known

    def _add(self, item: Item) -> None:
        self._items.append(item)
        if item.id == self._promised:
            self._promised = None
        self._forget(item.id)

    def _replace(self, item: ItemId, by: Item) -> None:
        self._items = [by if one.id == item else one for one in self._items]

    def _forget(self, newest: ItemId | None = None) -> None:
        """Have the oldest turns leave the prompt, whole; and what is far too much, the conversation."""
        limits = HistoryLimits(self.max_turns, self.max_tokens)
        self._unseen = unseen(self._items, self._unseen, limits)
        if gone := given_up(self._items, self._unseen, newest, limits):
            self._remove(set(gone))
        for item in gone:
            self.on_given_up(item)

    def _remove(self, gone: Set[ItemId]) -> None:
        self._items = [item for item in self._items if item.id not in gone]
        self._unseen -= gone
        self._scripts = {item: script for item, script in self._scripts.items() if item not in gone}
        self._replies = {reply: item for reply, item in self._replies.items() if item not in gone}


def _messages_of(items: Sequence[Item], remembered: Sequence[Item]) -> list[Message]:
    """As chat completions want them: every call before what it returned, and none that has not returned yet.

    Both come as long as one of them is seen: where the call stood, or where it returned if it is not seen itself.
    """
    returned = {item.call_id: item for item in remembered if isinstance(item, FunctionOutput)}
    seen = {item.id for item in items}
    out_of_sight = {one.call_id: one for one in remembered if isinstance(one, FunctionCallItem) and one.id not in seen}
    messages: list[Message] = []
    for at, item in enumerate(items):
        last = messages[-1] if messages else None
        match item:
            case UserMessage():
                if not item.text:
                    continue  # a turn without words is in the history, and asks for nothing
                if item.continues and last is not None and last.role == "user":
                    messages[-1] = replace(last, content=f"{last.content} {item.text}".strip())
                else:
                    messages.append(Message("user", item.text))
            case SystemMessage():
                messages.append(Message("system", item.text))
            case AssistantMessage():
                messages += answer_messages(item.text, item.tool_uses)
            case FunctionCallItem():
                if not at or not isinstance(items[at - 1], FunctionCallItem):  # else it went with the call before it
                    messages += _called_messages(_calls_from(items[at:]), returned)
            case FunctionOutput():
                if item.call_id in out_of_sight and returned[item.call_id] is item:  # else it went with its call
                    messages += _called_messages([out_of_sight[item.call_id]], returned)
            case _:
                assert_never(item)
    return messages


def _calls_from(items: Sequence[Item]) -> list[FunctionCallItem]:
    """Those that nothing else stands between: one answer's."""
    return [
        item
        for item in takewhile(lambda item: isinstance(item, FunctionCallItem), items)
        if isinstance(item, FunctionCallItem)
    ]


def _called_messages(called: Sequence[FunctionCallItem], returned: Mapping[str, FunctionOutput]) -> list[Message]:
    calls = [FunctionCall(one.call_id, one.name, one.arguments, one.extra) for one in called]
    return call_messages("", [(call, returned[call.call_id].output) for call in calls if call.call_id in returned])
