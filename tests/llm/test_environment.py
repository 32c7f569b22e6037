"""A proxy or certificates that the environment names, and that cannot be used."""

import asyncio
from pathlib import Path

import pytest

from llm.environment import environment_of_client
from llm.listing import ask
from llm.openai import OpenAIChat

PASSWORD = "not-a-real-password"


@pytest.fixture
def no_certificates(tmp_path: Path) -> str:
    """A file that holds none."""
    file = tmp_path / "empty.pem"
    file.write_text("nothing")
    return str(file)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", r"llm endpoint 'near': the proxy .* httpx\[socks\], or unset ALL_PROXY"),
        ("HTTPS_PROXY", f"ftp://me:{PASSWORD}@proxy:1", r"llm endpoint 'near': the proxy .* correct HTTP_PROXY"),
        ("SSL_CERT_FILE", "/nowhere.pem", r"llm endpoint 'near': .* SSL_CERT_FILE \(/nowhere\.pem\) holds no cert"),
        ("SSL_CERT_FILE", "", r"llm endpoint 'near': .* SSL_CERT_FILE \(.*empty\.pem\) holds no cert"),
    ],
)
def test_what_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, no_certificates: str, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value or no_certificates)
    with pytest.raises(ValueError, match=told) as conversing:
        OpenAIChat("near", "http://llm.example/v1", "m7")
    with pytest.raises(ValueError, match=told) as asking:
        asyncio.run(ask("near", "http://llm.example/v1", api_key=None, timeout_s=5))
    assert PASSWORD not in f"{conversing.value}{asking.value}"


def test_what_belongs_to_no_endpoint_names_none() -> None:
    with pytest.raises(ValueError, match=r"^the proxy in the environment"), environment_of_client():
        raise ImportError("socksio")
