"""Environments of client programs: made once for each lock; only an unavailable package skips a test."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clients.environments import CannotInstallError, python_of


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replaces the folder of the environments; returns the commands that are run, none of them really."""
    made: list[list[str]] = []

    def run(command: list[str], **_options: Any) -> SimpleNamespace:
        made.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir()
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", run)
    return made


def test_environment_is_made_once(commands: list[list[str]], tmp_path: Path) -> None:
    first = python_of("openai")
    assert [command[2] for command in commands] == ["venv", "pip"]
    assert "--require-hashes" in commands[1]
    assert python_of("openai") == first
    assert len(commands) == 2
    other = python_of("openai_1")
    assert other.is_relative_to(tmp_path / "clients")
    assert other.parents[1] != first.parents[1]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("ERROR: No matching distribution found for av==18.1.0", CannotInstallError),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", RuntimeError),
    ],
)
def test_unavailable_package_is_told_from_a_mistake(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, said: str, error: type[Exception]
) -> None:
    assert commands == []
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: SimpleNamespace(returncode=1, stderr=said))
    with pytest.raises(error, match="openai"):
        python_of("openai")
