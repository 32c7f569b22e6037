"""The service as a task of the Task Scheduler (Windows). Pure."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import PurePath
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from assistant.commands.service.plan import NOT_RUNNING, ServiceJob, ServicePlan, ServiceState, Step

_NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"


def task(job: ServiceJob, user: str) -> str:
    """Returns the task as XML. `user`: DOMAIN\\name; the task starts when this user logs in."""
    program, first, second, *rest = job.with_environment_file
    arguments = subprocess.list2cmdline([first, second, f"--log={job.log}", *rest])
    return f"""\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="{_NAMESPACE}">
  <RegistrationInfo>
    <Description>{escape(job.description)}</Description>
    <Documentation>{escape(json.dumps(job.arguments))}</Documentation>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{escape(user)}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{escape(user)}</UserId>
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
      <Command>{escape(program)}</Command>
      <Arguments>{escape(arguments)}</Arguments>
      <WorkingDirectory>{escape(str(job.folder))}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
"""


def windows_plan(job: ServiceJob, data_folder: PurePath, user: str) -> ServicePlan:
    """Returns the plan. `data_folder`: where the task's file is kept; `user`: DOMAIN\\name."""
    file = data_folder / f"{job.name}.task.xml"
    asked = (
        f"$t = Get-ScheduledTask -TaskName '{job.name}' -ErrorAction Stop; $i = $t | Get-ScheduledTaskInfo; "
        "Write-Output ('{0} {1:s}' -f $t.State, $i.LastRunTime)"
    )
    start, stop = _schtasks("/Run", job), _schtasks("/End", job, may_fail=True)
    return ServicePlan(
        system="the Task Scheduler",
        file=file,
        content=task(job, user).encode("utf-16"),  # with its byte order mark, as schtasks expects
        available=Step(("schtasks", "/Query")),
        remedy="the Task Scheduler cannot be used; start the Windows service Schedule and try again",
        install=(_schtasks("/Create", job, "/XML", str(file), "/F"), stop, start),
        remove=(stop, _schtasks("/Delete", job, "/F", may_fail=True)),
        start=(start,),
        stop=(stop,),
        query=Step(("powershell", "-NoProfile", "-NonInteractive", "-Command", asked)),
        state_of=state_of,
        arguments_of=arguments_of,
    )


def state_of(shown: str | None) -> ServiceState:
    """Reads the state and the time of the last start."""
    state, _, since = (shown or "").strip().partition(" ")
    if state == "Running":
        return ServiceState(running=True, words="running", since=since)
    return ServiceState(running=False, words="disabled") if state == "Disabled" else NOT_RUNNING


def arguments_of(content: bytes) -> Sequence[str]:
    """Reads the program's arguments from a task. Raises ValueError."""
    try:
        # Without the declaration: it names the encoding of the bytes, and this is text.
        root = ET.fromstring(content.decode("utf-16").partition("?>")[2])  # noqa: S314 - a file of our own
        found = json.loads(root.findtext(f"{{{_NAMESPACE}}}RegistrationInfo/{{{_NAMESPACE}}}Documentation") or "[]")
    except ET.ParseError as error:
        raise ValueError(str(error)) from error
    return [str(word) for word in found]


def _schtasks(verb: str, job: ServiceJob, *more: str, may_fail: bool = False) -> Step:
    return Step(("schtasks", verb, "/TN", job.name, *more), may_fail)
