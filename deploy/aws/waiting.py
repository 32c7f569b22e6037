"""Waits until a resource has reached a state, within a time limit."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from deploy.aws.clients import DeployError


@dataclass(frozen=True, slots=True)
class Waiting:
    """Time limit and interval of the requests for a state.

    Attributes:
        limit_s: Longest wait.
        every_s: Time between two questions.
        clock: Monotonic seconds.
        sleep: Sleeps for seconds.
        say: Reports a new state.
    """

    limit_s: float
    every_s: float = 15.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = print

    def until(self, what: str, state_of: Callable[[], str], wanted: frozenset[str], pending: frozenset[str]) -> str:
        """Asks for the state until it is one of the wanted ones.

        Args:
            what: Name of the resource, for texts.
            state_of: Asks for the state.
            wanted: States that end the wait.
            pending: States that are waited for; any other one is a failure.

        Returns:
            The state reached.

        Raises:
            DeployError: The state is neither, or the time is over.
        """
        began_s, before = self.clock(), ""
        while (state := state_of()) not in wanted:
            if state != before:
                self.say(f"{what}: {state}, {self.clock() - began_s:.0f} s")
                before = state
            if state not in pending:
                raise DeployError(f"{what}: the state is {state}")
            if self.clock() - began_s >= self.limit_s:
                raise DeployError(f"{what}: still {state} after {self.limit_s:.0f} s")
            self.sleep(self.every_s)
        self.say(f"{what}: {state}, {self.clock() - began_s:.0f} s")
        return state
