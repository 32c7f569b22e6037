"""A Repartee server: its address, what it offers, and why it cannot be used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from homeassistant.const import CONF_TOKEN, CONF_URL
from homeassistant.exceptions import HomeAssistantError

from .const import CONF_FINGERPRINT, DOMAIN

DEFAULT_PORT = 8765
CONNECT_TIMEOUT_S = 8.0
PING_S = 20.0
"""Interval of the pings that keep an idle connection open and detect a dead one."""

MAX_MESSAGE_BYTES = 8 << 20

_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_SETTINGS = "/v1/repartee/settings"
_REALTIME = "/v1/realtime"


class ServerError(HomeAssistantError):
    """The server cannot answer. `key` names the sentence in the translations."""

    def __init__(self, key: str, address: str = "", detail: str = "") -> None:
        """`detail`: more for the log, without anything that was said."""
        super().__init__(
            f"{key}: {address} {detail}".strip(),
            translation_domain=DOMAIN,
            translation_key=key,
            translation_placeholders={"address": address},
        )
        self.key = key
        self.address = address


class AddressError(ValueError):
    """The user has entered an invalid value. `key` names the sentence in the translations."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


@dataclass(frozen=True)
class Offer:
    """Offer of a server.

    Attributes:
        language: The server's own language.
        languages: The languages of its conversations, with `language`.
    """

    language: str
    languages: tuple[str, ...]


@dataclass(frozen=True)
class Server:
    """A server and how it is reached.

    Attributes:
        url: Its address, as in https://repartee.local:8765.
        token: Its token; "" for none.
        fingerprint: SHA-256 of the only certificate that is accepted; "": as browsers check it.
    """

    url: str
    token: str = field(default="", repr=False)
    fingerprint: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Returns the server of a configuration entry, or of a form. Raises AddressError."""
        url = address_of(str(data[CONF_URL]))
        fingerprint = fingerprint_of(str(data.get(CONF_FINGERPRINT) or ""))
        if fingerprint and not url.startswith("https:"):
            raise AddressError("fingerprint_without_tls")
        token = str(data.get(CONF_TOKEN) or "").strip()
        if not token.isascii() or any(sign.isspace() for sign in token):
            raise AddressError("invalid_token")
        return cls(url, token, fingerprint)

    @property
    def as_data(self) -> dict[str, str]:
        """The data of a configuration entry."""
        return {CONF_URL: self.url, CONF_TOKEN: self.token, CONF_FINGERPRINT: self.fingerprint}

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def _ssl(self) -> "bool | aiohttp.Fingerprint":
        return aiohttp.Fingerprint(bytes.fromhex(self.fingerprint)) if self.fingerprint else True

    async def offer(self, http: aiohttp.ClientSession) -> Offer:
        """Asks what the server offers, which also checks address, certificate and token. Raises ServerError."""
        timeout = aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S)
        try:
            async with http.get(
                self.url + _SETTINGS, headers=self._headers, ssl=self._ssl, timeout=timeout, allow_redirects=False
            ) as answer:
                self._check(answer.status)
                return _offer_of(await answer.json())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._error(error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ServerError("not_repartee", self.url) from error

    async def connect(self, http: aiohttp.ClientSession, resume_token: str = "") -> aiohttp.ClientWebSocketResponse:
        """Opens the connection of a conversation; with a token, that of an earlier connection. Raises ServerError."""
        params = {"resume": resume_token} if resume_token else {}
        try:
            return await http.ws_connect(
                self.url + _REALTIME,
                params=params,
                headers=self._headers,
                ssl=self._ssl,
                heartbeat=PING_S,
                max_msg_size=MAX_MESSAGE_BYTES,
                timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
            )
        except aiohttp.WSServerHandshakeError as error:
            self._check(error.status)
            raise ServerError("not_repartee", self.url) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._error(error) from error

    def _check(self, status: int) -> None:
        """Raises ServerError for a status that is no success."""
        if status in {401, 403}:
            raise ServerError("invalid_auth", self.url)
        if status in {429, 503}:
            raise ServerError("busy", self.url)
        if status not in {101, 200}:
            raise ServerError("not_repartee", self.url, f"answers {status}")

    def _error(self, error: Exception) -> ServerError:
        if isinstance(error, aiohttp.ServerFingerprintMismatch | aiohttp.ClientSSLError):
            return ServerError("wrong_certificate", self.url)
        if isinstance(error, aiohttp.ContentTypeError):
            return ServerError("not_repartee", self.url)
        return ServerError("cannot_connect", self.url, type(error).__name__)


def address_of(text: str) -> str:
    """Returns an address as http:// or https:// with a port. Raises AddressError."""
    text = text.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise AddressError("invalid_address") from None
    scheme = _SCHEMES.get(parts.scheme)
    if scheme is None or not parts.hostname or parts.username or parts.path.strip("/") or parts.query:
        raise AddressError("invalid_address")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host}:{port}"


def fingerprint_of(text: str) -> str:
    """Returns a fingerprint as 64 hexadecimal digits; "" for none. Raises AddressError."""
    digits = text.strip().lower().replace(":", "").removeprefix("sha-256 ").removeprefix("sha256 ").strip()
    if digits and _FINGERPRINT.fullmatch(digits) is None:
        raise AddressError("invalid_fingerprint")
    return digits


def _offer_of(answer: Mapping[str, Any]) -> Offer:
    language = answer["language"]
    default = str(language["default"])
    codes = [str(choice["code"]) for choice in language["choices"]]
    return Offer(default, tuple(dict.fromkeys((default, *codes))))
