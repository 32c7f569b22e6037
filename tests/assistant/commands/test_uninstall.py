"""`repartee uninstall` in a home folder with everything that the program stores, and with files of others."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.programs.program import REPARTEE, repartee
from support.programs.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the folders and the service manager of Linux")

DATA, CONFIG = ".local/share/repartee", ".config/repartee"
UNIT = ".config/systemd/user/repartee.service"
TRACE = "20261128-212355-7525d7f3.jsonl"
HUB = ".cache/huggingface/hub"

OWN = (
    f"{CONFIG}/config.toml", f"{CONFIG}/service.env", f"{DATA}/timers.sqlite3", f"{DATA}/timers.sqlite3-wal",
    f"{DATA}/answers.sqlite3", f"{DATA}/voices.sqlite3", f"{DATA}/voices.sqlite3.damaged",
    f"{DATA}/conversations/conversations.sqlite3",
    f"{DATA}/conversations/old.jsonl.imported",
    f"{DATA}/tls/repartee.key", f"{DATA}/voices/en_US-joe-medium.onnx", f"{DATA}/voices/en_US-joe-medium.onnx.json",
    f"{DATA}/turns/smart-turn-v3.2-cpu.onnx", f"{DATA}/tensorrt/engine", f"{DATA}/traces/{TRACE}",
    f"{DATA}/repartee.log",
    ".cache/repartee/recognizer-times.json", ".cache/repartee/whisper-times.json", "start/out/demo.wav",
    f"start/traces/{TRACE}", UNIT, ".config/fish/completions/repartee.fish",
)  # fmt: skip
SHARED = f"{HUB}/models--Systran--faster-whisper-tiny.en/snapshots/1/model.bin"
FOREIGN = (
    f"{DATA}/mine.txt", f"{DATA}/voices/my-own.onnx", f"{HUB}/models--other--model/model.bin", "start/out/song.wav",
    "start/traces/notes.jsonl", ".zfunc/_repartee",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (*OWN, SHARED, *FOREIGN):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("_REPARTEE_COMPLETE" if name.endswith(".fish") else "x")
    (tmp_path / CONFIG / "config.toml").write_text("")
    manager = tmp_path / "bin" / "systemctl"
    manager.parent.mkdir()
    manager.write_text('#!/bin/sh\necho "$*" >> "$HOME/asked"\n')
    manager.chmod(0o755)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "COLUMNS": "100"}


def uninstall(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return repartee("uninstall", *words, cwd=home / "start", env=environment(home))


def left(home: Path) -> set[str]:
    return {name for name in (*OWN, SHARED, *FOREIGN) if (home / name).exists()}


def test_without_a_terminal_everything_is_listed_and_kept(home: Path) -> None:
    done = uninstall(home)
    assert done.returncode == 0, done.stderr
    for name in (*OWN, SHARED.partition("/snapshots")[0]):
        assert str(home / name) in done.stdout or str((home / name).parent) in done.stdout
    assert "nothing was removed; to remove what is listed: repartee uninstall --yes\n" in done.stdout
    assert left(home) == {*OWN, SHARED, *FOREIGN}


def test_yes_removes_what_the_program_made_and_nothing_else(home: Path) -> None:
    done = uninstall(home, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert left(home) == {SHARED, *FOREIGN}
    assert "kept, because other programs may use them: models in the cache of Hugging Face" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("to remove the program itself: ")
    assert "disable --now repartee.service" in (home / "asked").read_text()
    assert not (home / CONFIG).exists()
    assert not (home / ".cache/repartee").exists()


def test_conversations_are_kept_and_shared_models_removed(home: Path) -> None:
    assert uninstall(home, "--yes", "--keep-conversations", "--shared-models").returncode == 0
    assert left(home) == {*FOREIGN, *(name for name in OWN if "/conversations/" in name)}
    assert "nothing of Repartee is stored here" in uninstall(home, "--keep-conversations").stdout


def test_link_is_removed_and_its_target_stays(home: Path) -> None:
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "engine").write_text("x")
    (home / DATA / "tensorrt" / "engine").unlink()
    (home / DATA / "tensorrt").rmdir()
    (home / DATA / "tensorrt").symlink_to(elsewhere)
    assert uninstall(home, "--yes").returncode == 0
    assert (elsewhere / "engine").exists()
    assert not (home / DATA / "tensorrt").is_symlink()


def test_service_that_cannot_be_stopped_is_reported(home: Path) -> None:
    (home / "bin" / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    done = uninstall(home, "--yes")
    assert done.returncode == 1
    assert (home / UNIT).exists()


def test_terminal_asks_for_each_group(home: Path) -> None:
    terminal = Terminal([REPARTEE, "uninstall"], environment(home), home / "start")
    terminal.until(b"Stop and remove the service?")
    terminal.press(b"n\n")
    terminal.until(b"Remove configuration (0 kB)?")
    terminal.press(b"y\n")
    terminal.until(b"Remove keys of the service (0 kB)?")
    terminal.press(b"s\n")
    terminal.until(b"the rest is kept")
    assert terminal.end() == 0
    assert left(home) == {*OWN, SHARED, *FOREIGN} - {f"{CONFIG}/config.toml"}
