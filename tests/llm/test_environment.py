"""A proxy or certificates that the environment names, and that cannot be used."""

import pytest

from llm.environment import environment_of_client


def test_what_belongs_to_no_endpoint_names_none() -> None:
    with pytest.raises(ValueError, match=r"^the proxy in the environment"), environment_of_client():
        raise ImportError("socksio")


def test_a_proxy_that_nothing_goes_through_may_be_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:70000")
    with pytest.raises(ValueError, match="correct HTTP_PROXY"), environment_of_client():
        pass
    with environment_of_client(outside=False):
        pass
    monkeypatch.setenv("no_proxy", "near.example, *")
    with environment_of_client():
        pass
