"""Access control by host, origin, address and token."""

import hmac
from dataclasses import replace

import pytest
from support.texts.text_cases import text_cases

from web.access.access_control import TOKEN_SHAPE, AccessControl, Request, is_loopback, is_unspecified

TOKEN = "a-token-of-enough-characters"
HERE = Request("/v1/realtime", hosts=("127.0.0.1:8765",), peer="127.0.0.1")


def keeper(bound_host: str = "127.0.0.1", **more: object) -> AccessControl:
    return AccessControl(bound_host, 8765, **more)  # type: ignore[arg-type]  # as each test says


def verdict(access_control: AccessControl, request: Request = HERE, **changes: object) -> str:
    """The refusal's code; "" if there is none."""
    refusal = access_control.decide(replace(request, **changes))  # type: ignore[arg-type]  # as each test says
    return refusal.code if refusal is not None else ""


# Host


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LocalHost:8765", "[::1]:8765"])
def test_all_loopback_names_are_accepted_as_host(host: str) -> None:
    assert verdict(keeper(), hosts=(host,)) == ""


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765",
        "evil.example",
        "localhost:9000",
        "localhost",
        "127.0.0.1.evil.example:8765",
        "192.168.1.5:8765",
    ],
)
def test_foreign_host_is_refused(host: str) -> None:
    refusal = keeper().decide(replace(HERE, hosts=(host,)))
    assert refusal is not None
    assert (refusal.status, refusal.code) == (403, "foreign_host")
    assert f"server.allowed_hosts={host}" in refusal.message


@pytest.mark.parametrize(
    "hosts",
    [(), ("localhost:8765", "localhost:8765"), ("",), ("a b",), ("localhost:8765/x",)],
    ids=["no host", "two hosts", "empty", "space", "path"],
)
def test_invalid_host_header_is_a_bad_request(hosts: tuple[str, ...]) -> None:
    refusal = keeper().decide(replace(HERE, hosts=hosts))
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, "bad_host")


def test_configured_hosts_pass_with_their_port_or_any_port() -> None:
    access_control = keeper(allowed_hosts=("voice.example", "other.example:9000"))
    assert verdict(access_control, hosts=("voice.example",)) == ""
    assert verdict(access_control, hosts=("Voice.example:444",)) == ""
    assert verdict(access_control, hosts=("other.example:9000",)) == ""
    assert verdict(access_control, hosts=("other.example",)) == "foreign_host"


def test_server_on_all_addresses_accepts_addresses_but_no_names() -> None:
    for bound in ("0.0.0.0", "::"):
        access_control = keeper(bound, token=TOKEN)
        assert verdict(access_control, Request("/", hosts=("192.168.1.5:8765",), peer="192.168.1.9")) == ""
        assert verdict(access_control, Request("/", hosts=("[fe80::1]:8765",), peer="192.168.1.9")) == ""
        assert verdict(access_control, Request("/", hosts=("192.168.1.5:80",), peer="192.168.1.9")) == "foreign_host"
        assert verdict(access_control, Request("/", hosts=("evil.example:8765",), peer="192.168.1.9")) == "foreign_host"


def test_default_port_may_be_omitted_in_host() -> None:
    access_control = AccessControl("127.0.0.1", 80)
    assert verdict(access_control, hosts=("localhost",)) == ""
    assert verdict(access_control, hosts=("localhost",), scheme="https") == "foreign_host"


def test_bound_host_is_accepted() -> None:
    access_control = keeper("voice.local", token=TOKEN)
    assert verdict(access_control, Request("/", hosts=("voice.local:8765",))) == ""
    assert verdict(keeper("fd00::5", token=TOKEN), Request("/", hosts=("[fd00::5]:8765",))) == ""


# Origin


def test_own_page_and_clients_without_origin_pass() -> None:
    assert verdict(keeper()) == ""
    assert verdict(keeper(), origins=("http://127.0.0.1:8765",)) == ""
    assert verdict(keeper(), hosts=("localhost:8765",), origins=("http://localhost:8765",)) == ""


