"""Tool with which the language model asks for the weather."""

import json
from collections.abc import Callable

from assistant.support.json_http import ServiceFault
from assistant.tools import ToolError
from assistant.weather import Day
from assistant.weather.answers import meant
from assistant.weather.service import WeatherService
from llm.chat import Function

MAX_PLACE_CHARS = 80

WEATHER = Function(
    "weather",
    "Tells the weather of a place now and for the next seven days.",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "place": {
                    "type": "string",
                    "description": "A town, with region or country after a comma if needed; empty: the user's place",
                }
            },
        }
    ),
)


class WeatherTools:
    """Implements `Tools` with one function. Its result has numbers and known words, but no text of the service."""

    functions = (WEATHER,)

    def __init__(self, service: WeatherService, language: Callable[[], str]) -> None:
        """`language`: returns that of the conversation, in which places are named."""
        self._service = service
        self._language = language

    async def call(self, name: str, arguments: str) -> str:
        """See `Tools`."""
        if name != WEATHER.name:
            raise ToolError("there is no tool of that name")
        place = json.loads(arguments).get("place") or self._service.settings.place
        if not isinstance(place, str) or not place:
            raise ToolError("no place is known: ask the user for one")
        if len(place) > MAX_PLACE_CHARS:
            raise ToolError(f"not done: place must be a name of at most {MAX_PLACE_CHARS} characters")
        try:
            places = await self._service.places(place, self._language())
            if not places:
                raise ToolError("there is no such place: ask the user")
            if len(meant(places)) > 1:
                raise ToolError("there are several such places: ask the user for the region or country")
            forecast = await self._service.forecast(places[0])
        except ServiceFault as fault:
            raise ToolError(f"the weather service {fault}") from None
        metric = self._service.settings.units == "metric"
        degrees, speed = ("Celsius", "km/h") if metric else ("Fahrenheit", "mph")
        now = forecast.now
        head = f"now: {now.degrees:g} degrees {degrees}, feels like {now.felt:g}, {now.sky}"
        return "\n".join([head, *(_line(day, speed) for day in forecast.days)])

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """See `Tools`."""
        return lambda: None


def _line(day: Day, speed: str) -> str:
    chance = "unknown" if day.rain_percent is None else f"{day.rain_percent} %"
    return (
        f"{day.date:%A %Y-%m-%d}: {day.low:g} to {day.high:g} degrees, {day.sky}, rain {chance}, "
        f"wind up to {day.wind:g} {speed}"
    )
