"""Encrypts conversations before they leave the gateway. No I/O.

AES-GCM with a key that HKDF derives from the gateways' common secret and the resume token: Redis alone, or the secret
alone, does not reveal what was said. The version and the hash of the token are authenticated, so that a conversation
cannot be put in the place of another one.
"""

import hashlib
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE_BYTES = 12
_PURPOSE = b"repartee conversation"


class SealError(Exception):
    """A sealed conversation was changed, or was sealed with another secret."""


def token_hash(token: str) -> str:
    """Returns the SHA-256 of a resume token in hexadecimal digits. It names the conversation in Redis."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


class Seal:
    """Seals and opens the conversations of gateways that share a secret."""

    def __init__(self, secret: str) -> None:
        """`secret`: the same at all gateways; at least 16 characters."""
        self._secret = secret.encode()

    def close(self, token: str, version: int, content: bytes) -> bytes:
        """Returns the content, encrypted."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher(token).encrypt(nonce, content, _bound(token, version))

    def open(self, token: str, version: int, sealed: bytes) -> bytes:
        """Returns the content. Raises SealError."""
        nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher(token).decrypt(nonce, encrypted, _bound(token, version))
        except (InvalidTag, ValueError) as error:
            raise SealError("the conversation was changed, or sealed with another secret") from error

    def _cipher(self, token: str) -> AESGCM:
        salt = token.encode(errors="surrogatepass")
        return AESGCM(HKDF(SHA256(), length=32, salt=salt, info=_PURPOSE).derive(self._secret))


def _bound(token: str, version: int) -> bytes:
    return f"{version} {token_hash(token)}".encode()
