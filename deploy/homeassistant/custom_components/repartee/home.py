"""The home that the server sees: the entities that are exposed to Assist, with their areas, floors and aliases."""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.components.homeassistant.exposed_entities import async_listen_entity_updates, async_should_expose
from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import CALLBACK_TYPE, Context, Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError, ServiceNotFound, Unauthorized
from homeassistant.helpers import area_registry as ar
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers import floor_registry as fr
from homeassistant.helpers.event import async_call_later
from voluptuous import Invalid

from .const import ATTRIBUTES, LOGGER, OPENINGS, SERVICES

ASSISTANT = "conversation"
MAX_ENTITIES = 500
MAX_PLACES = 200
MAX_ALIASES = 16
MAX_CALLED = 200
MAX_NAME_CHARS = 80
"""Bounds of the server; what is beyond them is not sent."""

STATES_AFTER_S = 0.3
HOME_AFTER_S = 2.0
"""Delays in which further changes of states, and of entities and places, are collected, in seconds."""

CALL_TIMEOUT_S = 4.5
"""Longest wait for a service, in seconds: the server waits 5 s. The service goes on."""

_REGISTRIES = (
    er.EVENT_ENTITY_REGISTRY_UPDATED,
    dr.EVENT_DEVICE_REGISTRY_UPDATED,
    ar.EVENT_AREA_REGISTRY_UPDATED,
    fr.EVENT_FLOOR_REGISTRY_UPDATED,
)

_TARGETS = frozenset({"entity_id", "area_id", "device_id", "floor_id", "label_id"})
"""Fields of a service that name what it changes: only checked entity ids do."""

Description = dict[str, Any]


class ExposedHome:
    """Describes the home for the server, follows its changes, and calls services of exposed entities.

    Attributes:
        on_home: Called with the whole home when entities or places have changed.
        on_states: Called with the states that have changed.
    """

    def __init__(self, hass: HomeAssistant, allow: Sequence[str], home_id: str) -> None:
        """Sees nothing before `start`.

        Args:
            hass: Home Assistant.
            allow: The kinds "lock" and "garage", if they may be used.
            home_id: Tells this home from another one of the same user, whose devices may have the same ids.
        """
        self.on_home: Callable[[Description], None] = lambda _home: None
        self.on_states: Callable[[list[Description]], None] = lambda _states: None
        self._hass = hass
        self._allow = tuple(allow)
        self._home_id = home_id
        self._ids: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}
        self._changed: dict[str, State] = {}
        self._cancels: dict[str, CALLBACK_TYPE] = {}
        self._ends: list[CALLBACK_TYPE] = []

    def start(self) -> None:
        """Follows changes until `stop`."""
        bus = self._hass.bus
        self._ends = [
            async_listen_entity_updates(self._hass, ASSISTANT, self._home_changed),
            bus.async_listen(EVENT_STATE_CHANGED, self._state_changed),
            *(bus.async_listen(kind, self._registry_changed) for kind in _REGISTRIES),
        ]

    def stop(self) -> None:
        """Ends following changes."""
        for end in (*self._ends, *self._cancels.values()):
            end()
        self._ends, self._cancels = [], {}

    @property
    def exposed(self) -> int:
        """Number of entities that the server sees."""
        return len(self._ids)

    def description(self) -> Description:
        """Returns the home in the form of the protocol."""
        areas, floors = ar.async_get(self._hass), fr.async_get(self._hass)
        entities = [self._entity(state) for state in self._exposed_states()]
        if len(entities) > MAX_ENTITIES:
            LOGGER.warning("%s entities are exposed to Assist; the first %s are used", len(entities), MAX_ENTITIES)
        entities = entities[:MAX_ENTITIES]
        self._ids = frozenset(entity["id"] for entity in entities)
        self._names = {entity["id"]: entity["name"] for entity in entities}
        area_list = list(areas.async_list_areas())[:MAX_PLACES]
        floor_names = {floor.floor_id: floor.name[:MAX_NAME_CHARS] for floor in floors.async_list_floors()}
        return {
            "id": self._home_id,
            "allow": list(self._allow),
            "floors": [_place(floor) for floor in list(floors.async_list_floors())[:MAX_PLACES]],
            "areas": [
                {**_place(area), **({"floor": name} if (name := floor_names.get(area.floor_id or "")) else {})}
                for area in area_list
            ],
            "entities": entities,
        }

    async def call(self, call: Mapping[str, Any], context: Context) -> Description:
        """Calls a service for the server, as the user who has asked. Returns the fields of the result.

        Refused is what is not exposed, a service that is not needed for it, and what the user may not control.
        """
        domain, service = str(call.get("domain")), str(call.get("service"))
        ids, data = call.get("entity_ids"), call.get("data")
        if not isinstance(ids, list) or not isinstance(data, dict) or not 0 < len(ids) <= MAX_CALLED:
            return {"error": "refused"}
        is_known = service in SERVICES.get(domain, ()) and all(self._may_call(domain, entity) for entity in ids)
        if not is_known or not await self._user_may(context, ids):
            LOGGER.warning(
                "refused a call of %s.%s: an entity is not exposed to Assist, or not this user's", domain, service
            )
            return {"error": "refused"}
        fields = {key: value for key, value in data.items() if key not in _TARGETS}
        error = await self._run(domain, service, {**fields, "entity_id": ids}, context)
        states = (self._hass.states.get(entity) for entity in ids)
        return {"error": error} if error else {"states": [_state(state) for state in states if state is not None]}

    # ---- private ----

    async def _run(self, domain: str, service: str, data: dict[str, Any], context: Context) -> str:
        """Calls a service. Returns the fault as the protocol names it; "" for none."""
        work = self._hass.async_create_task(
            self._hass.services.async_call(domain, service, data, blocking=True, context=context),
            f"{domain}.{service} for Repartee",
        )
        done, _ = await asyncio.wait({work}, timeout=CALL_TIMEOUT_S)
        if not done:
            work.add_done_callback(_note_late)
            return "late"
        try:
            work.result()
        except Unauthorized:
            return "refused"
        except ServiceNotFound:
            return "not_found"
        except (HomeAssistantError, Invalid, ValueError, TypeError) as error:
            LOGGER.warning("%s.%s failed: %s", domain, service, type(error).__name__)
            return "broken"
        return ""

    def _exposed_states(self) -> list[State]:
        """Returns the states of the exposed entities: those with an area first, because there is a bound."""
        states = [state for state in self._hass.states.async_all(SERVICES) if self._is_used(state)]
        return sorted(states, key=lambda state: (self._area(state.entity_id) is None, state.entity_id))

    def _is_used(self, state: State) -> bool:
        kind = _guarded_kind(state)
        return (kind is None or kind in self._allow) and async_should_expose(self._hass, ASSISTANT, state.entity_id)

    def _may_call(self, domain: str, entity_id: object) -> bool:
        if not isinstance(entity_id, str) or entity_id.partition(".")[0] != domain:
            return False
        state = self._hass.states.get(entity_id)
        return state is not None and self._is_used(state)

    async def _user_may(self, context: Context, entity_ids: Iterable[str]) -> bool:
        """Returns whether the user may control the entities. A request without a user came from the home itself."""
        if context.user_id is None:
            return True
        user = await self._hass.auth.async_get_user(context.user_id)
        if user is None:
            return False
        return all(user.permissions.check_entity(entity, POLICY_CONTROL) for entity in entity_ids)

    def _entity(self, state: State) -> Description:
        entry, area = er.async_get(self._hass).async_get(state.entity_id), self._area(state.entity_id)
        aliases = [] if entry is None else _texts(entry.aliases)
        return {
            **_state(state),
            "name": state.name[:MAX_NAME_CHARS],
            **({"aliases": aliases} if aliases else {}),
            **({"area": area.name[:MAX_NAME_CHARS]} if area is not None else {}),
        }

    def _area(self, entity_id: str) -> ar.AreaEntry | None:
        entry = er.async_get(self._hass).async_get(entity_id)
        if entry is None:
            return None
        device = dr.async_get(self._hass).async_get(entry.device_id) if entry.device_id else None
        area_id = entry.area_id or (None if device is None else device.area_id)
        return ar.async_get(self._hass).async_get_area(area_id) if area_id else None

    @callback
    def _home_changed(self) -> None:
        self._later("home", HOME_AFTER_S, self._send_home)

    @callback
    def _registry_changed(self, _event: Event[Any]) -> None:
        self._home_changed()

    @callback
    def _state_changed(self, event: Event[EventStateChangedData]) -> None:
        entity_id, old, new = event.data["entity_id"], event.data["old_state"], event.data["new_state"]
        if entity_id.partition(".")[0] not in SERVICES:
            return
        if old is None or new is None or (entity_id in self._ids and new.name != self._names[entity_id]):
            self._home_changed()
        elif entity_id in self._ids and _state(old) != _state(new):
            self._changed[entity_id] = new
            self._later("states", STATES_AFTER_S, self._send_states)

    def _later(self, what: str, wait_s: float, act: Callable[[], None]) -> None:
        """Acts once after a while, however often it is called meanwhile."""
        if what in self._cancels:
            return

        @callback
        def now(_time: object) -> None:
            self._cancels.pop(what, None)
            act()

        self._cancels[what] = async_call_later(self._hass, wait_s, now)

    def _send_home(self) -> None:
        self._changed.clear()
        self.on_home(self.description())

    def _send_states(self) -> None:
        states = [_state(state) for state in self._changed.values()]
        self._changed.clear()
        if states:
            self.on_states(states)


