"""Consistency checks of the repository."""

import fcntl
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.packages import PACKAGES

from declarations.extra import installing

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-satellite.lock")
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.MULTILINE)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(lock: str) -> set[tuple[str, str]]:
    return set(_PIN.findall(text_of(lock)))


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_name_no_registry_and_no_path(lock: str) -> None:
    assert "hash=sha256:" in text_of(lock)
    assert not re.search(r"://|^-|@ |^\s*#", text_of(lock), re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash(lock: str) -> None:
    blocks = re.split(r"\n(?=\S)", text_of(lock).strip())
    assert len(blocks) > 20
    assert [block.split("\n")[0] for block in blocks if not _PIN.match(block) or "--hash=sha256:" not in block] == []


def test_development_lock_includes_runtime_lock() -> None:
    assert pins("requirements.lock") < pins("requirements-dev.lock")


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads(text_of("pyproject.toml"))
    groups: dict[str, list[str]] = project["dependency-groups"]
    wanted = {
        "requirements.lock": [*project["project"]["dependencies"], *groups["build"]],
        "requirements-dev.lock": groups["dev"],
        "requirements-satellite.lock": [*groups["satellite"], *groups["build"]],
    }
    for lock, requirements in wanted.items():
        names = {re.split(r"[\[<>=!~; ]", requirement)[0].lower() for requirement in requirements}
        assert names - {name for name, _ in pins(lock)} == set(), lock


def test_wheel_contains_settings_where_they_are_read() -> None:
    wheel = tomllib.loads(text_of("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["config.toml"] == "assistant/config.toml"


@pytest.mark.parametrize("script", [".ci/run", "deploy/setup.sh"])
def test_scripts_are_executable(script: str) -> None:
    assert text_of(script).startswith("#!/bin/sh\n")
    assert (ROOT / script).stat().st_mode & 0o111 == 0o111


def test_make_help_lists_every_target() -> None:
    makefile = text_of("Makefile")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    told = set(re.findall(r'@echo "make ([a-z-]+) ', makefile))
    assert told == set(phony.split()) - {"help", "setup-dev"}
    assert set(re.findall(r"^([a-z-]+):(?!=)", makefile, re.MULTILINE)) == set(phony.split())


def test_old_python_is_rejected_in_one_line(tmp_path: Path) -> None:
    """Uses a copy: the script removes what it finds broken."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "setup.sh", tmp_path / "deploy")
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 0\n')
    old.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "deploy" / "setup.sh"],
        env={"PYTHON": str(old), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("setup: Python 3.11 or newer is needed, found: Python 3.9.2. ")
    assert not (tmp_path / ".venv").exists()


def set_up(place: Path, python: Path) -> "subprocess.Popen[str]":
    """Runs the script of a copy, with a Python of this name."""
    environment = {"PYTHON": str(python), "PATH": f"{place}/.venv/bin:/usr/bin:/bin"}
    return subprocess.Popen([place / "deploy" / "setup.sh"], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copies the files for setup, with a fake .venv."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "setup.sh", tmp_path / "deploy")
    for name in (*LOCKS, "pyproject.toml"):
        (tmp_path / name).touch()
    python = Path(sys.executable).resolve()
    programs = {
        "repartee": "exit 0",
        "python": f"[ \"$1\" = -m ] || exec '{python}' -c 'import sys; print(sys.version)'",
        "apt-get": "exit 1",
    }
    bin_folder = tmp_path / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "activate").write_text(str(tmp_path.resolve() / ".venv"))
    for name, does in programs.items():
        (bin_folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (bin_folder / name).chmod(0o755)
    for name in ("python3", "python3.x"):
        (tmp_path / name).symlink_to(python)
    return tmp_path


def test_completed_setup_does_nothing_for_any_python_name(copy: Path) -> None:
    told = [set_up(copy, copy / name).communicate()[0] for name in ("python3", "python3.x")]
    assert "setup: ready" in told[0]
    assert "setup: fetching Whisper base (148 MB; " in told[0]
    assert "the voice Joe" not in told[0], "only the tests need it"
    assert told[1] == ""


waits = pytest.mark.skipif(shutil.which("flock", path="/usr/bin:/bin") is None, reason="waiting needs flock")


@waits
def test_second_simultaneous_setup_waits(copy: Path) -> None:
    with (copy / "deploy" / "setup.sh").open() as script:
        fcntl.flock(script, fcntl.LOCK_EX)
        with set_up(copy, copy / "python3") as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "setup: another setup is under way here: waiting for it\n"
            fcntl.flock(script, fcntl.LOCK_UN)
            assert "setup: ready" in second.communicate()[0]


def test_nothing_installs_foreign_pypi_package_of_same_name() -> None:
    """An extra is installed from the clone."""
    tops = (*PACKAGES, "bench", "deploy", "docs", "examples", "tests")
    texts = [file for top in tops for file in (ROOT / top).rglob("*") if file.suffix in {".md", ".py", ".sh", ".js"}]
    by_name = re.compile(r"""(?<!un)install\s+['"]?repartee\b""")
    texts += [ROOT / "Makefile", *ROOT.glob("*.md"), *ROOT.glob("*.toml")]
    found = [file for file in texts if by_name.search(file.read_text(encoding="utf-8"))]
    assert len(texts) > 500
    assert found == []


@pytest.mark.parametrize(
    ("file", "command"),
    [("pipx_metadata.json", "pipx install --force '.[mcp]'"), ("uv-receipt.toml", "uv tool install --force '.[mcp]'")],
)
def test_extra_is_installed_with_the_tool_that_installed_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, command: str
) -> None:
    assert "`.venv/bin/pip install -e '.[mcp]'`" in installing("mcp")
    (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert installing("mcp") == f"run `{command}` in Repartee's folder"


_FILE = re.compile(
    rf"(?<![\w/.-])(?:{'|'.join(PACKAGES)}|bench|examples|tests|deploy)/(?:[\w-]+/)*[\w-]+\.(?:py|json|sh)\b"
)


def files_named(text: str) -> set[str]:
    return set(_FILE.findall(text))


def test_files_named_in_documents_and_docstrings_exist() -> None:
    pages = [*ROOT.glob("docs/**/*.md"), *(ROOT / top / "README.md" for top in (".", "bench", "examples"))]
    sources = [file for top in (*PACKAGES, "bench") for file in ROOT.glob(f"{top}/**/*.py")]
    named = {(file.name, name) for file in (*pages, *sources) for name in files_named(file.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert {(where, name) for where, name in named if not (ROOT / name).exists()} == set()


def test_wheel_has_every_package_but_the_benches() -> None:
    assert {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"bench"} == {*PACKAGES}


def test_architecture_page_names_every_assistant_package() -> None:
    packages = {file.parent.name for file in (ROOT / "assistant").glob("*/__init__.py")}
    page = text_of("docs/architecture.md")
    assert len(packages) > 15
    assert {name for name in packages if f"`{name}/`" not in page} == set()
