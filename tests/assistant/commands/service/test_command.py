"""`repartee service` with a service manager that only records its commands."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs.program import repartee

from assistant.commands.service.environment_file import parsed, read_environment
from assistant.commands.service.unit import ServiceError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the commands of systemd")

FAKE = """#!/bin/sh
[ -e "$HOME/no-session" ] && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
echo "$*" >> "$HOME/asked"
case "$2" in
    show) cat "$HOME/state" 2>/dev/null ;;
    enable) [ ! -e "$HOME/refuses" ] || { echo "Unit is masked." >&2; exit 1; } ;;
esac
"""

RUNNING = "ActiveState=active\nSubState=running\nMainPID=17\nActiveEnterTimestamp=Thu 2026-11-26 16:00:00 UTC\n"
UNIT = ".config/systemd/user/repartee.service"
KEYS = ".config/repartee/service.env"

CONFIG = """
[[llm.endpoints]]
name = "cloud"
url = "https://api.example/v1"
model = "m"
api_key_env = "CLOUD_KEY"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Makes a home folder with a space and an umlaut in its name, and a `systemctl`."""
    home = tmp_path / "jörg b"
    (home / "bin").mkdir(parents=True)
    for name in ("systemctl", "journalctl"):
        (home / "bin" / name).write_text(FAKE)
        (home / "bin" / name).chmod(0o755)
    return home


def service(home: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    environ = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "COLUMNS": "80", **more}
    return repartee("service", *words, cwd=home, env=environ)


def asked(home: Path) -> list[str]:
    file = home / "asked"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.removeprefix("--user ") for line in lines]


def test_install_writes_unit_and_starts_it(home: Path) -> None:
    (home / "state").write_text(RUNNING)
    done = service(home, "install", "--port", "9000", "--set", "assistant.language=de")
    assert done.returncode == 0, done.stderr
    unit = (home / UNIT).read_text()
    assert f'ExecStart=:"{Path(sys.executable).with_name("repartee")}" "serve" "--port=9000" ' in unit
    assert '"--set=assistant.language=de"' in unit
    assert asked(home)[1:4] == ["daemon-reload", "enable repartee.service", "restart repartee.service"]
    assert "state    : running since Thu 2026-11-26 16:00:00 UTC (process 17)\n" in done.stdout
    assert "address  : http://127.0.0.1:9000\n" in done.stdout
    assert "log      : repartee service log\n" in done.stdout


def test_keys_are_named_and_never_copied(home: Path) -> None:
    (home / ".config/repartee").mkdir(parents=True)
    (home / ".config/repartee/config.toml").write_text(CONFIG)
    done = service(home, "install", "--host", "0.0.0.0", CLOUD_KEY="sk-secret", REPARTEE_TOKEN="secret-token-1234")
    assert done.returncode == 0, done.stderr
    assert "missing  : CLOUD_KEY, REPARTEE_TOKEN; write NAME=value into that file" in done.stdout
    keys = home / KEYS
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert "#CLOUD_KEY=\n#REPARTEE_TOKEN=\n" in keys.read_text()
    written = (home / UNIT).read_text()
    assert f"EnvironmentFile=-{keys}\n" in written
    assert "secret" not in written + keys.read_text() + done.stdout


def test_existing_keys_are_kept(home: Path) -> None:
    keys = home / KEYS
    keys.parent.mkdir(parents=True)
    keys.write_text("REPARTEE_TOKEN=a-token-of-my-own\n")
    keys.chmod(0o600)
    done = service(home, "install", "--host", "0.0.0.0")
    assert "missing" not in done.stdout
    assert keys.read_text() == "REPARTEE_TOKEN=a-token-of-my-own\n"
    service(home, "remove")
    assert keys.exists()


def test_folders_and_config_of_the_shell_are_kept(home: Path) -> None:
    (home / "own.toml").write_text("[server]\nport = 9100\n")
    done = service(home, "install", HF_HOME="/big disk", REPARTEE_CONFIG="own.toml")
    unit = (home / UNIT).read_text()
    assert 'Environment="HF_HOME=/big disk"\n' in unit
    assert f'"--config={home}/own.toml"' in unit
    assert "http://127.0.0.1:9100" in done.stdout


def test_status_of_stopped_service_tells_how_to_start_it(home: Path) -> None:
    service(home, "install")
    (home / "state").write_text("ActiveState=failed\nResult=exit-code\nExecMainStatus=2\n")
    done = service(home, "status")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "state    : failed (exit status 2)",
        "address  : http://127.0.0.1:8765",
        "log      : repartee service log",
        "to start it: repartee service start",
    ]


def test_remove_undoes_install(home: Path) -> None:
    service(home, "install")
    done = service(home, "remove")
    assert done.returncode == 0
    assert f"removed: {home / UNIT}" in done.stdout
    assert not (home / UNIT).exists()
    assert asked(home)[-3:] == [
        "disable --now repartee.service",
        "daemon-reload",
        "reset-failed repartee.service",
    ]
    assert service(home, "remove").stdout == "not installed; nothing to remove\n"
    assert service(home, "status").returncode == 1


def test_start_and_stop(home: Path) -> None:
    service(home, "install")
    service(home, "start")
    service(home, "stop")
    lines = [line for line in asked(home) if line.startswith(("start", "stop"))]
    assert lines == ["stop repartee.service", "start repartee.service", "stop repartee.service"]
    assert service(home, "log").returncode == 0
    assert asked(home)[-1] == "--unit=repartee.service --no-pager --lines=50"


def test_talk_is_a_service_of_its_own(home: Path) -> None:
    done = service(home, "install", "--talk", "--set", "talk.mode=wake")
    assert done.returncode == 0, done.stderr
    unit = (home / ".config/systemd/user/repartee-talk.service").read_text()
    assert '"talk" "--plain" "--set=talk.mode=wake"' in unit
    assert "address" not in done.stdout
    assert "leave out --host and --port" in service(home, "install", "--talk", "--port", "1").stderr


def test_satellite_is_a_service_of_its_own(home: Path) -> None:
    wishes = ["--server", "ws://10.0.0.2:8765", "--wake-word", "okay_nabu", "--room", "Living room"]
    done = service(home, "install", "--satellite", *wishes)
    assert done.returncode == 0, done.stderr
    unit = (home / ".config/systemd/user/repartee-satellite.service").read_text()
    assert '"--headless" "--server=ws://10.0.0.2:8765" "--room=Living room" "--wake-word=okay_nabu"' in unit
    assert "missing  : REPARTEE_TOKEN" in done.stdout
    assert "repartee service log --satellite" in service(home, "status", "--satellite").stdout


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--satellite", "--server", "ws://10.0.0.2"], "--satellite: add --server URL and --wake-word WORD"),
        (["--satellite", "--port", "1"], "leave out --host and --port"),
        (["--room", "Kitchen"], "--room: add --satellite"),
        (["--satellite", "--talk", "--server", "ws://a", "--wake-word", "alexa"], "they are two services"),
        (["--satellite", "--server", "ftp://kitchen", "--wake-word", "alexa"], "--server"),
        (["--satellite", "--server", "ws://a", "--wake-word", "alexia"], "no wake word is called 'alexia'"),
        (["--satellite", "--server", "wss://a", "--wake-word", "alexa", "--tls-fingerprint", "48"], "64 hexadecimal"),
        (["--satellite", "--server", "wss://a", "--wake-word", "alexa", "--print", "--tls-fingerprint", ""], "64 hexa"),
    ],
    ids=["no wake word", "port", "not a satellite", "both", "address", "unknown word", "fingerprint", "printed"],
)
def test_wishes_that_do_not_fit_are_refused(home: Path, words: list[str], problem: str) -> None:
    done = service(home, "install", *words)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (home / ".config/systemd").exists()


def test_without_systemd_one_sentence_has_the_remedy(home: Path) -> None:
    (home / "no-session").touch()
    for words in (("install",), ("status",), ("remove",)):
        done = service(home, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("repartee: there is no systemd session of this user here; in a container make")
        assert len(done.stderr.splitlines()) == 1
    assert not (home / UNIT).exists()
    assert not (home / KEYS).exists()


def test_refusal_of_systemd_is_shown(home: Path) -> None:
    (home / "refuses").touch()
    done = service(home, "install")
    assert done.returncode == 2
    expected = "repartee: systemd refused: systemctl --user enable repartee.service (Unit is masked.)\n"
    assert done.stderr == expected


def test_invalid_settings_are_refused_before_anything_is_written(home: Path) -> None:
    done = service(home, "install", "--port", "http")
    assert done.returncode == 2
    assert "--port" in done.stderr
    assert not (home / UNIT).exists()


def test_print_changes_nothing(home: Path) -> None:
    (home / "no-session").touch()
    done = service(home, "install", "--print")
    assert done.returncode == 0
    assert "[Service]" in done.stdout
    assert "$ systemctl --user restart repartee.service" in done.stdout
    assert {file.name for file in home.iterdir()} == {"bin", "no-session"}


def test_keys_that_others_can_read_are_refused(home: Path) -> None:
    keys = home / KEYS
    keys.parent.mkdir(parents=True)
    keys.write_text("A=b\n")
    keys.chmod(0o644)
    done = service(home, "install")
    assert done.stderr == f"repartee: {keys} holds keys, but others may read it; run: chmod 600 '{keys}'\n"


def test_environment_file_is_parsed() -> None:
    text = "# a comment\n\nA=1\nexport B = 'two words'\nC=\"x=y\"\nD=\n;other\n"
    assert parsed(text, Path("f")) == {"A": "1", "B": "two words", "C": "x=y", "D": ""}
    with pytest.raises(ServiceError, match=r"^f:2 is not of the form NAME=value; correct the line$"):
        parsed("A=1\nsk-secret\n", Path("f"))


def test_missing_environment_file_is_empty(tmp_path: Path) -> None:
    assert read_environment(tmp_path / "none") == {}
    (tmp_path / "bad").write_bytes(b"A=\xff")
    (tmp_path / "bad").chmod(0o600)
    with pytest.raises(ServiceError, match="UTF-8"):
        read_environment(tmp_path / "bad")
