"""Tools with which the language model reads and changes the home."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.home import Device, HomePort, HomeState, Kind, ServiceCall
from assistant.tools import ToolError
from llm.chat import Function

MAX_LISTED = 150
"""Devices in one answer."""
MAX_CHANGED = 50
"""Devices that one call changes."""

_SWITCHED: frozenset[Kind] = frozenset({"light", "switch", "fan", "media", "climate", "scene", "script"})
_COVERS: frozenset[Kind] = frozenset({"cover", "garage"})


@dataclass(frozen=True, slots=True)
class _Action:
    """An action that the model may request: the kinds it fits, Home Assistant's service, its argument and limits."""

    kinds: frozenset[Kind]
    service: str
    argument: str = ""
    low: float = 0.0
    high: float = 100.0
    factor: float = 1.0


_ACTIONS = {
    "turn_on": _Action(_SWITCHED, "turn_on"),
    "turn_off": _Action(_SWITCHED - {"scene"}, "turn_off"),
    "set_brightness_percent": _Action(frozenset({"light"}), "turn_on", "brightness_pct"),
    "set_temperature": _Action(frozenset({"climate"}), "set_temperature", "temperature", 5, 95),
    "open": _Action(_COVERS, "open_cover"),
    "close": _Action(_COVERS, "close_cover"),
    "set_position_percent": _Action(_COVERS, "set_cover_position", "position"),
    "play": _Action(frozenset({"media"}), "media_play"),
    "pause": _Action(frozenset({"media"}), "media_pause"),
    "next_track": _Action(frozenset({"media"}), "media_next_track"),
    "previous_track": _Action(frozenset({"media"}), "media_previous_track"),
    "set_volume_percent": _Action(frozenset({"media"}), "volume_set", "volume_level", factor=0.01),
    "lock": _Action(frozenset({"lock"}), "lock"),
    "unlock": _Action(frozenset({"lock"}), "unlock"),
}

DEVICES = Function(
    "home_devices",
    "Lists the devices of the user's home with id, name, kind, area and state, and the room in which the user speaks. "
    "Call it before home_control. If the user names no place, devices of that room are meant.",
    json.dumps(
        {
            "type": "object",
            "properties": {"area": {"type": "string", "description": "Only devices of this area or floor"}},
        }
    ),
)
CONTROL = Function(
    "home_control",
    "Changes devices of the user's home at once, never later. Only when the user asks for it.",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "ids": {"type": "array", "items": {"type": "string"}, "description": "Ids from home_devices"},
                "action": {"type": "string", "enum": list(_ACTIONS)},
                "value": {"type": "number", "description": "For the actions that begin with set_"},
            },
            "required": ["ids", "action"],
        }
    ),
)


class HomeTools:
    """Implements `Tools`. Only the devices that the configuration allows can be read and changed."""

    def __init__(self, home: Callable[[], HomePort | None], room: Callable[[], str] = lambda: "") -> None:
        """Reads nothing yet.

        Args:
            home: Returns the home; None if the user of the conversation may not use it.
            room: Returns the room in which the user speaks; "" if it is not known.
        """
        self._home = home
        self._room = room

    @property
    def functions(self) -> tuple[Function, ...]:
        """See `Tools`."""
        return () if self._home() is None else (DEVICES, CONTROL)

    async def call(self, name: str, arguments: str) -> str:
        """See `Tools`."""
        home = self._home()
        if home is None or name not in {DEVICES.name, CONTROL.name}:
            raise ToolError("there is no tool of that name")
        if home.state is None:
            raise ToolError(f"the home is not reachable ({home.fault or 'late'})")
        given = json.loads(arguments)
        if name == DEVICES.name:
            return _listed(home.state, str(given.get("area") or ""), self._room())
        fault = await home.act(_calls(home.state.devices, given))
        if fault is not None:
            raise ToolError(f"not done: the home failed ({fault})")
        return "done"

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """See `Tools`."""
        return lambda: None


def _listed(state: HomeState, area: str, room: str = "") -> str:
    """Returns the devices of an area or floor, one a line. The room is in the result, so that no prompt changes."""
    places = {
        place
        for place in (*state.areas, *state.floors, *(device.area for device in state.devices))
        if area.casefold() in {name.casefold() for name in (place, *state.place_aliases.get(place, ()))}
    }
    shown = [device for device in state.devices if not area or places & {device.area, device.floor}]
    lines = [f"{d.id} | {_names(d)} | {d.kind} | {d.area} | {d.state}{_measured(d)}" for d in shown[:MAX_LISTED]]
    lines = [f"the user is in: {room}", *lines] if room and lines else lines
    rest = [f"and {len(shown) - MAX_LISTED} more: name an area"] if len(shown) > MAX_LISTED else []
    return "\n".join([*lines, *rest]) or "no devices"


def _names(device: Device) -> str:
    return ", ".join((device.name, *device.aliases))


def _measured(device: Device) -> str:
    unit = device.attributes.get("unit_of_measurement")
    target, measured = device.attributes.get("temperature"), device.attributes.get("current_temperature")
    if device.kind == "climate" and measured is not None:
        return f", {measured} degrees" + ("" if target is None else f", set to {target}")
    return f" {unit}" if unit else ""


def _calls(devices: Sequence[Device], given: dict[str, object]) -> list[ServiceCall]:
    """Returns the calls for the model's arguments. Raises ToolError."""
    ids, name, value = given.get("ids"), given.get("action"), given.get("value")
    action = _ACTIONS.get(name) if isinstance(name, str) else None
    if action is None:
        raise ToolError(f"not done: action must be one of {', '.join(_ACTIONS)}")
    if not isinstance(ids, list) or not 0 < len(ids) <= MAX_CHANGED:
        raise ToolError(f"not done: ids must be a list of 1 to {MAX_CHANGED} ids from home_devices")
    known = {device.id: device for device in devices}
    if any(not isinstance(device_id, str) or device_id not in known for device_id in ids):
        raise ToolError("not done: an id is unknown or not allowed; call home_devices")
    meant = [known[device_id] for device_id in dict.fromkeys(ids)]
    if any(device.kind not in action.kinds for device in meant):
        raise ToolError(f"not done: {name} is only for {', '.join(sorted(action.kinds))}")
    data: tuple[tuple[str, float], ...] = ()
    if action.argument:
        if isinstance(value, bool) or not isinstance(value, int | float) or not action.low <= value <= action.high:
            raise ToolError(f"not done: value must be a number from {action.low:g} to {action.high:g}")
        data = ((action.argument, round(value * action.factor, 3)),)
    domains = dict.fromkeys(device.domain for device in meant)
    return [
        ServiceCall(d, action.service, tuple(device_id.id for device_id in meant if device_id.domain == d), data)
        for d in domains
    ]
