"""Time limits and close notices of connections; in virtual time, without a socket."""

import asyncio
import json
import logging
from collections.abc import Callable

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect
from support.clocks.virtual_time import run_virtual
from support.servers.web_server import Converse, ScriptedConversations, ScriptedEnginePool
from uvicorn.protocols.utils import ClientDisconnected

from web.limits.admission import Admission
from web.limits.session_acceptor import DRAIN_STEP_S, MAX_WAITING, SLOT_TIMEOUT_S, SessionAcceptor, busy_while
from web.limits.session_limits import CloseNotice, LoadLimit, SessionLimits, busy
from web.observation.load_estimate import LoadEstimate
from web.observation.metrics import Metrics

pytestmark = pytest.mark.virtual_time


class Client:
    """The client of a connection: its messages, and what the server sent."""

    def __init__(self, *offered: str, query: str = "") -> None:
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.inbox.put_nowait({"type": "websocket.connect"})
        self.sent: list[Message] = []
        self.reads = True
        self.scope = {
            "type": "websocket", "headers": [], "path": "/v1/realtime", "query_string": query.encode(),
            "subprotocols": list(offered),
        }  # fmt: skip

    def says(self, text: str) -> None:
        self.inbox.put_nowait({"type": "websocket.receive", "text": text})

    def leaves(self) -> None:
        self.inbox.put_nowait({"type": "websocket.disconnect", "code": 1000})

    async def send(self, message: Message) -> None:
        if not self.reads:
            await asyncio.Event().wait()
        self.sent.append(message)

    @property
    def codes(self) -> list[str]:
        """Codes of the `error` events."""
        events = [json.loads(message["text"]) for message in self.sent if message["type"] == "websocket.send"]
        return [event["error"]["code"] for event in events if event["type"] == "error"]

    @property
    def closed(self) -> int | None:
        return self.sent[-1]["code"] if self.sent[-1]["type"] == "websocket.close" else None


async def receive_forever(websocket: WebSocket) -> None:
    while True:
        await websocket.receive_text()


class AcceptorHarness:
    """A session acceptor with its limits and metrics."""

    def __init__(
        self,
        converse: Converse = receive_forever,
        *,
        seats: int = 8,
        max_session_s: float = 3600.0,
        idle_timeout_s: float = 0.0,
        resumable: Callable[[str], bool] = lambda _token: False,
        load_limit: LoadLimit | None = None,
        kept_elsewhere: str = "",
    ) -> None:
        self.engine_pool = ScriptedEnginePool()
        self.session_limits = SessionLimits(seats, load_limit)
        self.metrics = Metrics()
        self.acceptor = SessionAcceptor(
            ScriptedConversations(converse, resumable, lambda token: token == kept_elsewhere),
            self.engine_pool,
            self.session_limits,
            self.metrics,
            max_session_s=max_session_s,
            idle_timeout_s=idle_timeout_s,
        )

    async def serve(self, client: Client) -> float:
        """Runs a connection; returns how long it lasted."""
        began_s = asyncio.get_running_loop().time()
        await self.acceptor(client.scope, client.inbox.get, client.send)
        return asyncio.get_running_loop().time() - began_s

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


async def test_session_ends_at_its_limit_with_notice() -> None:
    harness, client = AcceptorHarness(max_session_s=60.0, idle_timeout_s=90.0), Client()
    assert await harness.serve(client) == pytest.approx(60.0)
    assert (client.codes, client.closed) == (["session_expired"], 1001)
    assert client.sent[-1]["reason"].startswith("session_expired: ")
    assert harness.session_limits.current == 0
    assert harness.value("repartee_sessions") == 0
    assert harness.value("repartee_session_seconds_sum") == pytest.approx(60.0)


async def test_only_silent_client_reaches_the_idle_limit() -> None:
    harness, client = AcceptorHarness(max_session_s=60.0, idle_timeout_s=10.0), Client()
    loop = asyncio.get_running_loop()
    for n in range(1, 4):
        loop.call_later(9.0 * n, client.says, "still here")
    assert 37.0 <= await harness.serve(client) <= 37.5 + 1e-6  # the limit is moved in steps of a twentieth
    assert (client.codes, client.closed) == (["session_idle"], 1001)


