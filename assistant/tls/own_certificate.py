"""Makes, keeps and renews the server's own certificate.

No certificate authority has signed it: a browser warns once, and `repartee talk` compares its fingerprint. It is kept
so that both recognize the server after a restart.
"""

import ipaddress
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from assistant.support.atomic_file import write_whole
from assistant.tls.certificate import RENEW_BEFORE, Certificate, CertificateError, read_certificate
from assistant.tls.subjects import Subjects
from audio.private_file import make_private_folder

VALID = timedelta(days=800)
"""Apple's systems refuse certificates that are valid for more than 825 days."""
BACKDATED = timedelta(days=1)
"""For clients whose clock is behind."""
MAX_KEPT = 32
"""Subjects of the last certificate that the next one keeps: a machine that comes back into a network is recognized."""


def own_certificate(cert_file: Path, key_file: Path, subjects: Subjects, now: datetime | None = None) -> Certificate:
    """Returns the server's own certificate; makes it if it is missing, expires soon, or lacks a subject.

    Raises CertificateError if it cannot be written.
    """
    now = now or datetime.now(UTC)
    kept: Certificate | None = None
    with suppress(CertificateError):  # a new one replaces it
        kept = read_certificate(cert_file, key_file, now)
    if kept is not None and kept.expires - now > RENEW_BEFORE and _covers(kept, subjects):
        return kept
    names, addresses = subjects.host_names, subjects.addresses
    if kept is not None:
        names = tuple(dict.fromkeys([*names, *kept.host_names[:MAX_KEPT]]))
        addresses = tuple(dict.fromkeys([*addresses, *kept.addresses[:MAX_KEPT]]))
    _write(cert_file, key_file, Subjects(names, addresses), now)
    return read_certificate(cert_file, key_file, now)


def _covers(certificate: Certificate, subjects: Subjects) -> bool:
    return {*subjects.host_names, *subjects.addresses} <= {*certificate.host_names, *certificate.addresses}


def _write(cert_file: Path, key_file: Path, subjects: Subjects, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, (subjects.host_names or ("repartee",))[0][:64])])
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in subjects.host_names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in subjects.addresses]
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        make_private_folder(key_file.parent)
        write_whole(key_file, secret, private=True)
        write_whole(cert_file, made.public_bytes(serialization.Encoding.PEM))
    except OSError as error:
        raise CertificateError(
            f"{error.filename or key_file}: the server's own certificate cannot be written ({error.strerror}); make "
            "the folder writable, or name another in XDG_DATA_HOME"
        ) from error
