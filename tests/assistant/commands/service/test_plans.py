"""The exact file and commands of each service manager. None of them is needed here, except for `systemd-analyze`."""

import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from xml.etree import ElementTree as ET

import pytest

from assistant.commands.service import launchd, systemd, windows_task
from assistant.commands.service.launchd import launchd_plan
from assistant.commands.service.plan import ServiceError, ServiceJob, ServicePlan, Step
from assistant.commands.service.systemd import systemd_plan
from assistant.commands.service.windows_task import windows_plan

ODD = ("serve", "--port=9000", "--set=assistant.greeting=Grüß <Gott> & \"du\" 100% $HOME \\ 'x'")


def linux(arguments: Sequence[str] = ("serve",), home: str = "/home/jörg o b") -> ServiceJob:
    return ServiceJob(
        "repartee",
        PurePosixPath(home, "my tools/bin/repartee"),
        tuple(arguments),
        PurePosixPath(home, "50% data"),
        PurePosixPath(home, ".config/repartee/service.env"),
        PurePosixPath(home, "repartee.log"),
        MappingProxyType({"HF_HOME": f"{home}/big disk"}),
    )


def windows(arguments: Sequence[str] = ("serve",)) -> ServiceJob:
    home = PureWindowsPath(r"C:\Users\Jörg & Co")
    return ServiceJob(
        "repartee",
        home / "repartee.exe",
        tuple(arguments),
        home / "data",
        home / "service.env",
        home / "repartee.log",
    )


def argv(steps: Sequence[Step]) -> list[str]:
    return [" ".join(step.argv) for step in steps]


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


def test_systemd_unit_is_exactly_this() -> None:
    assert systemd.unit(linux()) == UNIT


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/rm", "a\r\nb", "a\x1bb", "a\x00b"])
def test_control_character_is_refused(word: str) -> None:
    with pytest.raises(ServiceError, match=r"line break.*config\.toml"):
        linux(("serve", f"--set=assistant.instructions={word}"))
    with pytest.raises(ServiceError):
        linux(home=f"/home/{word}")


def test_systemd_commands_are_exactly_these() -> None:
    plan = systemd_plan(linux(), PurePosixPath("/home/u/.config"))
    assert str(plan.file) == "/home/u/.config/systemd/user/repartee.service"
    assert argv(plan.install) == [
        "systemctl --user daemon-reload",
        "systemctl --user enable repartee.service",
        "systemctl --user restart repartee.service",
    ]
    assert argv(plan.remove) == ["systemctl --user disable --now repartee.service"]
    assert argv(plan.removed) == ["systemctl --user daemon-reload", "systemctl --user reset-failed repartee.service"]
    assert argv([*plan.stop, *plan.start]) == [
        "systemctl --user stop repartee.service",
        "systemctl --user start repartee.service",
    ]
    assert plan.log == ("journalctl", "--user", "--unit=repartee.service", "--no-pager", "--lines=50")


