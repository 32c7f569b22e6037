"""Reads Home Assistant's answers. Pure; what does not have the documented form is left out."""

import json
from collections.abc import Collection, Mapping
from typing import cast

from assistant.home import DOMAINS, OPENINGS, Device, HomeState, Kind, names_key

MAX_DEVICES = 2000
"""Devices that are used at most; a large home has about 500."""
MAX_NAME_CHARS = 80
MAX_PLACES = 200

AREAS_TEMPLATE = """\
{%- set found = namespace(areas=[], floors=[]) -%}
{%- for area in areas() -%}
{%- set found.areas = found.areas + [{"name": area_name(area), "entities": area_entities(area)}] -%}
{%- endfor -%}
{%- for floor in floors() -%}
{%- set names = floor_areas(floor) | map("area_name") | list -%}
{%- set found.floors = found.floors + [{"name": floor_name(floor), "areas": names}] -%}
{%- endfor -%}
{{ {"areas": found.areas, "floors": found.floors} | to_json }}"""
"""Template that Home Assistant fills in: its REST API has no other way to the areas."""

_JOINERS = "\u200c\u200d"  # parts of words in Persian and Hindi, and of emoji
_LARGEST = 1e9
"""Largest number of an attribute: JSON has numbers that no float has, and infinity."""

_ATTRIBUTES = (
    *("brightness", "temperature", "current_temperature", "unit_of_measurement", "device_class"),
    *("volume_level", "min_temp", "max_temp"),
)


def home_state(
    states: object, places: object, kinds: Collection[str], wanted_areas: Collection[str] = ()
) -> HomeState | None:
    """Returns the devices in an answer of /api/states; None if it is no such answer.

    Args:
        states: The answer.
        places: The answer to `AREAS_TEMPLATE`; None if there is none.
        kinds: The kinds of devices that are used.
        wanted_areas: The areas and floors whose devices are used; empty: all.
    """
    if not isinstance(states, list):
        return None
    area_of, floor_of, areas, floors = _places(places)
    area_names = {name.casefold() for name in wanted_areas}
    devices: list[Device] = []
    for entry in states:
        device = _device(entry, area_of, floor_of)
        if device is None or device.kind not in kinds:
            continue
        if area_names and not area_names & {device.area.casefold(), device.floor.casefold()}:
            continue
        devices.append(device)
        if len(devices) >= MAX_DEVICES:
            break
    return HomeState(tuple(devices), areas, floors, names_key(devices, areas, floors))


def _device(entry: object, area_of: Mapping[str, str], floor_of: Mapping[str, str]) -> Device | None:
    if not isinstance(entry, dict):
        return None
    entity_id, state, attributes = entry.get("entity_id"), entry.get("state"), entry.get("attributes")
    if not isinstance(entity_id, str) or not isinstance(state, str) or not isinstance(attributes, dict):
        return None
    area = area_of.get(entity_id, "")
    return device_of(
        entity_id,
        state,
        cast("dict[str, object]", attributes),
        name=clean_name(attributes.get("friendly_name")),
        area=area,
        floor=floor_of.get(area, ""),
    )


def device_of(
    entity_id: str,
    state: str,
    attributes: Mapping[str, object],
    *,
    name: str = "",
    area: str = "",
    floor: str = "",
    aliases: tuple[str, ...] = (),
) -> Device | None:
    """Returns a device; None if its domain is not used or `entity_id` is none.

    `name`, `area`, `floor` and `aliases`: from `clean_name`; a name that is "" is made of the entity id.
    """
    domain, _, local = entity_id.partition(".")
    if domain not in DOMAINS or not local.replace("_", "").isalnum() or len(entity_id) > 255:
        return None
    kept = used_attributes(attributes)
    kind: Kind = "garage" if domain == "cover" and kept.get("device_class") in OPENINGS else DOMAINS[domain]
    name = name or local.replace("_", " ")[:MAX_NAME_CHARS]
    return Device(entity_id, name, clean_name(state), kind, area, floor, kept, aliases)


def used_attributes(attributes: Mapping[str, object]) -> dict[str, float | str]:
    """Returns the attributes that are used: finite numbers and short texts."""
    return {key: value for key in _ATTRIBUTES if (value := _attribute(attributes.get(key))) is not None}


def clean_name(text: object) -> str:
    """Returns a name or state on one line, of printable characters; "" for anything but a text.

    Anybody who may name a device could otherwise write lines into a list for a language model, or codes to a terminal.
    """
    if not isinstance(text, str):
        return ""
    plain = "".join(char if char.isprintable() or char in _JOINERS else " " for char in text[: 4 * MAX_NAME_CHARS])
    return " ".join(plain.split())[:MAX_NAME_CHARS].rstrip()


def _attribute(value: object) -> float | str | None:
    """Returns a finite number or a short text; None for anything else."""
    if isinstance(value, str):
        return clean_name(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST
    return cast("float", value) if is_number else None


def _places(places: object) -> tuple[dict[str, str], dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """Returns the area of each entity, the floor of each area, and the names of areas and floors."""
    fields = cast("dict[str, object]", places) if isinstance(places, dict) else {}
    area_of: dict[str, str] = {}
    floor_of: dict[str, str] = {}
    areas, floors = [], []
    for name, entities in _named_lists(fields.get("areas"), "entities"):
        areas.append(name)
        area_of |= dict.fromkeys(entities, name)
    for name, on_floor in _named_lists(fields.get("floors"), "areas"):
        floors.append(name)
        floor_of |= dict.fromkeys(map(clean_name, on_floor), name)
    return area_of, floor_of, tuple(areas), tuple(floors)


def _named_lists(entries: object, key: str) -> list[tuple[str, list[str]]]:
    named = []
    for entry in entries[:MAX_PLACES] if isinstance(entries, list) else ():
        if isinstance(entry, dict) and (name := clean_name(entry.get("name"))):
            members = entry.get(key)
            listed = [member for member in members if isinstance(member, str)] if isinstance(members, list) else []
            named.append((name, listed[:MAX_DEVICES]))
    return named


def body_of(targets: tuple[str, ...], data: tuple[tuple[str, object], ...]) -> dict[str, object]:
    """Returns the body of a service call."""
    return {"entity_id": list(targets), **{key: list(v) if isinstance(v, tuple) else v for key, v in data}}


def places_of(rendered: object) -> object:
    """Returns the value in an answer to `AREAS_TEMPLATE`, which may be JSON or JSON in a text; None for neither."""
    if not isinstance(rendered, str):
        return rendered
    try:
        return cast("object", json.loads(rendered))
    except (ValueError, RecursionError):
        return None
