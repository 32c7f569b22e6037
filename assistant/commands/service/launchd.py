"""The service as a launchd agent (macOS). Pure."""

import plistlib
import re
from pathlib import PurePath

from assistant.commands.service.plan import NOT_RUNNING, ServiceJob, ServicePlan, ServiceState, Step, after_marker


def property_list(job: ServiceJob) -> bytes:
    """Returns the agent's property list (XML)."""
    return plistlib.dumps(
        {
            "Label": _label(job),
            "ProgramArguments": list(job.with_environment_file),
            "WorkingDirectory": str(job.folder),
            "EnvironmentVariables": dict(job.variables),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "ExitTimeOut": 20,
            "ProcessType": "Interactive",
            "Umask": 0o077,
            "StandardOutPath": str(job.log),
            "StandardErrorPath": str(job.log),
        },
        sort_keys=False,
    )


def launchd_plan(job: ServiceJob, home: PurePath, user: int) -> ServicePlan:
    """Returns the plan. `user`: the user's number."""
    domain = f"gui/{user}"
    target, file = f"{domain}/{_label(job)}", home / "Library" / "LaunchAgents" / f"{_label(job)}.plist"
    # Unloading ends after `bootout` has returned; until then `bootstrap` fails.
    load = Step(("launchctl", "bootstrap", domain, str(file)), tries=20)
    unload = Step(("launchctl", "bootout", target), may_fail=True)
    return ServicePlan(
        system="launchd",
        file=file,
        content=property_list(job),
        available=Step(("launchctl", "print", domain)),
        remedy="launchd has no session of this user; log in at the screen (not only by ssh) and try again",
        install=(unload, load),
        remove=(unload,),
        # After `stop` the agent is unloaded: KeepAlive would start it again.
        start=(unload, load),
        stop=(unload,),
        query=Step(("launchctl", "print", target)),
        state_of=state_of,
        arguments_of=lambda content: after_marker(plistlib.loads(content)["ProgramArguments"]),
    )


def state_of(shown: str | None) -> ServiceState:
    """Reads the output of `launchctl print`."""
    state = re.search(r"^\s*state = (.+)$", shown or "", re.MULTILINE)
    if state is None:
        return NOT_RUNNING
    process = re.search(r"^\s*pid = (\d+)$", shown or "", re.MULTILINE)
    code = re.search(r"^\s*last exit code = (\d+)", shown or "", re.MULTILINE)
    if state[1] == "running":
        return ServiceState(running=True, words="running", process=int(process[1]) if process else 0)
    ended = f" (exit status {code[1]})" if code and code[1] != "0" else ""
    return ServiceState(running=False, words=f"not running{ended}")


def _label(job: ServiceJob) -> str:
    return f"local.{job.name}"


def log_folder(home: PurePath) -> PurePath:
    """Returns the folder where macOS keeps logs of programs."""
    return home / "Library" / "Logs"
