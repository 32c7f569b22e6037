"""A home with three rooms, whose devices have names in each language."""

from dataclasses import replace
from functools import cache

from support.services.quiet_home import QuietHome, home_with

from assistant.home import Device
from assistant.skills.answers import HomeAction, SetAlarm, SkillAnswer, each_effect

_HEATING: dict[str, float | str] = {"current_temperature": 20.5, "temperature": 20.0}
_COOLER: dict[str, float | str] = {"current_temperature": 18.5, "temperature": 20.0}
DEVICES = (
    Device("light.kitchen", "Kitchen light", "off", "light", "Kitchen"),
    Device("light.spot", "Kitchen spot", "off", "light", "Kitchen"),
    Device("light.bedroom", "Bedroom lamp", "on", "light", "Bedroom"),
    Device("light.desk", "Desk lamp", "on", "light", "Office"),
    Device("fan.office", "Fan", "off", "fan", "Office"),
    Device("cover.kitchen", "Kitchen blinds", "open", "cover", "Kitchen"),
    Device("cover.bedroom", "Bedroom blinds", "open", "cover", "Bedroom"),
    Device("switch.coffee", "Coffee machine", "off", "switch", "Kitchen"),
    Device("climate.kitchen", "Heating", "heat", "climate", "Kitchen", attributes=_HEATING),
    Device("climate.bedroom", "Bedroom heating", "heat", "climate", "Bedroom", attributes=_COOLER),
    Device("media_player.radio", "Radio", "playing", "media", "Kitchen"),
    Device("media_player.tv", "TV", "playing", "media", "Bedroom"),
    Device("lock.front", "Front door", "unlocked", "lock", ""),
)
NAMES = {
    "de": (
        *("Küchenlicht", "Küchenspot", "Schlafzimmerlampe", "Schreibtischlampe", "Ventilator", "Rollladen Küche"),
        *(
            "Rollladen Schlafzimmer",
            "Kaffeemaschine",
            "Heizung",
            "Heizung Schlafzimmer",
            "Radio",
            "Fernseher",
            "Haustür",
        ),
    ),
    "fr": (
        *("Plafonnier cuisine", "Spot cuisine", "Lampe chambre", "Lampe de bureau", "Ventilateur", "Volet cuisine"),
        *("Volet chambre", "Cafetière", "Chauffage", "Chauffage chambre", "Radio", "Télé", "Porte d'entrée"),
    ),
    "es": (
        *("Luz de la cocina", "Foco de la cocina", "Lámpara del dormitorio", "Lámpara de mesa", "Ventilador"),
        *("Persiana de la cocina", "Persiana del dormitorio", "Cafetera", "Calefacción", "Calefacción dormitorio"),
        *("Radio", "Tele", "Puerta principal"),
    ),
}
AREAS = {
    "de": {"Kitchen": "Küche", "Bedroom": "Schlafzimmer", "Office": "Büro", "": ""},
    "fr": {"Kitchen": "Cuisine", "Bedroom": "Chambre", "Office": "Bureau", "": ""},
    "es": {"Kitchen": "Cocina", "Bedroom": "Dormitorio", "Office": "Despacho", "": ""},
}


@cache
def furnished_home(code: str = "en") -> QuietHome:
    """Returns the home in a language."""
    if code == "en":
        return home_with(*DEVICES)
    named = zip(DEVICES, NAMES[code], strict=True)
    return home_with(*(replace(device, name=name, area=AREAS[code][device.area]) for device, name in named))


def done_by(answer: SkillAnswer | None) -> str:
    """Returns what an answer does now and later: "turn_on light.a; Fri 22:53 turn_off light.a"; "-" for nothing."""
    parts = []
    for effect in each_effect(None if answer is None else answer.effect):
        if isinstance(effect, HomeAction):
            parts += [_call_text(call.service, call.targets, call.data) for call in effect.calls]
        elif isinstance(effect, SetAlarm):
            days = f" on {''.join(map(str, effect.weekdays))}" if effect.weekdays else ""
            calls = () if effect.planned is None else effect.planned.calls
            told = ", ".join(_call_text(call.service, call.targets, call.data) for call in calls)
            parts.append(f"{effect.local_time:%a %H:%M}{days} {told or 'ring'}")
        elif effect is not None:
            parts.append(type(effect).__name__)
    return "; ".join(parts) or "-"


def _call_text(service: str, targets: tuple[str, ...], data: tuple[tuple[str, object], ...]) -> str:
    return " ".join([service, *targets, *(f"{name}={value}" for name, value in data)])
