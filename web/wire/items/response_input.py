"""Parses the input of a response: items that the model sees instead of the conversation."""

from dataclasses import dataclass

from assistant.history.items import Item, ItemId
from web.wire.items.items import item_of
from web.wire.values.fields import IDENTIFIER, Field, checked, dropped_value, listing

MAX_INPUT_ITEMS = 1000
"""As many as a conversation keeps by default."""

_REFERENCE = "item_reference"
_REFERENCE_FIELDS = {"type": Field(dropped_value), "id": Field(IDENTIFIER, required=True)}


@dataclass(frozen=True, slots=True)
class ItemReference:
    """Refers to an item of the conversation."""

    item_id: ItemId


InputItem = Item | ItemReference


def input_of(value: object, path: str) -> tuple[InputItem, ...]:
    """Parses the input: items as in conversation.item.create, and references. Raises FieldError."""
    return tuple(listing(_input_item, maximum=MAX_INPUT_ITEMS)(value, path))


def _input_item(value: object, path: str) -> InputItem:
    if isinstance(value, dict) and value.get("type") == _REFERENCE:
        return ItemReference(ItemId(checked(value, path, _REFERENCE_FIELDS)["id"]))
    return item_of(value, path)
