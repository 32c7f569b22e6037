"""A home with Home Assistant: its devices, their names, and calls that change them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol

Kind = Literal["light", "switch", "climate", "fan", "cover", "media", "scene", "script", "sensor", "lock", "garage"]
"""Kind of a device, as users and the configuration name it."""

HomeFault = Literal["unreachable", "late", "unauthorized", "not_found", "refused", "broken", "busy"]
"""A fault: see `FaultKind`; busy: too many actions are in progress."""

OPENINGS = frozenset({"garage", "gate", "door"})
"""Device classes of covers through which somebody could come in. Their kind is "garage"."""

DOMAINS: Mapping[str, Kind] = {
    "light": "light",
    "switch": "switch",
    "input_boolean": "switch",
    "climate": "climate",
    "fan": "fan",
    "cover": "cover",
    "media_player": "media",
    "scene": "scene",
    "script": "script",
    "sensor": "sensor",
    "lock": "lock",
}
"""Home Assistant's domains that are used, and the kind of their devices."""


@dataclass(frozen=True, slots=True)
class Device:
    """One entity of Home Assistant.

    Attributes:
        id: Its entity id, as in light.kitchen.
        name: Its name in the home.
        state: "on", "off", "21.5", "unavailable", ...
        kind: See `Kind`.
        area: Name of its area; "" for none.
        floor: Name of its floor; "" for none.
        attributes: Those attributes that are used.
        aliases: Further names, as users have entered them in the home.
    """

    id: str
    name: str
    state: str
    kind: Kind
    area: str = ""
    floor: str = ""
    attributes: Mapping[str, float | str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    @property
    def domain(self) -> str:
        """Its domain in Home Assistant."""
        return self.id.partition(".")[0]

    @property
    def is_on(self) -> bool:
        """Whether it is on, open or playing."""
        return self.state not in {"off", "closed", "locked", "idle", "standby", "paused", "unavailable", "unknown", ""}

    @property
    def is_available(self) -> bool:
        """Whether the home reaches it. The state of a scene or script is a time or unknown."""
        return self.kind in {"scene", "script"} or self.state != "unavailable"


@dataclass(frozen=True, slots=True)
class HomeState:
    """The devices of a home at one moment.

    Attributes:
        devices: The devices that may be used.
        areas: Names of the areas.
        floors: Names of the floors.
        names_key: Changes if a name or a place changes, but not with states; see `names_key`.
        place_aliases: Further names of an area or floor, by its name.
    """

    devices: tuple[Device, ...]
    areas: tuple[str, ...] = ()
    floors: tuple[str, ...] = ()
    names_key: int = 0
    place_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def names_key(
    devices: Sequence[Device],
    areas: tuple[str, ...],
    floors: tuple[str, ...],
    place_aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> int:
    """Returns the value of `HomeState.names_key` for these devices and places."""
    names = tuple((device.id, device.name, device.aliases, device.area, device.floor) for device in devices)
    return hash((names, areas, floors, tuple(sorted(place_aliases.items()))))


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of one of Home Assistant's services ("actions").

    Attributes:
        domain: As in light.
        service: As in turn_on.
        targets: Entity ids.
        data: Further arguments, sorted by name.
    """

    domain: str
    service: str
    targets: tuple[str, ...]
    data: tuple[tuple[str, float | str | tuple[int, ...]], ...] = ()


SERVERS_HOME, CLIENTS_HOME = "server", "client"
"""The home of the configuration, and one that a client brings."""


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Calls that are made later.

    Attributes:
        calls: The calls, in order.
        home: The `HomePort.key` of their home.
    """

    calls: tuple[ServiceCall, ...]
    home: str

    @property
    def targets(self) -> frozenset[str]:
        """The ids of all devices."""
        return frozenset(target for call in self.calls for target in call.targets)

    @property
    def services(self) -> frozenset[str]:
        """The services that are called."""
        return frozenset(call.service for call in self.calls)


class HomePort(Protocol):
    """The part of a home that conversations use."""

    @property
    def state(self) -> HomeState | None:
        """The devices as they were read last; None: not read yet."""
        ...

    @property
    def fault(self) -> HomeFault | None:
        """The fault of the last reading; None: there was none."""
        ...

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices that may be used."""
        ...

    @property
    def key(self) -> str:
        """Names the home for commands that are planned: `SERVERS_HOME`, or `CLIENTS_HOME` with its id and owner."""
        ...

    def act(
        self, calls: Sequence[ServiceCall], after: "asyncio.Task[HomeFault | None] | None" = None
    ) -> "asyncio.Task[HomeFault | None]":
        """Starts the calls, one after another, when `after` has ended. The task's result is the first fault."""
        ...

    def refresh_soon(self) -> None:
        """Reads the states again now, if that was not done in the last seconds."""
        ...

    async def aclose(self) -> None:
        """Ends the connection."""
        ...
