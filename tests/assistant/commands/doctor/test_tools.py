"""Results for tool servers: real ones, missing ones, and every kind of problem."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from assistant.commands.doctor import tools as doctor_tools
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.tools import ToolProbe, probe, server_findings, tools_section
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.tool_settings import ToolServerSection

PROGRAM = Path(__file__).parent.parent.parent.parent / "support" / "mcp" / "mcp_program.py"
COMMAND = f"'{sys.executable}' '{PROGRAM}'"
NEAR = EndpointSection(name="near", url="http://127.0.0.1:1/v1", model="m")
TGI = EndpointSection(name="tgi", kind="tgi", url="http://127.0.0.1:1", model="m", template="llama3")
NOTES = ToolServerSection(name="notes", command="notes-server")
HOME = ToolServerSection(name="home", url="http://127.0.0.1:9/mcp", token_env="HOME_TOKEN")
FINE = ToolProbe(["notes_add", "notes_find"], 420.0)


def probed(section: ToolServerSection, environ: Mapping[str, str] | None = None) -> ToolProbe:
    return asyncio.run(probe(section, environ or {}))


def answer(found: ToolProbe) -> ProbeResult:
    return ProbeResult(asdict(found))


# Connecting to servers.


@pytest.mark.slow
@pytest.mark.timeout(40)
def test_program_is_started_and_its_tools_are_counted() -> None:
    found = probed(ToolServerSection(name="home", command=COMMAND, only="weather wait gone"))
    assert found.failure == ""
    assert sorted(found.tools) == ["home_wait", "home_weather"]
    assert found.ms is not None
    assert found.remarks == ["the tool server home has no tool gone: check its key `only`"]


@pytest.mark.slow
def test_unreachable_server_has_a_remedy() -> None:
    found = probed(ToolServerSection(name="notes", command="no-such-program-anywhere --x secret"))
    assert found.failure.startswith("the tool server notes is not available (no such program): run no-such-program-any")
    assert "secret" not in found.failure
    assert not found.fatal
    found = probed(ToolServerSection(name="notes", command="false"))
    said = "the tool server notes is not available (it ended, or closed the connection, before it had answered)"
    assert found.failure.startswith(said)
    found = probed(HOME, {"HOME_TOKEN": "s3cret"})
    assert found.failure.startswith("the tool server home is not available (")
    assert "start it, or check its url" in found.failure
    assert "s3cret" not in found.failure


@pytest.mark.slow
def test_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_tools, "REACH_TIMEOUT_S", 1.0)
    found = probed(ToolServerSection(name="mute", command=f"'{sys.executable}' -c 'import time; time.sleep(60)'"))
    assert found.failure.startswith("does not list its tools within 1 s: run ")


def test_unset_variable_is_fatal() -> None:
    found = probed(HOME)
    assert found.failure.startswith("the environment variable HOME_TOKEN is not set: set it, or remove")
    assert found.fatal


def test_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "assistant.tools.mcp_server", None)
    found = probed(NOTES)
    assert ".venv/bin/pip install -e '.[mcp]'" in found.failure
    assert found.fatal


# Results.


def test_working_server_is_ok() -> None:
    (line,) = server_findings(NOTES, answer(FINE))
    assert (line.level, line.name, line.text, line.ms) == ("ok", "tools notes", "2 tools: notes_add, notes_find", 420.0)
    assert line.facts["count"] == 2
    assert server_findings(NOTES, answer(ToolProbe(["notes_add"], 1.0)))[0].text == "one tool: notes_add"


def test_server_problems_have_their_levels() -> None:
    failure = "the tool server notes is not available (no such program): run notes-server by hand"
    (line,) = server_findings(NOTES, answer(ToolProbe(failure=failure)))
    assert (line.level, line.text, line.remedy) == (
        "fail",
        "is not available (no such program)",
        "run notes-server by hand",
    )
    assert not line.essential
    (line,) = server_findings(NOTES, answer(ToolProbe(failure="x: y", fatal=True)))
    assert line.essential
    (line,) = server_findings(NOTES, ProbeResult({}, "no answer within 14 s"))
    assert (line.level, line.essential) == ("fail", False)
    assert "notes-server" in line.remedy
    (line,) = server_findings(NOTES, answer(ToolProbe(ms=3.0)))
    assert (line.level, line.text) == ("warn", "it is connected but offers no tool")
    remark = "the tool server notes has no tool gone: check its key `only`"
    _, line = server_findings(NOTES, answer(ToolProbe(["a"], 1.0, [remark])))
    assert (line.level, line.text, line.remedy) == ("warn", "has no tool gone", "check its key `only`")


def test_tools_need_a_model_that_can_call_them() -> None:
    def last(*endpoints: EndpointSection) -> tuple[str, str, bool]:
        line = tools_section((NOTES,), (answer(FINE),), endpoints).findings[-1]
        return line.name, line.level, line.essential

    assert last(NEAR) == ("tools notes", "ok", False)
    assert last() == ("tool calls", "warn", False)
    assert last(TGI) == ("tool calls", "fail", True)
    assert last(TGI, NEAR) == ("tool calls", "info", False)


def test_no_server_is_no_problem() -> None:
    (line,) = tools_section((), (), ()).findings
    assert line.level == "info"
