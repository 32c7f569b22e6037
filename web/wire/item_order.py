"""The order of the conversation's items, as the client knows it."""

from assistant.history.items import ROOT, ItemId

MAX_ITEMS = 4096
"""The oldest are forgotten: the history that the model sees is far shorter."""


class ItemOrder:
    """Item ids in order. An item that was forgotten counts as unknown.

    One that the client is told of later than it got its place is reserved: until then no other is said to follow it.
    """

    def __init__(self) -> None:
        self._ids: list[ItemId] = []
        self._written: set[ItemId] = set()
        self._reserved: set[ItemId] = set()

    def begin_anew(self) -> None:
        """The client is about to be told of all items again; which it knows as text stays."""
        self._ids.clear()
        self._reserved.clear()

    def __contains__(self, item_id: ItemId) -> bool:
        return item_id in self._ids

    def before(self, item_id: ItemId) -> ItemId | None:
        """The item before this one that the client knows; None where there is none such, or this one is unknown."""
        place = self._ids.index(item_id) if item_id in self._ids else 0
        return next((one for one in reversed(self._ids[:place]) if one not in self._reserved), None)

    def is_written(self, item_id: ItemId) -> bool:
        """The client knows this message of the assistant as text, not as sound."""
        return item_id in self._written

    def reserve(self, item_id: ItemId) -> None:
        """This place, behind all others, is that of an item that is yet to be told of."""
        if item_id not in self._ids:
            self.insert(item_id)
            self._reserved.add(item_id)

    def insert(self, item_id: ItemId, after: ItemId | None = None, *, written: bool = False) -> ItemId | None:
        """Put an item after another one (ROOT: first; None or unknown: last), or where its place was reserved.

        Returns the one before it.
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
        """Take an item out, if it is there."""
        if item_id in self._ids:
            self._ids.remove(item_id)
            self._written.discard(item_id)
            self._reserved.discard(item_id)
