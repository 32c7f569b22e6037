"""Checks what a server needs: its certificate, and the folder of its traces."""

import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from assistant.checks.result import CheckResult, Fact
from assistant.config.server_settings import ServerSection
from assistant.tls.certificate import CertificateError, read_certificate
from assistant.tls.configured import configured_files

WARN_DAYS = 14
"""A certificate that expires sooner is warned about."""

DISK_FREE_MB = 500.0
"""Free space in MB below which a warning is shown: a model has 148 MB, the traces of a day a few."""


def certificate_finding(section: ServerSection, environ: Mapping[str, str]) -> CheckResult:
    """Checks the certificate that `repartee serve` would use."""
    name = "certificate"
    try:
        files = configured_files(section, environ)
        if files is None:
            return CheckResult("info", name, "none: `repartee serve` answers at http:// and ws:// only")
        if files.self_signed and not files.cert_file.exists():
            return CheckResult("ok", name, f"{files.cert_file}, made at the first start of `repartee serve`")
        certificate = read_certificate(files.cert_file, files.key_file)
    except CertificateError as error:
        text, _, remedy = str(error).partition("; ")
        return CheckResult("fail", name, text, remedy=remedy)
    left = certificate.days_left(datetime.now(UTC))
    text = f"{certificate.cert_file} expires in {left} days ({certificate.expires:%Y-%m-%d})"
    facts: dict[str, Fact] = {
        "days_left": left,
        "fingerprint": certificate.fingerprint,
        "self_signed": files.self_signed,
    }
    if left < WARN_DAYS and not files.self_signed:
        remedy = "renew it: the server loads the new file without a restart"
        return CheckResult("warn", name, text, remedy=remedy, facts=facts)
    return CheckResult(
        "ok", name, f"{text}, for {', '.join([*certificate.host_names, *certificate.addresses])}", facts=facts
    )


def trace_finding(folder: Path) -> CheckResult:
    """Checks whether a trace can be written there, and the free space. Leaves no file."""
    remedy = "make it writable, or name another folder: --set trace.dir=FOLDER"
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir():
            return CheckResult("warn", "trace folder", f"{there} is a file: no traces will be written", remedy=remedy)
        with tempfile.TemporaryFile(dir=there):
            pass
        free_mb = shutil.disk_usage(there).free / 1e6
    except OSError as error:
        text = f"{folder} cannot be written ({error.strerror}): no traces will be written"
        return CheckResult("warn", "trace folder", text, remedy=remedy)
    new = "" if folder.is_dir() else ", created when the first turn ends"
    text = f"{folder}{new}; {free_mb / 1000:.1f} GB free"
    low = free_mb < DISK_FREE_MB
    return CheckResult(
        "warn" if low else "ok",
        "trace folder",
        text,
        remedy="free some space: traces and models need it" if low else "",
        facts={"free_mb": round(free_mb), "exists": folder.is_dir()},
    )
