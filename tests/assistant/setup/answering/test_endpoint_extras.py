"""Parameters and headers of an endpoint, from the configuration to the request of every kind of service."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from support.services.aws_server import own_environment
from support.services.endpoint_services import ALL_KINDS, Service, serving_kind, table_of
from support.services.llm_server import HELLO, answer, ask, serving, status
from support.texts.text_cases import named_cases

from assistant.config.edit import table_of as toml_of
from assistant.config.edit import with_table, without_table
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings, render_effective
from assistant.config.settings import Settings
from assistant.config.toml_table import Headers, Parameters
from assistant.endpoint_probe.probe import measure_endpoint
from assistant.setup.answering.llm_clients import model_of
from llm.chat import ChatOptions
from llm.errors import LlmError

SECRET = "s3cret-of-nobody"
HEADERS = 'headers = { "x-api-key" = "${MY_KEY}", "X-Team" = "voice" }'
ENVIRON = {"MY_KEY": f"{SECRET}\n"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def configured(text: str) -> Settings:
    Path("given.toml").write_text(text, encoding="utf-8")
    return load_settings(Path("given.toml"), {}, ()).settings


async def asked(service: Service, options: ChatOptions | None = None) -> tuple[str, Mapping[str, str]]:
    """Returns the body and the headers of a request, as the service received them."""
    settings = configured("[llm]\nmax_tokens = 77\ntemperature = 0.25\n" + service.table).llm
    async with aclosing(model_of(settings.endpoints[0], settings, ENVIRON)) as model:
        await ask(model) if options is None else [event async for event in model.stream(HELLO, options)]
    return service.asked()[0], service.headers()


def wire(kind: str, *more: str, options: ChatOptions | None = None) -> tuple[str, Mapping[str, str]]:
    async def scene() -> tuple[str, Mapping[str, str]]:
        async with serving_kind(kind, "Everest.", more=more) as service:
            return await asked(service, options)

    return asyncio.run(scene())


def body(kind: str, *more: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(wire(kind, *more)[0])
    return found


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_headers_reach_every_kind_of_service(kind: str) -> None:
    _, headers = wire(kind, HEADERS)
    assert headers["x-api-key"] == SECRET
    assert headers["x-team"] == "voice"


def test_aws_headers_are_signed() -> None:
    for kind in ("sagemaker", "bedrock"):
        _, headers = wire(kind, 'headers = { "X-Amzn-Custom" = "a" }')
        assert "x-amzn-custom" in headers["authorization"]


def test_openai_parameters_are_request_fields() -> None:
    found = body(
        "openai",
        'parameters = { top_p = 0.9, stop = ["x"], reasoning_effort = "low", '
        "chat_template_kwargs = { enable_thinking = false }, temperature = 1.0, stream_options = { extra = true } }",
    )
    assert found["top_p"] == 0.9
    assert found["stop"] == ["x"]
    assert found["reasoning_effort"] == "low"
    assert found["chat_template_kwargs"] == {"enable_thinking": False}
    assert (found["temperature"], found["max_tokens"]) == (1.0, 77)
    assert found["stream_options"] == {"include_usage": True, "extra": True}


def test_max_completion_tokens_replaces_max_tokens() -> None:
    limit = "parameters = { max_completion_tokens = 50 }"
    found = json.loads(wire("openai", limit, options=ChatOptions(max_tokens=9))[0])
    assert found["max_completion_tokens"] == 9  # a request's own limit
    assert "max_tokens" not in found


def test_parameters_of_other_kinds_are_placed_by_service() -> None:
    top_p = "parameters = { top_p = 0.9 }"
    assert body("tgi", "parameters = { top_p = 0.9, typical_p = 0.5 }")["parameters"]["typical_p"] == 0.5  # type: ignore[index]
    assert body("triton", top_p)["parameters"]["top_p"] == 0.9  # type: ignore[index]
    stop_words = 'backend = "tensorrt_llm"\nparameters = { bad_words = ["x"], top_k = 4 }'
    assert body("triton", stop_words)["bad_words"] == ["x"]
    assert '\\"top_p\\": 0.9' in wire("grpc", top_p)[0]
    assert body("sagemaker", top_p)["top_p"] == 0.9
    by_prompt = body("sagemaker", 'template = "chatml"', top_p)["parameters"]
    assert by_prompt == {
        "details": True,
        "return_full_text": False,
        "temperature": 0.25,
        "max_new_tokens": 77,
        "top_p": 0.9,
    }
    found = body(
        "bedrock",
        "parameters = { inferenceConfig = { topP = 0.9 }, additionalModelRequestFields = { top_k = 50 } }",
    )
    assert found["inferenceConfig"] == {"maxTokens": 77, "temperature": 0.25, "topP": 0.9}
    assert found["additionalModelRequestFields"] == {"top_k": 50}


def refusal(kind: str, *more: str) -> str:
    url = "grpc://127.0.0.1:9" if kind == "grpc" else "http://127.0.0.1:9"
    settings = configured(table_of(kind, url, *more)).llm
    with pytest.raises(ValueError, match="endpoint") as refused:
        model_of(settings.endpoints[0], settings, ENVIRON)
    told = str(refused.value)
    assert "\n" not in told
    assert SECRET not in told
    return told


@named_cases(
    ("kind", "keys", "told"),
    {
        "openai messages": (
            "openai",
            "parameters = { messages = [] }",
            "parameters: messages is set by the program: leave it out",
        ),
        "tgi stop": ("tgi", 'parameters = { stop = ["x"] }', "parameters: stop is set by the program"),
        "triton stream": ("triton", "parameters = { stream = false }", "parameters: stream is set by the program"),
        "triton stop": (
            "triton",
            'parameters = { stop = ["x"] }',
            "parameters: stop: this service accepts strings, numbers",
        ),
        "tensorrt_llm stop words": (
            "triton",
            'backend = "tensorrt_llm"\nparameters = { stop_words = [] }',
            "stop_words is set by the program",
        ),
        "grpc text input": (
            "grpc",
            "parameters = { text_input = 'a' }",
            "parameters: text_input is set by the program",
        ),
        "tensorrt_llm list": (
            "grpc",
            'backend = "tensorrt_llm"\nparameters = { a = [1] }',
            "parameters: a: this service accepts strings",
        ),
        "tensorrt_llm negative number": (
            "grpc",
            'backend = "tensorrt_llm"\nparameters = { seed = -1 }',
            "parameters: ",
        ),
        "sagemaker tools": ("sagemaker", "parameters = { tools = [] }", "parameters: tools is set by the program"),
        "bedrock system": ("bedrock", "parameters = { system = [] }", "parameters: system is set by the program"),
        "content type header": (
            "openai",
            'headers = { "Content-Type" = "a" }',
            "headers: Content-Type is set by the program",
        ),
        "authorization header and key": (
            "openai",
            'headers = { Authorization = "a" }\napi_key_env = "MY_KEY"',
            "headers: Authorization is set by the program",
        ),
        "authorization header for AWS": (
            "bedrock",
            'headers = { Authorization = "a" }',
            "headers: Authorization is set by the program",
        ),
        "date header for AWS": (
            "sagemaker",
            'headers = { "X-Amz-Date" = "a" }',
            "headers: X-Amz-Date is set by the program",
        ),
        "grpc timeout header": (
            "grpc",
            'headers = { "grpc-timeout" = "1S" }',
            "headers: grpc-timeout is reserved by gRPC",
        ),
        "unset variable": (
            "tgi",
            'headers = { a = "${NOT_SET}" }',
            "the environment variable NOT_SET is not set; set it, or remove it",
        ),
    },
)
def test_invalid_parameters_are_one_line(kind: str, keys: str, told: str) -> None:
    assert told in refusal(kind, keys)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("parameters = 3", "llm.endpoints[0].parameters = 3: must be a table of texts, numbers"),
        ("parameters = { a = inf }", "llm.endpoints[0].parameters = a table: must be a table of texts, numbers"),
        (f'headers = "{SECRET}"', "llm.endpoints[0].headers: must be a table of texts, as in"),
        (f'headers = {{ "a b" = "{SECRET}" }}', "llm.endpoints[0].headers: must be a table of texts, as in"),
    ],
    ids=["number", "infinity", "header as a text", "space in header name"],
)
def test_error_in_the_file_is_one_line_without_values(keys: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        configured(table_of("openai", "http://h/v1", keys))
    (line,) = refused.value.problems
    assert told in line
    assert SECRET not in line


def test_key_may_be_in_a_header() -> None:
    settings = configured(table_of("openai", "http://127.0.0.1:9", 'headers = { Authorization = "Token ${MY_KEY}" }'))
    model_of(settings.llm.endpoints[0], settings.llm, ENVIRON)


async def test_api_version_may_be_in_the_address() -> None:
    async with serving(answer("Everest.")) as server:
        url = f"{server.url}/deployments/d/chat/completions?api-version=2024-10-21"
        settings = configured(table_of("openai", url, 'headers = { api-key = "${MY_KEY}" }')).llm
        async with aclosing(model_of(settings.endpoints[0], settings, ENVIRON)) as model:
            await ask(model)
        (post,) = server.posts
        assert post.headers["api-key"] == SECRET
        assert "authorization" not in post.headers
        assert post.path.endswith("/deployments/d/chat/completions?api-version=2024-10-21")


def test_model_list_is_requested_with_headers() -> None:
    async def scene() -> str:
        async with serving_kind("openai", "Everest.", more=(HEADERS,)) as service:
            settings = configured(service.table)
            found = await measure_endpoint(settings.llm.endpoints[0], settings, ENVIRON, requests=1)
            assert found.problem == ""
            found = await measure_endpoint(settings.llm.endpoints[0], settings, {}, requests=1)
            return found.problem

    assert "the environment variable MY_KEY is not set" in asyncio.run(scene())


async def test_no_error_quotes_header_values() -> None:
    async with serving(status(400, {"error": {"message": f"who is {SECRET}?"}})) as server:
        settings = configured(table_of("openai", server.url, HEADERS)).llm
        async with aclosing(model_of(settings.endpoints[0], settings, ENVIRON)) as model:
            with pytest.raises(LlmError) as refused:
                await ask(model)
        told = str(refused.value)
    assert "HTTP 400" in told
    assert SECRET not in told


def test_screen_shows_only_names_and_variables_of_headers() -> None:
    Path("given.toml").write_text(
        table_of("openai", "http://h/v1", HEADERS, "parameters = { top_p = 0.9, stop = ['x'] }"), encoding="utf-8"
    )
    shown = {row.key: row.value for row in render_effective(load_settings(Path("given.toml"), ENVIRON, ()))}
    assert shown["llm.endpoints[0].headers"] == '"x-api-key (MY_KEY), X-Team"'
    assert shown["llm.endpoints[0].parameters"] == '{ top_p = 0.9, stop = ["x"] }'
    shown = {row.key: row.value for row in render_effective(load_settings(Path("given.toml"), {}, ()))}
    assert shown["llm.endpoints[0].headers"].endswith("(not set: MY_KEY)")
    assert not any(SECRET in value for value in shown.values())
    assert "voice" not in shown["llm.endpoints[0].headers"]


def test_header_may_name_a_repartee_variable() -> None:
    text = table_of("openai", "http://h/v1", 'headers = { a = "${REPARTEE_SECRET_OF_MINE}" }')
    Path("given.toml").write_text(text, encoding="utf-8")
    load_settings(Path("given.toml"), {"REPARTEE_SECRET_OF_MINE": "x"}, ())


def test_extras_are_added_and_removed_with_their_endpoint() -> None:
    endpoint = EndpointSection(
        name="near",
        url="http://h/v1",
        model="m",
        parameters=Parameters.of({"top_p": 0.9, "a": {"b": ["c"]}}),
        headers=Headers.of({"x-key": "${K}"}),
    )
    assert configured(toml_of(endpoint)).llm.endpoints == (endpoint,)
    inside = (
        '[[llm.endpoints]]\nname = "far"\nurl = "http://h/v1"\nmodel = "m"\n\n[llm.endpoints.parameters]\ntop_p = 1\n'
    )
    both = with_table(inside, endpoint)
    far, near = configured(both).llm.endpoints
    assert far.parameters.values == {"top_p": 1}
    assert configured(without_table(both, 0)).llm.endpoints == (near,)
    assert configured(without_table(both, 1)).llm.endpoints == (far,)


def test_documented_example_can_be_sent() -> None:
    page = (Path(__file__).parents[4] / "docs" / "endpoints.md").read_text(encoding="utf-8")
    example = page.partition("### Further parameters and headers")[2].partition("```toml\n")[2].partition("```")[0]
    settings = configured(example).llm
    assert len(settings.endpoints) == 2
    for endpoint in settings.endpoints:
        model_of(endpoint, settings, {"AZURE_OPENAI_API_KEY": SECRET})
