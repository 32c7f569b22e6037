"""The doctor says whether the home and the weather answer, and what to do if not."""

import asyncio

import pytest
from support.services.service_server import TOKEN, Reply, ServiceServer, service_server

from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.services import ServiceProbe, probe, services_section
from assistant.config.home_settings import HomeSection, WeatherSection
from assistant.config.settings import Settings

ENVIRON = {"HOME_ASSISTANT_TOKEN": TOKEN}


def probed(service: str, environ: dict[str, str] = ENVIRON, place: str = "", **faults: Reply) -> ServiceProbe:
    async def main() -> ServiceProbe:
        async with service_server() as served:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("assistant.setup.answering.services.FORECAST_URL", f"{served.url}/v1/forecast")
                patch.setattr("assistant.setup.answering.services.GEOCODING_URL", f"{served.url}/v1/search")
                return await probe(settings_of(served, place, faults), environ, service)

    return asyncio.run(main())


def settings_of(served: ServiceServer, place: str, faults: dict[str, Reply]) -> Settings:
    served.faults |= {f"/{path.replace('_', '/')}": reply for path, reply in faults.items()}
    return Settings(home=HomeSection(url=served.url), weather=WeatherSection(enabled=True, place=place))


def test_home_that_answers_is_counted() -> None:
    found = probed("home")
    assert (found.text, found.failure, found.remedy) == ("16 devices in 4 areas", "", "")
    assert found.ms is not None


def test_home_without_areas_is_a_warning() -> None:
    assert probed("home", api_template=Reply(b"", 401)).remedy.startswith("areas are unknown")


def test_wrong_token_is_named_without_its_value() -> None:
    found = probed("home", {"HOME_ASSISTANT_TOKEN": "secret"})
    assert found.failure == "refuses the token (HTTP 401)"
    assert "new long-lived access token" in found.remedy
    assert "secret" not in str(found)


@pytest.mark.parametrize("token", ["", "two words", "ey\nx", "é"])
def test_missing_or_unusable_token_is_fatal(token: str) -> None:
    found = probed("home", {"HOME_ASSISTANT_TOKEN": token})
    assert found.fatal
    assert found.failure.startswith("the environment variable HOME_ASSISTANT_TOKEN")
    assert not token or token not in str(found)


def test_weather_that_answers_is_reported() -> None:
    assert (probed("weather").text, probed("weather", v1_forecast=Reply(b"", 500)).failure) == (
        "it answers",
        "answers with an error (HTTP 500)",
    )


def test_unknown_place_of_the_weather_is_named() -> None:
    assert probed("weather", place="Nowhereville").remedy == "check weather.place"


def test_each_service_has_one_line() -> None:
    unused = services_section(Settings(), {}).findings
    assert [(line.level, line.name) for line in unused] == [
        ("info", "home"),
        ("info", "weather"),
        ("info", "memory"),
    ]
    good = ProbeResult({"text": "3 devices in 1 area", "ms": 12.0})
    bad = ProbeResult({"failure": "is not reachable", "remedy": "start it"})
    lines = services_section(Settings(), {"home": good, "weather": bad}).findings
    assert [(line.level, line.text, line.remedy) for line in lines] == [
        ("ok", "3 devices in 1 area", ""),
        ("fail", "is not reachable", "start it"),
        ("info", "off: memory.enabled turns it on", ""),
    ]
