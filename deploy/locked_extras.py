"""Prints the lock of the packages that extras need besides those installed: `python deploy/locked_extras.py aws,redis`.

The versions and hashes are those of requirements-dev.lock. pip accepts no constraints with hashes for packages without
a pinned version, so pip is asked first which packages are missing.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESOLVE_TIMEOUT_S = 600.0
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")


def blocks_of(lock: str) -> Mapping[str, list[str]]:
    """Returns the blocks of a lock, which are a pin and its hashes, by the normalized name of the package.

    A package has several blocks if its version depends on that of Python; each has a marker.
    """
    blocks: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=\S)", lock.strip()):
        if pin := _PIN.match(block):
            blocks.setdefault(_normal(pin[1]), []).append(block)
    return blocks


def requirements_of(extras: Iterable[str], project: Mapping[str, Mapping[str, list[str]]]) -> list[str]:
    """Returns the requirements of extras. Raises ValueError for an unknown extra."""
    known = project["optional-dependencies"]
    wanted = [extra.strip() for extra in extras if extra.strip()]
    if unknown := [extra for extra in wanted if extra not in known]:
        raise ValueError(f"unknown extras: {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return [requirement for extra in wanted for requirement in known[extra]]


def missing_packages(requirements: list[str], pins: Iterable[str]) -> list[str]:
    """Returns the normalized names of packages that pip would install. Raises CalledProcessError."""
    if not requirements:
        return []
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = Path(folder, "constraints.txt"), Path(folder, "report.json")
        constraints.write_text("\n".join(pins) + "\n", encoding="utf-8")
        asking = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--constraint", str(constraints)]
        subprocess.run([*asking, "--report", str(report), *requirements], check=True, timeout=RESOLVE_TIMEOUT_S)
        packages = json.loads(report.read_text(encoding="utf-8"))["install"]
    return sorted(_normal(package["metadata"]["name"]) for package in packages)


def locked(names: Iterable[str], blocks: Mapping[str, list[str]]) -> str:
    """Returns the lock of these packages. Raises ValueError if one is not locked."""
    if unlocked := [name for name in names if name not in blocks]:
        raise ValueError(f"not in requirements-dev.lock: {', '.join(unlocked)}")
    return "".join(f"{block}\n" for name in names for block in blocks[name])


def main(extras: str) -> str:
    """Returns the lock for extras that are separated by commas. Raises ValueError or CalledProcessError."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    blocks = blocks_of((ROOT / "requirements-dev.lock").read_text(encoding="utf-8"))
    pins = [block.split("\n")[0].rstrip(" \\") for named in blocks.values() for block in named]
    return locked(missing_packages(requirements_of(extras.split(","), project), pins), blocks)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    try:
        sys.stdout.write(main(sys.argv[1]))
    except (ValueError, subprocess.SubprocessError) as error:
        sys.exit(f"locked_extras: {error}")
