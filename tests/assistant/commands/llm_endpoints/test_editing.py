"""`repartee endpoints add` and `remove`, with real servers on loopback, and the flags of a new endpoint."""

import asyncio
import io
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from rich.console import Console
from support.services.llm_server import Script, serving, status
from support.texts.text_cases import named_cases

from assistant.commands.llm_endpoints.editing import RESTART, remove, save_endpoint
from assistant.commands.llm_endpoints.new_endpoint import NewEndpoint, parse_kind, parse_settings
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from llm.errors import LlmError

CLOSED = "http://127.0.0.1:9/v1"


def lists(*names: str, owner: str = "library") -> Script:
    return status(200, {"object": "list", "data": [{"id": name, "owned_by": owner} for name in names]})


LOCKED = status(401, {"error": "Unauthorized"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text("# mine\n[turn]\nprofile = 'eager'\n", encoding="utf-8")
    return path


def added(
    wanted: NewEndpoint, file: Path, *scripts: Script, environ: Mapping[str, str] | None = None
) -> tuple[str, list[int]]:
    """Returns the output of adding an endpoint, with a server for each of these lists, and the servers' ports.

    In the url, "{n}" stands for the n-th port.
    """
    screen = io.StringIO()

    async def run() -> list[int]:
        async with AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(serving()) for _ in scripts]
            for server, script in zip(servers, scripts, strict=True):
                server.models = script
            ports = [int(server.url.removesuffix("/v1").rpartition(":")[2]) for server in servers]
            url = wanted.url.format(*ports) if wanted.url is not None else None
            asked = NewEndpoint(wanted.name, url, wanted.model, wanted.api_key_env)
            await save_endpoint(asked, file, environ or {}, Console(file=screen, width=200), ports=ports)
            return ports

    ports = asyncio.run(run())
    return screen.getvalue(), ports


def endpoints(file: Path) -> tuple[EndpointSection, ...]:
    return load_settings(file, {}, ()).settings.llm.endpoints


def refused(
    wanted: NewEndpoint,
    file: Path,
    *scripts: Script,
    environ: Mapping[str, str] | None = None,
    kind: type[Exception] = ConfigError,
) -> str:
    before = file.read_bytes()
    with pytest.raises(kind) as error:
        added(wanted, file, *scripts, environ=environ)
    assert file.read_bytes() == before
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


# ---- local servers ----


def test_only_server_with_its_only_model_is_added(file: Path) -> None:
    said, (port,) = added(NewEndpoint(), file, lists("llama3.2:latest", "nomic-embed-text:latest"))
    url = f"http://127.0.0.1:{port}/v1"
    assert said.splitlines() == [
        f"found: Ollama at {url} (llama3.2:latest)",
        f"added to {file}: ollama (llama3.2:latest at {url})",
        RESTART,
        f"next: repartee talk --config {file}",
    ]
    assert endpoints(file) == (EndpointSection(name="ollama", url=url, model="llama3.2:latest"),)
    assert file.read_text(encoding="utf-8").startswith("# mine\n[turn]\nprofile = 'eager'\n")


def test_one_of_several_servers_must_be_named(file: Path) -> None:
    two = (lists("a"), lists("b", owner="vllm"))
    said = refused(NewEndpoint(), file, *two)
    command = f"`repartee endpoints add ollama --config {file}`"
    assert said.startswith(f"several servers were found; name one, as in {command}, or give its --url: ")
    assert "ollama: Ollama at http://127.0.0.1:" in said
    assert "vllm: vLLM at http://127.0.0.1:" in said
    added(NewEndpoint(name="vllm"), file, *two)
    assert [(endpoint.name, endpoint.model) for endpoint in endpoints(file)] == [("vllm", "b")]


def test_server_without_chat_models_is_not_a_choice(file: Path) -> None:
    added(NewEndpoint(), file, lists("bge-m3"), lists("m", owner="vllm"), LOCKED)
    assert [endpoint.name for endpoint in endpoints(file)] == ["vllm"]


def test_one_of_several_models_must_be_named(file: Path) -> None:
    said = refused(NewEndpoint(), file, lists("a", "b:latest", "bge-m3"))
    assert said.endswith("has several models; name one with --model: a, b:latest")
    said = refused(NewEndpoint(model="c"), file, lists("a", "b:latest"))
    assert said.endswith('has no model "c"; it has a, b:latest')
    added(NewEndpoint(model="b"), file, lists("a", "b:latest"))
    assert endpoints(file)[0].model == "b"


@named_cases(
    ("wanted", "scripts", "said"),
    {
        "no server": (
            NewEndpoint(),
            (),
            "no language model was found on localhost (ports ); start one (Ollama, llama.cpp, vLLM, LM Studio)",
        ),
        "other server than vllm": (
            NewEndpoint("vllm"),
            (lists("m"),),
            "vllm is not running on localhost; found: Ollama at http://127.0.0.1:",
        ),
        "no model loaded": (NewEndpoint(), (lists(),), "has no model: load a chat model there first"),
        "embedding model only": (
            NewEndpoint(),
            (lists("bge-m3"),),
            "has no chat model, only bge-m3: load a chat model there first",
        ),
        "locked server": (
            NewEndpoint(),
            (LOCKED,),
            "requires a key: put it into an environment variable and name the variable with --api-key-env",
        ),
        "name auto": (NewEndpoint("auto"), (lists("m"),), '"auto" is reserved for --llm'),
        "empty name": (NewEndpoint(""), (lists("m"),), "name must be a text that is not empty"),
        "address without scheme": (NewEndpoint(url="localhost:8000"), (), "url must be an http:// or https:// address"),
        "password in address": (
            NewEndpoint(url="http://me:secret@h/v1"),
            (),
            "url must be an http:// or https:// address",
        ),
        "key instead of its variable": (
            NewEndpoint(api_key_env="sk-123"),
            (lists("m"),),
            "api_key_env must be the name of an environment variable",
        ),
    },
)
def test_user_error_is_one_line_and_changes_nothing(
    wanted: NewEndpoint, scripts: tuple[Script, ...], said: str, file: Path
) -> None:
    error = refused(wanted, file, *scripts)
    assert said in error
    assert "secret" not in error
    assert "sk-123" not in error


def test_name_must_be_unique(file: Path) -> None:
    added(NewEndpoint(), file, lists("m"))
    for wanted in (NewEndpoint(), NewEndpoint(name="ollama"), NewEndpoint(name="ollama", url=CLOSED, model="m")):
        said = refused(wanted, file, lists("m"))
        removal = f"`repartee endpoints remove ollama --config {file}`"
        remedy = f"to replace it, {removal}, then add it again; to keep it, give another NAME"
        assert said == f'{file}: the endpoint "ollama" already exists; {remedy}'


def test_further_endpoint_explains_how_to_use_it_alone(file: Path) -> None:
    added(NewEndpoint(), file, lists("m"))
    said, _ = added(NewEndpoint(name="my other"), file, lists("n"))
    alone = f"`repartee talk --llm 'my other' --config {file}` uses this one alone"
    assert f"it is the last of 2 endpoints; {alone}" in said


async def test_key_unlocks_a_server_that_requires_one(file: Path) -> None:
    """The server is found, then asked again with the key; it accepts any key the second time."""
    screen = io.StringIO()
    async with serving() as server:
        server.models = LOCKED
        port = int(server.url.removesuffix("/v1").rpartition(":")[2])
        console = Console(file=screen, width=200)
        with pytest.raises(ConfigError, match="rejects the key: correct MY_KEY"):
            await save_endpoint(NewEndpoint(api_key_env="MY_KEY"), file, {"MY_KEY": "k"}, console, ports=[port])
        assert [seen.headers.get("authorization") for seen in server.seen] == [None, "Bearer k"]
        server.models = lists("m", owner="vllm")
        url = server.url
        await save_endpoint(NewEndpoint(url=url, api_key_env="MY_KEY"), file, {"MY_KEY": "k"}, console, ports=[port])
        assert server.seen[-1].headers["authorization"] == "Bearer k"
        assert endpoints(file) == (EndpointSection(name="vllm", url=url, model="m", api_key_env="MY_KEY"),)
    assert "Bearer" not in screen.getvalue()


# ---- servers at an address ----


def test_server_at_an_address_is_asked_for_its_model(file: Path) -> None:
    said, (port,) = added(NewEndpoint(url="http://localhost:{0}/v1"), file, lists("m", owner="bench"))
    assert "answers: an OpenAI-compatible server at http://localhost:" in said
    assert endpoints(file) == (EndpointSection(name=f"local-{port}", url=f"http://localhost:{port}/v1", model="m"),)


def test_base_path_is_added_to_an_address(file: Path) -> None:
    """Without /v1 this server has no list: it answers 404 for all other paths."""

    async def run() -> str:
        screen = io.StringIO()
        listener = await asyncio.start_server(_particular, "127.0.0.1", 0)
        async with listener:
            port = listener.sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{port}/"
            await save_endpoint(NewEndpoint(url=url), file, {}, Console(file=screen, width=200))
        assert endpoints(file)[0].url == f"http://127.0.0.1:{port}/v1"
        return screen.getvalue()

    assert "so this address is used" in asyncio.run(run())


async def _particular(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    (answer,) = lists("m") if head.startswith(b"GET /v1/models ") else status(404, {"error": "no route"})
    assert isinstance(answer, bytes)
    writer.write(answer)
    await writer.drain()
    writer.close()


def test_unreachable_server_is_added_as_described(file: Path) -> None:
    assert "refuses connections" in refused(NewEndpoint("far", CLOSED), file, kind=LlmError)
    said, _ = added(NewEndpoint("far", CLOSED, "m"), file)
    assert "not verified: llm endpoint 'far' at http://127.0.0.1:9/v1 refuses connections" in said
    assert endpoints(file) == (EndpointSection(name="far", url=CLOSED, model="m"),)
    wanted = NewEndpoint(url="http://127.0.0.1:{0}/v1")
    assert "answers, but lists no models; name one with --model" in refused(wanted, file, status(404, {"error": "x"}))


def test_missing_key_is_reported(file: Path) -> None:
    wanted = NewEndpoint("far", CLOSED, api_key_env="MY_KEY")
    assert refused(wanted, file) == "the environment variable MY_KEY is not set; set it to the key"
    said, _ = added(NewEndpoint("far", CLOSED, "m", "MY_KEY"), file)
    assert "not verified" in said
    assert "before the next start, put its key into MY_KEY" in said


def test_key_in_the_address_is_hidden(file: Path) -> None:
    said, _ = added(NewEndpoint("far", "http://127.0.0.1:{0}/v1?key=hush", "m"), file, lists("m"))
    assert "hush" not in said
    assert "hush" in endpoints(file)[0].url


@pytest.mark.parametrize(
    ("listed", "owner", "wanted", "warned"),
    [
        ("models/gemini-2.5-flash", "google", "gemini-2.5-flash", False),
        ("openai/gpt-4o", "", "openai/gpt-4o:online", True),
        ("gpt-4o-2024-08-06", "azure", "our-deployment", True),
        ("/models/qwen.gguf", "llamacpp", "qwen", True),
    ],
    ids=["gemini with prefix", "openrouter variant", "azure deployment", "llama.cpp alias"],
)
def test_unlisted_model_is_accepted_if_the_list_may_be_incomplete(
    file: Path, listed: str, owner: str, wanted: str, *, warned: bool
) -> None:
    said, _ = added(NewEndpoint("far", "http://127.0.0.1:{0}/v1", wanted), file, lists(listed, owner=owner))
    assert endpoints(file)[0].model == wanted
    assert (f'does not list "{wanted}": it has {listed}' in said) is warned


@pytest.mark.parametrize("name", ["auto", "skills"])
def test_reserved_host_name_is_not_used_as_a_name(name: str, file: Path) -> None:
    unasked = NewEndpoint(url=f"http://{name}/v1", model="m", api_key_env="NOT_SET")
    assert refused(unasked, file).startswith(f'"{name}" is reserved for --llm; give')


@pytest.mark.parametrize(
    "wanted", [NewEndpoint("far", CLOSED, "m"), NewEndpoint("far", model="m", kind="sagemaker")], ids=["address", "AWS"]
)
def test_success_is_not_reported_if_the_file_cannot_be_written(wanted: NewEndpoint, tmp_path: Path) -> None:
    screen = io.StringIO()
    with pytest.raises(ConfigError, match="cannot be written"):
        asyncio.run(save_endpoint(wanted, tmp_path / "nowhere" / "mine.toml", {}, Console(file=screen, width=200)))
    assert "not verified: " in screen.getvalue()
    assert "added" not in screen.getvalue()


@pytest.mark.parametrize("owner", ["library", "vllm", "organization_owner"])
def test_unlisted_model_is_refused_if_the_list_is_complete(file: Path, owner: str) -> None:
    assert 'has no model "b"; it has a' in refused(
        NewEndpoint("far", "http://127.0.0.1:{0}/v1", "b"), file, lists("a", owner=owner)
    )


def test_variable_that_overrides_the_file_is_reported(file: Path) -> None:
    said, _ = added(NewEndpoint(), file, lists("m"), environ={"REPARTEE_LLM_ENDPOINTS": "[]"})
    assert "but the environment variable REPARTEE_LLM_ENDPOINTS is set and replaces the endpoints of the file" in said


# ---- removal ----


def test_removal_is_reported(file: Path) -> None:
    before = file.read_text(encoding="utf-8")
    added(NewEndpoint("a", CLOSED, "m"), file)
    added(NewEndpoint("b", CLOSED, "m"), file)
    screen = io.StringIO()
    for name in ("a", "b"):
        remove(name, file, {}, Console(file=screen, width=200))
    assert screen.getvalue().splitlines() == [
        f"removed from {file}: a (m at {CLOSED})",
        "left: b",
        RESTART,
        f"removed from {file}: b (m at {CLOSED})",
        "no endpoint is left: the built-in skills answer",
        RESTART,
    ]
    assert file.read_text(encoding="utf-8") == before


# ---- flags of a new endpoint ----


def test_further_keys_are_parsed_by_type() -> None:
    assert parse_settings(["template=llama3", "tier=2", "bos=true", "weight=0.5"], "tgi") == {
        "template": "llama3",
        "tier": 2,
        "bos": True,
        "weight": 0.5,
    }


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("template", "--set: must be key=value, as in --set template=llama3"),
        ("tmplate=x", "--set tmplate: no such setting; did you mean template?"),
        ("url=http://h", "--set url: no such setting"),
        ("threads=2", '--set threads: kind "tgi" does not have this key, only url, api_key_env, template, bos and'),
        ("tier=10", "--set tier: must be a whole number from 1 to 9"),
        ("api_key=sk-1", "put the key into an environment variable"),
    ],
    ids=["no equals sign", "misspelled key", "key with a flag", "key of another kind", "value out of range", "secret"],
)
def test_user_error_is_one_line(pair: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_settings([pair], "tgi")
    assert told in str(refused.value)
    assert "sk-1" not in str(refused.value)


def test_only_kinds_with_a_model_list_may_omit_keys() -> None:
    assert NewEndpoint(name="near").section().url
    with pytest.raises(ValueError, match="model must be"):
        NewEndpoint(name="near", kind="tgi").section()
    assert (
        NewEndpoint("a", "http://h", "m", kind=parse_kind("triton"), more={"template": "llama3"}).section().kind
        == "triton"
    )
    with pytest.raises(ConfigError, match="must be one of bedrock, grpc, local, openai, "):
        parse_kind("vllm")
