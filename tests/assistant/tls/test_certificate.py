"""Certificates and keys are read and checked; each error names the file and the remedy."""

import base64
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from support.servers.certificates import NOW, write_pair

from assistant.config.server_settings import ServerSection
from assistant.tls.certificate import CertificateError, read_certificate
from assistant.tls.configured import configured_files

Pair = tuple[Path, Path]


def test_certificate_and_key_are_read(tmp_path: Path) -> None:
    cert_file, key_file = write_pair(tmp_path, names=("voice.example", "*.voice.example"))
    found = read_certificate(cert_file, key_file)
    assert (found.host_names, found.addresses) == (("voice.example", "*.voice.example"), ("127.0.0.1",))
    assert found.days_left(NOW) == 89 + (found.expires - NOW >= timedelta(days=90))
    assert len(found.fingerprint) == 95


def _missing_cert(folder: Path) -> Pair:
    return folder / "no.crt", write_pair(folder)[1]


def _missing_key(folder: Path) -> Pair:
    return write_pair(folder)[0], folder / "no.key"


def _exchanged(folder: Path) -> Pair:
    cert_file, key_file = write_pair(folder)
    return key_file, cert_file


def _key_is_certificate(folder: Path) -> Pair:
    cert_file, _ = write_pair(folder)
    return cert_file, cert_file


def _mismatched(folder: Path) -> Pair:
    return write_pair(folder)[0], write_pair(folder, stem="other")[1]


def _encrypted(folder: Path) -> Pair:
    return write_pair(folder, passphrase=b"secret")


def _expired(folder: Path) -> Pair:
    return write_pair(folder, begins=timedelta(days=-9), ends=timedelta(days=-1))


def _early(folder: Path) -> Pair:
    return write_pair(folder, begins=timedelta(days=1))


def _empty(folder: Path) -> Pair:
    cert_file, key_file = write_pair(folder)
    cert_file.write_text("", encoding="utf-8")
    return cert_file, key_file


EC_KEY, UNKNOWN_KEY = bytes.fromhex("06072A8648CE3D0201"), bytes.fromhex("06072A8648CE3D0205")
P_256, UNKNOWN_CURVE = bytes.fromhex("06082A8648CE3D030107"), bytes.fromhex("06082A8648CE3D030102")


def _replace_in(file: Path, old: bytes, new: bytes) -> None:
    """Replaces bytes in the content of a PEM file."""
    first, *lines, last = file.read_text(encoding="utf-8").splitlines()
    content = base64.b64decode("".join(lines))
    assert old in content
    text = base64.b64encode(content.replace(old, new)).decode()
    file.write_text(f"{first}\n{text}\n{last}\n", encoding="utf-8")


def _certificate_of_unknown_kind(folder: Path) -> Pair:
    cert_file, key_file = write_pair(folder)
    _replace_in(cert_file, EC_KEY, UNKNOWN_KEY)
    return cert_file, key_file


def _certificate_of_unknown_curve(folder: Path) -> Pair:
    cert_file, key_file = write_pair(folder)
    _replace_in(cert_file, P_256, UNKNOWN_CURVE)
    return cert_file, key_file


def _key_of_unknown_curve(folder: Path) -> Pair:
    cert_file, key_file = write_pair(folder)
    _replace_in(key_file, P_256, UNKNOWN_CURVE)
    return cert_file, key_file


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_missing_cert, "no.crt: there is no such file; name the PEM file of the certificate"),
        (_missing_key, "no.key: there is no such file; name the PEM file of the private key"),
        (_exchanged, "server.key: holds a private key: exchange the two files"),
        (_key_is_certificate, "server.crt: holds a certificate: exchange the two files"),
        (_mismatched, "other.key: the key does not belong to the certificate"),
        (_encrypted, "server.key: the key is encrypted; write it without a passphrase"),
        (_expired, "server.crt: the certificate expired on"),
        (_early, "server.crt: the certificate is valid from"),
        (_empty, "server.crt: holds no PEM certificate"),
        (_certificate_of_unknown_kind, "server.crt: its kind of key cannot be used (Unknown key type:"),
        (_certificate_of_unknown_curve, "server.crt: its kind of key cannot be used (Curve 1.2.840.10045.3.1.2 is not"),
        (_key_of_unknown_curve, "server.key: its kind of key cannot be used ("),
    ],
)
def test_unusable_files_are_named_with_remedy(make: Callable[[Path], Pair], said: str, tmp_path: Path) -> None:
    with pytest.raises(CertificateError) as error:
        read_certificate(*make(tmp_path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (ServerSection(tls_cert="a.crt"), "--tls-cert: add --tls-key FILE"),
        (ServerSection(tls_key="a.key"), "--tls-key: add --tls-cert FILE"),
        (ServerSection(tls_cert="a.crt", tls_key="a.key", tls_self_signed=True), "--tls-self-signed: leave out"),
    ],
)
def test_contradicting_settings_are_refused(section: ServerSection, said: str) -> None:
    with pytest.raises(CertificateError, match=said):
        configured_files(section, {})


def test_settings_name_the_files(tmp_path: Path) -> None:
    assert configured_files(ServerSection(), {}) is None
    files = configured_files(ServerSection(tls_self_signed=True), {"XDG_DATA_HOME": str(tmp_path)})
    assert files is not None
    assert files.key_file == tmp_path / "repartee" / "tls" / "repartee.key"
    files = configured_files(ServerSection(tls_cert="~/a.crt", tls_key="a.key"), {})
    assert files is not None
    assert files.cert_file == Path.home() / "a.crt"
