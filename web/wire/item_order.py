"""The order of the conversation's items, as the client knows it."""

from assistant.items import ROOT, ItemId

MAX_ITEMS = 4096
"""The oldest are forgotten: the history that the model sees is far shorter."""


class ItemOrder:
    """Item ids in order. An item that was forgotten counts as unknown."""

    def __init__(self) -> None:
        self._ids: list[ItemId] = []
        self._written: set[ItemId] = set()

    def __contains__(self, item_id: ItemId) -> bool:
        return item_id in self._ids

    def before(self, item_id: ItemId) -> ItemId | None:
        """The item before this one; None where it is the first, or unknown."""
        place = self._ids.index(item_id) if item_id in self._ids else 0
        return self._ids[place - 1] if place else None

    def is_written(self, item_id: ItemId) -> bool:
        """The client knows this message of the assistant as text, not as sound."""
        return item_id in self._written

    def insert(self, item_id: ItemId, after: ItemId | None = None, *, written: bool = False) -> ItemId | None:
        """Put an item after another one (ROOT: first; None or unknown: last). Returns the one before it."""
        if after == ROOT:
            place = 0
        elif after is not None and after in self._ids:
            place = self._ids.index(after) + 1
        else:
            place = len(self._ids)
        previous = self._ids[place - 1] if place else None
        self._ids.insert(place, item_id)
        if written:
            self._written.add(item_id)
        for forgotten in self._ids[:-MAX_ITEMS]:
            self.remove(forgotten)
        return previous

    def remove(self, item_id: ItemId) -> None:
        """Take an item out, if it is there."""
        if item_id in self._ids:
            self._ids.remove(item_id)
            self._written.discard(item_id)
