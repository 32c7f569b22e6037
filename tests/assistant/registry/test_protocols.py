"""Protocols of LLM endpoints that are installed as packages: their keys are checked, and broken ones harm nothing."""

from pathlib import Path

import pytest
from support.engines.installed_packages import Install, printed

from assistant.registry.protocols import PROTOCOLS, protocol_of

ECHO = """
from dataclasses import dataclass
from typing import Annotated
from declarations.settings import KeyInfo
from llm.protocols.protocol import LlmProtocol

@dataclass(frozen=True)
class Keys:
    pause_s: Annotated[float, KeyInfo("Pause.", unit="s", low=0, high=9)] = 0.0

ENGINE = LlmProtocol(name="echo", make=lambda request: None, about="", settings=Keys, chosen_keys=("url",))
"""

TABLE = """[[llm.endpoints]]
name = "a"
kind = "echo"
model = "m"
pause_s = 2
[[llm.endpoints]]
name = "b"
url = "http://h/v1"
model = "m"
"""

READ = f"""
from pathlib import Path
from assistant.config.errors import ConfigError
from assistant.config.loading import settings_in
from assistant.setup.answering.llm_clients import model_of

def read(text):
    try:
        return settings_in(text.encode(), Path("c.toml"))
    except ConfigError as error:
        print(error)

TABLE = {TABLE!r}
"""


def test_built_in_protocols_are_entry_points() -> None:
    assert {"openai", "tgi", "triton", "grpc", "sagemaker", "bedrock", "local"} <= set(PROTOCOLS.names)
    assert PROTOCOLS.broken() == ()
    assert [one.name for one in PROTOCOLS.all() if one.is_on_this_machine] == ["local"]


def test_keys_of_an_installed_protocol_are_checked_like_others(tmp_path: Path, install: Install) -> None:
    install("echo_protocol", ECHO, "repartee.llm", "echo")
    said = printed(
        tmp_path,
        f"{READ}\n"
        "print(read(TABLE).llm.endpoints[0].own.pause_s)\n"
        "read(TABLE.replace('2', '20'))\n"
        "read(TABLE.replace('pause_s', 'pause'))\n"
        "read(TABLE.replace('pause_s', 'payload'))\n"
        "read(TABLE.replace('\"echo\"', '\"eco\"').replace('pause_s = 2', 'url = \"http://h\"'))",
    )
    assert said.splitlines() == [
        "2.0",
        "c.toml:5: llm.endpoints[0].pause_s = 20: must be a number from 0 to 9 s",
        "c.toml:5: llm.endpoints[0].pause: no such setting; did you mean pause_s?",
        'c.toml:5: llm.endpoints[0].payload: kind "echo" does not have this key, only url, pause_s and the keys of '
        "every kind",
        'c.toml:3: llm.endpoints[0].kind = "eco": must be "bedrock", "grpc", "local", "openai", "sagemaker", "tgi", '
        '"triton" or "echo"',
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        (ECHO.replace("pause_s:", "weight:"), "may not have the names of other keys: weight"),
    ],
    ids=["import fails", "key of the program"],
)
def test_package_that_cannot_be_loaded_is_named_where_it_is_used(
    tmp_path: Path, install: Install, text: str, why: str
) -> None:
    install("echo_protocol", text, "repartee.llm", "echo")
    said = printed(
        tmp_path,
        f"{READ}\n"
        "llm = read(TABLE).llm\n"
        "print(model_of(llm.endpoints[1], llm, {}).detail)\n"
        "try:\n    model_of(llm.endpoints[0], llm, {})\nexcept ValueError as error:\n    print(error)",
    )
    usable, broken = said.splitlines()
    assert usable == "openai m at http://h/v1"
    assert broken.startswith("llm endpoint 'a': the engine echo of the package echo_protocol 1.0 cannot be loaded (")
    assert why in broken


@pytest.mark.parametrize(
    ("make", "told"),
    [
        ("__import__('nothing_of_this_name')", "cannot be used (ModuleNotFoundError: No module named 'nothing_of"),
        ("{}['key']", "cannot be used (KeyError: 'key'); install its package again, or set another kind."),
    ],
)
def test_protocol_that_fails_to_make_its_client_is_one_line(
    tmp_path: Path, install: Install, make: str, told: str
) -> None:
    install("echo_protocol", ECHO.replace("request: None", f"request: {make}"), "repartee.llm", "echo")
    said = printed(
        tmp_path,
        f"{READ}\nllm = read(TABLE).llm\n"
        "try:\n    model_of(llm.endpoints[0], llm, {})\nexcept ValueError as error:\n    print(error)",
    )
    (line,) = said.splitlines()
    assert line.startswith(f"llm endpoint 'a': its protocol echo {told}")


@pytest.mark.parametrize(
    ("kind", "url", "provider"),
    [
        ("openai", "https://api.openai.com/v1", "openai"),
        ("openai", "https://mine.openai.azure.com/v1", "azure.ai.openai"),
        ("openai", "https://notazure.com/v1", "openai"),
        ("bedrock", "", "aws.bedrock"),
        ("grpc", "grpc://gpu1", "triton"),
        ("tgi", "http://gpu1", "tgi"),
    ],
)
def test_provider_names_follow_the_conventions(kind: str, url: str, provider: str) -> None:
    assert protocol_of(kind).provider_at(url) == provider


def test_schemes_have_the_default_ports_of_their_protocol() -> None:
    ports = {(one.name, scheme.name): scheme.port for one in PROTOCOLS.all() for scheme in one.schemes}
    assert ports["openai", "https"] == 443
    assert ports["grpc", "http"] == ports["grpc", "grpc"] == 8001