@text_cases(
    "origin",
    [
        "https://evil.example", "http://127.0.0.1:3000", "https://127.0.0.1:8765", "http://localhost:8765", "null", "",
        "file://", "http://127.0.0.1:8765.evil.example", "chrome-extension://abc", "http://127.0.0.1:8765/",
    ],
)  # fmt: skip
def test_foreign_origin_is_refused(origin: str) -> None:
    refusal = keeper().decide(replace(HERE, origins=(origin,)))
    assert refusal is not None
    assert (refusal.status, refusal.code) == (403, "foreign_origin")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin, cross-site"])
def test_page_of_another_server_cannot_embed_the_interface(site: str) -> None:
    sample = replace(HERE, path="/v1/repartee/voice-sample", origins=())
    assert verdict(keeper(), sample, sites=(site,)) == "foreign_origin"
    assert verdict(keeper(), sample, sites=("same-origin",)) == ""
    assert verdict(keeper(), sample, sites=("none",)) == ""
    assert verdict(keeper(), replace(sample, path="/"), sites=(site,)) == ""  # a link to the page


def test_only_configured_foreign_origins_pass() -> None:
    access_control = keeper(allowed_origins=("https://app.example:443",))
    assert verdict(access_control, origins=("https://app.example",)) == ""
    assert verdict(access_control, origins=("http://app.example",)) == "foreign_origin"
    assert verdict(access_control, origins=("null",)) == "foreign_origin"
    assert verdict(access_control, origins=("https://app.example", "https://app.example")) == "bad_origin"


def test_own_page_passes_behind_https_proxy() -> None:
    access_control = keeper(token=TOKEN, allowed_hosts=("voice.example",))
    page = Request("/", "https", ("voice.example",), ("https://voice.example",), peer="203.0.113.7")
    assert verdict(access_control, page) == ""
    assert (
        verdict(access_control, page, scheme="http") == "foreign_origin"
    )  # a page loaded without encryption may be anybody's


# Address and token


def test_without_token_only_loopback_clients_pass() -> None:
    for peer in ("192.168.1.9", None, "nonsense"):
        assert verdict(keeper(), peer=peer) == "foreign_address"
        assert verdict(keeper(insecure=True), peer=peer) == ""
    assert verdict(keeper(), peer="::ffff:127.0.0.1") == ""


def test_without_token_any_key_is_accepted() -> None:
    assert verdict(keeper(), authorizations=("Bearer sk-anything",)) == ""
    assert verdict(keeper(), subprotocols=("realtime", "openai-insecure-api-key.sk-anything")) == ""


def test_token_is_required_for_realtime_and_metrics() -> None:
    for path in ("/v1/realtime", "/metrics", "/v1/other", "/static", "/healthz/x"):
        assert verdict(keeper(token=TOKEN), path=path) == "token_missing", path
    for path in ("/", "/static/talk/page.js", "/healthz", "/readyz"):
        assert verdict(keeper(token=TOKEN), path=path) == "", path


@pytest.mark.parametrize(
    ("authorizations", "subprotocols", "code"),
    [
        ((f"Bearer {TOKEN}",), (), ""),
        ((f"bearer  {TOKEN} ",), (), ""),
        ((), ("realtime", f"openai-insecure-api-key.{TOKEN}", "openai-beta.realtime-v1"), ""),
        (("Bearer sk-wrong",), ("realtime", f"openai-insecure-api-key.{TOKEN}"), ""),
        (("Bearer",), (), "token_wrong"),
        ((f"Bearer {TOKEN}x",), (), "token_wrong"),
        (("Bearer tokén",), (), "token_wrong"),
        ((), ("realtime", f"openai-insecure-api-key.{TOKEN[:-1]}"), "token_wrong"),
        ((f"Basic {TOKEN}",), (), "token_missing"),
        ((), ("realtime",), "token_missing"),
    ],
    ids=[
        "bearer",
        "lower-case bearer with blanks",
        "subprotocol",
        "wrong bearer and right subprotocol",
        "bearer without token",
        "bearer with more characters",
        "non-ASCII bearer",
        "truncated subprotocol",
        "basic authentication",
        "no token in subprotocols",
    ],
)
def test_token_is_accepted_as_bearer_or_subprotocol(
    authorizations: tuple[str, ...], subprotocols: tuple[str, ...], code: str
) -> None:
    request = replace(HERE, authorizations=authorizations, subprotocols=subprotocols)
    refusal = keeper(token=TOKEN).decide(request)
    assert (refusal.code if refusal else "") == code
    assert refusal is None or (refusal.status == 401 and TOKEN not in refusal.message)


