"""The connection to a home reads its devices and calls services once, and survives every fault."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from support.services.service_server import TOKEN, Reply, ServiceServer, service_server
from support.texts.text_cases import text_cases

from assistant.config.home_settings import HomeSection
from assistant.home import HomeState, ServiceCall
from assistant.home.connection import MAX_ACTIONS, HomeConnection
from assistant.support.json_http import JsonHttp

LIGHT_ON = ServiceCall("light", "turn_on", ("light.kitchen",), (("brightness_pct", 30),))


@asynccontextmanager
async def connected(
    served: ServiceServer,
    token: str = TOKEN,
    timeout_s: float = 2.0,
    *,
    areas: str = "",
    kinds: str = "",
    allow: str = "",
) -> AsyncGenerator[HomeConnection]:
    settings = HomeSection(url=served.url, areas=areas, kinds=kinds, allow=allow)
    home = HomeConnection(settings, JsonHttp(settings.url, timeout_s, token=token))
    try:
        yield home
    finally:
        await home.aclose()


def run(test: Callable[[ServiceServer], Awaitable[None]]) -> None:
    async def main() -> None:
        async with service_server() as served:
            await test(served)

    asyncio.run(main())


def test_devices_have_area_and_floor() -> None:
    async def test(served: ServiceServer) -> None:
        async with connected(served) as home:
            await home.read()
            assert home.state is not None
            devices = {device.id: device for device in home.state.devices}
            kitchen = devices["light.kitchen"]
            assert (kitchen.name, kitchen.area, kitchen.floor) == ("Kitchen light", "Kitchen", "Ground floor")
            assert "lock.front_door" not in devices
            assert "cover.garage" not in devices
            assert not any(device.domain in {"person", "sun", "alarm_control_panel"} for device in devices.values())
            assert home.state.floors == ("Ground floor", "First floor")
            assert {request.token for request in served.requests} == {TOKEN}

    run(test)


def test_allowed_kinds_are_read_and_areas_limit_devices() -> None:
    async def test(served: ServiceServer) -> None:
        async with connected(served, allow="lock garage", areas="bedroom, Attic") as home:
            await home.read()
            assert home.state is not None
            assert {device.area for device in home.state.devices} == {"Bedroom", "Attic"}
        async with connected(served, allow="lock garage", kinds="light") as home:
            await home.read()
            assert home.state is not None
            assert {device.kind for device in home.state.devices} == {"light", "lock", "garage"}

    run(test)


def test_user_without_template_right_gets_names_without_areas() -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/api/template"] = Reply(b"401: Unauthorized", 401)
        async with connected(served) as home:
            await home.read()
            assert home.state is not None
            assert home.fault is None
            assert {device.area for device in home.state.devices} == {""}

    run(test)


@text_cases(
    ("fault", "reply"),
    [
        ("unauthorized", Reply(b"401: Unauthorized", 401)),
        ("unauthorized", Reply(b"", 403)),
        ("not_found", Reply(b"", 404)),
        ("refused", Reply(b"400: Bad Request", 400)),
        ("broken", Reply(b"oops", 500)),
        ("broken", Reply(b"<html>Log in</html>")),
        ("broken", Reply(b'{"message": "API running."}')),
        ("broken", Reply(b"[" * 100_000)),
        ("broken", Reply(b" " * 65536, repeats=100)),
        ("broken", Reply(b"x", headers="content-encoding: gzip\r\n")),
        ("late", Reply(b"[]", after_s=5)),
    ],
    columns=(0, 1),
)
def test_fault_is_named_and_next_reading_recovers(fault: str, reply: Reply) -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/api/states"] = reply
        async with connected(served, timeout_s=0.5) as home:
            await home.read()
            assert (home.fault, home.state) == (fault, None)
            assert TOKEN not in home.fault_text
            served.faults.clear()
            await home.read()
            assert home.fault is None
            assert home.state is not None

    run(test)


def test_unreachable_home_is_a_fault() -> None:
    async def test(served: ServiceServer) -> None:
        settings = HomeSection(url="http://127.0.0.1:9")
        home = HomeConnection(settings, JsonHttp(settings.url, 1.0, token=TOKEN))
        await home.read()
        assert home.fault == "unreachable"
        assert await home.act([LIGHT_ON]) == "unreachable"
        await home.aclose()
        assert not served.requests

    run(test)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed_with_the_token(status: int) -> None:
    async def test(served: ServiceServer) -> None:
        async with service_server() as other:
            where = f"location: {other.url}/api/states\r\n"
            served.faults["/api/"] = Reply(status=status, headers=where)
            async with connected(served) as home:
                await home.read()
                assert home.fault == "broken"
                assert await home.act([LIGHT_ON]) == "broken"
            assert not other.requests

    run(test)


def test_call_is_made_once_and_its_states_are_taken_over() -> None:
    async def test(served: ServiceServer) -> None:
        async with connected(served) as home:
            await home.read()
            assert await home.act([LIGHT_ON]) is None
            assert served.calls == [("light/turn_on", {"entity_id": ["light.kitchen"], "brightness_pct": 30})]
            assert home.state is not None
            assert next(d for d in home.state.devices if d.id == "light.kitchen").state == "on"
            assert next(d for d in home.state.devices if d.id == "light.kitchen").area == "Kitchen"

    run(test)


def test_failed_call_is_not_repeated_and_ends_the_action() -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/api/services"] = Reply(b"", 500)
        async with connected(served) as home:
            assert await home.act([LIGHT_ON, LIGHT_ON]) == "broken"
            assert len(served.calls) == 1

    run(test)


def test_actions_at_the_same_time_are_bounded() -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/api/services"] = Reply(b"[]", after_s=0.2)
        async with connected(served) as home:
            tasks = [home.act([LIGHT_ON]) for _ in range(MAX_ACTIONS + 1)]
            results = await asyncio.gather(*tasks)
            assert results.count("busy") == 1
            assert len(served.calls) == MAX_ACTIONS

    run(test)


def test_background_reading_repeats_and_ends() -> None:
    async def test(served: ServiceServer) -> None:
        async with connected(served) as home:
            loop, prepared = asyncio.get_running_loop(), asyncio.Event()

            def prepare(_state: HomeState) -> None:
                loop.call_soon_threadsafe(prepared.set)

            home.on_state = prepare
            home.start()
            async with asyncio.timeout(5):
                await prepared.wait()
            assert len(served.of("/api/states")) == 1
            home.refresh_soon()  # read a moment ago
            await asyncio.sleep(0.05)
            assert len(served.of("/api/states")) == 1

    run(test)


def test_token_is_in_no_log_line(caplog: pytest.LogCaptureFixture) -> None:
    async def test(served: ServiceServer) -> None:
        served.faults["/api/"] = Reply(b"401: Unauthorized", 401)
        async with connected(served, token="secret-token") as home:
            await home.read()
            await home.act([LIGHT_ON])
        assert "refuses the token" in caplog.text
        assert "secret-token" not in caplog.text
        assert served.url not in caplog.text

    with caplog.at_level("DEBUG"):
        run(test)
