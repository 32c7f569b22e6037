"""Ids of the items of a conversation's history."""

from typing import NewType

ItemId = NewType("ItemId", str)
"""Unique within its conversation."""

ROOT = ItemId("root")
"""Not an item: the place before the first one."""