@pytest.mark.parametrize("word", ["/tmp/venv/config.toml", "/var/tmp/c.toml"])
def test_private_tmp_is_left_out_if_a_file_is_in_tmp(word: str) -> None:
    assert "PrivateTmp" not in systemd.unit(linux(("serve", f"--config={word}")))
    assert "PrivateTmp" not in systemd.unit(linux(home="/tmp/u"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("home", ["jörg 50% $HOME", 'jörg o\'b \\ "x"'])
def test_systemd_accepts_unit_with_odd_paths(tmp_path: Path, home: str) -> None:
    job = linux(ODD, str(tmp_path / home))
    Path(job.program).parent.mkdir(parents=True)
    Path(job.program).symlink_to(sys.executable)
    unit = tmp_path / "repartee.service"
    unit.write_bytes(systemd_plan(job, tmp_path).content)
    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", "--man=no", unit],
        env={"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line for line in checked.stderr.splitlines() if "repartee" in line] == []


LIST = {
    "Label": "local.repartee",
    "ProgramArguments": [
        "/home/jörg o b/my tools/bin/repartee",
        "service",
        "run",
        "--env-file=/home/jörg o b/.config/repartee/service.env",
        "--",
        *ODD,
    ],
    "WorkingDirectory": "/home/jörg o b/50% data",
    "EnvironmentVariables": {"HF_HOME": "/home/jörg o b/big disk"},
    "RunAtLoad": True,
    "KeepAlive": {"SuccessfulExit": False},
    "ThrottleInterval": 10,
    "ExitTimeOut": 20,
    "ProcessType": "Interactive",
    "Umask": 0o077,
    "StandardOutPath": "/home/jörg o b/repartee.log",
    "StandardErrorPath": "/home/jörg o b/repartee.log",
}


def test_launchd_property_list_is_exactly_this() -> None:
    text = launchd.property_list(linux(ODD)).decode()
    assert text.startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"'
    )
    assert "Grüß &lt;Gott&gt; &amp;" in text
    assert plistlib.loads(text.encode()) == LIST


def test_launchd_commands_are_exactly_these() -> None:
    plan = launchd_plan(linux(), PurePosixPath("/Users/u"), 501)
    file = "/Users/u/Library/LaunchAgents/local.repartee.plist"
    load, unload = f"launchctl bootstrap gui/501 {file}", "launchctl bootout gui/501/local.repartee"
    assert str(plan.file) == file
    assert [argv(steps) for steps in (plan.install, plan.start)] == [[unload, load]] * 2
    assert [argv(steps) for steps in (plan.remove, plan.stop)] == [[unload]] * 2
    assert argv([plan.query]) == ["launchctl print gui/501/local.repartee"]
    assert [step.tries for step in plan.start] == [1, 20]  # the agent is unloaded only after `bootout` has returned


TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Repartee, voice assistant (serve)</Description>
    <Documentation>["serve"]</Documentation>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>HOME\\Jörg &amp; Co</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>HOME\\Jörg &amp; Co</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>5</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>C:\\Users\\Jörg &amp; Co\\repartee.exe</Command>
      <Arguments>service run "--log=C:\\Users\\Jörg &amp; Co\\repartee.log" \
"--env-file=C:\\Users\\Jörg &amp; Co\\service.env" -- serve</Arguments>
      <WorkingDirectory>C:\\Users\\Jörg &amp; Co\\data</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
"""


def test_windows_task_is_exactly_this() -> None:
    plan = windows_plan(windows(), PureWindowsPath(r"C:\Users\Jörg & Co\data"), "HOME\\Jörg & Co")
    assert plan.content.decode("utf-16") == TASK
    assert plan.content.startswith((b"\xff\xfe", b"\xfe\xff"))
    ET.fromstring(plan.content)  # it is XML in the encoding that it names


def test_windows_commands_are_exactly_these() -> None:
    plan = windows_plan(windows(), PureWindowsPath(r"C:\data"), "u")
    assert argv(plan.install) == [
        r"schtasks /Create /TN repartee /XML C:\data\repartee.task.xml /F",
        "schtasks /End /TN repartee",
        "schtasks /Run /TN repartee",
    ]
    assert argv(plan.remove) == ["schtasks /End /TN repartee", "schtasks /Delete /TN repartee /F"]
    assert argv(plan.start) == ["schtasks /Run /TN repartee"]
    assert plan.query.argv[:4] == ("powershell", "-NoProfile", "-NonInteractive", "-Command")


PLANS = {
    "systemd": systemd_plan(linux(ODD), PurePosixPath("/c")),
    "systemd with a quote in the path": systemd_plan(linux(ODD, "/o'b"), PurePosixPath("/c")),
    "launchd": launchd_plan(linux(ODD), PurePosixPath("/c"), 1),
    "windows": windows_plan(windows(ODD), PureWindowsPath("C:\\"), "u"),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_arguments_are_read_back_from_the_file(plan: ServicePlan) -> None:
    assert tuple(plan.arguments_of(plan.content)) == ODD


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_service_that_is_unknown_is_not_running(plan: ServicePlan) -> None:
    assert (plan.state_of(None).running, plan.state_of(None).words) == (False, "not running")


def test_state_of_systemd_is_read() -> None:
    shown = "ActiveState=active\nSubState=running\nMainPID=17\nActiveEnterTimestamp=Thu 2026-11-26 16:00:00 UTC\n"
    state = systemd.state_of(shown)
    assert (state.running, state.words, state.process) == (True, "running", 17)
    assert state.since == "Thu 2026-11-26 16:00:00 UTC"
    assert systemd.state_of("ActiveState=activating\nSubState=auto-restart\n").words == "waits for its next start"
    failed = systemd.state_of("ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=2\n")
    assert (failed.running, failed.words) == (False, "failed (exit status 2)")
    assert systemd.state_of("ActiveState=inactive\nMainPID=0\n").words == "not running"


def test_state_of_launchd_is_read() -> None:
    shown = "gui/501/local.repartee = {\n\tactive count = 1\n\tstate = running\n\tpid = 421\n}\n"
    state = launchd.state_of(shown)
    assert (state.running, state.process) == (True, 421)
    ended = launchd.state_of("x = {\n\tstate = not running\n\tlast exit code = 2\n}")
    assert (ended.running, ended.words) == (False, "not running (exit status 2)")


def test_state_of_windows_is_read() -> None:
    running = windows_task.state_of("Running 2026-11-26T16:00:00\r\n")
    assert (running.running, running.since) == (True, "2026-11-26T16:00:00")
    assert windows_task.state_of("Ready 2026-11-26T16:00:00\r\n").words == "not running"
    assert windows_task.state_of("Disabled").words == "disabled"
