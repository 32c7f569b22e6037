"""Pages of allowed origins may use the API: the answers to preflight requests, headers for reading."""

import httpx
from support.servers.web_server import RunningServer, running_server

from assistant.config.server_settings import ServerSection

TOKEN = "a-token-of-enough-characters"
PAGE = "https://app.example"
ALLOWED = ServerSection(port=0, allowed_origins=PAGE)
SDK_HEADERS = "authorization,content-type,x-openai-agents-sdk,openai-safety-identifier"


async def answer(server: RunningServer, method: str, path: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.request(method, server.http + path, headers=sent)


async def preflight(server: RunningServer, path: str, origin: str, method: str = "POST") -> httpx.Response:
    asked = {"Access_Control_Request_Method": method, "Access_Control_Request_Headers": SDK_HEADERS}
    return await answer(server, "OPTIONS", path, Origin=origin, **asked)


async def test_preflight_of_allowed_origin_allows_the_headers_it_asks_for() -> None:
    posts = ("/v1/realtime/calls", "/v1/realtime/client_secrets", "/v1/audio/speech")
    async with running_server(section=ALLOWED, token=TOKEN) as server:
        for path, method in (*((path, "POST") for path in posts), ("/v1/models", "GET")):
            found = await preflight(server, path, PAGE, method)
            assert found.status_code == 204, path
            assert found.headers["Access-Control-Allow-Origin"] == PAGE
            assert found.headers["Access-Control-Allow-Headers"] == SDK_HEADERS
            assert method in found.headers["Access-Control-Allow-Methods"]
            refused = await preflight(server, path, "https://evil.example", method)
            assert refused.status_code == 403, path
            assert "Access-Control-Allow-Origin" not in refused.headers


async def test_public_page_of_allowed_origin_may_reach_the_local_network() -> None:
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Private_Network": "true"}
    async with running_server(section=ALLOWED) as server:
        found = await answer(server, "OPTIONS", "/v1/realtime/calls", Origin=PAGE, **asked)
        assert found.headers["Access-Control-Allow-Private-Network"] == "true"


async def test_page_of_allowed_origin_can_read_answers_and_refusals() -> None:
    async with running_server(section=ALLOWED, token=TOKEN) as server:
        refused = await answer(server, "GET", "/v1/models", Origin=PAGE)
        assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, PAGE)
        found = await answer(server, "GET", "/v1/x", Origin=PAGE, Authorization=f"Bearer {TOKEN}")
        assert (found.status_code, found.headers["Access-Control-Allow-Origin"]) == (404, PAGE)
        assert "Location" in found.headers["Access-Control-Expose-Headers"]
        page = await answer(server, "GET", "/", Origin=PAGE)
        assert "Access-Control-Allow-Origin" not in page.headers
