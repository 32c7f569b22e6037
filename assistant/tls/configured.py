"""Finds the files of the certificate that the settings of a server name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assistant.config.server_settings import ServerSection
from assistant.support.paths import HomeError, at_home, data_folder
from assistant.tls.certificate import CertificateError


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The files of a certificate.

    Attributes:
        self_signed: Whether the server makes them itself.
    """

    cert_file: Path
    key_file: Path
    self_signed: bool


def configured_files(section: ServerSection, environ: Mapping[str, str]) -> CertificateFiles | None:
    """Returns the files of the server's certificate; None if it serves without TLS.

    Raises CertificateError if the settings contradict each other.
    """
    try:
        if section.tls_self_signed:
            if section.tls_cert or section.tls_key:
                raise CertificateError(
                    "--tls-self-signed: leave out --tls-cert and --tls-key (server.tls_cert, server.tls_key)"
                )
            folder = data_folder(environ) / "tls"
            return CertificateFiles(folder / "repartee.crt", folder / "repartee.key", self_signed=True)
        if not (section.tls_cert or section.tls_key):
            return None
        if not (section.tls_cert and section.tls_key):
            given, missing = ("--tls-cert", "--tls-key") if section.tls_cert else ("--tls-key", "--tls-cert")
            raise CertificateError(f"{given}: add {missing} FILE; a certificate needs its private key")
        return CertificateFiles(at_home(section.tls_cert), at_home(section.tls_key), self_signed=False)
    except HomeError as error:
        raise CertificateError(str(error)) from error
