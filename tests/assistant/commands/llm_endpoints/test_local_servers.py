"""Meaning of `--llm`, and notes about local servers."""

from dataclasses import replace

import pytest
from support.texts.text_cases import text_cases

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.llm_settings import LlmSection
from assistant.config.settings import DEFAULTS, Settings, SkillsSection
from assistant.endpoint_probe.local_servers import (
    choose,
    handles,
    mention,
    offers,
    port_here,
    shortened,
)
from llm.discovery import UNKNOWN, FoundServer

OLLAMA = FoundServer("Ollama", "http://127.0.0.1:11434/v1", ("llama3.2:latest",), 3.0)
VLLM = FoundServer("vLLM", "http://127.0.0.1:8000/v1", ("qwen", "phi"), 2.0)
LOCKED = FoundServer(UNKNOWN, "http://127.0.0.1:8080/v1", (), 2.0, needs_key=True)
EMBEDDER = FoundServer("Ollama", "http://127.0.0.1:11434/v1", (), 2.0, others=("bge-m3",))
NEAR = EndpointSection(name="near", url="http://10.0.0.2/v1", model="m")
FAR = EndpointSection(name="far", url="https://example.org/v1", model="m")
BOTH = replace(DEFAULTS, llm=LlmSection(endpoints=(NEAR, FAR)))
WITHOUT_SKILLS = replace(DEFAULTS, skills=SkillsSection(enabled=False))


QWEN = EndpointSection(name="local", kind="local", model="qwen3-0.6b")


def downloaded(_settings: Settings) -> tuple[EndpointSection | None, str]:
    return QWEN, "auto: its model is downloaded"


def test_local_uses_the_model_on_this_machine() -> None:
    for settings in (DEFAULTS, BOTH, WITHOUT_SKILLS):
        choice = choose(settings, "local", (OLLAMA,), local_endpoint=downloaded)
        assert choice.settings.llm.endpoints == (QWEN,)
        assert choice.message == "language model: qwen3-0.6b on this machine, for this run"


def test_local_is_an_endpoint_of_that_name_if_there_is_one() -> None:
    named = replace(NEAR, name="local")
    settings = replace(DEFAULTS, llm=LlmSection(endpoints=(named, FAR)))
    assert choose(settings, "local", (), local_endpoint=downloaded).settings.llm.endpoints == (named,)


def test_local_without_a_model_names_the_command() -> None:
    with pytest.raises(ConfigError, match=r"no language model is downloaded; get one with `repartee models pull qwen3"):
        choose(DEFAULTS, "local", (), local_endpoint=lambda _settings: (None, ""))
    with pytest.raises(ConfigError, match="needs more memory"):
        choose(DEFAULTS, "local", (), local_endpoint=lambda _settings: (None, "it needs more memory"))


def test_auto_uses_the_model_on_this_machine_if_no_server_is_found() -> None:
    choice = choose(DEFAULTS, "auto", (EMBEDDER,), local_endpoint=downloaded)
    assert choice.settings.llm.endpoints == (QWEN,)
    assert "qwen3-0.6b on this machine" in choice.message
    assert choose(DEFAULTS, "auto", (OLLAMA,), local_endpoint=downloaded).settings.llm.endpoints != (QWEN,)


def test_skills_turn_the_model_on_this_machine_off() -> None:
    assert choose(DEFAULTS, "skills", ()).settings.llm.local_model == "off"


def test_found_server_is_not_used_unless_requested() -> None:
    for settings in (DEFAULTS, BOTH):
        choice = choose(settings, None, (OLLAMA,))
        assert choice.settings is settings
        assert (choice.message, choice.why, choice.fallback) == ("", "", False)


def test_auto_uses_the_first_usable_server() -> None:
    choice = choose(BOTH, "auto", (LOCKED, EMBEDDER, VLLM, OLLAMA))
    assert choice.settings.llm.endpoints == (EndpointSection(name="vllm", url=VLLM.url, model="qwen"),)
    assert choice.message == (
        "language model: vLLM at http://127.0.0.1:8000/v1, qwen, the first of its 2 models, for this run"
    )
    assert not choice.fallback
    assert replace(choice.settings, llm=BOTH.llm) == BOTH
    assert choose(DEFAULTS, "auto", (OLLAMA,)).message == (
        "language model: Ollama at http://127.0.0.1:11434/v1, llama3.2:latest, for this run"
    )


