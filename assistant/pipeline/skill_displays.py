"""Tells the user interface or client which timers are set and what is on the lists, and applies its buttons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.events import ListsChanged, SessionEvent, TimersChanged
from assistant.skills.effects import SkillEffects
from assistant.skills.lists.items import RemoveItems, UserLists
from assistant.skills.ringing.shown_timers import TimerAction, same_but_for_time, shown_timers
from assistant.skills.ringing.timer_buttons import button_effect

_CHECK_EVERY_S = 0.2


@dataclass(slots=True)
class TimerDisplay:
    """Reports changes of the timers. Not thread-safe.

    Attributes:
        effects: Knows what is set and what rings.
        on_event: Receives the list when it has changed.
        language: Returns the BCP 47 tag of the conversation.
    """

    effects: Callable[[], SkillEffects]
    on_event: Callable[[SessionEvent], None]
    language: Callable[[], str]
    _shown: tuple[object, ...] = ()
    _checked_s: float = 0.0

    def on_frame(self, now_s: float) -> None:
        """Reports a change since the last call. Called with every frame."""
        effects = self.effects()
        if now_s - self._checked_s < _CHECK_EVERY_S or not (effects.timers.any_set or self._shown):
            return
        self._checked_s = now_s
        timers = shown_timers(effects.timers.running(now_s), effects.local_now())
        content = tuple(same_but_for_time(timer, now_s) for timer in timers)
        if content != self._shown:
            self._shown = content
            self.on_event(TimersChanged(timers))

    def show_again(self) -> None:
        """Reports the list with the next frame, because a client is new."""
        self._shown, self._checked_s = (None,), 0.0

    def press(self, action: TimerAction, number: int, now_s: float) -> None:
        """Applies a button. Ignores a timer that is gone."""
        effects = self.effects()
        running = effects.timers.running(now_s)
        effect = button_effect(action, number, running, effects.local_now(), self.language())
        effects.end_rings([number], now_s, answered=True)
        if effect is not None:
            effects.timers.apply(effect, now_s)


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
