"""Actions in the home that a conversation has started: they happen once, and their failure is told."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from assistant.home import HomeFault, HomePort
from assistant.skills.answers import FAULT, HomeAction, SetAlarm, SkillEffect
from assistant.skills.home.faults import fault_text

CONFIRM_S = 0.3
"""Longest time that an answer waits for the home, in seconds. A slower failure is announced afterwards."""

_AGAIN_S = 15.0
"""Time after a retraction, in seconds, within which the same request means the action that was done already."""

_MAX_FAILURES = 4


def joined_action(actions: Sequence[HomeAction]) -> HomeAction | None:
    """Returns one action that does all of `actions` in order; None without any."""
    if len(actions) < 2:
        return actions[0] if actions else None
    calls = tuple(call for action in actions for call in action.calls)
    undo = tuple(call for action in reversed(actions) for call in action.undo)
    return replace(actions[0], calls=calls, undo=undo, late=FAULT)


@dataclass(slots=True)
class PendingAction:
    """An action that the home was asked for.

    Attributes:
        action: The action.
        task: Ends with the fault; None for success.
        awaited: Whether an answer will tell the fault. Otherwise it is announced.
    """

    action: HomeAction
    task: "asyncio.Task[HomeFault | None]"
    awaited: bool = True

    async def fault(self) -> str:
        """Waits for the home, at most `CONFIRM_S`. Returns a sentence if it failed by then; "" otherwise."""
        await asyncio.wait({self.task}, timeout=CONFIRM_S)
        if not self.task.done():
            self.awaited = False
            return ""
        return self.fault_text()

    def fault_text(self) -> str:
        """Returns the sentence for the fault; "" for success. Only after the end of the task."""
        fault = None if self.task.cancelled() else self.task.result()
        return "" if fault is None else self.action.fault_text(fault)


@dataclass(slots=True)
class HomeActions:
    """The actions of one conversation.

    Attributes:
        failures: Sentences to announce: failures that were known too late for the answer.
    """

    failures: list[str] = field(default_factory=list)
    _latest: PendingAction | None = None
    _retracted: PendingAction | None = None
    _retracted_s: float = 0.0

    def start(self, effect: SkillEffect | None, home: HomePort | None, now_s: float) -> PendingAction | None:
        """Starts the action in `effect`; None if it is no action.

        After a retraction the user has gone on: the same request is not done a second time, and another one replaces
        the one before, which is undone.
        """
        retracted = self._retracted if now_s - self._retracted_s < _AGAIN_S else None
        self._latest = self._retracted = None
        if home is None:
            return None
        action = effect if isinstance(effect, HomeAction) else None
        if action is not None and retracted is not None and retracted.action.calls == action.calls:
            retracted.awaited = True
            self._latest = retracted
            return retracted
        undo = () if retracted is None else retracted.action.undo
        calls = (*undo, *(() if action is None else action.calls))
        if not calls:
            return None
        pending = PendingAction(
            action or HomeAction(undo),
            home.act(calls, None if retracted is None else retracted.task),
            awaited=action is not None,
        )
        pending.task.add_done_callback(lambda _task: self._ended(pending))
        self._latest = pending
        return pending if action is not None else None

    def make(self, command: SetAlarm, home: HomePort | None, tag: str) -> None:
        """Makes a planned command that is due. A failure is announced in the language `tag`."""
        assert command.planned is not None, "it is planned"
        if home is None:
            self.failures.append(command.announcement.replace(FAULT, fault_text("unreachable", tag)))
            return
        faults = tuple((fault, fault_text(fault, tag)) for fault in get_args(HomeFault))
        action = HomeAction(command.planned.calls, faults=faults, late=command.announcement)
        pending = PendingAction(action, home.act(action.calls), awaited=False)
        pending.task.add_done_callback(lambda _task: self._ended(pending))

    def retract(self) -> None:
        """Notes that the turn of the latest action was retracted: the next turn decides about the action."""
        if self._latest is not None:
            self._latest.awaited = True  # its failure is not announced meanwhile
            self._retracted, self._retracted_s = self._latest, asyncio.get_running_loop().time()

    def take_failures(self) -> tuple[str, ...]:
        """Returns the sentences to announce, each once."""
        taken = tuple(self.failures)
        self.failures.clear()
        return taken

    def _ended(self, pending: PendingAction) -> None:
        if not pending.awaited and (text := pending.fault_text()) and len(self.failures) < _MAX_FAILURES:
            self.failures.append(pending.action.late.replace(FAULT, text))
