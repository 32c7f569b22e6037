"""A satellite's installation: the packages of its lock, their wheels for small boards, and what it may import."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from deploy.locked_extras import blocks_of

ROOT = Path(__file__).parents[2]
LOCK = blocks_of((ROOT / "requirements-satellite.lock").read_text())
WHEELS = [line.split() for line in (ROOT / "deploy" / "satellite-wheels.txt").read_text().splitlines()]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GLIBC = (2, 35)

MODULES = {
    *("annotated_doc", "annotated_types", "cffi", "markdown_it", "mdurl", "numpy", "platformdirs", "pycparser"),
    *("pydantic", "pydantic_core", "pygments", "micro_features_cpp", "pymicro_features", "pymicro_wakeword", "rich"),
    *("shellingham", "sounddevice", "soxr", "typer", "typing_extensions", "typing_inspection", "websockets"),
}
"""Modules of the locked packages, without those that build the program."""

BLOCKING = f"""
import importlib.abc, sys
ALLOWED = {MODULES!r} | set(sys.stdlib_module_names) | {{
    "assistant", "audio", "declarations", "llm", "repartee", "web"
}}
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        top = name.partition(".")[0]
        if top not in ALLOWED and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None
sys.meta_path.insert(0, Missing())
"""


def run_without_the_rest(program: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program in which only the packages of the lock can be imported."""
    command = [sys.executable, "-c", BLOCKING + program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_packages_are_those_of_the_program() -> None:
    """One version of each: the program on a board is the one that is tested."""
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(PROJECT["dependency-groups"]["satellite"]) <= {*PROJECT["project"]["dependencies"], *extras["wake"]}
    dev = blocks_of((ROOT / "requirements-dev.lock").read_text())
    for name, blocks in LOCK.items():
        assert {block.split()[0] for block in blocks} <= {block.split()[0] for block in dev[name]}, name


@pytest.mark.parametrize("name", sorted(LOCK))
def test_package_has_a_wheel_for_small_boards(name: str) -> None:
    """Linux on aarch64 with glibc 2.35, Python 3.11. After a change: python deploy/satellite_wheels.py."""
    block = next(block for block in LOCK[name] if "python_full_version >= '3.12'" not in block.split("\n")[0])
    if "sys_platform == 'win32'" in block:
        return
    version = block.split()[0].partition("==")[2]
    rows = [row for row in WHEELS if row[0].lower().startswith(f"{name.replace('-', '_')}-{version}-")]
    assert rows, f"no wheel of {name} {version} is in deploy/satellite-wheels.txt"
    ((file, digest, _),) = rows
    assert f"sha256:{digest}" in block
    python, abi, platforms = file.removesuffix(".whl").split("-")[-3:]
    assert re.fullmatch(r"cp311|cp3\d|(py2\.)?py3", python)
    assert abi in {"cp311", "abi3", "none"}
    assert platforms == "any" or min(_glibc(platform) for platform in platforms.split(".")) <= GLIBC


def _glibc(platform: str) -> tuple[int, int]:
    if platform == "manylinux2014_aarch64":
        return 2, 17
    match = re.fullmatch(r"manylinux_(\d+)_(\d+)_aarch64", platform)
    assert match is not None, platform
    return int(match[1]), int(match[2])


def test_satellite_imports_locked_packages_only() -> None:
    program = """
from assistant.config.loading import load_settings
from repartee import cli, satellite, satellite_check, server_talk
settings = load_settings(None, {}, ["talk.wake_word=okay_nabu"]).settings
server_talk._wake_words(settings)
import assistant.commands.service.command, assistant.commands.talk.plain
"""
    done = run_without_the_rest(program)
    assert done.returncode == 0, done.stderr


def test_process_of_a_satellite_holds_no_command_line() -> None:
    program = """
from repartee.satellite import WakeWords
heavy = {"typer", "rich", "pydantic", "textual", "httpx", "assistant.config.settings", "assistant.pipeline.session"}
print(sorted(heavy & set(sys.modules)))
"""
    done = run_without_the_rest(program)
    assert done.stdout == "[]\n", done.stderr


def test_other_command_says_which_installation_has_it() -> None:
    program = "import sys; sys.argv = ['repartee', 'demo']; from repartee.program import main; main()"
    done = run_without_the_rest(program)
    assert done.returncode == 2
    assert re.fullmatch(
        r"repartee: this command needs the package \w+, which is not installed\. .*`make setup`.*\n", done.stderr
    )


@pytest.mark.parametrize("missing", ["", "aiofiles"])
def test_echo_canceller_needs_all_its_locked_packages(tmp_path: Path, missing: str) -> None:
    """`make satellite ECHO=cancel` takes a part of the full lock; a package may have left it."""
    lock = (ROOT / "requirements.lock").read_text()
    (tmp_path / "requirements.lock").write_text(lock.replace(f"{missing}==", "other==") if missing else lock)
    script = (ROOT / "deploy" / "setup.sh").read_text()
    begin = script.index("fail() {")
    fail = script[begin : script.index("\n}\n", begin) + 3]
    begin = script.index("install_echo_canceller() {")
    install = script[begin : script.index("\n}\n", begin) + 3]
    program = f"set -eu\nvenv=.\npip_install() {{ :; }}\n{fail}{install}install_echo_canceller\n"
    done = subprocess.run(["/bin/sh", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    if missing:
        assert (done.returncode, done.stderr) == (
            1,
            "setup: requirements.lock has no aiofiles, which the echo canceller needs\n",
        )
        return
    assert done.returncode == 0, done.stderr
    blocks = blocks_of((tmp_path / "echo.lock").read_text())
    assert {*LOCK, *blocks} >= _needed("livekit"), "a package that livekit needs is not installed"


def _needed(name: str) -> set[str]:
    """Returns a package and those that it requires, of the installed versions."""
    needed, new = set[str](), {name}
    while new:
        needed |= new
        lines = [line for package in new for line in metadata.requires(package) or () if "extra ==" not in line]
        new = {re.split(r"[^\w.-]", line)[0].lower() for line in lines} - needed
    return needed
