"""The items of a user's lists and notes, and the effects that change them. Pure."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

SHOPPING, TODO, NOTES = "shopping", "to-do", "notes"
"""Names of the lists that have a name in every language. Any other list has the name that the user gave it."""

_TITLES = {SHOPPING: "Shopping list", TODO: "To-do list", NOTES: "Notes"}

MAX_ITEMS = 1000
"""Items of one user in all lists. More are refused, so that a file or a client cannot be flooded."""

MAX_ITEM_CHARS = 400
"""Longest item. A transcript with more characters is no request to a skill."""


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list, or a note.

    Attributes:
        key: Identifier, never reused.
        list_name: `SHOPPING`, `TODO`, `NOTES`, or the name that the user gave.
        text: As written.
        position: Items are in the order of their positions.
    """

    key: str
    list_name: str
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class AddItems:
    """Adds items at the end of a list."""

    list_name: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoveItems:
    """Removes the items with these keys."""

    keys: tuple[str, ...]


ListEffect = AddItems | RemoveItems


@dataclass(frozen=True, slots=True)
class ListChange:
    """A change that was made, so that it can be undone."""

    added: tuple[ListItem, ...] = ()
    removed: tuple[ListItem, ...] = ()


def items_of(items: Iterable[ListItem], list_name: str) -> tuple[ListItem, ...]:
    """Returns the items of one list. Capitals in its name do not matter."""
    return tuple(item for item in items if item.list_name.casefold() == list_name.casefold())


def list_names(items: Iterable[ListItem]) -> tuple[str, ...]:
    """Returns the names of the lists with items: shopping first, notes last, the others in order of their items."""
    names: dict[str, str] = {}
    for item in items:
        names.setdefault(item.list_name.casefold(), item.list_name)
    return tuple(sorted(names.values(), key=lambda name: (name == NOTES, name != SHOPPING)))


def titled_lists(items: Iterable[ListItem]) -> Iterator[tuple[str, tuple[ListItem, ...]]]:
    """Yields the items of each list, with the title that a terminal shows."""
    kept = tuple(items)
    for name in list_names(kept):
        title = _TITLES.get(name, name)
        yield title[:1].upper() + title[1:], items_of(kept, name)


def changed(items: Sequence[ListItem], effect: ListEffect) -> tuple[ListItem, ...]:
    """Returns the items as they will be after `effect`. New items have no key yet."""
    if isinstance(effect, RemoveItems):
        return tuple(item for item in items if item.key not in effect.keys)
    return (*items, *(ListItem("", effect.list_name, text, 0) for text in effect.texts))


def _random_key() -> str:
    return uuid.uuid4().hex


@dataclass(slots=True)
class UserLists:
    """The lists of one user, shared by conversations. Not thread-safe.

    Attributes:
        make_key: Returns a new key.
        stored: Whether changes are kept in `pending` for a file.
        shared: Whether several conversations share them, so that none of them takes them along to another gateway.
        pending: Changes that are not in the file yet, by key; None: the item is removed.
        wake: Called when there is something pending.
        version: Changes with every change.
    """

    make_key: Callable[[], str] = _random_key
    stored: bool = False
    shared: bool = False
    pending: dict[str, ListItem | None] = field(default_factory=dict)
    wake: Callable[[], None] = lambda: None
    version: int = 0
    _items: dict[str, ListItem] = field(default_factory=dict)

    @property
    def items(self) -> tuple[ListItem, ...]:
        """All items in order."""
        return tuple(sorted(self._items.values(), key=lambda item: (item.position, item.key)))

    def change(self, effect: ListEffect) -> ListChange:
        """Applies an effect. Ignores items that are gone, and what exceeds `MAX_ITEMS`."""
        if isinstance(effect, RemoveItems):
            removed = tuple(self._items[key] for key in effect.keys if key in self._items)
            self._store_changes({item.key: None for item in removed})
            return ListChange(removed=removed)
        texts = effect.texts[: max(0, MAX_ITEMS - len(self._items))]
        last = max((item.position for item in self._items.values()), default=0)
        added = tuple(
            ListItem(self.make_key(), effect.list_name, text[:MAX_ITEM_CHARS], last + number)
            for number, text in enumerate(texts, 1)
        )
        self._store_changes({item.key: item for item in added})
        return ListChange(added)

    def revert(self, change: ListChange) -> None:
        """Undoes a change, because its turn was retracted."""
        self._store_changes({item.key: None for item in change.added} | {item.key: item for item in change.removed})

    def restore(self, items: Iterable[ListItem]) -> None:
        """Continues with the items of another process."""
        self._store_changes({item.key: item for item in items})

    def adopt(self, rows: Iterable[ListItem]) -> None:
        """Takes over what is in the file, except what is pending here."""
        items = {row.key: row for row in rows if row.key not in self.pending}
        items |= {key: item for key, item in self.pending.items() if item is not None}
        if items != self._items:
            self._items = items
            self.version += 1

    def take_pending(self) -> dict[str, ListItem | None]:
        """Removes and returns what the file does not have yet."""
        taken, self.pending = self.pending, {}
        return taken

    def put_back(self, pending: dict[str, ListItem | None]) -> None:
        """Queues again what could not be written; later changes count."""
        self.pending = pending | self.pending

    def store_failed(self) -> None:
        """Keeps everything in memory from now on."""
        self.stored = False
        self.pending.clear()

    def _store_changes(self, changes: dict[str, ListItem | None]) -> None:
        for key, item in changes.items():
            if item is None:
                self._items.pop(key, None)
            else:
                self._items[key] = item
        if changes:
            self.version += 1
        if changes and self.stored:
            self.pending |= changes
            self.wake()