async def test_messages_do_not_extend_the_session_limit() -> None:
    harness, client = AcceptorHarness(max_session_s=20.0, idle_timeout_s=15.0), Client()
    asyncio.get_running_loop().call_later(14.0, client.says, "still here")
    assert await harness.serve(client) == pytest.approx(20.0)
    assert client.codes == ["session_expired"]


async def test_client_that_leaves_gets_no_notice() -> None:
    harness, client = AcceptorHarness(), Client("realtime", "other")
    asyncio.get_running_loop().call_later(5.0, client.leaves)
    assert await harness.serve(client) == pytest.approx(5.0)
    assert [(message["type"], message.get("subprotocol")) for message in client.sent] == [
        ("websocket.accept", "realtime")
    ]
    assert harness.session_limits.current == 0


async def test_disconnect_within_task_group_is_recognized() -> None:
    async def in_a_group(websocket: WebSocket) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(receive_forever(websocket))
            await asyncio.sleep(1000)

    harness, client = AcceptorHarness(in_a_group), Client()
    client.leaves()
    await harness.serve(client)
    assert client.codes == []
    assert harness.value("repartee_errors_total", where="connection") is None


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), TimeoutError(), ExceptionGroup("x", [KeyError(), OSError()])],
    ids=["value error", "timeout", "group of errors"],
)
async def test_error_ends_one_session_and_is_logged(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(websocket: WebSocket) -> None:
        await websocket.receive_text()
        raise error

    harness, client = AcceptorHarness(breaks), Client()
    client.says("hello")
    with caplog.at_level(logging.ERROR):
        await harness.serve(client)
    assert (client.codes, client.closed) == (["internal_error"], 1011)
    assert harness.value("repartee_errors_total", where="connection") == 1
    assert harness.session_limits.current == 0
    assert "a session ended because of an error" in caplog.text
    assert "hello" not in caplog.text


async def test_client_without_slot_or_engines_is_refused() -> None:
    harness = AcceptorHarness(seats=1, resumable=lambda token: token == "mine")
    async with asyncio.TaskGroup() as group:
        first, second, back = Client(), Client("realtime"), Client(query="resume=mine")
        held = group.create_task(harness.serve(first))
        await asyncio.sleep(0.1)
        await harness.serve(second)
        assert (second.codes, second.closed) == (["server_full"], 1013)
        assert second.sent[0] == {"type": "websocket.accept", "subprotocol": "realtime", "headers": []}
        resumed = group.create_task(harness.serve(back))
        await asyncio.sleep(0.1)
        assert (back.codes, harness.session_limits.current) == ([], 1)
        assert harness.value("repartee_sessions") == harness.value("repartee_sessions_begun_total") == 1
        for client in (first, back):
            client.leaves()
        await asyncio.gather(held, resumed)
    assert (harness.value("repartee_sessions"), harness.value("repartee_session_seconds_count")) == (0, 1)
    assert harness.value("repartee_sessions_refused_total", reason="server_full") == 1
    harness.engine_pool.states = []
    third = Client()
    await harness.serve(third)
    assert (third.codes, third.closed) == (["server_loading"], 1013)


class Overload:
    """Refuses every conversation, as long as the load is high."""

    def __init__(self) -> None:
        self.high = True
        self.begun = 0

    def refusal(self, sessions: int) -> CloseNotice | None:
        return busy(f"event loop lag p99 is 61 ms with {sessions}, limit 50 ms", 10.0) if self.high else None

    def began(self) -> None:
        self.begun += 1

    def ended(self, lasted_s: float) -> None:
        pass


def test_sessions_refused_by_the_load_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        harness = AcceptorHarness(load_limit=Overload())
        for _ in range(13):
            await harness.serve(Client())
            await asyncio.sleep(10.0)

    with caplog.at_level(logging.WARNING):
        run_virtual(main())
    assert len(caplog.records) == 3
    assert "a session was refused: The server is busy: event loop lag p99 is 61 ms" in caplog.text


@pytest.mark.parametrize("silent", [True, False], ids=["silent", "with sound"])
async def test_sessions_without_sound_do_not_count_as_beginning(silent: bool) -> None:
    async def converse(websocket: WebSocket) -> None:
        with busy_while(websocket.scope, lambda: False, lambda: silent):
            await receive_forever(websocket)

    loop = asyncio.get_running_loop()
    harness = AcceptorHarness(converse, seats=20, load_limit=Admission(LoadEstimate(loop.time), loop.time))
    clients = [Client() for _ in range(20)]
    async with asyncio.TaskGroup() as tasks:
        for number, client in enumerate(clients):
            tasks.create_task(harness.serve(client))
            await asyncio.sleep(1.1 if number % 8 == 7 else 0)
        assert sum("server_busy" in client.codes for client in clients) == (0 if silent else 12)
        for client in clients:
            client.leaves()
    assert harness.session_limits.current == 0


async def test_busy_server_refuses_at_once_with_reason_and_retry_time() -> None:
    overload = Overload()
    harness, client = AcceptorHarness(load_limit=overload), Client()
    assert await harness.serve(client) == 0.0, "not queued"
    assert (client.codes, client.closed) == (["server_busy"], 1013)
    error = json.loads(client.sent[1]["text"])["error"]
    assert error["retry_after_s"] == 10
    assert "event loop lag p99 is 61 ms with 0, limit 50 ms" in error["message"]
    assert harness.value("repartee_sessions_refused_total", reason="server_busy") == 1
    assert (harness.session_limits.current, overload.begun) == (0, 0)


async def test_resumed_conversation_is_admitted_by_a_busy_server() -> None:
    overload = Overload()
    harness = AcceptorHarness(resumable=lambda token: token == "mine", load_limit=overload)
    back = Client(query="resume=mine")
    asyncio.get_running_loop().call_later(5.0, back.leaves)
    assert await harness.serve(back) == pytest.approx(5.0)
    assert (back.codes, overload.begun) == ([], 0)


@pytest.mark.parametrize(("token", "codes"), [("kept", []), ("unknown", ["server_busy"])])
async def test_busy_server_continues_conversations_of_other_gateways(token: str, codes: list[str]) -> None:
    overload = Overload()
    harness = AcceptorHarness(load_limit=overload, kept_elsewhere="kept")
    client = Client(query=f"resume={token}")
    client.leaves()
    await harness.serve(client)
    assert client.codes == codes
    assert (harness.session_limits.current, overload.begun) == (0, 0 if codes else 1)


async def test_full_server_does_not_continue_conversations_of_other_gateways() -> None:
    harness = AcceptorHarness(seats=0, load_limit=Overload(), kept_elsewhere="kept")
    client = Client(query="resume=kept")
    await harness.serve(client)
    assert client.codes == ["server_full"]


async def test_asking_whether_sessions_are_refused_changes_nothing() -> None:
    overload = Overload()
    harness = AcceptorHarness(load_limit=overload)
    for _ in range(2):
        refusing = harness.acceptor.refusing()
        assert refusing is not None
        assert refusing.code == "server_busy"
    overload.high = False
    assert harness.acceptor.refusing() is None
    assert (harness.session_limits.current, overload.begun) == (0, 0)
    harness.engine_pool.states = []
    refusing = harness.acceptor.refusing()
    assert refusing is not None
    assert refusing.code == "server_loading"


async def test_conversation_ended_during_accept_cannot_be_resumed() -> None:
    kept = {"mine"}

    class Late(Client):
        async def send(self, message: Message) -> None:
            if message["type"] == "websocket.accept":
                await asyncio.sleep(0.1)
            await super().send(message)

    harness = AcceptorHarness(seats=1, resumable=lambda token: token in kept)
    async with asyncio.TaskGroup() as group:
        other, back = Client(), Late(query="resume=mine")
        held = group.create_task(harness.serve(other))
        returning = group.create_task(harness.serve(back))
        await asyncio.sleep(0.05)
        kept.clear()
        await returning
        assert (back.codes, back.closed) == (["server_full"], 1013)
        assert harness.session_limits.current == 1
        other.leaves()
        await held


async def test_client_waits_for_a_slot_about_to_be_free() -> None:
    harness = AcceptorHarness(seats=1)
    async with asyncio.TaskGroup() as group:
        first, *others = Client(), Client(), Client()
        held = [group.create_task(harness.serve(first))]
        await asyncio.sleep(0.1)
        held += [group.create_task(harness.serve(client)) for client in others]
        await asyncio.sleep(0.3)
        assert [client.codes for client in others] == [[], []]
        first.leaves()
        await asyncio.sleep(SLOT_TIMEOUT_S)
        assert sorted(client.codes for client in others) == [[], ["server_full"]], "one seat, one of them"
        for client in others:
            client.leaves()
        await asyncio.gather(*held)
    assert harness.session_limits.current == 0


async def test_drain_ends_every_session_and_waits() -> None:
    cleaned: list[float] = []

    async def cleans_up(websocket: WebSocket) -> None:
        try:
            await receive_forever(websocket)
        finally:
            await asyncio.sleep(0.5)
            cleaned.append(asyncio.get_running_loop().time())

    harness, clients = AcceptorHarness(cleans_up, idle_timeout_s=60.0), [Client(), Client()]
    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(harness.serve(client))
        await asyncio.sleep(1.0)
        clients[0].says("words that arrive during the clean-up")
        await harness.acceptor.drain(2.0)
        assert [client.closed for client in clients] == [1012, 1012]
    assert [client.codes for client in clients] == [["server_draining"]] * 2
    assert cleaned == [pytest.approx(1001.5)] * 2
    late = Client()
    await harness.serve(late)
    assert late.codes == ["server_draining"]


async def test_drain_has_a_time_limit() -> None:
    async def stubborn(_websocket: WebSocket) -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await asyncio.sleep(30)

    harness, client = AcceptorHarness(stubborn), Client()
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        group.create_task(harness.serve(client))
        await asyncio.sleep(1.0)
        await harness.acceptor.drain(2.0)
        assert loop.time() == pytest.approx(1003.0)
    assert client.codes == ["server_draining"]  # it ignored the cancellation and still gets the notice


async def test_close_notice_has_a_time_limit() -> None:
    harness, client = AcceptorHarness(max_session_s=10.0), Client()
    asyncio.get_running_loop().call_later(5.0, setattr, client, "reads", False)
    assert await harness.serve(client) == pytest.approx(11.0)
    assert harness.session_limits.current == 0


async def test_disconnect_during_close_notice_is_not_an_error() -> None:
    async def gone(_websocket: WebSocket) -> None:
        raise WebSocketDisconnect(1006)

    harness, client = AcceptorHarness(gone), Client()
    await harness.serve(client)
    assert harness.value("repartee_errors_total", where="connection") is None


# ---- clients that disconnect early ----


class DisconnectedClient(Client):
    """A client whose connection is lost: uvicorn raises an error on writing."""

    async def send(self, message: Message) -> None:
        raise ClientDisconnected


@pytest.mark.parametrize("state", ["let in", "refused", "resuming", "draining", "no engines"])
async def test_disconnect_before_handshake_is_not_an_error(state: str, caplog: pytest.LogCaptureFixture) -> None:
    harness = AcceptorHarness(seats=0 if state == "refused" else 1, resumable=lambda token: token == "mine")
    if state == "draining":
        harness.acceptor.close()
    if state == "no engines":
        harness.engine_pool.states = []
    client = DisconnectedClient(query="resume=mine" if state == "resuming" else "")
    await harness.serve(client)
    assert harness.value("repartee_errors_total", where="connection") is None
    assert harness.session_limits.current == 0
    assert harness.value("repartee_sessions") == 0
    assert caplog.records == []


async def test_disconnect_while_waiting_for_slot_is_not_an_error(caplog: pytest.LogCaptureFixture) -> None:
    harness = AcceptorHarness(seats=1)
    async with asyncio.TaskGroup() as group:
        first, second, third = Client(), DisconnectedClient(), Client()
        held = group.create_task(harness.serve(first))
        await asyncio.sleep(0.1)
        waiting = group.create_task(harness.serve(second))
        await asyncio.sleep(0.1)
        first.leaves()
        await asyncio.gather(held, waiting)
        last = group.create_task(harness.serve(third))
        await asyncio.sleep(0.1)
        assert third.codes == [], "the seat is free again"
        third.leaves()
        await last
    assert harness.value("repartee_errors_total", where="connection") is None
    assert caplog.records == []


async def test_number_of_clients_waiting_for_a_slot_is_limited() -> None:
    harness = AcceptorHarness(seats=0)
    stays = await asyncio.gather(*(harness.serve(Client()) for _ in range(MAX_WAITING + 10)))
    assert sorted(stays) == [pytest.approx(0.0)] * 10 + [pytest.approx(SLOT_TIMEOUT_S)] * MAX_WAITING


# ---- shutdown ----


async def test_finish_ends_sessions_after_their_turns_or_limit() -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    async def replies(websocket: WebSocket) -> None:
        until_s = began_s + float(websocket.url.query)
        with busy_while(websocket.scope, lambda: loop.time() < until_s):
            await receive_forever(websocket)

    harness = AcceptorHarness(replies)
    clients = {seconds: Client(query=f"{seconds}") for seconds in (0, 2, 60)}
    async with asyncio.TaskGroup() as group:
        stays = {seconds: group.create_task(harness.serve(client)) for seconds, client in clients.items()}
        await asyncio.sleep(1.0)
        await harness.acceptor.finish(5.0)
        assert loop.time() - began_s == pytest.approx(6.0, abs=2 * DRAIN_STEP_S)
        late = Client()
        await harness.serve(late)
        await harness.acceptor.drain(1.0)
    assert [stays[seconds].result() for seconds in stays] == [
        pytest.approx(1.0),
        pytest.approx(2.0, abs=2 * DRAIN_STEP_S),
        pytest.approx(6.0, abs=2 * DRAIN_STEP_S),
    ]
    assert [client.closed for client in (*clients.values(), late)] == [1012] * 4


async def test_finish_returns_at_once_without_sessions() -> None:
    harness, began_s = AcceptorHarness(), asyncio.get_running_loop().time()
    await harness.acceptor.finish(10.0)
    assert asyncio.get_running_loop().time() == began_s
    assert harness.acceptor.draining


@pytest.mark.parametrize("slot_is_freed", [True, False])
async def test_conversation_resumed_meanwhile_takes_no_second_slot(*, slot_is_freed: bool) -> None:
    resumed: list[str] = []
    harness = AcceptorHarness(seats=1, resumable=lambda token: token in resumed)
    async with asyncio.TaskGroup() as group:
        other, back = Client(), Client(query="resume=token")
        held = [group.create_task(harness.serve(other))]
        await asyncio.sleep(0.1)
        held.append(group.create_task(harness.serve(back)))
        await asyncio.sleep(0.5)
        if slot_is_freed:
            other.leaves()
        resumed.append("token")
        await asyncio.sleep(0.5)
        assert back.codes == []
        assert harness.session_limits.current == (0 if slot_is_freed else 1)
        assert harness.value("repartee_sessions_begun_total") == 1
        for client in (other, back):
            client.leaves()
        await asyncio.gather(*held)
    assert harness.session_limits.current == 0


async def test_conversation_that_begins_during_a_handshake_is_resumed() -> None:
    resumed: list[str] = []

    class Late(Client):
        """A client whose handshake takes a while."""

        async def send(self, message: Message) -> None:
            await asyncio.sleep(0.1)
            await super().send(message)

    harness, client = AcceptorHarness(resumable=lambda token: token in resumed), Late(query="resume=token")
    asyncio.get_running_loop().call_later(0.05, resumed.append, "token")
    asyncio.get_running_loop().call_later(5.0, client.leaves)
    await harness.serve(client)
    assert harness.value("repartee_sessions_begun_total") == 0, "it began on another connection"
    assert harness.session_limits.current == 0
