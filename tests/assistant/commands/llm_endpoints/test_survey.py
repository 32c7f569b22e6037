"""`repartee endpoints`: configured and local servers, and the next steps."""

import asyncio
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.services.llm_server import Script, Wait, answer, serving, status
from support.texts.text_cases import named_cases

from assistant.commands.llm_endpoints.survey import Survey, endpoint_source, next_steps, show, survey
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.config.loading import Loaded, load_settings
from assistant.config.settings import DEFAULTS, Settings
from assistant.endpoint_probe import probe as endpoint_probe
from assistant.endpoint_probe.figures import GIVEN_UP_AFTER_MS, EndpointMeasurement, ProbeAnswer
from assistant.endpoint_probe.handshake import Handshake
from llm.discovery import UNKNOWN, FoundServer
from llm.http import stream as http_stream
from llm.routing.hedging import UNMEASURED_PATIENCE_S

CLOSED = "http://127.0.0.1:9/v1"
LIST = {"object": "list", "data": [{"id": "llama3.2:latest", "owned_by": "library"}, {"id": "bge-m3"}]}


def loaded(*endpoints: EndpointSection) -> Loaded:
    settings = Settings(llm=LlmSection(endpoints=endpoints)) if endpoints else DEFAULTS
    return Loaded(settings, {}, Path("mine.toml"), frozenset())


def endpoint(name: str, url: str, model: str = "llama3.2", key: str = "") -> EndpointSection:
    return EndpointSection(name=name, url=url, model=model, api_key_env=key)


def shown(seen: Survey) -> str:
    screen = io.StringIO()
    show(seen, "mine.toml", Path("mine.toml"), Console(file=screen, width=160))
    return screen.getvalue()


async def test_configured_and_local_servers_are_asked_and_shown() -> None:
    async with serving() as one, serving() as locked:
        one.models, locked.models = status(200, LIST), status(401, {"error": "no"})
        ports = [int(server.url.removesuffix("/v1").rpartition(":")[2]) for server in (one, locked)]
        everybody = loaded(
            endpoint("good", one.url),
            endpoint("typo", one.url, "lama"),
            endpoint("down", CLOSED),
            endpoint("closed", locked.url),
            endpoint("wrong", locked.url, key="KEY"),
            endpoint("unset", locked.url, key="OTHER"),
        )
        environ: Mapping[str, str] = {"KEY": "k"}
        seen = await survey(everybody, environ, ports=ports)
    assert [server.name for server in seen.servers] == ["Ollama", UNKNOWN]
    states = {check.endpoint.name: check for check in seen.configured}
    assert states["good"].problem == ""
    assert states["good"].state.startswith("answers in ")
    assert states["typo"].problem == "typo: the server has llama3.2:latest; correct its model"
    assert "refuses connections: start the server" in states["down"].problem
    assert states["closed"].problem == "closed: requires a key: set its api_key_env to the variable that holds it"
    assert states["wrong"].problem == "wrong: rejects the key: correct KEY"
    assert states["unset"].problem == "unset: the environment variable OTHER is not set; set it to the key"
    screen = shown(seen)
    assert "configured (mine.toml)" in screen
    assert "found on localhost" in screen
    for check in seen.configured:
        assert check.problem in screen


@pytest.mark.parametrize(
    ("listed", "state"),
    [("models/gemini-2.5-flash", " ms"), ("gemini-2.5-pro", " ms, does not list this model")],
    ids=["by a path", "not at all"],
)
def test_model_with_another_or_no_listed_name_is_measured(listed: str, state: str) -> None:
    async def run() -> Survey:
        async with serving(answer("One.")) as cloud:
            cloud.models = status(200, {"object": "list", "data": [{"id": listed, "owned_by": "google"}]})
            return await survey(loaded(endpoint("cloud", cloud.url, "gemini-2.5-flash")), {}, ports=[], requests=1)

    (found,) = asyncio.run(run()).configured
    assert (found.problem, len(found.answers)) == ("", 1)
    assert found.state.endswith(state)


