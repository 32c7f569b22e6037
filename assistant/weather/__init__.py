"""The weather from a public service: places and forecasts."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

Sky = Literal[
    "clear", "partly", "overcast", "fog", "drizzle", "rain", "freezing_rain", "snow", "showers", "thunder", "unknown"
]


@dataclass(frozen=True, slots=True)
class Place:
    """A place on Earth.

    Attributes:
        name: Its name in the language of the conversation.
        region: Its state or province; "" if unknown.
        country: Its country; "" if unknown.
        latitude: In degrees.
        longitude: In degrees.
        population: 0 if unknown.
    """

    name: str
    region: str
    country: str
    latitude: float
    longitude: float
    population: int = 0


@dataclass(frozen=True, slots=True)
class Now:
    """The weather at this moment, in the units of the settings."""

    degrees: float
    felt: float
    sky: Sky


@dataclass(frozen=True, slots=True)
class Day:
    """The weather of a day, in the units of the settings.

    Attributes:
        date: The date at the place.
        low: Lowest temperature.
        high: Highest temperature.
        rain_percent: Probability of rain or snow; None if unknown.
        wind: Greatest wind speed.
        sky: The most important weather of the day.
    """

    date: date
    low: float
    high: float
    rain_percent: int | None
    wind: float
    sky: Sky


@dataclass(frozen=True, slots=True)
class Forecast:
    """The weather of a place: now, today and the next days in order."""

    now: Now
    days: tuple[Day, ...]
