"""Decides which certificate of a server `repartee talk` accepts. There is no way to accept any certificate."""

import hashlib
import hmac
import re
import ssl
from pathlib import Path

from assistant.config.errors import ConfigError
from web.remote.address import ServerAddress

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def client_tls(address: ServerAddress, fingerprint: str | None, ca_file: str | None) -> ssl.SSLContext | None:
    """Returns the context of the connection; None: the certificate is checked as browsers do.

    Args:
        address: The server's address.
        fingerprint: SHA-256 of the only certificate that is accepted, with or without colons.
        ca_file: PEM file of the authorities, or of the server's own certificate; its names are checked.

    Raises:
        ConfigError: A value is invalid, or the connection would not be encrypted.
    """
    if fingerprint is None and ca_file is None:
        return None
    flag = "--tls-ca" if fingerprint is None else "--tls-fingerprint"
    if not address.secure:
        raise ConfigError([f"{flag}: {address.place} is not encrypted; write wss:// in --server"])
    if fingerprint is None:
        assert ca_file is not None
        return _of_authorities(ca_file)
    if ca_file is not None:
        raise ConfigError(["--tls-fingerprint: leave out --tls-ca; the fingerprint names one certificate"])
    digest = fingerprint.strip().lower().replace(":", "")
    if _FINGERPRINT.fullmatch(digest) is None:
        raise ConfigError(
            ["--tls-fingerprint: must be a SHA-256 fingerprint, 64 hexadecimal digits, as `repartee serve` prints it"]
        )
    return _pinned(bytes.fromhex(digest))


def _of_authorities(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=Path(ca_file).expanduser())
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError([f"--tls-ca {ca_file}: is not a PEM file of certificates ({why})"]) from error


def _pinned(digest: bytes) -> ssl.SSLContext:
    """Returns a context that accepts one certificate only, before anything is sent."""

    class Pinned(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            certificate = self.getpeercert(binary_form=True) or b""
            if not hmac.compare_digest(hashlib.sha256(certificate).digest(), digest):
                raise UnexpectedCertificateError

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The fingerprint replaces the check of names and authorities.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.sslobject_class = Pinned
    return context


class UnexpectedCertificateError(ssl.SSLCertVerificationError):
    """The server has another certificate than the one that was named."""

    def __init__(self) -> None:
        """Has no arguments."""
        super().__init__(1, "the certificate has another fingerprint than --tls-fingerprint")
        self.verify_message = "it has another fingerprint than --tls-fingerprint; compare with what the server prints"
