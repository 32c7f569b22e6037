"""The weather service is asked once for the same thing, and every fault of it is named."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import date

import httpx
import pytest
from support.services.service_server import Reply, ServiceServer, recording, service_server
from support.texts.text_cases import text_cases

from assistant.config.home_settings import WeatherSection
from assistant.support.json_http import JsonHttp, ServiceFault
from assistant.weather import Place
from assistant.weather.answers import meant
from assistant.weather.service import MAX_ASKED, MAX_KEPT, WeatherService

PARIS = Place("Paris", "Île-de-France", "France", 48.85341, 2.3488, 2138551)


@asynccontextmanager
async def asked(served: ServiceServer, timeout_s: float = 4.0, **keys: object) -> AsyncGenerator[WeatherService]:
    service = WeatherService(
        WeatherSection(enabled=True, **keys),  # type: ignore[arg-type]
        JsonHttp(f"{served.url}/v1/forecast", timeout_s, max_bytes=100_000),
        JsonHttp(f"{served.url}/v1/search", timeout_s, max_bytes=100_000),
    )
    try:
        yield service
    finally:
        await service.aclose()


def run(test: Callable[[ServiceServer], Awaitable[None]]) -> None:
    async def main() -> None:
        async with service_server() as served:
            await test(served)

    asyncio.run(main())


def test_forecast_has_now_and_days() -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served) as service:
            forecast = await service.forecast(PARIS)
            assert (forecast.now.degrees, forecast.now.sky) == (7.4, "overcast")
            assert (forecast.days[1].date, forecast.days[1].rain_percent) == (date(2026, 11, 27), 12)
            assert forecast.days[-1].rain_percent is None
            (request,) = served.of("/v1/forecast")
            assert request.query["latitude"] == "48.8534"
            assert "temperature_unit" not in request.query
            assert not request.token

    run(test)


def test_units_are_requested() -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served, units="us") as service:
            await service.forecast(PARIS)
            query = served.of("/v1/forecast")[0].query
            assert (query["temperature_unit"], query["wind_speed_unit"]) == ("fahrenheit", "mph")

    run(test)


def test_places_are_in_the_language_and_ambiguous_ones_are_told_apart() -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served) as service:
            paris = await service.places("Paris", "fr")
            assert served.of("/v1/search")[0].query["language"] == "fr"
            assert [place.region for place in meant(paris)] == ["Île-de-France"]
            springfield = await service.places("springfield", "en")
            assert [place.region for place in meant(springfield)] == ["Missouri", "Massachusetts", "Illinois"]

    run(test)


def test_place_is_in_no_log_line(caplog: pytest.LogCaptureFixture) -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served) as service:
            await service.places("springfield", "en")
        async with httpx.AsyncClient() as other:
            await other.get(f"{served.url}/other")

    with caplog.at_level("DEBUG"):
        run(test)
    assert "springfield" not in caplog.text
    assert "HTTP Request: GET" in caplog.text, "requests to others are logged"


def test_region_after_the_place_is_asked_with_a_comma() -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served) as service:
            assert await service.places("paris texas", "en") == ()
            assert [request.query["name"] for request in served.of("/v1/search")] == ["paris texas", "paris, texas"]

    run(test)


def test_answers_are_kept_and_asked_once_at_the_same_time() -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served) as service:
            await asyncio.gather(*(service.forecast(PARIS) for _ in range(5)))
            await service.forecast(PARIS)
            assert len(served.of("/v1/forecast")) == 1

    run(test)


def test_dropped_question_does_not_stop_the_request() -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/v1/forecast"] = Reply(recording("weather_forecast"), after_s=0.2)
        async with asked(served) as service:
            first = asyncio.get_running_loop().create_task(service.forecast(PARIS))
            await asyncio.sleep(0.05)
            first.cancel()
            assert (await service.forecast(PARIS)).days
            assert len(served.of("/v1/forecast")) == 1

    run(test)


def test_kept_answers_are_bounded() -> None:
    async def test(served: ServiceServer) -> None:
        async with asked(served) as service:
            for number in range(MAX_KEPT + 3):
                await service.places(f"place{number}", "en")
            assert len(service._kept) == MAX_KEPT

    run(test)


def test_requests_at_the_same_time_are_bounded() -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/v1/search"] = Reply(recording("weather_none"), after_s=0.2)
        async with asked(served) as service:
            asks = [service.places(f"place{number}", "en") for number in range(MAX_ASKED + 1)]
            results = await asyncio.gather(*asks, return_exceptions=True)
            assert sum(isinstance(result, ServiceFault) for result in results) == 1

    run(test)


@text_cases(
    ("kind", "reply"),
    [
        ("broken", Reply(b"oops", 500)),
        ("refused", Reply(b'{"error": true, "reason": "Cannot initialize"}', 400)),
        ("refused", Reply(b"", 429)),
        ("broken", Reply(b"{")),
        ("broken", Reply(b"[]")),
        ("broken", Reply(b'{"current": {}, "daily": {"time": ["2026-11-26"]}}')),
        ("broken", Reply(recording("weather_forecast").replace(b"7.4", b"1e999"))),
        ("broken", Reply(b" " * 65536, repeats=10)),
        ("broken", Reply(status=302, headers="location: http://127.0.0.1:9/\r\n")),
        ("late", Reply(b"{}", after_s=5)),
    ],
    columns=(0, 1),
)
def test_fault_is_named_and_not_kept(kind: str, reply: Reply) -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/v1/forecast"] = reply
        async with asked(served, timeout_s=0.5) as service:
            with pytest.raises(ServiceFault) as fault:
                await service.forecast(PARIS)
            assert fault.value.kind == kind
            served.faults.clear()
            assert (await service.forecast(PARIS)).days

    run(test)


@pytest.mark.parametrize("answer", [b"{}", b'{"results": []}', b'{"results": [1, {"name": "x"}, {"name": 5}]}'])
def test_answer_without_a_usable_place_has_none(answer: bytes) -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/v1/search"] = Reply(answer)
        async with asked(served) as service:
            assert await service.places("nowhere", "en") == ()

    run(test)
