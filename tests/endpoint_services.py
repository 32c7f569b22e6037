"""A service of every kind, which says what it is told to, and the [[llm.endpoints]] table by which it is reached."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aws_server
import grpc_server
import llm_server
from generate_events import last, output, token
from llm_server import HEAD, LAST_CHUNK, Script, Server, chunk

from assistant.config.endpoint_settings import KINDS, EndpointKind

OWN_KEYS: dict[EndpointKind, str] = {
    "openai": "",
    "tgi": 'template = "chatml"',
    "triton": 'template = "chatml"',
    "grpc": 'template = "chatml"',
    "sagemaker": f'region = "{aws_server.REGION}"',
    "bedrock": f'region = "{aws_server.REGION}"',
}
"""What a kind needs besides name, kind, url and model."""

ALL_KINDS = KINDS


@dataclass(frozen=True, slots=True)
class Service:
    """One that runs.

    Attributes:
        table: Its endpoint, as config.toml has it, named after the kind.
        url: Its address.
        asked: The bodies that asked for an answer, so far.
        headers: What the last of them came with, names in small letters.
    """

    table: str
    url: str
    asked: Callable[[], Sequence[str]]
    headers: Callable[[], Mapping[str, str]]


def table_of(kind: EndpointKind, url: str, *more: str, name: str = "") -> str:
    """An endpoint, as config.toml has it."""
    keys = (f'name = "{name or kind}"', f'kind = "{kind}"', f'url = "{url}"', 'model = "m7"', OWN_KEYS[kind], *more)
    return "\n".join(["[[llm.endpoints]]", *filter(None, keys)]) + "\n"


def script_of(kind: EndpointKind, *texts: str) -> Script:
    """A whole answer over HTTP."""
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
async def serving_kind(kind: EndpointKind, *texts: str, more: Sequence[str] = ()) -> AsyncGenerator[Service]:
    """The service while the block runs. Of sagemaker and bedrock the environment must have `own_environment`'s keys."""
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
