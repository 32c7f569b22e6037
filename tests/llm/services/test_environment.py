"""Proxies and certificates from the environment: the addresses they apply to, and invalid values."""

import logging

import httpx
import pytest
from support.texts.text_cases import named_cases, text_cases

from llm.environment import environment_of_client, goes_through_proxy, proxy_for

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_error_without_endpoint_names_no_endpoint() -> None:
    with pytest.raises(ValueError, match=r"^the proxy in the environment"), environment_of_client():
        raise ImportError("socksio")


def test_invalid_unused_proxy_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:70000")
    with pytest.raises(ValueError, match=r"^HTTPS_PROXY in the environment is not"), environment_of_client():
        proxy_for("https://llm.example/v1")
    assert proxy_for("https://127.0.0.1/v1") is None
    assert proxy_for("http://llm.example/v1") is None
    monkeypatch.setenv("no_proxy", "near.example, *")
    assert proxy_for("https://llm.example/v1") is None


@named_cases(
    ("configured", "normalized"),
    {
        "without slash": ("http://proxy.example:3128", "http://proxy.example:3128/"),
        "with slash": ("http://proxy.example:3128/", "http://proxy.example:3128/"),
        "blanks": (" http://proxy.example:3128/ ", "http://proxy.example:3128/"),
        "upper case": ("HTTP://proxy.example", "http://proxy.example/"),
        "no scheme": ("proxy.example:3128", "http://proxy.example:3128/"),
        "scheme-relative": ("//proxy.example:3128", "http://proxy.example:3128/"),
        "HTTPS": ("https://proxy.example", "https://proxy.example/"),
        "password": ("http://me:secret@proxy.example:3128", "http://me:secret@proxy.example:3128/"),
        "IPv6": ("http://[fd00::1]:3128", "http://[fd00::1]:3128/"),
        "SOCKS with remote names": ("socks5h://proxy.example:1080", "socks5h://proxy.example:1080/"),
        "SOCKS": ("socks://proxy.example:1080/", "socks5://proxy.example:1080/"),
    },
)
def test_proxy_address_is_normalized(monkeypatch: pytest.MonkeyPatch, configured: str, normalized: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", configured)
    assert proxy_for("http://llm.example/v1") == normalized
    assert httpx.URL(normalized)


@named_cases(
    "configured",
    {
        "ftp": "ftp://proxy.example",
        "no host": "http://",
        "invalid IPv6": "http://[::1",
        "port too large": "proxy.example:70000",
        "space": "a b",
    },
)
def test_invalid_proxy_address_is_refused(monkeypatch: pytest.MonkeyPatch, configured: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", configured)
    with pytest.raises(ValueError, match="HTTP_PROXY in the environment is not"), environment_of_client("near"):
        proxy_for("http://llm.example/v1")
    assert goes_through_proxy("http://llm.example/v1")


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_proxy_variable_may_be_upper_or_lower_case(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "http://proxy.example")
    assert proxy_for("https://llm.example/v1") == "http://proxy.example/"
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "LLM.example")
        assert proxy_for("https://llm.example/v1") is None
        monkeypatch.delenv(variable)


@text_cases(
    "url",
    [
        *(
            "http://localhost:8000",
            "http://LOCALHOST:8000",
            "http://a.localhost",
            "http://127.0.0.1",
            "http://127.1.2.3",
        ),
        *("http://[::1]:8000", "http://0.0.0.0:8000", "http://[::]:8000", "http://[::ffff:127.0.0.1]:8000"),
    ],
)
def test_server_on_this_machine_bypasses_proxy(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example")
    assert proxy_for(url) is None
    assert not goes_through_proxy(url)


def test_invalid_no_proxy_entries_are_ignored_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example")
    monkeypatch.setenv("NO_PROXY", "near.example,[oops,http://me:secret@[,%%")
    with caplog.at_level(logging.WARNING):
        assert proxy_for("http://llm.example") == "http://proxy.example/"
        assert proxy_for("http://near.example") is None
    assert len(caplog.records) == 1
    assert "'[oops'" in caplog.text
    assert "secret" not in caplog.text
