"""The exact text of the unit, and the state that systemd reports."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from assistant.commands.service.unit import ServiceError, ServiceJob, arguments_of, state_of, unit

ODD = ("serve", "--port=9000", "--set=assistant.greeting=Grüß <Gott> & \"du\" 100% $HOME \\ 'x'")


def job(arguments: Sequence[str] = ("serve",), home: str = "/home/jörg o b") -> ServiceJob:
    return ServiceJob(
        "repartee",
        Path(home, "my tools/bin/repartee"),
        tuple(arguments),
        Path(home, "50% data"),
        Path(home, ".config/repartee/service.env"),
        MappingProxyType({"HF_HOME": f"{home}/big disk"}),
    )


UNIT = """\
# Written by `repartee service install`, which also replaces it. `repartee service remove` deletes it.
[Unit]
Description=Repartee, voice assistant (serve)
After=pipewire.service pulseaudio.service
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
# The colon: no environment variables are put in.
ExecStart=:"/home/jörg o b/my tools/bin/repartee" "serve"
# The minus: it need not exist. The second file holds keys and tokens.
WorkingDirectory=-/home/jörg o b/50%% data
EnvironmentFile=-/home/jörg o b/.config/repartee/service.env
Environment="HF_HOME=/home/jörg o b/big disk"
Restart=on-failure
RestartSec=5
# Status 2: the configuration has an error; another start does not help.
RestartPreventExitStatus=2
# Turns in progress finish.
TimeoutStopSec=20
NoNewPrivileges=yes
LockPersonality=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077
PrivateTmp=yes

[Install]
WantedBy=default.target
"""


def test_unit_is_exactly_this() -> None:
    assert unit(job()) == UNIT


def test_satellite_starts_again_for_ever_in_little_memory() -> None:
    lines = unit(replace(job(), arguments=("talk", "--headless"), is_satellite=True)).splitlines()
    assert {"Restart=always", "StartLimitIntervalSec=0", "MemoryMax=240M"} <= set(lines)
    assert not {"PrivateTmp=yes", "StartLimitBurst=5"} & set(lines)


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/rm", "a\r\nb", "a\x1bb", "a\x00b"])
def test_control_character_is_refused(word: str) -> None:
    with pytest.raises(ServiceError, match=r"line break.*config\.toml"):
        job(("serve", f"--set=assistant.instructions={word}"))
    with pytest.raises(ServiceError):
        job(home=f"/home/{word}")


@pytest.mark.parametrize("word", ["/tmp/venv/config.toml", "/var/tmp/c.toml"])
def test_private_tmp_is_left_out_if_a_file_is_in_tmp(word: str) -> None:
    assert "PrivateTmp" not in unit(job(("serve", f"--config={word}")))
    assert "PrivateTmp" not in unit(job(home="/tmp/u"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("home", ["jörg 50% $HOME", 'jörg o\'b \\ "x"'])
def test_systemd_accepts_unit_with_odd_paths(tmp_path: Path, home: str) -> None:
    odd = job(ODD, str(tmp_path / home))
    odd.program.parent.mkdir(parents=True)
    odd.program.symlink_to(sys.executable)
    file = tmp_path / "repartee.service"
    file.write_text(unit(odd), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", "--man=no", file],
        env={"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line for line in checked.stderr.splitlines() if "repartee" in line] == []


@pytest.mark.parametrize("home", ["/home/jörg o b", "/o'b"])
def test_arguments_are_read_back_from_the_unit(home: str) -> None:
    assert tuple(arguments_of(unit(job(ODD, home)).encode())) == ODD


def test_state_is_read() -> None:
    shown = "ActiveState=active\nSubState=running\nMainPID=17\nActiveEnterTimestamp=Thu 2026-11-26 16:00:00 UTC\n"
    state = state_of(shown)
    assert (state.running, state.words, state.process) == (True, "running", 17)
    assert state.since == "Thu 2026-11-26 16:00:00 UTC"
    assert state_of("ActiveState=activating\nSubState=auto-restart\n").words == "waits for its next start"
    failed = state_of("ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=2\n")
    assert (failed.running, failed.words) == (False, "failed (exit status 2)")
    for unknown in ("ActiveState=inactive\nMainPID=0\n", None):
        assert (state_of(unknown).running, state_of(unknown).words) == (False, "not running")
