"""Constants of the integration."""

import logging
from collections.abc import Mapping

DOMAIN = "repartee"
LOGGER = logging.getLogger(__package__)

CONF_FINGERPRINT = "fingerprint"
CONF_ALLOW = "allow"

GUARDED = ("lock", "garage")
"""Kinds of devices that are used only if the options allow them: a misheard word could open the house."""

OPENINGS = frozenset({"garage", "gate", "door"})
"""Device classes of covers through which somebody could come in. Their kind is "garage"."""

SERVICES: Mapping[str, frozenset[str]] = {
    "climate": frozenset({"turn_on", "turn_off", "set_temperature"}),
    "cover": frozenset({"open_cover", "close_cover", "stop_cover", "set_cover_position"}),
    "fan": frozenset({"turn_on", "turn_off", "set_percentage", "increase_speed", "decrease_speed"}),
    "input_boolean": frozenset({"turn_on", "turn_off"}),
    "light": frozenset({"turn_on", "turn_off"}),
    "lock": frozenset({"lock", "unlock"}),
    "media_player": frozenset(
        {
            *("turn_on", "turn_off", "media_play", "media_pause", "media_next_track", "media_previous_track"),
            *("volume_set", "volume_up", "volume_down"),
        }
    ),
    "scene": frozenset({"turn_on"}),
    "script": frozenset({"turn_on", "turn_off"}),
    "sensor": frozenset(),
    "switch": frozenset({"turn_on", "turn_off"}),
}
"""Domains whose entities the server sees, and the services that it may call. It may call no other one."""

ATTRIBUTES = (
    *("brightness", "temperature", "current_temperature", "unit_of_measurement", "device_class"),
    *("volume_level", "min_temp", "max_temp"),
)
"""Attributes that the server uses."""
