"""Packages with one engine, in a folder of their own, and programs that run where they are installed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Install = Callable[[str, str, str, str], None]
"""Installs a package with one engine: its name, its module's text, the group and the name of its entry point."""


def installer(folder: Path) -> Install:
    """Returns what installs packages into a folder."""

    def package(name: str, text: str, group: str, engine: str) -> None:
        (folder / f"{name}.py").write_text(text)
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{engine} = {name}:ENGINE\n")

    return package


def printed(folder: Path, program: str) -> str:
    """Returns what a program prints in an environment that has the packages of a folder, too."""
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    found = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout
