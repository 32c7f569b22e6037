"""Writes the table of the wheels for small boards: `python deploy/satellite_wheels.py`, which needs the package index.

For each package of requirements-satellite.lock the wheel for Linux on aarch64 with glibc 2.35 and Python 3.11, its
SHA-256 and its size when it is unpacked. Fails if a package has none. A test holds the table against the lock.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements-satellite.lock"
TABLE = ROOT / "deploy" / "satellite-wheels.txt"
GLIBC_MINORS = (17, 24, 26, 27, 28, 31, 34, 35)
"""Minor versions of glibc whose wheels run with 2.35, as far as projects build for them."""


def download(folder: Path) -> None:
    """Downloads the wheels. Raises CalledProcessError if one does not exist."""
    platforms = [*(f"manylinux_2_{minor}_aarch64" for minor in GLIBC_MINORS), "manylinux2014_aarch64", "any"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", "3.11", "--implementation", "cp", "--dest", str(folder)]
    command += [word for abi in ("cp311", "abi3", "none") for word in ("--abi", abi)]
    command += [word for platform in platforms for word in ("--platform", platform)]
    subprocess.run([*command, "--require-hashes", "-r", str(LOCK)], check=True)


def row(wheel: Path) -> str:
    """Returns the row of one wheel."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with zipfile.ZipFile(wheel) as archive:
        unpacked_bytes = sum(part.file_size for part in archive.infolist())
    return f"{wheel.name} {digest} {unpacked_bytes}\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        download(Path(temporary))
        rows = [row(wheel) for wheel in sorted(Path(temporary).glob("*.whl"))]
    TABLE.write_text("".join(rows), encoding="utf-8")
