"""Asks Open-Meteo for places and forecasts. Uses answers again for some minutes, and joins equal requests."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar, cast

from assistant.config.home_settings import WeatherSection
from assistant.support.json_http import JsonHttp, ServiceFault
from assistant.weather import Forecast, Place
from assistant.weather.answers import forecast_of, forecast_query, place_query, places_of

log = logging.getLogger(__name__)

MAX_KEPT = 64
"""Answers that are kept at most."""
PLACE_KEPT_S = 86_400.0
FORECAST_KEPT_S = 600.0
"""Time for which a forecast is used again, in seconds. Open-Meteo computes a new one each hour."""
MAX_ASKED = 8
"""Requests in progress at the same time."""

T = TypeVar("T")
Key = tuple[str, ...]


@dataclass(slots=True)
class WeatherService:
    """The weather, shared by all conversations. Not thread-safe: call it on the event loop.

    Attributes:
        settings: The section [weather].
        forecasts: The client of the forecast service.
        geocoding: The client of the service that finds places.
    """

    settings: WeatherSection
    forecasts: JsonHttp
    geocoding: JsonHttp
    _kept: "OrderedDict[Key, tuple[float, object]]" = field(default_factory=OrderedDict)
    _asking: "dict[Key, asyncio.Task[object]]" = field(default_factory=dict)

    async def places(self, name: str, language: str) -> tuple[Place, ...]:
        """Returns the places of this name, the most likely first. Raises ServiceFault.

        "Paris Texas" is asked again as "Paris, Texas" if there is no place of the whole name.
        """
        places = await self._places(name, language)
        place, _, region = name.rpartition(" ")
        if not places and place and "," not in name:
            places = await self._places(f"{place}, {region}", language)
        return places

    async def forecast(self, place: Place) -> Forecast:
        """Returns the forecast of a place. Raises ServiceFault."""
        key = ("forecast", f"{place.latitude:.2f}", f"{place.longitude:.2f}")
        return await self._answer(key, FORECAST_KEPT_S, lambda: self._forecast(place))

    async def aclose(self) -> None:
        """Ends the requests and closes the connections."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.forecasts.aclose()
        await self.geocoding.aclose()

    async def _places(self, name: str, language: str) -> tuple[Place, ...]:
        key = ("places", name.casefold(), language)
        return await self._answer(key, PLACE_KEPT_S, lambda: self._ask_places(name, language))

    async def _ask_places(self, name: str, language: str) -> tuple[Place, ...]:
        places = places_of(await self.geocoding.get(query=place_query(name, language)))
        if places is None:
            raise ServiceFault("broken", "answers in an unknown form")
        return places

    async def _forecast(self, place: Place) -> Forecast:
        forecast = forecast_of(await self.forecasts.get(query=forecast_query(place, self.settings.units)))
        if forecast is None:
            raise ServiceFault("broken", "answers in an unknown form")
        return forecast

    async def _answer(self, key: Key, kept_s: float, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """Returns a kept answer, or asks. A dropped attempt does not stop a request that the next one needs."""
        loop = asyncio.get_running_loop()
        at_s, kept = self._kept.get(key, (0.0, None))
        if kept is not None and loop.time() - at_s < kept_s:
            return cast("T", kept)
        task = self._asking.get(key)
        if task is None:
            if len(self._asking) >= MAX_ASKED:
                raise ServiceFault("late", "has too many requests in progress")
            task = self._asking[key] = loop.create_task(self._ask(key, ask()), name="weather")
        answer = await asyncio.shield(task)
        if isinstance(answer, ServiceFault):
            raise answer
        return cast("T", answer)

    async def _ask(self, key: Key, asked: Coroutine[object, object, object]) -> object:
        """Returns the answer, or the fault, which is not kept."""
        try:
            answer = await asked
        except ServiceFault as fault:
            log.warning("the weather service %s", fault)
            return fault
        finally:
            del self._asking[key]
        self._kept[key] = (asyncio.get_running_loop().time(), answer)
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return answer
