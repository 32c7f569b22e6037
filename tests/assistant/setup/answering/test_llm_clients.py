"""Clients of each kind of service built from a configuration: they answer, or the error is one line."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from support.services.aws_server import own_environment
from support.services.endpoint_services import ALL_KINDS, routed, serving_kind, table_of
from support.services.llm_server import ask

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.config.loading import load_settings
from assistant.setup.answering.llm_clients import address_of, model_of
from audio.errors import EngineLoadError
from llm.chat import Token

WITH_TEMPLATE = ("grpc", "sagemaker", "tgi", "triton")
"""Kinds that are sent a prompt."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def configured(text: str) -> LlmSection:
    Path("given.toml").write_text(text, encoding="utf-8")
    return load_settings(Path("given.toml"), {}, ()).settings.llm


def refusal(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Returns the error of building a client, as a conversation reports it."""
    (endpoint,) = configured(text).endpoints
    settings = load_settings(Path("given.toml"), {}, ()).settings
    with pytest.raises(EngineLoadError) as refused:
        routed(settings, environ or {})
    told = str(refused.value)
    assert "\n" not in told
    assert endpoint.name in told
    return told


def answered(kind: str, *texts: str, template: str = "chatml") -> tuple[str, str]:
    """Returns the text of an answer, and the body of its request. `template`: of kinds with prompts."""
    more = (f'template = "{template}"',) if kind == "sagemaker" else ()

    async def scene() -> tuple[str, str]:
        async with serving_kind(kind, *texts, more=more) as service:
            settings = configured("[llm]\nmax_tokens = 77\n" + service.table.replace('"chatml"', f'"{template}"'))
            async with aclosing(model_of(settings.endpoints[0], settings, {})) as model:
                await model.load()
                assert model.detail.startswith(f"{kind} m7")
                said = await ask(model)
            (body,) = service.asked()
            return "".join(event.text for event in said if isinstance(event, Token)), body

    return asyncio.run(scene())


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_each_kind_answers(kind: str) -> None:
    text, asked = answered(kind, "Mount", " Everest.")
    assert text == "Mount Everest."
    assert "what is the tallest mountain" in asked
    assert "77" in asked


@pytest.mark.parametrize("kind", WITH_TEMPLATE)
def test_template_makes_the_prompt_and_ends_the_answer(kind: str) -> None:
    text, asked = answered(kind, "Everest.", "<|im_", "end|>\n<|im_start|>user\nAnd then?")
    assert text == "Everest."
    assert "<|im_start|>user\\nwhat is the tallest mountain<|im_end|>" in asked.replace("\\\\n", "\\n")


@pytest.mark.parametrize("kind", WITH_TEMPLATE)
def test_thoughts_that_the_template_begins_are_not_spoken(kind: str) -> None:
    template = "{% for message in messages %}{{ message.content }}\n{% endfor %}<|im_start|>assistant\n<think>\n"
    Path("thinker.jinja").write_text(template, encoding="utf-8")
    assert answered(kind, "Hm.", "</think>", "\nHi.", template="thinker.jinja")[0] == "Hi."


def test_template_file_may_use_the_date() -> None:
    Path("own.jinja").write_text(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
        "{{ strftime_now('%Y') }}<|assistant|>",
        encoding="utf-8",
    )
    _, asked = answered("tgi", "Everest.", template="own.jinja")
    assert "<|user|>what is the tallest mountain<|end|>20" in asked


def test_table_of_the_guide_has_every_kind() -> None:
    page = (Path(__file__).parents[4] / "docs" / "endpoints.md").read_text(encoding="utf-8")
    rows = page.partition("## Kinds of services\n")[2].strip().split("\n\n")[0].splitlines()[2:]
    assert sorted(row.split("`")[1] for row in rows) == sorted([*ALL_KINDS, "local"])


def test_missing_key_is_named() -> None:
    told = refusal(table_of("tgi", "http://127.0.0.1:9", 'api_key_env = "MY_KEY"'), {"OTHER": "k"})
    assert "the environment variable MY_KEY is not set; set it to the key" in told


def test_missing_template_is_named() -> None:
    told = refusal(table_of("triton", "http://127.0.0.1:9").replace("chatml", "gone.jinja"))
    assert "template 'gone.jinja': the file does not exist: check the path" in told


def test_missing_region_is_requested() -> None:
    text = '[[llm.endpoints]]\nname = "cloud"\nkind = "bedrock"\nmodel = "eu.amazon.nova-lite-v1:0"\n'
    assert "no AWS region: set region, AWS_REGION" in refusal(text)


def test_model_that_needs_a_template_requires_one() -> None:
    text = (
        '[[llm.endpoints]]\nname = "cloud"\nkind = "bedrock"\nregion = "us-east-1"\napi = "invoke"\n'
        'model = "meta.llama3-1-8b-instruct-v1:0"\n'
    )
    assert "needs a chat template, or api 'converse'" in refusal(text)


@pytest.mark.parametrize(
    ("module", "kind", "extra"),
    [("botocore", "sagemaker", "aws"), ("botocore", "bedrock", "aws"), ("grpc", "grpc", "grpc")],
)
def test_missing_package_names_its_extra(module: str, kind: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert f".venv/bin/pip install -e '.[{extra}]'" in refusal(table_of(kind, "http://127.0.0.1:9"))


def test_import_that_fails_in_a_protocol_of_the_program_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm.tgi.chat", None)
    told = refusal(table_of("tgi", "http://127.0.0.1:9"))
    assert "its protocol tgi cannot be used (" in told
    assert told.endswith("install its package again, or set another kind.")


def test_missing_certificate_file_is_named() -> None:
    told = refusal(table_of("grpc", "grpcs://127.0.0.1:9", 'ca_file = "gone.pem"'))
    assert "ca_file gone.pem cannot be read" in told


def test_address_without_url_is_the_regions() -> None:
    bedrock = EndpointSection(name="c", kind="bedrock", model="m", region="eu-central-1")
    assert address_of(bedrock) == "https://bedrock-runtime.eu-central-1.amazonaws.com"
    sagemaker = EndpointSection(name="c", kind="sagemaker", model="m", region="us-west-2")
    assert address_of(sagemaker) == "https://runtime.sagemaker.us-west-2.amazonaws.com"
    own = EndpointSection(name="c", kind="bedrock", model="m", region="us-west-2", url="http://127.0.0.1:9")
    assert address_of(own) == "http://127.0.0.1:9"
    with pytest.raises(ValueError, match="no AWS region"):
        address_of(EndpointSection(name="c", kind="bedrock", model="m"))
