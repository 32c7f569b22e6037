"""Keys of an endpoint: which kind accepts which, and the errors for others."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from support.generated.config_texts import all_endpoint_keys
from support.texts.text_cases import named_cases

from assistant.config.endpoint_settings import EndpointSection, endpoint_keys
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings, render_effective
from assistant.registry.protocols import PROTOCOLS, default_kind
from llm.aws.settings import Family, FamilyChoice
from llm.protocols.protocol import CHOSEN_KEYS, KEYS_OF_ALL
from llm.triton.generate import BACKENDS
from llm.triton.settings import Backend

GOOD: Mapping[str, str] = {
    "openai": 'url = "https://h/v1"',
    "tgi": 'url = "http://h:8080"\ntemplate = "llama3"',
    "triton": 'url = "http://h:8000"\ntemplate = "llama3"',
    "grpc": 'url = "grpcs://h:8001"\ntemplate = "llama3"',
    "sagemaker": 'region = "eu-central-1"',
    "bedrock": 'region = "eu-central-1"',
    "local": "threads = 2",
}
FILE = Path("given.toml")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(kind: str, keys: str) -> str:
    return f'[[llm.endpoints]]\nname = "near"\nkind = "{kind}"\nmodel = "m"\n{keys}\n'


def read(kind: str, keys: str) -> EndpointSection:
    FILE.write_text(table(kind, keys), encoding="utf-8")
    (endpoint,) = load_settings(FILE, {}, ()).settings.llm.endpoints
    return endpoint


def problem(kind: str, keys: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read(kind, keys)
    (told,) = refused.value.problems
    return told


def test_declarations_know_the_keys_of_the_program() -> None:
    assert {field.name for field in fields(EndpointSection)} == {*KEYS_OF_ALL, *CHOSEN_KEYS, "own"}
    for protocol in PROTOCOLS.all():
        assert set(protocol.needed_keys) <= set(protocol.chosen_keys)
        assert set(protocol.notes) <= set(endpoint_keys(protocol.name))
    kinds = {one.key.name: one.kinds for one in all_endpoint_keys()}
    assert kinds["name"] == PROTOCOLS.names
    assert kinds["ca_file"] == ("grpc",)
    assert [protocol.name for protocol in PROTOCOLS.all() if protocol.is_default] == [default_kind()]


def test_choices_are_those_of_the_clients() -> None:
    assert get_args(FamilyChoice) == ("auto", *get_args(Family))
    assert get_args(Backend) == tuple(BACKENDS)


@pytest.mark.parametrize("kind", PROTOCOLS.names)
def test_each_kind_needs_few_keys(kind: str) -> None:
    assert read(kind, GOOD[kind]).kind == kind


def test_old_tables_keep_their_meaning() -> None:
    FILE.write_text('[[llm.endpoints]]\nname = "a"\nurl = "http://h/v1"\nmodel = "m"\nregion = "upstairs"\n')
    (endpoint,) = load_settings(FILE, {}, ()).settings.llm.endpoints
    assert endpoint == EndpointSection(name="a", kind="openai", url="http://h/v1", model="m", region="upstairs")


@named_cases(
    ("kind", "keys", "told"),
    {
        "template for openai": (
            "openai",
            GOOD["openai"] + '\ntemplate = "llama3"',
            'given.toml:6: llm.endpoints[0].template: kind "openai" does not have this key, only url, '
            "api_key_env, images and the keys of every kind",
        ),
        "tgi without template": (
            "tgi",
            'url = "http://h"',
            'given.toml:1: llm.endpoints[0].template: is missing: kind "tgi" needs it',
        ),
        "grpc without address": (
            "grpc",
            'template = "llama3"',
            'llm.endpoints[0].url: is missing: kind "grpc" needs it',
        ),
        "openai without address": ("openai", "", "given.toml:1: llm.endpoints[0].url: is missing"),
        "empty address": ("openai", 'url = ""', "llm.endpoints[0]: url is missing"),
        "empty template": ("tgi", 'url = "http://h"\ntemplate = ""', 'template is missing: kind "tgi" needs it'),
        "address without scheme": (
            "openai",
            'url = "grpc://h:1"',
            'url must begin with http:// or https:// for kind "openai"',
        ),
        "invalid region": (
            "sagemaker",
            'region = "Frankfurt"',
            "region must be an AWS region such as eu-central-1, or empty",
        ),
        "invalid payload": (
            "sagemaker",
            'payload = "vllm"',
            'llm.endpoints[0].payload = "vllm": must be "auto", "tgi", ',
        ),
        "bos without template": ("sagemaker", "bos = true", "bos is part of a template: set template, or leave it out"),
        "template without invoke": (
            "bedrock",
            'template = "llama3"',
            'template needs api = "invoke": set api, or leave it out',
        ),
        "family without invoke": (
            "bedrock",
            'family = "llama"',
            'family needs api = "invoke": set api, or leave it out',
        ),
        "template for anthropic": (
            "bedrock",
            'api = "invoke"\nfamily = "anthropic"\ntemplate = "llama3"',
            "template is for models that accept a prompt, unlike those of Anthropic; leave it out",
        ),
        "details for tensorrt_llm": (
            "grpc",
            GOOD["grpc"] + '\nbackend = "tensorrt_llm"\ndetails = true',
            'details is available only for backend "vllm"; leave it out',
        ),
        "unknown kind": (
            "vllm",
            GOOD["openai"],
            'kind = "vllm": must be "bedrock", "grpc", "local", "openai", "sagemaker", "tgi" or "triton"',
        ),
    },
)
def test_error_is_one_line(kind: str, keys: str, told: str) -> None:
    said = problem(kind, keys)
    assert told in said
    assert "\n" not in said


def test_documented_examples_cover_every_kind_and_load() -> None:
    page = (Path(__file__).parent.parent.parent.parent / "docs" / "endpoints.md").read_text(encoding="utf-8")
    FILE.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    endpoints = load_settings(FILE, {}, ()).settings.llm.endpoints
    assert sorted(endpoint.kind for endpoint in endpoints) == sorted(PROTOCOLS.names)


def test_key_of_another_kind_is_always_refused() -> None:
    assert 'payload: kind "tgi" does not have this key' in problem("tgi", f"{GOOD['tgi']}\npayload = 'tgi'")
    with pytest.raises(ValueError, match='images: kind "tgi" does not have this key'):
        EndpointSection(name="a", kind="tgi", url="http://h", model="m", template="llama3", images=True)


def test_only_keys_of_the_kind_are_shown() -> None:
    FILE.write_text(table("bedrock", GOOD["bedrock"]), encoding="utf-8")
    shown = [row.key for row in render_effective(load_settings(FILE, {}, ()))]
    assert "llm.endpoints[0].cache" in shown
    assert "llm.endpoints[0].payload" not in shown


def test_images_are_for_services_with_messages() -> None:
    assert read("openai", f"{GOOD['openai']}\nimages = true").images
    assert read("bedrock", f"{GOOD['bedrock']}\nimages = true").images
    assert not read("openai", GOOD["openai"]).images
    assert "does not have this key" in problem("tgi", f"{GOOD['tgi']}\nimages = true")
    prompt = f"{GOOD['bedrock']}\napi = 'invoke'\ntemplate = 'llama3'\nimages = true"
    assert "images need requests with messages" in problem("bedrock", prompt)
