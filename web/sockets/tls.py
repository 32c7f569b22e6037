"""Encrypts the server's connections (TLS), and takes over a renewed certificate without a restart."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assistant.config.errors import ConfigError
from assistant.config.server_settings import ServerSection
from assistant.tls.certificate import Certificate, CertificateError, read_certificate
from assistant.tls.configured import configured_files
from assistant.tls.own_certificate import own_certificate
from assistant.tls.subjects import subjects_of

RELOAD_EVERY_S = 10.0
"""Interval at which the files of the certificate are checked."""
RENEW_EVERY_S = 3600.0
"""Interval at which the server's own certificate is checked: it may expire soon, or the address has changed."""

_log = logging.getLogger(__name__)

_Stamp = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class ServerTls:
    """The certificate that the server uses, and the context of its connections.

    Attributes:
        certificate: The certificate in use.
        context: The context of all connections; a renewed certificate is loaded into it.
        self_signed: Whether the certificate is the server's own.
    """

    certificate: Certificate
    self_signed: bool
    _read: Callable[[], Certificate]
    context: ssl.SSLContext = field(init=False)
    _stamp: _Stamp = field(init=False)

    def __post_init__(self) -> None:
        self._stamp = _stamp_of(self.certificate)
        self.context = _context_of(self.certificate)

    @property
    def host_names(self) -> Sequence[str]:
        """The names that the certificate is valid for, without wildcards."""
        return [name for name in self.certificate.host_names if "*" not in name]

    def health(self) -> Mapping[str, object]:
        """Returns what /readyz tells about the certificate."""
        expires = self.certificate.expires.isoformat()
        return {"fingerprint": self.certificate.fingerprint, "expires": expires, "self_signed": self.self_signed}

    async def keep_current(self) -> None:
        """Loads the certificate again when its files change, and renews the server's own. Runs until cancelled."""
        looks = 0
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            looks += 1
            due = self.self_signed and looks * RELOAD_EVERY_S % RENEW_EVERY_S < RELOAD_EVERY_S
            await self.look(renew=due)

    async def look(self, *, renew: bool) -> None:
        """Loads the certificate again if its files have changed or `renew` is true. Keeps the old one on an error."""
        stamp = _stamp_of(self.certificate)
        if stamp == self._stamp and not renew:
            return
        try:
            certificate = await asyncio.to_thread(self._read)
            _context_of(certificate)  # a pair that does not fit would leave the context without a key
            self.context.load_cert_chain(certificate.cert_file, certificate.key_file)
        except Exception as error:  # noqa: BLE001 - usually CertificateError or OSError; no mistake in a file ends the server
            _log.warning("the renewed certificate is not used: %s", error)
        else:
            if certificate.fingerprint != self.certificate.fingerprint:
                _log.warning("a renewed certificate is in use: SHA-256 fingerprint %s", certificate.fingerprint)
            self.certificate = certificate
        self._stamp = stamp if not renew else _stamp_of(self.certificate)


def server_tls(section: ServerSection, environ: Mapping[str, str]) -> ServerTls | None:
    """Returns the server's certificate and context; None if it serves without TLS.

    Raises ConfigError with the file and the remedy.
    """
    try:
        files = configured_files(section, environ)
        if files is None:
            return None
        cert_file, key_file = files.cert_file, files.key_file
        if files.self_signed:
            return _tls(
                lambda: own_certificate(cert_file, key_file, subjects_of(section.host, section.hosts)), self_signed=True
            )
        return _tls(lambda: read_certificate(cert_file, key_file), self_signed=False)
    except CertificateError as error:
        raise ConfigError([str(error)]) from error


def _tls(read: Callable[[], Certificate], *, self_signed: bool) -> ServerTls:
    certificate = read()
    try:
        return ServerTls(certificate, self_signed, read)
    except OSError as error:  # ssl.SSLError: a kind of key that OpenSSL does not take
        raise CertificateError(f"{certificate.cert_file}: cannot be used ({error}); make another") from error


def _context_of(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate.cert_file, certificate.key_file)
    return context


def _stamp_of(certificate: Certificate) -> _Stamp:
    """Returns what changes when the files are written again."""
    stamps = []
    for file in (certificate.cert_file, certificate.key_file):
        try:
            state = Path(file).stat()
            stamps.append((state.st_mtime_ns, state.st_size))
        except OSError:
            stamps.append((0, 0))
    return tuple(stamps)