@pytest.mark.parametrize("path", ["/v1/phone", "/v1/phone/"])
def test_telephone_call_may_send_its_token_later(path: str) -> None:
    access_control = keeper(token=TOKEN)
    assert verdict(access_control, path=path) == ""
    assert verdict(access_control, path=path, authorizations=("Bearer wrong",)) == "token_wrong"
    assert verdict(access_control, path=path, origins=("https://evil.example",)) == "foreign_origin"
    assert verdict(access_control, path=path, hosts=("evil.example",)) == "foreign_host"


def test_late_token_is_compared_with_all_that_was_sent() -> None:
    access_control = keeper(token=TOKEN)
    assert not access_control.accepts_token(HERE, ())
    assert not access_control.accepts_token(HERE, ("", TOKEN[:-1], "\ud800"))
    assert access_control.accepts_token(HERE, ("wrong", TOKEN))
    assert access_control.accepts_token(replace(HERE, authorizations=(f"Bearer {TOKEN}",)), ())
    assert keeper().accepts_token(HERE, ())


def test_host_and_origin_are_checked_before_the_token() -> None:
    assert verdict(keeper(token=TOKEN), hosts=("evil.example",)) == "foreign_host"
    assert verdict(keeper(token=TOKEN), origins=("https://evil.example",)) == "foreign_origin"


def test_token_shape_allows_only_valid_tokens() -> None:
    assert TOKEN_SHAPE.fullmatch(TOKEN)
    for wrong in ("short", "with blanks in between it", "with/slashes/is/no/subprotocol", "ümlaute-und-so-weiter-hier"):
        assert not TOKEN_SHAPE.fullmatch(wrong), wrong


def test_loopback_hosts_are_recognized() -> None:
    assert [
        host for host in ("localhost", "127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1") if not is_loopback(host)
    ] == []
    assert [
        host for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", "127.0.0.1.example") if is_loopback(host)
    ] == []
    assert is_unspecified("0.0.0.0")
    assert is_unspecified("::")
    assert not is_unspecified("127.0.0.1")


# Client secrets


@pytest.mark.parametrize("path", ["/v1/realtime", "/v1/realtime/"])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_client_secret_replaces_the_token_at_the_websocket(path: str, token: str | None) -> None:
    offered = ("realtime", "openai-insecure-api-key.ek_something")
    access_control = keeper(token=token)
    assert verdict(access_control, path=path, subprotocols=offered, secret_is_valid=True) == ""
    assert verdict(access_control, path=path, subprotocols=offered, secret_is_valid=False) == "client_secret_invalid"


@pytest.mark.parametrize(
    "path", ["/metrics", "/traces", "/v1/realtime/client_secrets", "/v1/audio/speech", "/v1/models", "/v1/announce"]
)
def test_client_secret_opens_no_other_path(path: str) -> None:
    sent = ("Bearer ek_something",)
    assert verdict(keeper(token=TOKEN), path=path, authorizations=sent, secret_is_valid=True) == "token_wrong"


def test_client_secret_does_not_replace_the_other_checks() -> None:
    for changes in ({"hosts": ("evil.example",)}, {"origins": ("https://evil.example",)}, {"peer": "10.0.0.7"}):
        assert verdict(keeper(), secret_is_valid=True, **changes).startswith("foreign_")


def test_token_that_looks_like_a_client_secret_is_accepted() -> None:
    token = "ek_a-token-of-enough-characters"
    assert verdict(keeper(token=token), authorizations=(f"Bearer {token}",), secret_is_valid=False) == ""


def test_every_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def noted(sent: bytes, token: bytes) -> bool:
        compared.append(sent)
        return compare_digest(sent, token)

    compare_digest = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", noted)
    sent = (f"Bearer {TOKEN}", "Bearer another-key-of-that-length")
    verdict(keeper(token=TOKEN), authorizations=sent)
    assert compared == [TOKEN.encode(), b"another-key-of-that-length"]