def room_of(hass: HomeAssistant, device_id: str | None) -> str:
    """Returns the name of the area of a satellite; "" for none."""
    device = dr.async_get(hass).async_get(device_id) if device_id else None
    area = ar.async_get(hass).async_get_area(device.area_id) if device is not None and device.area_id else None
    return "" if area is None else area.name[:MAX_NAME_CHARS]


def _guarded_kind(state: State) -> str | None:
    """Returns the kind of an entity that could open the house; None for any other."""
    if state.domain == "lock":
        return "lock"
    is_opening = state.domain == "cover" and state.attributes.get("device_class") in OPENINGS
    return "garage" if is_opening else None


def _place(entry: ar.AreaEntry | fr.FloorEntry) -> Description:
    aliases = _texts(entry.aliases)
    return {"name": entry.name[:MAX_NAME_CHARS], **({"aliases": aliases} if aliases else {})}


def _texts(aliases: Iterable[object]) -> list[str]:
    """Returns the names that are texts: newer versions of Home Assistant have marks for computed names, too."""
    return sorted(alias[:MAX_NAME_CHARS] for alias in aliases if isinstance(alias, str) and alias)[:MAX_ALIASES]


def _state(state: State) -> Description:
    attributes = {
        key: value for key in ATTRIBUTES if isinstance(value := state.attributes.get(key), str) or _is_number(value)
    }
    return {"id": state.entity_id, "state": state.state, **({"attributes": attributes} if attributes else {})}


def _is_number(value: object) -> bool:
    """Returns whether JSON has this value as a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _note_late(work: "asyncio.Task[Any]") -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        LOGGER.warning("a service that took long failed: %s", type(error).__name__)
