"""The language model reads and changes the home and asks for the weather, within the limits of the configuration."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from support.services.quiet_home import QuietHome
from support.services.service_server import TOKEN, Reply, ServiceServer, service_server
from support.texts.text_cases import text_cases

from assistant.config.home_settings import HomeSection, WeatherSection
from assistant.home import Device, HomeState
from assistant.home.connection import HomeConnection
from assistant.support.json_http import JsonHttp
from assistant.tools import ToolError
from assistant.tools.home_tools import HomeTools
from assistant.tools.weather_tools import WeatherTools
from assistant.weather.service import WeatherService


def run_home(test: Callable[[HomeTools, ServiceServer], Awaitable[None]], allow: str = "") -> None:
    async def main() -> None:
        async with service_server() as served:
            settings = HomeSection(url=served.url, allow=allow)
            home = HomeConnection(settings, JsonHttp(settings.url, 1.0, token=TOKEN))
            await home.read()
            try:
                await test(HomeTools(lambda: home), served)
            finally:
                await home.aclose()

    asyncio.run(main())


def test_devices_are_listed_by_area() -> None:
    async def test(tools: HomeTools, _served: ServiceServer) -> None:
        listed = (await tools.call("home_devices", '{"area": "kitchen"}')).splitlines()
        assert listed[0] == "light.kitchen | Kitchen light | light | Kitchen | off"
        assert len(listed) == 4
        every = await tools.call("home_devices", "{}")
        assert "climate.bedroom | Bedroom heating | climate | Bedroom | heat, 18.9 degrees, set to 18" in every
        assert "sensor.bedroom_temperature | Bedroom temperature | sensor | Bedroom | 19.4 °C" in every
        assert "lock.front_door" not in every
        assert await tools.call("home_devices", '{"area": "nowhere"}') == "no devices"

    run_home(test)


async def test_model_is_told_the_room_and_all_names() -> None:
    lamp = Device("light.lamp", "Lamp", "on", "light", "Living Room", aliases=("Moon",))
    fan = Device("fan.fan", "Fan", "off", "fan", "Kitchen")
    state = HomeState((lamp, fan), ("Living Room", "Kitchen"), place_aliases={"Living Room": ("Lounge",)})
    home, room = QuietHome(state), "Kitchen"
    tools = HomeTools(lambda: home, lambda: room)
    every = await tools.call("home_devices", "{}")
    lines = ["light.lamp | Lamp, Moon | light | Living Room | on", "fan.fan | Fan | fan | Kitchen | off"]
    assert every.splitlines() == ["the user is in: Kitchen", *lines]
    room = ""
    assert await tools.call("home_devices", '{"area": "lounge"}') == lines[0]


def test_devices_are_changed_once() -> None:
    async def test(tools: HomeTools, served: ServiceServer) -> None:
        ids = ["light.kitchen", "light.kitchen", "switch.coffee"]
        assert await tools.call("home_control", json.dumps({"ids": ids, "action": "turn_on"})) == "done"
        volume = {"ids": ["media_player.kitchen"], "action": "set_volume_percent", "value": 35}
        assert await tools.call("home_control", json.dumps(volume)) == "done"
        assert served.calls == [
            ("light/turn_on", {"entity_id": ["light.kitchen"]}),
            ("switch/turn_on", {"entity_id": ["switch.coffee"]}),
            ("media_player/volume_set", {"entity_id": ["media_player.kitchen"], "volume_level": 0.35}),
        ]

    run_home(test)


@text_cases(
    ("reason", "arguments"),
    [
        ("action must be one of", {"ids": ["light.kitchen"], "action": "explode"}),
        ("action must be one of", {"ids": ["light.kitchen"]}),
        ("action must be one of", {"ids": ["light.kitchen"], "action": ["turn_on"]}),
        ("ids must be a list", {"ids": [], "action": "turn_on"}),
        ("ids must be a list", {"ids": "light.kitchen", "action": "turn_on"}),
        ("ids must be a list", {"ids": ["light.kitchen"] * 51, "action": "turn_on"}),
        ("unknown or not allowed", {"ids": ["light.sofa"], "action": "turn_on"}),
        ("unknown or not allowed", {"ids": [{}], "action": "turn_on"}),
        ("unknown or not allowed", {"ids": ["lock.front_door"], "action": "unlock"}),
        ("unknown or not allowed", {"ids": ["cover.garage"], "action": "open"}),
        ("unknown or not allowed", {"ids": ["alarm_control_panel.house"], "action": "turn_off"}),
        ("only for light", {"ids": ["switch.coffee"], "action": "set_brightness_percent", "value": 5}),
        ("value must be a number from 0 to 100", {"ids": ["light.kitchen"], "action": "set_brightness_percent"}),
        (
            "value must be a number from 0 to 100",
            {"ids": ["light.kitchen"], "action": "set_brightness_percent", "value": 101},
        ),
        (
            "value must be a number from 0 to 100",
            {"ids": ["light.kitchen"], "action": "set_brightness_percent", "value": True},
        ),
    ],
    columns=(0, 1),
)
def test_call_outside_of_the_limits_changes_nothing(reason: str, arguments: dict[str, object]) -> None:
    async def test(tools: HomeTools, served: ServiceServer) -> None:
        with pytest.raises(ToolError, match=reason):
            await tools.call("home_control", json.dumps(arguments))
        assert not served.calls

    run_home(test)


def test_allowed_lock_is_used() -> None:
    async def test(tools: HomeTools, served: ServiceServer) -> None:
        await tools.call("home_control", '{"ids": ["lock.front_door"], "action": "lock"}')
        assert served.calls == [("lock/lock", {"entity_id": ["lock.front_door"]})]

    run_home(test, allow="lock")


def test_failure_is_told_to_the_model() -> None:
    async def test(tools: HomeTools, served: ServiceServer) -> None:
        served.faults["/api/services"] = Reply(b"", 500)
        with pytest.raises(ToolError, match="the home failed"):
            await tools.call("home_control", '{"ids": ["light.kitchen"], "action": "turn_on"}')

    run_home(test)


def test_user_who_may_not_use_the_home_has_no_home_tools() -> None:
    tools = HomeTools(lambda: None)
    assert tools.functions == ()
    with pytest.raises(ToolError):
        asyncio.run(tools.call("home_devices", "{}"))


def weather(arguments: str, place: str = "", **faults: Reply) -> str:
    async def main() -> str:
        async with service_server() as served:
            served.faults |= {f"/v1/{name}": reply for name, reply in faults.items()}
            clients = (JsonHttp(f"{served.url}/v1/forecast", 1.0), JsonHttp(f"{served.url}/v1/search", 1.0))
            service = WeatherService(WeatherSection(place=place), clients[0], clients[1])
            try:
                return await WeatherTools(service, lambda: "en").call("weather", arguments)
            finally:
                await service.aclose()

    return asyncio.run(main())


def test_weather_has_numbers_for_each_day() -> None:
    lines = weather('{"place": "Paris"}').splitlines()
    assert lines[0] == "now: 7.4 degrees Celsius, feels like 4.6, overcast"
    assert lines[1] == "Thursday 2026-11-26: 4.2 to 9.1 degrees, rain, rain 78 %, wind up to 22.3 km/h"
    assert lines[8].endswith("rain unknown, wind up to 18 km/h")
    assert weather("{}", place="Paris").splitlines() == lines


@text_cases(
    ("reason", "arguments"),
    [
        ("no place is known", "{}"),
        ("no place is known", '{"place": 5}'),
        ("at most 80 characters", json.dumps({"place": "x" * 81})),
        ("no such place", '{"place": "Atlantis"}'),
        ("several such places", '{"place": "Springfield"}'),
    ],
    columns=(0, 1),
)
def test_wrong_place_is_told_to_the_model(reason: str, arguments: str) -> None:
    with pytest.raises(ToolError, match=reason):
        weather(arguments)


def test_fault_of_the_weather_is_told_to_the_model() -> None:
    with pytest.raises(ToolError, match="HTTP 503"):
        weather('{"place": "Paris"}', forecast=Reply(b"", 503))
