"""Makes the environments of the client programs from their locks, once for each content of the lock."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

CLIENTS = Path(__file__).parent
INSTALL_WITHIN_S = 280


UNAVAILABLE = re.compile(
    "No matching distribution|connection broken|timed out|ProxyError|Max retries|name resolution|No space left"
    "|ENOTFOUND|ETIMEDOUT|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ENETUNREACH|ETARGET|E404|ENOSPC"
)
"""Messages of pip and npm if the registry does not have a package for this machine, or cannot be reached."""


class CannotInstallError(Exception):
    """The registry cannot install the packages of an environment on this machine; the text says why."""


def python_of(name: str, part: str = "", interpreter: str = sys.executable) -> Path:
    """Returns the Python with the packages of tests/clients/NAME/requirements.lock.

    Args:
        name: The folder.
        part: The part of the tests with a lock of its own, requirements-PART.lock; "" for the only one.
        interpreter: The Python of the environment, from `newer_python` if the tests' own is too old.
    """
    lock = CLIENTS / name / (f"requirements-{part}.lock" if part else "requirements.lock")
    kind = sys.version + Path(sys.base_prefix).as_posix() if interpreter == sys.executable else interpreter
    name = f"{name}-{part}" if part else name

    def install(folder: Path) -> None:
        _run([interpreter, "-m", "venv", "--without-pip", str(folder)], folder)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
        options = ["--no-compile", "--no-deps", "--disable-pip-version-check", "--no-input", "--quiet"]
        _run([*pip, *options, "--require-hashes", "--requirement", str(lock)], folder)

    return _made(name, lock.read_bytes() + kind.encode(), install) / "bin" / "python"


def newer_python(*versions: str) -> str:
    """Returns a Python of one of these versions: on the path, or of pyenv. Raises CannotInstallError without one."""
    for version in versions:
        if (python := shutil.which(f"python{version}")) is not None and _starts(python):
            return python
        installed = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
        for candidate in sorted(installed.glob(f"{version}.*/bin/python"), reverse=True):
            if _starts(str(candidate)):
                return str(candidate)
    raise CannotInstallError(f"no Python {' or '.join(versions)} is installed")


def _starts(python: str) -> bool:
    """Returns whether it runs: pyenv puts names on the path of versions that are not selected."""
    return subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def node_modules_of(name: str) -> Path:
    """Returns the folder node_modules with the packages of tests/clients/NAME/package-lock.json."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise CannotInstallError("node and npm are not installed")
    files = [CLIENTS / name / file for file in ("package.json", "package-lock.json")]

    def install(folder: Path) -> None:
        folder.mkdir()
        for file in files:
            shutil.copy(file, folder)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)], folder)

    return _made(name, b"".join(file.read_bytes() for file in files), install) / "node_modules"


def _made(name: str, content: bytes, install: Callable[[Path], None]) -> Path:
    """Returns the folder of an environment; makes it if there is none of this content."""
    root = Path(sys.prefix) / "clients"
    root.mkdir(exist_ok=True)
    folder = root / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
    done = folder / ".complete"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            for old in root.glob(f"{name}-????????????????"):
                shutil.rmtree(old)
            install(folder)
            done.touch()
    return folder


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        raise CannotInstallError(f"{folder.name}: not installed within {INSTALL_WITHIN_S} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        problem = f"{folder.name}: {' / '.join(lines[-3:])[:500]}"
        raise CannotInstallError(problem) if UNAVAILABLE.search(done.stderr) else RuntimeError(problem)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{python_of(sys.argv[1])}\n")
    except CannotInstallError as error:
        sys.exit(str(error))
