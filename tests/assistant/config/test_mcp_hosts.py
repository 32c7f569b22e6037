"""MCP servers that a client may name, and addresses that are connected to."""

import pytest

from assistant.config.mcp_hosts import McpHosts
from assistant.config.tool_settings import ToolsSection

HOSTS = McpHosts.of("Tools.Example.org other.example.org:8443 localhost:9000 10.0.0.5:80 [::1]:9000")


@pytest.mark.parametrize(
    "url",
    [
        "https://tools.example.org/mcp",
        "https://TOOLS.example.org./mcp",
        "http://tools.example.org:80",
        "https://tools.example.org:443/a?b=c",
        "https://other.example.org:8443/mcp",
        "http://localhost:9000/mcp",
        "http://10.0.0.5/mcp",
        "http://[::1]:9000/mcp",
    ],
)
def test_listed_host_is_allowed(url: str) -> None:
    assert HOSTS.refusal(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/mcp",
        "https://tools.example.org.evil.com/mcp",
        "https://evil.com/tools.example.org",
        "https://tools.example.org@evil.com/mcp",
        "https://evil.com#@tools.example.org",
        "https://evil.com\\@tools.example.org/",
        "https://user:pw@tools.example.org/mcp",
        "https://tools.example.org:8443/mcp",
        "https://other.example.org/mcp",
        "http://127.0.0.1:9000/mcp",
        "http://2130706433:9000/mcp",
        "http://169.254.169.254/latest/meta-data",
        "ftp://tools.example.org/mcp",
        "file:///etc/passwd",
        "https:///mcp",
        "https://tools.example.org:99999/mcp",
        "tools.example.org",
        "",
    ],
)
def test_other_address_is_refused(url: str) -> None:
    assert HOSTS.refusal(url)


def test_without_hosts_everything_is_refused() -> None:
    assert "client_mcp_hosts" in McpHosts.of("").refusal("https://tools.example.org/mcp")


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("tools.example.org", "93.184.216.34", True),
        ("tools.example.org", "2606:2800:220:1::1", True),
        ("tools.example.org", "127.0.0.1", False),
        ("tools.example.org", "10.0.0.6", False),
        ("tools.example.org", "10.0.0.5", True),
        ("tools.example.org", "192.168.1.1", False),
        ("tools.example.org", "169.254.169.254", False),
        ("tools.example.org", "100.64.0.1", False),
        ("tools.example.org", "0.0.0.0", False),
        ("tools.example.org", "224.0.0.1", False),
        ("tools.example.org", "fe80::1%eth0", False),
        ("tools.example.org", "fd00::1", False),
        ("tools.example.org", "::ffff:127.0.0.1", False),
        ("tools.example.org", "::ffff:93.184.216.34", True),
        ("tools.example.org", "64:ff9b::7f00:1", False),
        ("tools.example.org", "2002:7f00:1::", False),
        ("tools.example.org", "no address", False),
        ("localhost", "127.0.0.1", True),
        ("localhost", "10.0.0.6", False),
    ],
)
def test_name_must_resolve_to_public_or_listed_address(host: str, address: str, allowed: bool) -> None:
    assert HOSTS.may_connect(host, address) == allowed


def test_localhost_is_this_machine_only_if_listed() -> None:
    assert not McpHosts.of("tools.example.org").may_connect("localhost", "127.0.0.1")


@pytest.mark.parametrize("text", ["https://tools.example.org", "a/b", "a:99999", "a:0", "a:b", "me@host", "a?b"])
def test_wrong_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="client_mcp_hosts must be hosts"):
        ToolsSection(client_mcp_hosts=text)
