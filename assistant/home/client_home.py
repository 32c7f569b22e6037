"""A home that a client tells and changes: Home Assistant, with the integration of deploy/homeassistant/."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from assistant.home import CLIENTS_HOME, Device, HomeFault, HomeState, ServiceCall

CALL_TIMEOUT_S = 5.0
"""Longest wait for the result of one call, in seconds; as for an answer of Home Assistant itself."""

MAX_ACTIONS = 16
"""Actions in progress at the same time. A further one is refused."""


@dataclass(frozen=True, slots=True)
class SentHome:
    """A home as a client has sent it.

    Attributes:
        state: The devices, of allowed kinds only.
        kinds: The kinds of devices that may be used.
        owner: Id of whoever has the rights with which the client calls services; "" for no one in particular.
        id: Id of the home, which tells it from another one with the same devices; "" for none.
    """

    state: HomeState
    kinds: frozenset[str]
    owner: str = ""
    id: str = ""

    @property
    def key(self) -> str:
        """See `HomePort`: a planned command is made in its home, with the rights of the one who has planned it."""
        if self.id:
            return f"{CLIENTS_HOME}@{self.id!r}:{self.owner}"
        return f"{CLIENTS_HOME}:{self.owner}" if self.owner else CLIENTS_HOME


@dataclass(frozen=True, slots=True)
class SentState:
    """State of one device as a client has sent it; see `Device`."""

    id: str
    state: str
    attributes: dict[str, float | str]


@dataclass(slots=True)
class ClientHome:
    """Implements `HomePort` for one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        send: Sends a call to the client, with its id.
        state: See `HomePort`.
        kinds: See `HomePort`.
        fault: See `HomePort`; "unreachable" while the client is disconnected.
        key: See `HomePort`.
    """

    send: Callable[[str, ServiceCall], None]
    state: HomeState | None
    kinds: frozenset[str]
    fault: HomeFault | None = None
    key: str = CLIENTS_HOME
    _calls: int = 0
    _waiting: "dict[str, asyncio.Future[HomeFault | None]]" = field(default_factory=dict)
    _actions: "set[asyncio.Task[HomeFault | None]]" = field(default_factory=set)

    def act(
        self, calls: Sequence[ServiceCall], after: "asyncio.Task[HomeFault | None] | None" = None
    ) -> "asyncio.Task[HomeFault | None]":
        """See `HomePort`. Each call is made once; there is no second attempt."""
        busy = len(self._actions) >= MAX_ACTIONS
        work = self._act(tuple(calls), None if busy else after, busy=busy)
        task = asyncio.get_running_loop().create_task(work, name="client home action")
        self._actions.add(task)
        task.add_done_callback(self._actions.discard)
        return task

    def refresh_soon(self) -> None:
        """Does nothing: the client sends each change."""

    def replace_devices(self, sent: SentHome) -> None:
        """Uses other devices, which the client has sent: it is connected."""
        self.state, self.kinds, self.key, self.fault = sent.state, sent.kinds, sent.key, None

    def update_states(self, states: Sequence[SentState]) -> None:
        """Takes over states. Those of unknown devices are ignored: they may have left the home meanwhile."""
        if self.state is None:
            return
        new = {state.id: state for state in states}
        self.state = replace(self.state, devices=tuple(_updated(device, new) for device in self.state.devices))

    def end_call(self, call_id: str, fault: HomeFault | None, states: Sequence[SentState]) -> None:
        """Takes the result of a call. One that is not awaited any more is ignored."""
        waiting = self._waiting.get(call_id)
        if waiting is not None and not waiting.done():
            self.update_states(states)
            waiting.set_result(fault)

    def on_disconnect(self) -> None:
        """Fails the calls in progress, and those to come until the client sends its home again."""
        self.fault = "unreachable"
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result("unreachable")

    async def aclose(self) -> None:
        """Ends the actions."""
        tasks = tuple(self._actions)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _act(
        self, calls: tuple[ServiceCall, ...], after: "asyncio.Task[HomeFault | None] | None", *, busy: bool
    ) -> HomeFault | None:
        if busy:
            return "busy"
        if after is not None:
            await asyncio.wait({after})
        for call in calls:
            fault = await self._result_of(call)
            if fault is not None:
                return fault
        return None

    async def _result_of(self, call: ServiceCall) -> HomeFault | None:
        if self.fault is not None:
            return self.fault
        self._calls += 1
        call_id = f"home_{self._calls}"
        waiting: asyncio.Future[HomeFault | None] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = waiting
        self.send(call_id, call)
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                return await waiting
        except TimeoutError:
            return "late"
        finally:
            del self._waiting[call_id]


def _updated(device: Device, states: dict[str, SentState]) -> Device:
    new = states.get(device.id)
    return device if new is None else replace(device, state=new.state, attributes=new.attributes)
