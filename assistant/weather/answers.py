"""Reads Open-Meteo's answers and makes its requests. Pure."""

import math
from collections.abc import Mapping
from datetime import date
from typing import cast

from assistant.config.home_settings import WeatherUnits
from assistant.weather import Day, Forecast, Now, Place, Sky

DAYS = 8
MAX_PLACES = 5
_MAX_NAME_CHARS = 80
_DOMINANT = 4
"""A place is meant if it has this many times the inhabitants of the next one of the same name."""

_SKIES: Mapping[Sky, tuple[int, ...]] = {
    "clear": (0,),
    "partly": (1, 2),
    "overcast": (3,),
    "fog": (45, 48),
    "drizzle": (51, 53, 55),
    "rain": (61, 63, 65),
    "freezing_rain": (56, 57, 66, 67),
    "snow": (71, 73, 75, 77, 85, 86),
    "showers": (80, 81, 82),
    "thunder": (95, 96, 99),
}
_SKY_OF = {code: sky for sky, codes in _SKIES.items() for code in codes}
"""Open-Meteo's weather codes, which are those of the WMO."""

Fields = Mapping[str, object]


def forecast_query(place: Place, units: WeatherUnits) -> dict[str, str]:
    """Returns the query of a forecast."""
    query = {
        "latitude": f"{place.latitude:.4f}",
        "longitude": f"{place.longitude:.4f}",
        "current": "temperature_2m,apparent_temperature,weather_code",
        "daily": "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max,wind_speed_10m_max",
        "timezone": "auto",
        "forecast_days": str(DAYS),
    }
    return query if units == "metric" else query | {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph"}


def place_query(name: str, language: str) -> dict[str, str]:
    """Returns the query for places of this name."""
    return {"name": name, "count": str(MAX_PLACES), "language": language, "format": "json"}


def places_of(answer: object) -> tuple[Place, ...] | None:
    """Returns the places in an answer, the most likely first; none if there is none; None for another answer."""
    if not isinstance(answer, dict):
        return None
    results = cast("Fields", answer).get("results", [])
    if not isinstance(results, list):
        return None
    places = (_place(result) for result in results[:MAX_PLACES] if isinstance(result, dict))
    return tuple(place for place in places if place is not None)


def meant(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Returns the place that is meant; several if that is not clear."""
    first, *others = places
    rivals = [
        other
        for other in others
        if other.name == first.name
        and (other.region, other.country) != (first.region, first.country)
        and other.population * _DOMINANT > first.population
    ]
    return (first, *rivals)


def forecast_of(answer: object) -> Forecast | None:
    """Returns the forecast in an answer; None for another answer."""
    try:
        fields = cast("Mapping[str, Mapping[str, object]]", answer)
        current, daily = fields["current"], cast("Mapping[str, list[object]]", fields["daily"])
        now = Now(
            _finite(current["temperature_2m"]),
            _finite(current["apparent_temperature"]),
            _sky(current["weather_code"]),
        )
        days = tuple(_day(daily, index) for index in range(min(len(daily["time"]), DAYS)))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None
    return Forecast(now, days) if days else None


def _day(daily: Mapping[str, list[object]], position: int) -> Day:
    chance = daily["precipitation_probability_max"][position]
    return Day(
        date.fromisoformat(str(daily["time"][position])),
        _finite(daily["temperature_2m_min"][position]),
        _finite(daily["temperature_2m_max"][position]),
        None if chance is None else min(max(round(_finite(chance)), 0), 100),
        _finite(daily["wind_speed_10m_max"][position]),
        _sky(daily["weather_code"][position]),
    )


def _finite(value: object) -> float:
    """Returns a number that could be measured. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 1000:
        raise ValueError("no measured number")
    return float(value)


def _sky(code: object) -> Sky:
    return _SKY_OF.get(code, "unknown") if isinstance(code, int) else "unknown"


def _place(result: Fields) -> Place | None:
    name, people = result.get("name"), result.get("population")
    try:
        latitude, longitude = _finite(result.get("latitude")), _finite(result.get("longitude"))
    except ValueError:
        return None
    if not isinstance(name, str) or not name.strip():
        return None
    known = people if isinstance(people, int) and not isinstance(people, bool) else 0
    return Place(
        name.strip()[:_MAX_NAME_CHARS], _text(result, "admin1"), _text(result, "country"), latitude, longitude, known
    )


def _text(result: Fields, key: str) -> str:
    value = result.get(key)
    return value.strip()[:_MAX_NAME_CHARS] if isinstance(value, str) else ""
