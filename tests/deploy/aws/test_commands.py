"""The programs for SageMaker and Bedrock: their errors, their end, and deleting what is due."""

import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.aws import commands
from deploy.aws.clients import DeployError
from deploy.aws.commands import Service
from deploy.aws.waiting import Waiting

ROOT = Path(__file__).parent.parent.parent.parent

ENDED = """
import os, signal, sys, typer
from deploy.aws.commands import run_program
app = typer.Typer()
NAME = sys.argv.pop()

@app.command()
def create() -> None:
    try:
        os.kill(os.getpid(), getattr(signal, NAME))
        signal.pause()
    finally:
        print("deleted again")

run_program(app, "x")
"""


def test_all_that_is_due_is_deleted_although_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[str] = []

    def delete(_client: Any, name: str, _waiting: Waiting) -> None:
        if name == "b":
            raise DeployError("b remains")
        deleted.append(name)

    def expired(_client: Any, _now: datetime, _say: object) -> list[str]:
        return ["a", "b", "c"]

    monkeypatch.setattr(commands, "aws_client", lambda *_: None)
    with pytest.raises(DeployError, match=r"^b remains$"):
        Service("bedrock", lambda _, name: name, delete, expired, 60.0).delete_expired("us-west-2")
    assert deleted == ["a", "c"]


@pytest.mark.parametrize(
    ("program", "arguments", "said"),
    [
        ("sagemaker", ["delete", "--region", "us-west-2"], "name what is to be deleted, or use --expired"),
        ("sagemaker", ["delete", "a", "--region", "us west"], "preparing requests to "),
        ("bedrock", ["delete", "a b", "--region", "us-west-2"], "the name must have letters, digits and single hy"),
    ],
    ids=["no name", "wrong region", "wrong name"],
)
def test_error_of_a_program_is_one_line(program: str, arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"deploy.aws.{program}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{program}: {said}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_end_of_the_session_deletes_what_was_begun(name: str) -> None:
    if not hasattr(signal, name):
        pytest.skip(f"{os.name} has no {name}")
    running = [sys.executable, "-c", ENDED, name]
    done = subprocess.run(running, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode != 0
    assert done.stdout == "deleted again\n"
