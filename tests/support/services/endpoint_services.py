"""Fake services of every endpoint kind, with scripted answers, and the matching [[llm.endpoints]] tables."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from support.services import aws_server, grpc_server, llm_server
from support.services.generate_events import last, output, token
from support.services.llm_server import HEAD, LAST_CHUNK, Script, Server, chunk

from assistant.config.settings import Settings
from assistant.registry.protocols import PROTOCOLS
from assistant.setup import build
from llm.chat import ChatModel

OWN_KEYS: dict[str, str] = {
    "openai": "",
    "tgi": 'template = "chatml"',
    "triton": 'template = "chatml"',
    "grpc": 'template = "chatml"',
    "sagemaker": f'region = "{aws_server.REGION}"',
    "bedrock": f'region = "{aws_server.REGION}"',
}
"""Keys that a kind needs besides name, kind, url and model."""

ALL_KINDS = tuple(kind for kind in PROTOCOLS.names if kind != "local")
"""Kinds of services with an address; tests/llm/local/test_local_chat.py has the other kind."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running service.

    Attributes:
        table: Its endpoint table in config.toml, named after the kind.
        url: Its address.
        asked: Bodies of the completion requests so far.
        headers: Headers of the last of them, names in lower case.
    """

    table: str
    url: str
    asked: Callable[[], Sequence[str]]
    headers: Callable[[], Mapping[str, str]]


def routed(settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """Returns the client of all endpoints together. Raises EngineLoadError."""
    return build.joined(settings, [build.client(one, settings, environ) for one in settings.llm.endpoints])


def table_of(kind: str, url: str, *more: str, name: str = "") -> str:
    """Returns an endpoint table as in config.toml."""
    keys = (f'name = "{name or kind}"', f'kind = "{kind}"', f'url = "{url}"', 'model = "m7"', OWN_KEYS[kind], *more)
    return "\n".join(["[[llm.endpoints]]", *filter(None, keys)]) + "\n"


def script_of(kind: str, *texts: str) -> Script:
    """Returns a complete HTTP answer."""
    match kind:
        case "tgi":
            return (HEAD, chunk(b"".join(map(token, texts)) + last()), LAST_CHUNK)
        case "triton":
            return (HEAD, chunk(b"".join(map(output, texts))), LAST_CHUNK)
        case "sagemaker":
            return aws_server.answer(aws_server.part(b"".join(map(token, texts)) + last()))
        case "bedrock":
            stop = aws_server.event("messageStop", stopReason="end_turn")
            return aws_server.answer(aws_server.said(*texts), stop, aws_server.usage())
        case _:
            return llm_server.answer(*texts)


@asynccontextmanager
async def serving_kind(kind: str, *texts: str, more: Sequence[str] = ()) -> AsyncGenerator[Service]:
    """Runs the service while the block runs. sagemaker and bedrock need the keys of `own_environment`."""
    if kind == "grpc":
        async with grpc_server.serving(grpc_server.answer(*texts)) as triton:
            yield Service(
                table_of(kind, triton.url, *more),
                triton.url,
                lambda: [str(seen.request) for seen in triton.seen],
                lambda: triton.seen[-1].metadata,
            )
        return
    serving = aws_server.serving_aws if kind in {"sagemaker", "bedrock"} else llm_server.serving
    async with serving(script_of(kind, *texts)) as server:
        url = server.url if kind == "openai" else server.url.removesuffix("/v1")
        if kind == "openai":
            server.models = llm_server.status(200, {"object": "list", "data": [{"id": "m7"}]})
        yield Service(table_of(kind, url, *more), url, lambda: _bodies(server), lambda: server.posts[-1].headers)


def _bodies(server: Server) -> list[str]:
    return [request.body.decode() for request in server.posts]
