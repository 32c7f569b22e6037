"""Tells the user interface or client of a conversation what is on the lists, and removes items for its buttons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.events import ListsChanged, SessionEvent
from assistant.skills.effects import SkillEffects
from assistant.skills.lists.items import RemoveItems, UserLists


@dataclass(slots=True)
class ListDisplay:
    """Reports changes of the lists. Not thread-safe.

    Attributes:
        effects: Knows the lists.
        on_event: Receives all items when one has changed.
    """

    effects: Callable[[], SkillEffects]
    on_event: Callable[[SessionEvent], None]
    _shown: tuple[UserLists, int] | None = None
    _any_shown: bool = False

    def on_frame(self) -> None:
        """Reports a change since the last call. Called with every frame."""
        lists = self.effects().lists
        if self._shown is not None and self._shown[0] is lists and self._shown[1] == lists.version:
            return
        self._shown = lists, lists.version
        items = lists.items
        if items or self._any_shown:
            self._any_shown = bool(items)
            self.on_event(ListsChanged(items))

    def show_again(self) -> None:
        """Reports the lists with the next frame, because a client is new."""
        self._shown, self._any_shown = None, True

    def remove(self, keys: Sequence[str]) -> None:
        """Removes items. Ignores items that are gone."""
        self.effects().lists.change(RemoveItems(tuple(keys)))
