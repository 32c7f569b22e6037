"""Flags that describe a new endpoint."""

import pytest

from assistant.commands.llm_endpoints.wanted import NewEndpoint, parse_kind, parse_settings
from assistant.config.errors import ConfigError


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
