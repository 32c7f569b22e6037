"""The facts of a user, and the effects that change them. Pure."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from assistant.memory.fact_index import FactIndex

MAX_FACTS = 1000
"""Facts of one owner. Beyond it the oldest is replaced, so that a file or a client cannot be flooded."""

MAX_FACT_CHARS = 240
"""Longest fact. Longer text is a document, not a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing to remember, in the user's words.

    Attributes:
        key: Identifier, never reused.
        text: What the user said: "my daughter is called Ada".
        said_at: When, ISO 8601 in local time.
        conversation: The conversation in which it was said; "" for none.
        is_drawn: Whether the language model has selected it; else the user has asked to remember it.
    """

    key: str
    text: str
    said_at: str
    conversation: str = ""
    is_drawn: bool = False

    @property
    def day(self) -> datetime | None:
        """The time at which it was said; None if another program has written something else."""
        try:
            return datetime.fromisoformat(self.said_at)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class AddFact:
    """Keeps what the user said. `said_at`: ISO 8601 in local time."""

    text: str
    said_at: str


@dataclass(frozen=True, slots=True)
class RemoveFacts:
    """Removes the facts with these keys. Of the conversations so far, nothing more is drawn."""

    keys: tuple[str, ...]


FactEffect = AddFact | RemoveFacts


@dataclass(frozen=True, slots=True)
class FactChange:
    """A change that was made, so that it can be undone."""

    added: tuple[Fact, ...] = ()
    removed: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """Changes that are not in the file yet.

    Attributes:
        changes: Facts by key; None: the fact is removed.
        forgets: Whether the user has asked to forget something.
    """

    changes: dict[str, Fact | None]
    forgets: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self.changes and not self.forgets


def new_key() -> str:
    """Returns a new key."""
    return uuid.uuid4().hex


def same_words(text: str) -> str:
    """Returns text for comparison: two facts with the same letters and digits are one."""
    return " ".join("".join(char if char.isalnum() else " " for char in text.casefold()).split())


@dataclass(slots=True, weakref_slot=True, eq=False)
class UserFacts:
    """The facts of one owner, shared by the owner's conversations in this process. Not thread-safe.

    Attributes:
        owner: Whose facts they are.
        enabled: Whether the owner wants a memory.
        index: Finds facts by words and meaning.
        wake: Called when something is to be written.
        make_key: Returns a new key.
        version: Changes with every change.
        revision: State of the file that was read last; -1: none.
    """

    owner: str
    enabled: bool = True
    index: FactIndex = field(default_factory=FactIndex)
    wake: Callable[["UserFacts"], None] = lambda _facts: None
    make_key: Callable[[], str] = new_key
    version: int = 0
    revision: int = -1
    _facts: dict[str, Fact] = field(default_factory=dict)
    _ordered: tuple[int, tuple[Fact, ...]] = (0, ())  # in order, and the version of which they are
    _pending: dict[str, Fact | None] = field(default_factory=dict)
    _forgets: bool = False

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts, the oldest first."""
        version, ordered = self._ordered
        if version != self.version:
            ordered = tuple(sorted(self._facts.values(), key=lambda fact: (fact.said_at, fact.key)))
            self._ordered = self.version, ordered
        return ordered

    def change(self, effect: FactEffect, conversation: str) -> FactChange:
        """Applies an effect. A fact with the words of an older one replaces it."""
        if isinstance(effect, RemoveFacts):
            self._forgets = True
            removed = tuple(self._facts[key] for key in effect.keys if key in self._facts)
            self._store_changes({fact.key: None for fact in removed})
            return FactChange(removed=removed)
        fact = Fact(self.make_key(), effect.text[:MAX_FACT_CHARS], effect.said_at, conversation)
        words = same_words(fact.text)
        replaced = [known for known in self._facts.values() if same_words(known.text) == words]
        replaced += self.facts[: max(0, len(self._facts) - len(replaced) - MAX_FACTS + 1)]
        self._store_changes({known.key: None for known in replaced} | {fact.key: fact})
        return FactChange((fact,), tuple(replaced))

    def revert(self, change: FactChange) -> None:
        """Undoes a change, because its turn was retracted."""
        self._store_changes({fact.key: None for fact in change.added} | {fact.key: fact for fact in change.removed})

    def adopt(self, rows: Iterable[Fact], *, enabled: bool) -> None:
        """Takes over what is in the file, except what is pending here."""
        facts = {row.key: row for row in rows if row.key not in self._pending}
        facts |= {key: fact for key, fact in self._pending.items() if fact is not None}
        if not enabled:
            self._pending = {key: fact for key, fact in self._pending.items() if fact is None}
        if facts != self._facts or enabled != self.enabled:
            self._facts, self.enabled = facts, enabled
            self.version += 1

    @property
    def has_pending(self) -> bool:
        """Whether there is something that the file does not have yet."""
        return bool(self._pending) or self._forgets

    def switch_off(self) -> None:
        """Ends the memory of this process, because nothing can be stored."""
        self.enabled = False
        self.version += 1

    def take_pending(self) -> PendingFacts:
        """Removes and returns what the file does not have yet."""
        taken = PendingFacts(self._pending, self._forgets)
        self._pending, self._forgets = {}, False
        return taken

    def put_back(self, pending: PendingFacts) -> None:
        """Queues again what could not be written; later changes count."""
        self._pending = pending.changes | self._pending
        self._forgets = self._forgets or pending.forgets

    def _store_changes(self, changes: dict[str, Fact | None]) -> None:
        for key, fact in changes.items():
            if fact is None:
                self._facts.pop(key, None)
            else:
                self._facts[key] = fact
        self.version += 1
        self._pending |= changes
        self.wake(self)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ConversationFacts:
    """The facts as one conversation uses them.

    Attributes:
        user: The facts of its owner.
        conversation: Its id.
    """

    user: UserFacts
    conversation: str

    def change(self, effect: FactEffect) -> FactChange:
        """Applies an effect."""
        return self.user.change(effect, self.conversation)
