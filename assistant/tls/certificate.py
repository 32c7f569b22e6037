"""Reads a certificate and its private key, and checks that a server can use them. Pure, except for reading files."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificatePublicKeyTypes,
    PrivateKeyTypes,
    PublicKeyTypes,
)

MAX_FILE_BYTES = 1 << 20

RENEW_BEFORE = timedelta(days=30)
"""A certificate that expires sooner is renewed, or warned about."""


class CertificateError(Exception):
    """A certificate cannot be used. The text is one line: the file, what is wrong, and the remedy."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that belongs to its key.

    Attributes:
        cert_file: PEM file with the certificate, followed by the intermediate ones if there are any.
        key_file: PEM file with the private key.
        fingerprint: SHA-256 of the certificate, as browsers show it: "AB:CD:…".
        host_names: DNS names that it is valid for, in lower case, wildcards included.
        addresses: IP addresses that it is valid for.
        expires: When it expires.
    """

    cert_file: Path
    key_file: Path
    fingerprint: str
    host_names: tuple[str, ...]
    addresses: tuple[str, ...]
    expires: datetime

    def days_left(self, now: datetime) -> int:
        """Returns the whole days until it expires."""
        return (self.expires - now).days


def read_certificate(cert_file: Path, key_file: Path, now: datetime | None = None) -> Certificate:
    """Reads and checks a certificate and its key. Raises CertificateError.

    Args:
        cert_file: PEM file of the certificate.
        key_file: PEM file of the key.
        now: The time at which the certificate must be valid; None: the current one.
    """
    content = _content(cert_file, "certificate")
    try:
        certificate = x509.load_pem_x509_certificates(content)[0]
    except ValueError as error:
        hint = "a private key: exchange the two files" if b"PRIVATE KEY-----" in content else "no PEM certificate"
        raise CertificateError(f"{cert_file}: holds {hint} (-----BEGIN CERTIFICATE-----)") from error
    key = _key(key_file)
    try:
        certified = _public_bytes(certificate.public_key())
    except (UnsupportedAlgorithm, ValueError) as error:
        raise _unsupported(cert_file, error) from error
    if _public_bytes(key.public_key()) != certified:
        raise CertificateError(
            f"{key_file}: the key does not belong to the certificate {cert_file}; name the key that it was made with, "
            "and put the server's own certificate first in the file"
        )
    now = now or datetime.now(UTC)
    if now >= certificate.not_valid_after_utc:
        raise CertificateError(
            f"{cert_file}: the certificate expired on {certificate.not_valid_after_utc:%Y-%m-%d}; renew it"
        )
    if now < certificate.not_valid_before_utc:
        raise CertificateError(
            f"{cert_file}: the certificate is valid from {certificate.not_valid_before_utc:%Y-%m-%d} on; "
            "check the clock of this machine"
        )
    names, addresses = _subjects(certificate)
    return Certificate(
        cert_file, key_file, fingerprint_of(certificate), names, addresses, certificate.not_valid_after_utc
    )


def fingerprint_of(certificate: x509.Certificate) -> str:
    """Returns the SHA-256 fingerprint of a certificate, in upper case with colons."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def _subjects(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        subjects = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return (), ()
    names = [name.lower() for name in subjects.get_values_for_type(x509.DNSName)]
    return tuple(names), tuple(str(address) for address in subjects.get_values_for_type(x509.IPAddress))


def _key(key_file: Path) -> PrivateKeyTypes:
    content = _content(key_file, "private key")
    try:
        return serialization.load_pem_private_key(content, password=None)
    except TypeError as error:
        raise CertificateError(
            f"{key_file}: the key is encrypted; write it without a passphrase (openssl pkey -in OLD -out NEW, then "
            "chmod 600 NEW)"
        ) from error
    except UnsupportedAlgorithm as error:
        raise _unsupported(key_file, error) from error
    except Exception as error:  # ValueError
        hint = "a certificate: exchange the two files" if b"BEGIN CERTIFICATE-----" in content else "no PEM key"
        raise CertificateError(f"{key_file}: holds {hint} (-----BEGIN PRIVATE KEY-----)") from error


def _unsupported(file: Path, error: Exception) -> CertificateError:
    reason = " ".join(str(error).split()).rstrip(".")
    return CertificateError(
        f"{file}: its kind of key cannot be used ({reason}); make a certificate with an EC key (P-256) or an RSA key"
    )


def _content(file: Path, what: str) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES)
    except FileNotFoundError as error:
        raise CertificateError(f"{file}: there is no such file; name the PEM file of the {what}") from error
    except OSError as error:
        raise CertificateError(
            f"{file}: the {what} cannot be read ({error.strerror}); let the server's user read it"
        ) from error


def _public_bytes(key: PublicKeyTypes | CertificatePublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
