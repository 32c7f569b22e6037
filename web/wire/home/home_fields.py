"""Parses the home that a client sends in `session.repartee.home`, and the states of its devices.

Names are data: one line each, of printable characters. A device that is invalid is refused by name; the others count.
"""

from collections.abc import Mapping
from typing import Any

from assistant.config.home_settings import GUARDED, KINDS
from assistant.home import DOMAINS, Device, HomeState, names_key
from assistant.home.client_home import SentHome, SentState
from assistant.home.states import MAX_NAME_CHARS, MAX_PLACES, clean_name, device_of, used_attributes
from web.wire.values.fields import (
    Field,
    FieldError,
    Refusals,
    accepted,
    any_value,
    checked,
    listed,
    listing,
    one_of,
    text,
    wrong_type,
    wrong_value,
)

HOME = "session.repartee.home"

MAX_ENTITIES = 500
"""Devices of a client's home. A large home shows about 200 of its entities to assistants."""
MAX_ALIASES = 16
MAX_ATTRIBUTES = 32
MAX_ENTITY_ID_CHARS = 255
MAX_ID_CHARS = 64
"""Characters of the id of a home, and of its owner."""


def _attributes(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    if len(value) > MAX_ATTRIBUTES:
        raise wrong_value(path, f"has {len(value)} entries", f"at most {MAX_ATTRIBUTES}")
    return value


_NAME = text(max_chars=4 * MAX_NAME_CHARS)
_ENTITY_ID = text(min_chars=1, max_chars=MAX_ENTITY_ID_CHARS)
_ALIASES = Field(listing(_NAME, maximum=MAX_ALIASES))
_FLOOR = {"name": Field(_NAME, required=True), "aliases": _ALIASES}
_AREA = {**_FLOOR, "floor": Field(_NAME)}
_STATE = {
    "id": Field(_ENTITY_ID, required=True),
    "state": Field(_NAME, required=True),
    "attributes": Field(_attributes),
}
_ENTITY = {**_STATE, "name": Field(_NAME), "aliases": _ALIASES, "area": Field(_NAME)}
_HOME = {
    "id": Field(text(max_chars=MAX_ID_CHARS)),
    "owner": Field(text(max_chars=MAX_ID_CHARS)),
    "allow": Field(listing(one_of(*GUARDED), maximum=len(GUARDED))),
    "floors": Field(listing(any_value, maximum=MAX_PLACES)),
    "areas": Field(listing(any_value, maximum=MAX_PLACES)),
    "entities": Field(listing(any_value, maximum=MAX_ENTITIES), required=True),
}


def _home(value: object, path: str, refusals: Refusals) -> SentHome:
    fields = accepted(value, path, _HOME, refusals)
    kinds = frozenset((*KINDS, *fields.get("allow", ())))
    aliases: dict[str, tuple[str, ...]] = {}
    floor_of: dict[str, str] = {}
    floors = [_place(entry, aliases) for entry in _each(fields, "floors", path, _FLOOR, refusals)]
    areas = []
    for entry in _each(fields, "areas", path, _AREA, refusals):
        areas.append(_place(entry, aliases))
        floor_of[areas[-1]] = clean_name(entry.get("floor"))
    devices: dict[str, Device] = {}
    for entry in _each(fields, "entities", path, _ENTITY, refusals):
        area = clean_name(entry.get("area"))
        device = device_of(
            entry["id"],
            entry["state"],
            entry.get("attributes", {}),
            name=clean_name(entry.get("name")),
            area=area,
            floor=floor_of.get(area, ""),
            aliases=_names(entry),
        )
        if device is None:
            refusals.add_error(wrong_value(f"{path}.entities", "have an id of another domain", listed(tuple(DOMAINS))))
        elif device.kind in kinds:
            devices[device.id] = device
    known = tuple(devices.values())
    places = tuple(filter(None, areas)), tuple(filter(None, floors))
    state = HomeState(known, *places, names_key(known, *places, aliases), aliases)
    return SentHome(state, kinds, fields.get("owner", ""), fields.get("id", ""))


def _each(
    fields: Mapping[str, Any], name: str, path: str, table: Mapping[str, Field], refusals: Refusals
) -> list[dict[str, Any]]:
    """Returns the valid entries of a list; adds an error for each other one."""
    entries = []
    for index, entry in enumerate(fields.get(name, ())):
        try:
            entries.append(checked(entry, f"{path}.{name}[{index}]", table))
        except FieldError as error:
            refusals.add_error(error)
    return entries


def _place(entry: Mapping[str, Any], aliases: dict[str, tuple[str, ...]]) -> str:
    """Returns the name of an area or floor; adds its further names."""
    name = clean_name(entry["name"])
    if name and (own := _names(entry)):
        aliases[name] = (*aliases.get(name, ()), *own)
    return name


def _names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(filter(None, map(clean_name, entry.get("aliases", ()))))


def _whole_home(value: object, path: str) -> SentHome:
    refusals = Refusals()
    home = _home(value, path, refusals)
    for error in refusals.errors:
        raise error
    return home


HOME_FIELD = Field(_whole_home, null=True, parts=_home)
"""Null: the client has no home."""


def _states(value: object, path: str) -> tuple[SentState, ...]:
    entries = listing(any_value, maximum=MAX_ENTITIES)(value, path)
    states = (checked(entry, f"{path}[{index}]", _STATE) for index, entry in enumerate(entries))
    return tuple(
        SentState(state["id"], clean_name(state["state"]), used_attributes(state.get("attributes", {})))
        for state in states
    )


STATES_FIELD = Field(_states)
