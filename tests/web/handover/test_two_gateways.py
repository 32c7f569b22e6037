"""Conversations that continue at another gateway: real servers, a real Redis, scripted engines."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from support.servers.gateways import SECRET, TRACED, SharedRedis, gateway, handovers, loader, repartee_of, texts_of
from support.servers.proxies import HOST
from support.servers.redis_process import RedisProcess, running_redis
from support.servers.session_server import RecordingClient, SessionServer, connected_client, eventually
from websockets.exceptions import ConnectionClosed, InvalidStatus

from assistant.history.history import HistorySnapshot
from assistant.skills.answers import PauseTimers, SetTimer
from assistant.skills.timers.timers import Timer, Timers
from audio.errors import EngineLoadError
from web.handover import handovers as handovers_module
from web.handover import session_snapshot
from web.handover.claims import Claimed
from web.handover.keeper import REACHABLE, UNREACHABLE
from web.handover.snapshot import Snapshot

QUESTION, ANSWER = "what time is it?", "It is ten o'clock."
TEN = "One two three. Four five six. Seven eight nine. Ten."
"""2 s."""


@dataclass(slots=True)
class HeldBegin:
    """Holds a claimed conversation before it begins.

    Attributes:
        reached: Set when there is one.
        go_on: To be set to let it begin.
    """

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture(autouse=True)
def _renew_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_snapshot, "RENEW_EVERY_S", 0.1)
    monkeypatch.setattr(handovers_module, "WATCH_EVERY_S", 0.2)


async def ask(client: RecordingClient, turns: int = 1) -> None:
    """Has one turn."""
    await client.send("session.update", session=TRACED)
    await client.ask(QUESTION, until="repartee.trace", count=turns)


def stored(redis: SharedRedis, token: str, turns: int = 1) -> bool:
    """Returns whether this many turns could be continued elsewhere."""
    return redis.texts(token) == [QUESTION, ANSWER] * turns


async def test_client_continues_its_conversation_at_another_gateway(redis_url: str, tmp_path: Path) -> None:
    redis, engines = SharedRedis(redis_url), loader(tmp_path / "b")
    async with gateway(loader(tmp_path / "a"), redis_url) as a, gateway(engines, redis_url) as b:
        async with connected_client(a) as first:
            await first.send("session.update", session={**TRACED, "instructions": "Be brief."})
            await ask(first)
            await eventually(lambda: stored(redis, first.token))
            first.break_connection()
        async with connected_client(b, resume=first.token) as second:
            created = second.events_of("session.created")[0]["session"]
            assert created["repartee"]["resumed"] is True
            assert created["repartee"]["heard_ms"] == 0
            assert created["repartee"]["events"] is True
            assert created["instructions"] == "Be brief."
            assert created["id"] == first.events_of("session.created")[0]["session"]["id"]
            assert second.token == first.token
            await second.until("conversation.item.done", 2)
            assert texts_of(second) == [QUESTION, ANSWER]
            await ask(second)
            said = [message.content for message in engines.models[0].asked[0]]
            assert said == ["Be brief.", QUESTION, ANSWER, QUESTION]
            assert second.events_of("response.created")[0]["response"]["id"].endswith("_2_1")
            items = [event["item"]["id"] for event in second.events_of("conversation.item.done")]
            assert len(items) == len(set(items))
        # The first gateway notices it, and does not keep a conversation that nobody can resume there.
        await eventually(lambda: a.limits.current == 0)
        assert b.value("repartee_handovers_total", outcome="continued") == 1


async def test_connection_left_at_the_first_gateway_is_closed(redis_url: str, tmp_path: Path) -> None:
    redis = SharedRedis(redis_url)
    async with (
        gateway(loader(tmp_path / "a"), redis_url) as a,
        gateway(loader(tmp_path / "b"), redis_url) as b,
        connected_client(a) as first,
    ):
        await ask(first)
        await eventually(lambda: stored(redis, first.token))
        async with connected_client(b, resume=first.token) as second:
            assert repartee_of(second)["resumed"] is True
            close = await first.until_closed()
            assert close.reason.startswith("session_resumed")
            assert b.connections.resumable(first.token)


@pytest.fixture
def held_begin(monkeypatch: pytest.MonkeyPatch) -> HeldBegin:
    held, begin = HeldBegin(), Claimed.begin

    async def wait_and_begin(claimed: Claimed) -> None:
        held.reached.set()
        await held.go_on.wait()
        await begin(claimed)

    monkeypatch.setattr(Claimed, "begin", wait_and_begin)
    return held


async def refused(server: SessionServer, token: str) -> str:
    """Connects with a resume token to a server that refuses it; returns the code and the close code."""
    with pytest.raises(ConnectionClosed) as closed:
        async with connected_client(server, resume=token):
            pass
    assert closed.value.rcvd is not None
    return f"{closed.value.rcvd.reason.partition(':')[0]} {closed.value.rcvd.code}"


async def test_of_two_connections_that_resume_at_once_one_is_asked_to_try_again(
    redis_url: str, tmp_path: Path, held_begin: HeldBegin
) -> None:
    redis, engines = SharedRedis(redis_url), loader(tmp_path / "b")
    async with gateway(loader(tmp_path / "a"), redis_url) as a, gateway(engines, redis_url) as b:
        async with connected_client(a) as first:
            await ask(first)
            await eventually(lambda: stored(redis, first.token))
            first.break_connection()

        async def resume() -> None:
            async with connected_client(b, resume=first.token) as winner:
                assert repartee_of(winner)["resumed"] is True
                # The next connection takes over, as at one gateway, and needs no slot.
                async with connected_client(b, resume=first.token) as second:
                    assert repartee_of(second)["resumed"] is True
                    assert b.limits.current == 1
                    await ask(second)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(resume())
            await held_begin.reached.wait()
            assert await refused(b, first.token) == "session_resuming 1013"
            await eventually(lambda: b.limits.current == 1)
            held_begin.go_on.set()
        assert b.value("repartee_sessions_refused_total", reason="session_resuming") == 1
        assert b.value("repartee_handovers_total", outcome="continued") == 1


async def test_client_that_returns_to_the_first_gateway_meanwhile_stays_there(
    redis_url: str, tmp_path: Path, held_begin: HeldBegin
) -> None:
    redis = SharedRedis(redis_url)
    async with gateway(loader(tmp_path / "a"), redis_url) as a, gateway(loader(tmp_path / "b"), redis_url) as b:
        async with connected_client(a) as first:
            await ask(first)
            await eventually(lambda: stored(redis, first.token))
            first.break_connection()
        async with asyncio.TaskGroup() as tasks:
            elsewhere = tasks.create_task(refused(b, first.token))
            await held_begin.reached.wait()
            async with connected_client(a, resume=first.token) as again:
                assert repartee_of(again)["resumed"] is True
                held_begin.go_on.set()
                assert await elsewhere == "session_resuming 1013"
                await ask(again)
                await eventually(lambda: stored(redis, first.token, 2))
        await eventually(lambda: b.limits.current == 0)


async def test_reply_in_progress_is_cut_at_the_words_heard(redis_url: str, tmp_path: Path) -> None:
    redis, engines = SharedRedis(redis_url), loader(tmp_path / "a")
    engines.answers = (TEN,)
    async with gateway(engines, redis_url) as a, gateway(loader(tmp_path / "b"), redis_url) as b:
        async with connected_client(a) as first:
            await first.ask("count", until="response.output_audio.delta", count=5)
            first.break_connection()
        await eventually(lambda: len(a.connections.waiting) == 1)
        await eventually(lambda: len(redis.texts(first.token)) == 2)
        async with connected_client(b, resume=first.token) as second:
            await second.until("conversation.item.done", 2)
            asked, heard = texts_of(second)
            assert asked == "count"
            assert TEN.startswith(heard)
            assert heard != TEN
            answered = second.events_of("conversation.item.done")[1]["item"]
            assert answered["status"] == "incomplete"


async def test_gateway_that_stops_hands_its_conversations_over(redis_url: str, tmp_path: Path) -> None:
    async with (
        gateway(loader(tmp_path / "b"), redis_url) as b,
        gateway(loader(tmp_path / "a"), redis_url) as a,
        connected_client(a) as first,
    ):
        await ask(first)
        a.server.should_exit = True
        close = await first.until_closed()
        assert close.code == 1012
        # It was written before the connection was closed.
        async with connected_client(b, resume=first.token) as second:
            assert repartee_of(second)["resumed"] is True
            await second.until("conversation.item.done", 2)
            assert texts_of(second) == [QUESTION, ANSWER]


async def test_conversation_that_ended_cannot_be_resumed_anywhere(redis_url: str, tmp_path: Path) -> None:
    redis = SharedRedis(redis_url)
    async with gateway(loader(tmp_path / "a"), redis_url) as a, gateway(loader(tmp_path / "b"), redis_url) as b:
        async with connected_client(a) as first:
            await ask(first)
            await eventually(lambda: stored(redis, first.token))
        await eventually(lambda: a.limits.current == 0)
        assert all(key.startswith(b"repartee:ended:") for key in redis.client.keys("*"))
        async with connected_client(b, resume=first.token) as second:
            assert repartee_of(second)["resumed"] is False
            assert second.token != first.token
        assert b.value("repartee_handovers_total", outcome="none") == 1


async def test_conversation_stays_claimable_if_no_engine_could_be_loaded(redis_url: str, tmp_path: Path) -> None:
    def fail() -> None:
        raise EngineLoadError("no memory")

    engines = loader(tmp_path / "b")
    async with gateway(engines, redis_url) as b, connected_client(b):  # it has the engines that were ready
        snapshot = Snapshot("sess_1", b.connections.initial_config("voice"), HistorySnapshot())
        kept = handovers(redis_url)
        assert await kept.save("token", "owner", snapshot) == "kept"
        engines.fails = fail
        with pytest.raises(ConnectionClosed):
            async with connected_client(b, resume="token"):
                pass
        assert b.limits.current == 1
        assert await kept.claim("token", "next") == snapshot
        assert b.value("repartee_handovers_total", outcome="continued") == 0
        await kept.aclose()


async def test_timers_of_the_conversation_run_on_at_another_gateway(redis_url: str, tmp_path: Path) -> None:
    def timers(server: SessionServer, token: str) -> Timers:
        session = server.connections._conversations[token].realtime_session.session
        found = session.engines.skill_effects.timers
        assert isinstance(found, Timers)
        return found

    loop, redis = asyncio.get_running_loop(), SharedRedis(redis_url)
    async with gateway(loader(tmp_path / "a"), redis_url) as a, gateway(loader(tmp_path / "b"), redis_url) as b:
        async with connected_client(a) as first:
            timers(a, first.token).apply(SetTimer(600, "tea", "The tea is ready."), loop.time())
            timers(a, first.token).apply(SetTimer(900, "eggs", "The eggs are ready."), loop.time())
            timers(a, first.token).apply(PauseTimers((2,)), loop.time())
            due_s = loop.time() + 600
            await ask(first)
            await eventually(lambda: stored(redis, first.token))
            first.break_connection()
        async with connected_client(b, resume=first.token):
            tea, eggs = timers(b, first.token).entries
            assert isinstance(tea, Timer)
            assert isinstance(eggs, Timer)
            assert (tea.set_to.name, tea.set_to.announcement) == ("tea", "The tea is ready.")
            assert abs(tea.due_s - due_s) < 30
            assert eggs.left_s is not None
            timers(b, first.token).apply(SetTimer(60, None, "Time is up."), loop.time())
            assert [one.number for one in timers(b, first.token).entries] == [1, 2, 3]


async def secret_of(server: SessionServer) -> str:
    """Returns a new client secret of a server that requires the token."""
    async with httpx.AsyncClient() as http:
        made = await http.post(
            f"{server.openai}/realtime/client_secrets",
            json={"session": {"type": "realtime", "instructions": "Be brief."}},
            headers={"Authorization": f"Bearer {SECRET}"},
        )
    return str(made.json()["value"])


async def test_client_secret_is_valid_at_every_gateway(redis_url: str, tmp_path: Path) -> None:
    redis = SharedRedis(redis_url)
    async with (
        gateway(loader(tmp_path / "a"), redis_url, behind=HOST) as a,
        gateway(loader(tmp_path / "b"), redis_url, behind=HOST) as b,
    ):
        secret = await secret_of(a)
        async with connected_client(b, {"Authorization": f"Bearer {secret}"}) as client:
            assert client.events_of("session.created")[0]["session"]["instructions"] == "Be brief."
        (key,) = redis.client.keys("repartee:secret:*")
        assert 0 < redis.client.ttl(key) <= 600
        assert secret.encode() not in key + redis.client.get(key)
        assert b"brief" not in redis.client.get(key)
        # One that was changed or has expired is refused, and so is one that nobody has issued.
        for content in (b"x" * 60, b""):
            redis.client.set(key, content) if content else redis.client.delete(key)
            with pytest.raises(InvalidStatus) as refused:
                async with connected_client(b, {"Authorization": f"Bearer {secret}"}):
                    pass
            assert refused.value.response.status_code == 401
        async with connected_client(a, {"Authorization": f"Bearer {secret}"}) as client:
            assert client.token


async def test_guest_stays_a_guest_at_another_gateway(redis_url: str, tmp_path: Path) -> None:
    redis = SharedRedis(redis_url)
    async with (
        gateway(loader(tmp_path / "a"), redis_url, behind=HOST) as a,
        gateway(loader(tmp_path / "b"), redis_url, behind=HOST) as b,
    ):
        guest = {"Authorization": f"Bearer {await secret_of(a)}"}
        async with connected_client(a, guest) as first:
            await ask(first)
            await eventually(lambda: stored(redis, first.token))
            first.break_connection()
        async with connected_client(b, guest, resume=first.token) as second:
            assert second.events_of("session.created")[0]["session"]["instructions"] == "Be brief."
            await ask(second)
            await eventually(lambda: stored(redis, first.token, 2))
            snapshot = redis.snapshot(first.token)
            assert snapshot is not None
            assert snapshot.is_guest


# ---- a Redis that fails ----


async def test_conversations_continue_here_while_redis_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def lose_redis(server: SessionServer, redis: RedisProcess) -> str:
        async with connected_client(server) as client:
            await ask(client)
            await eventually(lambda: stored(SharedRedis(redis.url), client.token))
            redis.kill()
            await ask(client, 2)
            await client.until("repartee.notice")
            assert client.events_of("repartee.notice")[0]["text"] == UNREACHABLE
            assert server.value("repartee_errors_total", where="handover") > 0
            async with httpx.AsyncClient() as http:
                ready = await http.get(f"http://127.0.0.1:{server.port}/readyz")
            assert (ready.status_code, ready.json()["handover"]) == (200, "failing")
            client.break_connection()
            return client.token

    with running_redis(tmp_path) as redis:
        url = redis.url
        async with gateway(loader(tmp_path / "a"), url) as a, gateway(loader(tmp_path / "b"), url) as b:
            token = await lose_redis(a, redis)
            async with connected_client(b, resume=token) as other:
                assert repartee_of(other)["resumed"] is False
            assert b.value("repartee_handovers_total", outcome="unreachable") == 1
            async with connected_client(a, resume=token) as again:
                assert repartee_of(again)["resumed"] is True
                await again.until("conversation.item.done", 4)
                assert texts_of(again) == [QUESTION, ANSWER] * 2
    said = [record.getMessage() for record in caplog.records if record.name == "web.handover.handovers"]
    assert len(said) == 2, "each gateway says it once"
    assert "redis.sock" not in "".join(said)


async def test_redis_that_does_not_answer_delays_no_turn(tmp_path: Path) -> None:
    with running_redis(tmp_path) as redis:
        engines = loader(tmp_path / "a")
        async with gateway(engines, redis.url, timeout_s=2.0) as a, connected_client(a) as first:
            await ask(first)
            await eventually(lambda: stored(SharedRedis(redis.url), first.token))
            redis.freeze()
            await ask(first, 2)
            assert first.events_of("repartee.notice") == [], "the turn is over before the time limit of Redis"
            # A connection that wants to resume waits for the time limit, then begins anew.
            async with connected_client(a, resume="unknown") as other:
                assert repartee_of(other)["resumed"] is False
            await first.until("repartee.notice")
            redis.thaw()
            await first.until("repartee.notice", 2)
            assert [event["text"] for event in first.events_of("repartee.notice")[:2]] == [UNREACHABLE, REACHABLE]
            await eventually(lambda: stored(SharedRedis(redis.url), first.token, 2))