@pytest.mark.parametrize(
    "listing",
    [
        status(500, {"error": "boom"}),
        status(200, b"<html>", "content-type: text/html\r\n"),
        (Wait(30),),
    ],
    ids=["fails", "is a page", "hangs"],
)
def test_questions_decide_if_only_the_model_list_fails(monkeypatch: pytest.MonkeyPatch, listing: Script) -> None:
    monkeypatch.setattr(endpoint_probe, "ASK_TIMEOUT_S", 0.3)
    monkeypatch.setattr(http_stream, "WARM_TIMEOUT_S", 0.3)

    async def run(script: Script) -> EndpointMeasurement:
        async with serving(script) as one:
            one.models = listing
            return (await survey(loaded(endpoint("one", one.url)), {}, ports=[], requests=1)).configured[0]

    found = asyncio.run(run(answer("One.")))
    assert (found.state, found.problem, len(found.answers)) == ("answers, lists no models", "", 1)
    found = asyncio.run(run(status(500, {"error": "boom"})))
    assert (found.state, len(found.answers)) == ("no answer", 0)
    assert "HTTP 500" in found.problem


def test_source_of_the_endpoints_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.touch()
    text = '[{name="near",url="http://127.0.0.1:9/v1",model="m"}]'
    assert endpoint_source(load_settings(file, {}, [])) == str(file)
    assert (
        endpoint_source(load_settings(file, {"REPARTEE_LLM_ENDPOINTS": text}, []))
        == "environment REPARTEE_LLM_ENDPOINTS"
    )
    assert endpoint_source(load_settings(file, {}, [f"llm.endpoints={text}"])) == "--set"


def test_unanswered_questions_are_not_shown_as_unasked() -> None:
    found = EndpointMeasurement(endpoint("mute", CLOSED), "no answer", handshake=Handshake(1.0, 2.0))
    assert "measured (no endpoint answered)" in shown(Survey((found,), (), (), requests=5))
    assert "measured (no answers were requested)" in shown(Survey((found,), (), ()))


def test_empty_survey_suggests_what_to_start() -> None:
    screen = shown(Survey((), (), (8000, 1234)))
    assert "no endpoint is configured (mine.toml)" in screen
    assert "no language-model server was found on localhost (ports 8000, 1234)" in screen
    assert "start a server (Ollama, llama.cpp, vLLM, LM Studio), or add one elsewhere" in screen
    assert "until then the built-in skills answer" in screen


def server(name: str, port: int, *models: str, needs_key: bool = False) -> FoundServer:
    return FoundServer(name, f"http://127.0.0.1:{port}/v1", models, 2.0, needs_key)


def test_next_step_is_a_command() -> None:
    found = (server("Ollama", 11434, "a", "b"), server("vLLM", 8000, "m"), server(UNKNOWN, 8080, needs_key=True))
    assert next_steps(Survey((), found, ()), None) == [
        "add it: repartee endpoints add ollama --model MODEL",
        "add it: repartee endpoints add vllm",
        "add it: repartee endpoints add local-8080 --api-key-env VARIABLE (the variable holds its key)",
        "or for one run: repartee demo --llm auto",
        "until then the built-in skills answer",
    ]


def down(name: str) -> EndpointMeasurement:
    problem = f"llm endpoint {name!r} at {CLOSED} refuses connections: start the server, or check the port in its url"
    return EndpointMeasurement(endpoint(name, CLOSED), "no answer", problem)


REPAIR = "start the server, or check the port in its url"


def test_broken_endpoints_are_counted_and_listed_first() -> None:
    seen = (EndpointMeasurement(endpoint("mine", CLOSED), "answers in 2 ms"), down("near"), down("my far"))
    assert next_steps(Survey(seen, (server("Ollama", 11434, "a"),), ()), None) == [
        "2 of 3 endpoints are broken; repair those you need, or remove them:",
        f"  near: {REPAIR} (repartee endpoints remove near)",
        f"  my far: {REPAIR} (repartee endpoints remove 'my far')",
        "add it: repartee endpoints add ollama",
        "next: repartee demo",
    ]


