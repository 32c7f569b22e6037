"""`repartee endpoints` as a program: the commands, their help, and errors of one line."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.programs import program
from support.texts.text_cases import named_cases

CLOSED = "http://127.0.0.1:9/v1"


def repartee(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return program.repartee(
        *arguments, cwd=folder, env={**os.environ, "COLUMNS": "160", "REPARTEE_CONFIG": "config.toml"}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text("# mine\n[turn]\nprofile = 'eager'\n", encoding="utf-8")
    return tmp_path


def test_endpoint_is_added_listed_and_removed(folder: Path) -> None:
    before = (folder / "config.toml").read_text(encoding="utf-8")
    done = repartee(folder, "endpoints", "add", "near", "--url", CLOSED, "--model", "m")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"added to config.toml: near (m at {CLOSED})" in done.stdout
    listed = repartee(folder, "endpoints")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "configured (config.toml)" in listed.stdout
    assert "refuses connections: start the server" in listed.stdout
    assert "1 of 1 endpoints is broken" in listed.stdout
    assert "next: repartee demo" not in listed.stdout
    assert '"near"' in repartee(folder, "config").stdout
    done = repartee(folder, "endpoints", "remove", "near")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "config.toml").read_text(encoding="utf-8") == before


def test_endpoint_of_another_kind_is_added_with_its_keys(folder: Path) -> None:
    flags = ("--kind", "tgi", "--url", "http://127.0.0.1:9", "--model", "m", "--set", "template=llama3")
    done = repartee(folder, "endpoints", "add", "near", *flags)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not verified: a service of kind tgi lists no models" in done.stdout
    text = (folder / "config.toml").read_text(encoding="utf-8")
    assert 'kind = "tgi"\n' in text
    assert 'template = "llama3"\n' in text
    report = json.loads(repartee(folder, "endpoints", "--json").stdout)
    (endpoint,) = report["endpoints"]
    assert (endpoint["name"], endpoint["kind"], endpoint["state"]) == ("near", "tgi", "no answer")
    assert "refuses connections" in endpoint["problem"]
    drawn = repartee(folder, "endpoints", "--requests", "0", "--svg", "waits.svg")
    assert drawn.stderr == "repartee: waits.svg: no endpoint answered, so there is nothing to draw\n"
    assert "accepts no connection: start the server" in drawn.stdout
    over = repartee(folder, "endpoints", "--png", "./config.toml")
    assert (over.returncode, over.stdout) == (2, "")
    assert over.stderr == "repartee: config.toml is the configuration file; name another file for the picture\n"
    assert (folder / "config.toml").read_text(encoding="utf-8") == text


@named_cases(
    ("arguments", "said"),
    {
        "missing template": (
            ("endpoints", "add", "near", "--kind", "tgi", "--url", CLOSED, "--model", "m"),
            'template is missing: kind "tgi" needs it',
        ),
        "remove unknown endpoint": (
            ("endpoints", "remove", "near"),
            'config.toml: there is no endpoint "near", because none is configured',
        ),
        "missing file": (("endpoints", "--config", "gone.toml"), "gone.toml: cannot be read"),
        "comparison without answers": (
            ("endpoints", "--compare", "--requests", "0"),
            "--compare: needs answers to compare",
        ),
        "unknown endpoint for demo": (
            ("demo", "--llm", "near"),
            '--llm "near": no such endpoint; the known names are auto, skills',
        ),
    },
)
def test_user_error_is_one_line(arguments: tuple[str, ...], said: str, folder: Path) -> None:
    done = repartee(folder, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("repartee: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
