"""The files of deploy/ for nginx and HAProxy: checked by the programs, and run before two real gateways."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest
from support.servers.gateways import SECRET, TRACED, SharedRedis, gateway, loader, repartee_of, texts_of
from support.servers.proxies import HOST, Proxy, haproxy_files, nginx_files, program_of, running_proxy
from support.servers.redis_process import redis_process
from support.servers.session_server import RecordingClient, SessionServer, eventually
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from web.handover.store import CLAIM_S

QUESTION, ANSWER = "what time is it?", "It is ten o'clock."

both_proxies = pytest.mark.parametrize("kind", ["nginx", "haproxy"])


@pytest.mark.slow
def test_nginx_accepts_its_file(tmp_path: Path) -> None:
    file, _ = nginx_files(tmp_path, ())
    checked = subprocess.run(
        [program_of("nginx"), "-t", "-p", str(tmp_path), "-c", str(file)], capture_output=True, text=True, check=False
    )
    # Another program may have the ports that the file names; the syntax is checked before.
    assert "syntax is ok" in checked.stderr, checked.stderr
    assert "[warn]" not in checked.stderr


@pytest.mark.slow
def test_haproxy_accepts_its_file(tmp_path: Path) -> None:
    file, _ = haproxy_files(tmp_path, ())
    checked = subprocess.run(
        [program_of("haproxy"), "-c", "-f", str(file)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert "WARNING" not in checked.stderr


class Visitor:
    """A browser behind the proxy: it keeps cookies, and sends the token."""

    def __init__(self, proxy: Proxy, origin: str | None = None) -> None:
        self.proxy = proxy
        self.cookies: dict[str, str] = {}
        self._origin = f"https://{HOST}:{proxy.port}" if origin is None else origin
        self._trust = ssl.create_default_context(cafile=str(proxy.certificate))

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """Requests a page."""
        sent = {"Host": f"{HOST}:{self.proxy.port}", **self._cookie(), **headers}
        async with httpx.AsyncClient(verify=self._trust) as http:
            address = f"https://127.0.0.1:{self.proxy.port}{path}"
            response = await http.get(address, headers=sent, extensions={"sni_hostname": HOST})
        self._keep([value for name, value in response.headers.multi_items() if name == "set-cookie"])
        return response

    @asynccontextmanager
    async def session(self, resume: str = "") -> AsyncGenerator[RecordingClient]:
        """Connects, and waits for the session."""
        async with connect(
            f"wss://{HOST}:{self.proxy.port}/v1/realtime?model=repartee" + (f"&resume={resume}" if resume else ""),
            host="127.0.0.1",
            ssl=self._trust,
            origin=self._origin,  # type: ignore[arg-type]
            subprotocols=["realtime", f"openai-insecure-api-key.{SECRET}"],  # type: ignore[list-item]
            additional_headers=self._cookie(),
            compression=None,
            max_queue=None,
        ) as socket:
            assert socket.response is not None
            self._keep(socket.response.headers.get_all("set-cookie"))
            client = RecordingClient(socket)
            await client.until("session.created")
            yield client

    async def returned(self, token: str) -> list[str]:
        """Connects again until the conversation continues, as a client does; returns the words of its messages."""
        async with asyncio.timeout(60):
            while True:
                try:
                    async with self.session(token) as client:
                        assert repartee_of(client)["resumed"] is True
                        await client.until("conversation.item.done", 2)
                        client.break_connection()
                        return texts_of(client)
                except (ConnectionClosed, InvalidStatus, InvalidMessage, OSError, EOFError):
                    await asyncio.sleep(0.2)  # the gateway that ends refuses; the proxy has not noticed it yet

    def _cookie(self) -> dict[str, str]:
        """Returns the header with the cookies, if there are any."""
        pairs = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": pairs} if pairs else {}

    def _keep(self, sent: list[str]) -> None:
        for one in sent:
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(one).items()}
            assert "Secure" in one
            assert "HttpOnly" in one


async def ask(client: RecordingClient) -> None:
    await client.send("session.update", session=TRACED)
    await client.ask(QUESTION, until="repartee.trace")


@asynccontextmanager
async def both(folder: Path, url: str, *assignments: str) -> AsyncGenerator[list[SessionServer]]:
    async with (
        gateway(loader(folder / "a", *assignments), url, behind=HOST, claim_s=CLAIM_S) as a,
        gateway(loader(folder / "b", *assignments), url, behind=HOST, claim_s=CLAIM_S) as b,
    ):
        yield [a, b]


@both_proxies
@pytest.mark.slow
def test_client_returns_to_its_gateway_and_else_to_another(kind: str, tmp_path: Path) -> None:
    async def main(url: str) -> str:
        redis = SharedRedis(url)
        async with both(tmp_path, url) as servers:
            with running_proxy(kind, tmp_path, [one.port for one in servers]) as proxy:
                visitor = Visitor(proxy)
                page = await visitor.get("/")
                assert page.status_code == 200
                assert "<html" in page.text
                async with visitor.session() as first:
                    assert visitor.cookies
                    await ask(first)
                    (mine,) = [one for one in servers if one.limits.current]
                    await eventually(lambda: redis.texts(first.token) == [QUESTION, ANSWER])
                    first.break_connection()
                await eventually(lambda: len(mine.connections.waiting) == 1)
                assert await visitor.returned(first.token) == [QUESTION, ANSWER]
                assert mine.value("repartee_handovers_total", outcome="continued") == 0, "it came back to the same"
                # Its gateway ends, and so the proxy leads it to the other one.
                (other,) = [one for one in servers if one is not mine]
                mine.server.should_exit = True
                await eventually(lambda: not mine.connections.resumable(first.token))
                assert await visitor.returned(first.token) == [QUESTION, ANSWER]
                assert other.value("repartee_handovers_total", outcome="continued") == 1
                return first.token

    with redis_process(tmp_path) as url:
        token = asyncio.run(main(url))
    logged = "".join(one.read_text(encoding="utf-8") for one in tmp_path.glob("*.log"))
    assert "/v1/realtime" in logged
    assert token not in logged


@both_proxies
@pytest.mark.slow
async def test_proxy_agrees_with_access_control(kind: str, redis_url: str, tmp_path: Path) -> None:
    async with both(tmp_path, redis_url) as servers:
        with running_proxy(kind, tmp_path, [one.port for one in servers]) as proxy:
            for path in ("/metrics", "/traces", "/readyz", "/healthz"):
                assert (await Visitor(proxy).get(path, Authorization=f"Bearer {SECRET}")).status_code == 404
            assert (await Visitor(proxy).get("/v1/models")).status_code == 401
            listed = await Visitor(proxy).get("/v1/models", Authorization=f"Bearer {SECRET}")
            assert listed.status_code == 200
            # A page of another origin is refused, also if it claims another scheme or address.
            with pytest.raises(InvalidStatus) as refused:
                async with Visitor(proxy, "https://evil.example").session():
                    pass
            assert refused.value.response.status_code == 403
            assert json.loads(refused.value.response.body or b"")["error"]["code"] == "foreign_origin"
            claimed = await Visitor(proxy).get(
                "/v1/models",
                Authorization=f"Bearer {SECRET}",
                Origin=f"http://{HOST}:{proxy.port}",
                **{"X-Forwarded-Proto": "http", "X-Forwarded-For": "127.0.0.1"},
            )
            assert claimed.status_code == 403
            async with httpx.AsyncClient() as http:
                plain = await http.get(f"http://127.0.0.1:{proxy.plain_port}/", headers={"Host": HOST})
            assert plain.status_code == 308
            assert plain.headers["location"] == f"https://{HOST}/"


@pytest.mark.slow
async def test_full_gateway_gets_only_requests_of_its_clients(redis_url: str, tmp_path: Path) -> None:
    async def logged(proxy: Proxy, line: str) -> None:
        await eventually(lambda: line in proxy.log.read_text(encoding="utf-8"), within_s=60)

    async with both(tmp_path, redis_url, "server.max_sessions=1") as servers:
        with running_proxy("haproxy", tmp_path, [one.port for one in servers]) as proxy:
            visitor = Visitor(proxy)
            async with visitor.session():
                (full,) = [one for one in servers if one.limits.current]
                name = "ab"[servers.index(full)]
                await logged(proxy, f"Server repartee_new/{name} is DOWN")
                assert (await visitor.get("/")).status_code == 200
                assert visitor.cookies == {"repartee_gateway": name}, "other requests stay at the full gateway"
                async with Visitor(proxy).session():
                    assert [one.limits.current for one in servers] == [1, 1]
                    for one in "ab":
                        await logged(proxy, f"Server repartee_new/{one} is DOWN")
                    with pytest.raises(ConnectionClosed) as refused:
                        async with Visitor(proxy).session():
                            pass
                    assert refused.value.rcvd is not None
                    assert refused.value.rcvd.code == 1013
                    assert refused.value.rcvd.reason.startswith("server_full")
