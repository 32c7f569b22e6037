"""Validation of addresses, keys and headers at construction."""

import pytest
from support.texts.text_cases import named_cases, text_cases

from llm.address import base_url_of, is_loopback, is_private, request_headers, route_url

ROUTE = "/chat/completions"


@named_cases(
    ("url", "whole"),
    {
        "base path": ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        "blanks and slash": (" http://h:1/v1/ ", "http://h:1/v1/chat/completions"),
        "with route": ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        "route and slash": ("http://h:1/v1/chat/completions/", "http://h:1/v1/chat/completions"),
        "no path": ("https://h", "https://h/chat/completions"),
        "query and fragment": (
            "https://h/d/chat/completions?api-version=1#x",
            "https://h/d/chat/completions?api-version=1",
        ),
        "IPv6": ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
    },
)
def test_base_url_accepts_address_with_or_without_route(url: str, whole: str) -> None:
    assert str(route_url(base_url_of("near", url, route=ROUTE), ROUTE)) == whole


@named_cases(
    "url",
    {
        "empty": "",
        "no scheme": "h:1/v1",
        "address only": "127.0.0.1:8000",
        "ftp": "ftp://h/v1",
        "no host": "http://",
        "no host but path": "http:///v1",
        "port too large": "http://h:99999/v1",
        "port is a letter": "http://h:x/v1",
        "label too long": "http://" + "a" * 70 + ".com/",
        "line break": "http://h\n/v1",
    },
)
def test_malformed_url_error_names_endpoint_and_key(url: str) -> None:
    with pytest.raises(ValueError, match=r"llm endpoint 'near': url must look like"):
        base_url_of("near", url, route=ROUTE)


def test_url_with_password_is_refused_without_quoting_it() -> None:
    with pytest.raises(ValueError, match="api_key_env") as caught:
        base_url_of("near", "http://me:hunter2@h/v1", route=ROUTE)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a b", "sk-ä", "sk\nx", ""], ids=["space", "non-ASCII", "line break", "empty"])
def test_invalid_key_is_refused_without_quoting_it(key: str) -> None:
    with pytest.raises(ValueError, match="api_key_env") as caught:
        request_headers("near", key, {})
    assert "sk" not in str(caught.value)


def test_invalid_header_is_refused_without_quoting_it() -> None:
    with pytest.raises(ValueError, match="x-tenant") as caught:
        request_headers("near", None, {"x-tenant": "a\r\nhunter2"})
    assert "hunter2" not in str(caught.value)


def test_configured_headers_override_defaults() -> None:
    assert request_headers("near", "k", {"authorization": "Basic x"})["authorization"] == "Basic x"


@text_cases(
    ("host", "is_local"),
    [("localhost", True), ("127.0.0.2", True), ("::1", True), ("10.0.0.1", False), ("example.org", False)],
)
def test_loopback_hosts_are_recognized(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


@text_cases(
    ("host", "is_in_private_network"),
    [
        *[(host, True) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.7", "192.168.1.2", "fd00::1")],
        *[(host, True) for host in ("100.64.0.9", "ollama", "nas.local", "host.docker.internal")],
        *[(host, False) for host in ("8.8.8.8", "2600::1", "api.openai.com", "local.example.org")],
    ],
)
def test_private_hosts_are_recognized(host: str, *, is_in_private_network: bool) -> None:
    assert is_private(host) is is_in_private_network
