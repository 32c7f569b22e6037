"""Sections of config.toml for the home and the weather; see `assistant/config/settings.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from assistant.config.keys import ConfigSection, has_host
from declarations.settings import KeyInfo

_ADDRESS = r"(https?://[^\s/?#@]+(/[^\s?#]*)?)?"
_ADDRESS_FORM = "an http:// or https:// address without a user name or password"

WeatherUnits = Literal["metric", "us"]

KINDS = ("light", "switch", "climate", "fan", "cover", "media", "scene", "script", "sensor")
"""Kinds of devices that are used if `home.kinds` is empty."""

GUARDED = ("lock", "garage")
"""Kinds of devices that are used only if `home.allow` names them. Alarm systems are never used."""


@dataclass(frozen=True, slots=True)
class HomeSection(ConfigSection):
    """A home with Home Assistant: lights, heating, scenes and media (docs/skills.md)."""

    url: Annotated[
        str,
        KeyInfo(
            "Address of Home Assistant, as in http://homeassistant.local:8123; empty: no home.",
            pattern=_ADDRESS,
            form=f"{_ADDRESS_FORM}, or empty",
            private=True,
        ),
    ] = ""
    token_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that holds a long-lived access token of Home Assistant.",
            pattern=r"[A-Za-z_][A-Za-z0-9_]*",
            form="the name of an environment variable that holds the token (not the token itself)",
            private=True,
        ),
    ] = "HOME_ASSISTANT_TOKEN"  # noqa: S105 - its name
    areas: Annotated[
        str,
        KeyInfo(
            "Areas and floors whose devices are used, named as in Home Assistant, separated by commas; empty: all."
        ),
    ] = ""
    kinds: Annotated[
        str,
        KeyInfo(
            "Kinds of devices that are used; empty: all of these.",
            pattern=rf"\s*({'|'.join(KINDS)})?(\s+({'|'.join(KINDS)}))*\s*",
            form=f"some of {', '.join(KINDS)}, separated by blanks, or empty",
        ),
    ] = ""
    allow: Annotated[
        str,
        KeyInfo(
            "Kinds of devices that are used only if they are named here, because a misheard word could open the house.",
            pattern=rf"\s*({'|'.join(GUARDED)})?(\s+({'|'.join(GUARDED)}))*\s*",
            form=f"some of {', '.join(GUARDED)}, separated by blanks, or empty",
        ),
    ] = ""

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        if self.url and not has_host(self.url):
            raise ValueError("url must be an address with a host and, optionally, a port from 1 to 65535")

    @property
    def used_kinds(self) -> frozenset[str]:
        """The kinds of devices that are used."""
        return frozenset((*(self.kinds.split() or KINDS), *self.allow.split()))

    @property
    def used_areas(self) -> tuple[str, ...]:
        """The names of the areas and floors whose devices are used; empty: all."""
        return tuple(name.strip() for name in self.areas.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class WeatherSection(ConfigSection):
    """Weather from the internet service Open-Meteo, which needs no key."""

    enabled: Annotated[
        bool, KeyInfo("Whether Open-Meteo is asked for the weather. It learns the place that the user names.")
    ] = False
    place: Annotated[
        str,
        KeyInfo("Place of the weather if the user names none, as in Graz or Paris, Texas; empty: the assistant asks."),
    ] = ""
    units: Annotated[
        WeatherUnits, KeyInfo("metric: degrees Celsius and km/h; us: degrees Fahrenheit and miles per hour.")
    ] = "metric"
