"""Keeps the order of the conversation's items as the client knows it."""

from assistant.history.items import ROOT, ItemId

MAX_ITEMS = 4096
"""Item ids kept; the oldest are dropped. The history that the model sees is far shorter."""


class ItemOrder:
    """Item ids in order. A dropped item counts as unknown.

    An item can be reserved: it has a place before the client knows it, and no event names it as a previous item until
    then.
    """

    def __init__(self) -> None:
        self._ids: list[ItemId] = []
        self._written: set[ItemId] = set()
        self._reserved: set[ItemId] = set()

    def begin_anew(self) -> None:
        """Clears the order, because all items are sent again. Keeps which items the client knows as text."""
        self._ids.clear()
        self._reserved.clear()

    def __contains__(self, item_id: ItemId) -> bool:
        return item_id in self._ids

    def before(self, item_id: ItemId) -> ItemId | None:
        """Returns the previous item that the client knows; None if there is none or this item is unknown."""
        place = self._ids.index(item_id) if item_id in self._ids else 0
        return next((previous for previous in reversed(self._ids[:place]) if previous not in self._reserved), None)

    def is_written(self, item_id: ItemId) -> bool:
        """Returns whether the client knows this assistant message as text and not as audio."""
        return item_id in self._written

    def reserve(self, item_id: ItemId) -> None:
        """Reserves the last place for an item that the client does not know yet."""
        if item_id not in self._ids:
            self.insert(item_id)
            self._reserved.add(item_id)

    def insert(self, item_id: ItemId, after: ItemId | None = None, *, written: bool = False) -> ItemId | None:
        """Inserts an item after another one (ROOT: first; None or unknown: last), or at its reserved place.

        Returns the previous item.
        """
        if item_id in self._reserved:
            self._reserved.remove(item_id)
        elif after == ROOT:
            self._ids.insert(0, item_id)
        elif after is not None and after in self._ids:
            self._ids.insert(self._ids.index(after) + 1, item_id)
        else:
            self._ids.append(item_id)
        if written:
            self._written.add(item_id)
        for forgotten in self._ids[:-MAX_ITEMS]:
            self.remove(forgotten)
        return self.before(item_id)

    def remove(self, item_id: ItemId) -> None:
        """Removes an item, if present."""
        if item_id in self._ids:
            self._ids.remove(item_id)
            self._written.discard(item_id)
            self._reserved.discard(item_id)