def test_auto_without_a_server_reports_what_answers_instead() -> None:
    choice = choose(DEFAULTS, "auto", (), (8000, 1234))
    assert choice.settings == DEFAULTS
    assert choice.message == "no language model was found on localhost (ports 8000, 1234); the built-in skills answer"
    assert choice.fallback
    choice = choose(BOTH, "auto", (LOCKED, EMBEDDER), (8080,))
    assert choice.settings == BOTH
    assert choice.message == (
        "no language model was found on localhost (ports 8080); "
        "an OpenAI-compatible server at http://127.0.0.1:8080/v1 (requires a key); "
        "Ollama at http://127.0.0.1:11434/v1 (no chat model, only bge-m3); the configured endpoints answer (near, far)"
    )
    assert choice.fallback


def test_name_selects_only_that_endpoint() -> None:
    choice = choose(BOTH, "far", ())
    assert choice.settings.llm.endpoints == (FAR,)
    assert choice.message == "language model: far, m, for this run"
    assert not choice.fallback


def test_skills_select_no_endpoint() -> None:
    choice = choose(BOTH, "skills", ())
    assert choice.settings.llm.endpoints == ()
    assert choice.message == "no language model, as requested: the built-in skills answer"
    assert not choice.fallback


@pytest.mark.parametrize(
    ("settings", "llm", "said"),
    [
        (
            BOTH,
            "fra",
            '--llm "fra": no such endpoint; did you mean far? The known names are near, far, auto, skills, local',
        ),
        (
            DEFAULTS,
            "near",
            '--llm "near": no such endpoint; the known names are auto, skills, local; `repartee endpoints add` writes',
        ),
        (DEFAULTS, "", '--llm "": no such endpoint; the known names are auto, skills, local'),
        (WITHOUT_SKILLS, "skills", "--llm: without a language model and skills, nothing can answer"),
        (WITHOUT_SKILLS, "auto", "--llm: without a language model and skills, nothing can answer"),
    ],
    ids=["misspelled endpoint", "no endpoint configured", "empty name", "skills disabled", "auto without skills"],
)
def test_user_error_is_reported(settings: Settings, llm: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        choose(settings, llm, ())
    assert said in str(refused.value)


def test_auto_without_skills_requires_a_server() -> None:
    assert choose(WITHOUT_SKILLS, "auto", (OLLAMA,)).settings.llm.endpoints[0].name == "ollama"


def test_unused_server_is_mentioned_if_nothing_else_answers() -> None:
    assert mention(DEFAULTS, None, (OLLAMA, LOCKED)) == (
        "found: Ollama at http://127.0.0.1:11434/v1 (llama3.2:latest); "
        "use it with --llm auto or `repartee endpoints add`"
    )
    assert mention(DEFAULTS, None, (OLLAMA, VLLM)) == (
        "found: Ollama at http://127.0.0.1:11434/v1 (llama3.2:latest), vLLM at http://127.0.0.1:8000/v1 (qwen, phi); "
        "use the first with --llm auto, or one of them with `repartee endpoints add NAME`"
    )
    assert mention(BOTH, None, (OLLAMA,)) == ""
    for llm in ("auto", "skills"):
        assert mention(DEFAULTS, llm, (OLLAMA,)) == ""
    assert mention(DEFAULTS, None, (LOCKED, EMBEDDER)) == ""
    assert mention(DEFAULTS, None, ()) == ""


def test_long_list_of_models_is_shortened_and_an_empty_one_is_named() -> None:
    assert shortened(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"
    assert offers(replace(OLLAMA, models=())) == "no model"


def test_server_names_are_unique() -> None:
    second = replace(VLLM, url="http://127.0.0.1:8001/v1")
    assert list(handles((OLLAMA, VLLM, LOCKED))) == ["ollama", "vllm", "local-8080"]
    assert list(handles((VLLM, second))) == ["vllm-8000", "vllm-8001"]
    assert list(handles((replace(LOCKED, url="https://api.example.org/v1"),))) == ["api.example.org"]


@text_cases(
    ("url", "port"),
    [
        ("http://127.0.0.1:8000/v1", 8000),
        ("http://localhost:8000", 8000),
        ("http://[::1]:8000/v1", 8000),
        ("http://localhost/v1", 80),
        ("https://localhost/v1", 443),
        ("http://10.0.0.2:8000/v1", None),
    ],
)
def test_ports_of_this_machine_are_recognized(url: str, port: int | None) -> None:
    assert port_here(url) == port
