"""The server's own certificate is made once, kept, and renewed when it has to be."""

import ipaddress
import os
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.tls.certificate import Certificate, CertificateError
from assistant.tls.own_certificate import VALID, own_certificate
from assistant.tls.subjects import Subjects, lan_addresses, subjects_of, without_port

NOW = datetime(2026, 5, 1, tzinfo=UTC)
HOME = Subjects(("box", "box.local"), ("192.168.1.5", "127.0.0.1"))


def made(folder: Path, wanted: Subjects = HOME, now: datetime = NOW) -> Certificate:
    return own_certificate(folder / "server.crt", folder / "server.key", wanted, now)


def test_certificate_has_the_subjects_and_is_kept(tmp_path: Path) -> None:
    first = made(tmp_path / "tls")
    assert (first.host_names, first.addresses) == (HOME.host_names, HOME.addresses)
    assert made(tmp_path / "tls", now=NOW + timedelta(days=700)) == first
    assert first.expires - NOW == VALID
    assert timedelta(days=825) > VALID


@pytest.mark.skipif(os.name != "posix", reason="other systems have no permission bits")
def test_only_the_owner_reads_the_key(tmp_path: Path) -> None:
    made(tmp_path / "tls")
    assert (tmp_path / "tls" / "server.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "tls" / "server.key").chmod(0o644)
    made(tmp_path / "tls", now=NOW + timedelta(days=790))
    assert (tmp_path / "tls" / "server.key").stat().st_mode & 0o777 == 0o600


def test_certificate_is_renewed_before_it_expires(tmp_path: Path) -> None:
    first = made(tmp_path)
    second = made(tmp_path, now=NOW + timedelta(days=771))
    assert second.fingerprint != first.fingerprint
    assert second.expires - first.expires == timedelta(days=771)


def test_new_address_is_added_to_the_old_ones(tmp_path: Path) -> None:
    first = made(tmp_path)
    second = made(tmp_path, Subjects(("box", "box.local"), ("10.0.0.7", "127.0.0.1")))
    assert second.fingerprint != first.fingerprint
    assert second.addresses == ("10.0.0.7", "127.0.0.1", "192.168.1.5")
    assert made(tmp_path) == second


def test_damaged_files_are_replaced(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "server.key").write_text("nothing", encoding="utf-8")
    assert made(tmp_path).host_names == HOME.host_names


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls").write_text("a file", encoding="utf-8")
    with pytest.raises(CertificateError, match="cannot be written"):
        made(tmp_path / "tls")


def test_openssl_accepts_it_also_in_strict_mode(tmp_path: Path) -> None:
    made(tmp_path, now=datetime.now(UTC))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    client = ssl.create_default_context(cafile=tmp_path / "server.crt")
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="192.168.1.5"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = ends
    for _ in range(6):
        still = []
        for end in waiting:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                still.append(end)
        waiting = still
    assert waiting == []


def test_subjects_are_names_and_addresses_that_others_use() -> None:
    found = subjects_of("0.0.0.0", ["voice.example:8765", "[fd00::9]:1", "under_score"])
    assert {"localhost", "voice.example"} <= set(found.host_names)
    assert "under_score" not in found.host_names
    assert {"fd00::9", "127.0.0.1", "::1"} <= set(found.addresses)
    assert "0.0.0.0" not in found.addresses
    assert "192.168.9.9" in subjects_of("192.168.9.9").addresses
    assert without_port("fd00::9") == "fd00::9"
    assert [one for one in lan_addresses() if ipaddress.ip_address(one).is_loopback] == []


def test_own_addresses_are_found_without_a_name_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*name: object, **_: object) -> None:
        pytest.fail(f"{name} is looked up")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    lan_addresses()
