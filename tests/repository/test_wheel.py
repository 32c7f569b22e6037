"""The wheel that pipx, `uv tool` and pip build: its contents, and the program from an installed wheel."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from support.packages import PACKAGES
from support.programs.serve_program import serving

ROOT = Path(__file__).parents[2]
HATCH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
ADDED: Mapping[str, str] = HATCH["build"]["targets"]["wheel"]["force-include"]
"""Files from outside of the packages, and their names in the wheel."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel of a copy of the sources, with the build backend that pip would install."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "repartee"
    copy.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", *ADDED):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    built = [sys.executable, "-m", "hatchling", "build", "--target=wheel", "--directory", str(folder / "dist")]
    subprocess.run(built, cwd=copy, check=True, capture_output=True)
    (file,) = (folder / "dist").glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """Installs the wheel alone into a folder, as `pip install --no-deps` does. Returns the folder."""
    site = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    return site


def environment(site: Path, home: Path) -> Mapping[str, str]:
    """Returns environment variables: packages of this environment, the program of the wheel only, a new user."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HF_HUB_CACHE") if name in os.environ}
    return kept | {"HOME": str(home), "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1", "COLUMNS": "200"}


START = "from repartee.program import main; main()"


def run(site: Path, home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", START, *words]
    return subprocess.run(
        command, cwd=home, env=environment(site, home), capture_output=True, text=True, timeout=100, check=False
    )


def test_wheel_has_every_file_of_its_packages_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        (entry,) = [name for name in names if name.endswith("/entry_points.txt")]
        assert "repartee = repartee.program:main" in packed.read(entry).decode()
    wanted = {
        str(file.relative_to(ROOT))
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    assert wanted - names == set()
    for name in (*ADDED.values(), "assistant/recordings/conversation.wav", "web/static/index.html"):
        assert name in names
    others = {name.partition("/")[0] for name in names - wanted}
    assert others == {"assistant", next(name for name in others if name.endswith(".dist-info"))}


def test_program_of_the_wheel_is_the_one_that_runs(installed: Path, tmp_path: Path) -> None:
    names = ", ".join(PACKAGES)
    code = f"import {names}; print(*(one.__file__ for one in ({names})), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(installed, tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [Path(line).is_relative_to(installed) for line in done.stdout.split()] == [True] * len(PACKAGES)


@pytest.mark.parametrize(
    ("words", "shown"),
    [(("--version",), "repartee "), (("config",), "turn.profile"), (("service", "install", "--print"), "ExecStart=")],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_commands_of_the_wheel_run_in_any_folder(
    installed: Path, tmp_path: Path, words: tuple[str, ...], shown: str
) -> None:
    done = run(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert list(tmp_path.glob("*")) == []  # nothing is left in the folder


@pytest.mark.thorough
def test_doctor_of_the_wheel_finds_what_it_needs(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "doctor")
    assert done.returncode == 0, done.stdout
    assert "a conversation can be held" in done.stdout
    assert f"{installed}/assistant/config.toml" in done.stdout


def test_server_of_the_wheel_serves_the_page(installed: Path, tmp_path: Path) -> None:
    environ = {**environment(installed, tmp_path), "PYTHONUNBUFFERED": "1"}
    command = (sys.executable, "-c", START)
    with serving(tmp_path, "tts.engine=espeak-ng", environ=environ, command=command) as address:
        for path in ("/", "/static/main.js", "/static/style/base.css"):
            assert httpx.get(address + path, trust_env=False).status_code == 200
