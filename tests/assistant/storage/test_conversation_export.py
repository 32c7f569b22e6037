"""Exports of kept conversations."""

import pytest

from assistant.history.items import AssistantMessage, Item, ItemId, UserMessage
from assistant.storage.conversation_export import as_markdown
from assistant.storage.conversation_file import KeptConversation, Place

STOPPED = AssistantMessage(ItemId("a"), "One. Two", complete=False, unheard=" three. Four.")


def exported(*items: Item) -> str:
    return as_markdown(KeptConversation("id", "", "", 0.0, "", items, 0, Place(1, 0)))


@pytest.mark.parametrize(
    ("following", "count"),
    [
        (AssistantMessage(ItemId("b"), "Two three. Four."), 0),
        (AssistantMessage(ItemId("b"), "Two", complete=False, unheard=" three. Four."), 1),
        (AssistantMessage(ItemId("b"), "Your timer is done."), 1),
        (UserMessage(ItemId("b"), "Two three. Four.", spoken=True), 1),
    ],
)
def test_rest_that_was_resumed_is_not_exported_as_unheard(following: Item, count: int) -> None:
    assert exported(STOPPED, following).count("(not heard)* three. Four.") == count
