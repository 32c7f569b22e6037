"""Hanging name look-ups delay only the host they belong to."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.llm_server import answer, ask, serving

from llm.chat import Token
from llm.errors import LlmError
from llm.name_lookup import NameLookup, use_name_lookup
from llm.openai.chat import OpenAIChat


class FakeResolver:
    """Replaces `socket.getaddrinfo`: names under .hangs do not return until released; .here is this machine."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked: list[str] = []
        self._real = socket.getaddrinfo

    def getaddrinfo(self, host: Any, *rest: Any, **more: Any) -> object:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name.endswith((".hangs", ".here", ".missing")):
            self.asked.append(name)
        if name.endswith(".hangs"):
            self.released.wait(100)
        if name.endswith(".missing"):
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        known = "127.0.0.1" if name.endswith((".hangs", ".here")) else host
        return self._real(known, *rest, **more)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeResolver]:
    server = FakeResolver()
    monkeypatch.setattr(socket, "getaddrinfo", server.getaddrinfo)
    yield server
    server.released.set()


def test_hung_lookups_do_not_delay_a_healthy_endpoint(names: FakeResolver) -> None:
    async def hung(number: int, port: str) -> None:
        model = OpenAIChat(f"hung{number}", f"http://far{number}.hangs:{port}/v1", "m7", connect_timeout_s=0.5)
        try:
            for _ in range(3):
                with pytest.raises(LlmError):
                    await ask(model)
        finally:
            await model.aclose()

    async def run() -> None:
        async with serving(*[answer("Yes.")] * 6) as server:
            port = server.url.split(":")[2].removesuffix("/v1")
            async with asyncio.TaskGroup() as group:
                # More concurrent look-ups than the default pool has threads.
                hanging = [group.create_task(hung(number % 3, port)) for number in range(12)]
                await asyncio.sleep(0.1)
                for _ in range(6):
                    model = OpenAIChat("near", f"http://near.here:{port}/v1", "m7", connect_timeout_s=3.0)
                    said = await ask(model)
                    await model.aclose()
                    assert any(isinstance(event, Token) for event in said)
                await asyncio.wait_for(asyncio.to_thread(int), 5.0)  # the default pool is free
                for task in hanging:
                    task.cancel()

    asyncio.run(run())
    assert sorted(name for name in names.asked if name.endswith(".hangs")) == [f"far{n}.hangs" for n in range(3)]


def test_lookup_of_one_host_is_shared(names: FakeResolver) -> None:
    lookup = NameLookup()

    async def run() -> list[object]:
        asking = [asyncio.ensure_future(lookup.getaddrinfo("a.hangs", port, type=1)) for port in (80, 81, 82)]
        await asyncio.sleep(0.05)
        asking[0].cancel()
        names.released.set()
        return [address for task in asking[1:] for *_, address in await task]

    assert asyncio.run(run()) == [("127.0.0.1", 81), ("127.0.0.1", 82)]
    assert names.asked == ["a.hangs"]


@pytest.mark.usefixtures("names")
def test_hung_lookup_fails_in_time_and_then_at_once() -> None:
    lookup = NameLookup(timeout_s=0.2)

    async def failing_after_s() -> float:
        began_s = time.monotonic()
        with pytest.raises(socket.gaierror, match="from the name server"):
            await lookup.getaddrinfo("a.hangs", 80)
        return time.monotonic() - began_s

    async def run() -> tuple[float, float]:
        return await failing_after_s(), await failing_after_s()

    first_s, second_s = asyncio.run(run())
    assert 0.1 < first_s < 5
    assert second_s < 0.15


@in_event_loop
async def test_host_is_looked_up_again_after_its_lookup_ended(names: FakeResolver) -> None:
    lookup = NameLookup(timeout_s=0.1)
    with pytest.raises(socket.gaierror):
        await lookup.getaddrinfo("a.hangs", 80)
    names.released.set()
    async with asyncio.timeout(10):
        while True:
            try:
                assert await lookup.getaddrinfo("a.hangs", 80)
            except socket.gaierror:
                await asyncio.sleep(0.01)  # the thread is about to end
            else:
                break


@pytest.mark.usefixtures("names")
def test_concurrent_lookups_are_bounded() -> None:
    lookup = NameLookup(max_lookups=2, timeout_s=0.2)

    async def run() -> list[str]:
        asking = [lookup.getaddrinfo(f"{number}.hangs", 80) for number in range(5)]
        return [str(error) for error in await asyncio.gather(*asking, return_exceptions=True)]

    assert sum("are waiting" in error for error in asyncio.run(run())) == 3
    assert sum(thread.name.endswith(".hangs") for thread in threading.enumerate()) <= 5


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", None, b"127.0.0.1"], ids=["IPv4", "IPv6", "no host", "bytes"])
def test_address_needs_no_lookup(host: str | bytes | None) -> None:
    lookup = NameLookup(max_lookups=0)
    assert asyncio.run(lookup.getaddrinfo(host, 80, type=1))


@pytest.mark.usefixtures("names")
@in_event_loop
async def test_missing_host_is_reported() -> None:
    use_name_lookup()
    with pytest.raises(socket.gaierror, match="no such host"):
        await asyncio.open_connection("x.missing", 80)