def test_demo_is_not_suggested_without_a_working_endpoint() -> None:
    steps = next_steps(Survey((down("near"),), (), ()), Path("my.toml"))
    assert steps[0] == "1 of 1 endpoints is broken; repair those you need, or remove them:"
    assert steps[-1] == "or without a language model: repartee demo --llm skills --config my.toml"
    assert not [step for step in steps if step.startswith("next:")]


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        ("near: the environment variable KEY is not set; set it to the key", "set it to the key"),
        ("near: rejects the key: correct KEY", "correct KEY"),
        ("near: the server has a, b; correct its model", "the server has a, b; correct its model"),
        ('llm endpoint \'near\' failed (HTTP 500) at h: see the log of its model server: "no: memory"', "see the"),
        ("llm endpoint 'near' ended its answer without any text (stop), it sent only blanks: check its", "check its"),
    ], ids=['key not set', 'wrong key', 'unknown model', 'server error', 'empty answer'],
)  # fmt: skip
def test_repair_is_the_remedy_of_the_problem(problem: str, remedy: str) -> None:
    step = next_steps(Survey((EndpointMeasurement(endpoint("near", CLOSED), "no answer", problem),), (), ()), None)[1]
    assert remedy in step
    assert "memory" not in step


def test_partly_answering_endpoint_is_broken_but_usable() -> None:
    answers = (ProbeAnswer(300.0, None, 9, 400.0),)
    seen = replace(down("near"), answers=answers)
    steps = next_steps(Survey((seen,), (), ()), None)
    assert (steps[0][:6], steps[-1]) == ("1 of 1", "next: repartee demo")


def test_configured_server_is_not_suggested_again() -> None:
    check = EndpointMeasurement(endpoint("mine", "http://localhost:8000/v1"), "answers in 2 ms")
    assert next_steps(Survey((check,), (server("vLLM", 8000, "m"),), ()), None) == ["next: repartee demo"]


def test_every_command_names_the_requested_file() -> None:
    file = Path("my own.toml")
    check = EndpointMeasurement(endpoint("mine", "http://localhost:8000/v1"), "answers in 2 ms")
    found = (server("Ollama", 11434, "a"), server(UNKNOWN, 8080, needs_key=True))
    lines = [step for seen in (Survey((check,), found, ()), Survey((), found, ())) for step in next_steps(seen, file)]
    lines += next_steps(Survey((), (), ()), file)
    commands = [line for line in lines if "repartee " in line]
    assert len(commands) == 8
    assert all("--config 'my own.toml'" in command for command in commands)


def test_server_without_chat_model_is_explained() -> None:
    assert next_steps(Survey((), (server("Ollama", 11434),), ()), None)[0] == (
        "Ollama at http://127.0.0.1:11434/v1 has no model: load a chat model there, then add it"
    )


def test_key_in_the_address_is_hidden() -> None:
    check = EndpointMeasurement(endpoint("mine", "https://h/v1?key=hush"), "answers in 2 ms")
    assert "hush" not in shown(Survey((check,), (), ()))


def test_model_names_are_not_interpreted_as_markup() -> None:
    assert "[red]x[/red]" in shown(Survey((), (server("vLLM", 8000, "[red]x[/red]"),), ()))


@named_cases(
    ("others", "patience_s", "said"),
    {"beside another": (("cloud",), 0.0, True), "alone": ((), 0.0, False), "patient": (("cloud",), 4.0, False)},
)
def test_endpoint_given_up_by_the_router_is_named(others: Sequence[str], patience_s: float, *, said: bool) -> None:
    waits_ms = {"local": GIVEN_UP_AFTER_MS + 500, "cloud": 300.0}
    endpoints = [
        replace(endpoint("local", CLOSED), patience_s=patience_s),
        *(endpoint(name, CLOSED) for name in others),
    ]
    checks = tuple(
        EndpointMeasurement(each, "answers", answers=(ProbeAnswer(waits_ms[each.name], None, 9, 400.0),))
        for each in endpoints
    )
    lines = next_steps(Survey(checks, (), ()), None)
    notice = "local takes 2500 ms to its first token; with other endpoints configured it is abandoned after 2 s: "
    notice += "raise its patience_s, use a smaller model, or use it alone (--llm local)"
    assert lines == [*([notice] if said else []), "next: repartee demo"]


def test_card_profile_matches_that_of_the_router() -> None:
    assert GIVEN_UP_AFTER_MS == UNMEASURED_PATIENCE_S * 1000
