"""Pages of allowed origins may begin WebRTC calls: the answers to their browsers' preflight requests."""

import asyncio

import httpx
import pytest
from web_server import RunningServer, running_server

TOKEN = "a-token-of-enough-characters"
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


async def answer(server: RunningServer, method: str, path: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.request(method, server.http + path, headers=headers)


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/v1/realtime/calls", "own", 204),
        ("/v1/realtime/calls", "https://evil.example", 403),
        ("/v1/models", "own", 401),
    ],
)
def test_preflight_request_needs_an_allowed_origin_and_no_token(path: str, origin: str, status: int) -> None:
    async def main() -> None:
        async with running_server(token=TOKEN) as server:
            sent = server.http if origin == "own" else origin
            found = await answer(server, "OPTIONS", path, Origin=sent, **ASKED)
            assert found.status_code == status
            if status == 204:
                assert found.headers["Access-Control-Allow-Origin"] == sent
                assert found.headers["Access-Control-Allow-Headers"] == "Authorization, Content-Type"
            else:
                assert "Access-Control-Allow-Origin" not in found.headers

    asyncio.run(main())


def test_page_may_read_the_answer_and_the_location() -> None:
    async def main() -> None:
        async with running_server() as server:
            found = await answer(server, "POST", "/v1/realtime/calls", Origin=server.http)
            assert found.headers["Access-Control-Allow-Origin"] == server.http
            assert found.headers["Access-Control-Expose-Headers"] == "Location"
            assert (
                "Access-Control-Allow-Origin" not in (await answer(server, "GET", "/v1/x", Origin=server.http)).headers
            )

    asyncio.run(main())
