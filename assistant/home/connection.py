"""The connection to Home Assistant, shared by all conversations: reads its devices repeatedly, and calls services."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from assistant.config.home_settings import HomeSection
from assistant.home import SERVERS_HOME, Device, HomeFault, HomeState, ServiceCall
from assistant.home.states import AREAS_TEMPLATE, body_of, home_state, places_of
from assistant.support.json_http import JsonHttp, ServiceFault

log = logging.getLogger(__name__)

AREAS_EVERY_S = 600.0
"""Interval at which areas and floors are read again; they change rarely."""

REFRESH_S = 30.0
"""Interval at which names and states are read again, in seconds, where no speech triggers it."""

MIN_REFRESH_S = 5.0
"""Shortest interval between two readings that speech triggers."""

MAX_ACTIONS = 16
"""Actions in progress at the same time, of all conversations. A further one is refused."""


@dataclass(slots=True)
class HomeConnection:
    """Implements `HomePort`. Not thread-safe: call it on the event loop.

    Attributes:
        settings: The section [home].
        http: The client, with the token.
        on_state: Prepares what is computed from the devices; called in a thread.
        state: See `HomePort`.
        fault: See `HomePort`.
        fault_text: The same as text for the log and `repartee doctor`; "" for nothing.
    """

    settings: HomeSection
    http: JsonHttp
    on_state: Callable[[HomeState], None] = lambda _state: None
    state: HomeState | None = None
    fault: HomeFault | None = None
    fault_text: str = ""
    _places: object = None
    _places_read_s: float | None = None
    _read_s: float = float("-inf")
    _soon: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: "asyncio.Task[None] | None" = None
    _actions: "set[asyncio.Task[HomeFault | None]]" = field(default_factory=set)

    @property
    def key(self) -> str:
        """See `HomePort`."""
        return SERVERS_HOME

    @property
    def kinds(self) -> frozenset[str]:
        """See `HomePort`."""
        return self.settings.used_kinds

    def start(self) -> None:
        """Begins to read the devices in the background; `aclose` ends it."""
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read_forever(), name="home")

    def refresh_soon(self) -> None:
        """Reads the states again now, if that was not done in the last seconds."""
        if asyncio.get_running_loop().time() - self._read_s >= MIN_REFRESH_S:
            self._soon.set()

    async def read(self) -> None:
        """Reads the devices once. Never raises; `fault` says what went wrong."""
        now_s = asyncio.get_running_loop().time()
        self._read_s = now_s
        try:
            if self._places_read_s is None or now_s - self._places_read_s >= AREAS_EVERY_S:
                await self._read_places(now_s)
            states = await self._read_states()
        except ServiceFault as fault:
            if fault.kind != self.fault:
                log.warning("the home %s", fault)
            self.fault, self.fault_text = fault.kind, str(fault)
            return
        await asyncio.to_thread(self.on_state, states)
        if self.fault is not None:
            log.warning("the home answers again")
        self.state, self.fault, self.fault_text = states, None, ""

    def act(
        self, calls: Sequence[ServiceCall], after: "asyncio.Task[HomeFault | None] | None" = None
    ) -> "asyncio.Task[HomeFault | None]":
        """See `HomePort`. Each call is made once; there is no second attempt."""
        busy = len(self._actions) >= MAX_ACTIONS
        work = self._act(tuple(calls), None if busy else after, busy=busy)
        task = asyncio.get_running_loop().create_task(work, name="home action")
        self._actions.add(task)
        task.add_done_callback(self._actions.discard)
        return task

    async def aclose(self) -> None:
        """Ends the reading and the actions."""
        tasks = [task for task in (self._reading, *self._actions) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._reading = None
        await self.http.aclose()

    async def _read_forever(self) -> None:
        while True:
            await self.read()
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    await self._soon.wait()
            self._soon.clear()

    async def _read_states(self) -> HomeState:
        answer = await self.http.get("/api/states")
        state = home_state(answer, self._places, self.settings.used_kinds, self.settings.used_areas)
        if state is None:
            raise ServiceFault("broken", "answers in an unknown form; is it Home Assistant?")
        return state

    async def _read_places(self, now_s: float) -> None:
        """Reads areas and floors. Only an administrator's token may; without one, devices have names only."""
        try:
            self._places = places_of(await self.http.post("/api/template", {"template": AREAS_TEMPLATE}))
        except ServiceFault as fault:
            if fault.kind in {"unreachable", "late"}:
                raise
            log.warning("the home does not tell its areas: it %s", fault)
        self._places_read_s = now_s

    async def _act(
        self, calls: tuple[ServiceCall, ...], after: "asyncio.Task[HomeFault | None] | None", *, busy: bool
    ) -> HomeFault | None:
        if busy:
            return "busy"
        if after is not None:
            await asyncio.wait({after})
        for call in calls:
            try:
                changed = await self.http.post(
                    f"/api/services/{call.domain}/{call.service}", body_of(call.targets, call.data)
                )
            except ServiceFault as fault:
                log.warning("the home %s", fault)
                return fault.kind
            self._merge(changed)
        return None

    def _merge(self, changed: object) -> None:
        """Takes over the states that a call has returned."""
        state = home_state(changed, None, self.settings.used_kinds)
        if state is None or not state.devices or self.state is None:
            return
        new = {device.id: device for device in state.devices}
        self.state = replace(self.state, devices=tuple(_updated(device, new) for device in self.state.devices))


def _updated(device: Device, changed: dict[str, Device]) -> Device:
    new = changed.get(device.id)
    return device if new is None else replace(device, state=new.state, attributes=new.attributes)
