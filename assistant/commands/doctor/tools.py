"""Checks the configured tool servers by connecting once to each."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from assistant.checks.result import CheckResult, Fact, Level
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.report import ReportSection
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.tool_settings import ToolServerSection
from assistant.endpoint_probe.local_servers import shortened
from declarations.extra import installing

REACH_TIMEOUT_S = 10.0
"""Seconds to connect, as long as a start waits. A slower server is added to the running program later."""

SHOWN_TOOLS = 6


@dataclass(slots=True)
class ToolProbe:
    """Results for one server.

    Attributes:
        tools: Its tools, by the names that the model uses.
        ms: Time until the tools were listed, including start or connection.
        remarks: Other problems.
        failure: Why no tool can be called: the problem, a colon, the remedy.
        fatal: Whether it prevents the start of the program.
    """

    tools: list[str] = field(default_factory=list)
    ms: float | None = None
    remarks: list[str] = field(default_factory=list)
    failure: str = ""
    fatal: bool = False


async def probe(section: ToolServerSection, environ: Mapping[str, str]) -> ToolProbe:
    """Starts or connects to one server and lists its tools. Never raises; takes about 12 s at most."""
    for name in section.variables:
        if not environ.get(name):
            remedy = "set it, or remove it from env or token_env"
            return ToolProbe(failure=f"the environment variable {name} is not set: {remedy}", fatal=True)
    try:
        # Imported on use: it takes half a second, and the package is an extra.
        from assistant.tools.mcp_server import McpServer  # noqa: PLC0415
    except ImportError:
        return ToolProbe(
            failure=f"the mcp package is missing: {installing('mcp')}, or remove [[tools.servers]]", fatal=True
        )
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    server = McpServer(section, environ, lambda _what: None)
    probe = ToolProbe(remarks=server.remarks)
    async with asyncio.TaskGroup() as tasks:
        life = tasks.create_task(server.run(), name=f"tools of {section.name}")
        try:
            async with asyncio.timeout(REACH_TIMEOUT_S):
                await server.attempted.wait()
        except TimeoutError:
            probe.failure = f"does not list its tools within {REACH_TIMEOUT_S:g} s: {_remedy(section)}"
        else:
            probe.ms = (loop.time() - began_s) * 1000
            if server.trouble:
                probe.failure = f"{server.trouble.partition(': its tools')[0]}: {_remedy(section)}"
        finally:
            life.cancel()
    probe.tools = [function.name for function in server.functions]
    return probe


def _remedy(section: ToolServerSection) -> str:
    if section.url:
        return "start it, or check its url and the variable that its token_env names"
    return f"run {section.argv[0]} by hand with the arguments of its command, and read its output"


# ---- results ----


def tools_section(
    servers: Sequence[ToolServerSection], answers: Sequence[ProbeResult], endpoints: Sequence[EndpointSection]
) -> ReportSection:
    """Returns the results for all servers. Pure.

    Args:
        servers: As configured.
        answers: Results of `probe`, in the same order.
        endpoints: As configured; at least one must support functions.
    """
    findings = [finding for pair in zip(servers, answers, strict=True) for finding in server_findings(*pair)]
    if not servers:
        findings = [CheckResult("info", "tool servers", "none is configured")]
    elif not endpoints:
        remedy = "add one as [[llm.endpoints]], or remove [[tools.servers]]"
        findings.append(CheckResult("warn", "tool calls", "no language model is configured", remedy=remedy))
    elif lacking := [endpoint.name for endpoint in endpoints if not endpoint.takes_functions]:
        every = len(lacking) == len(endpoints)
        text = f"{', '.join(lacking)} cannot call tools" + ("" if every else "; the other endpoints can")
        remedy = "remove [[tools.servers]], or add an endpoint that supports functions (docs/tools.md)"
        level: Level = "fail" if every else "info"
        findings.append(CheckResult(level, "tool calls", text, remedy=remedy if every else "", essential=every))
    return ReportSection("tools", "Tool servers", tuple(findings))


def server_findings(section: ToolServerSection, answer: ProbeResult) -> list[CheckResult]:
    """Returns the results for one server."""
    name, probe_facts = f"tools {section.name}", answer.facts
    by = "url" if section.url else "command"
    facts: dict[str, Fact] = {"server": section.name, "by": by}
    if failure := answer.error or str(probe_facts.get("failure") or ""):
        what, _, remedy = failure.removeprefix(f"the tool server {section.name} ").partition(": ")
        fatal = bool(probe_facts.get("fatal"))
        return [CheckResult("fail", name, what, remedy=remedy or _remedy(section), essential=fatal, facts=facts)]
    tools = cast("list[str]", probe_facts["tools"])
    facts |= {"tools": tools, "count": len(tools)}
    ms = cast("float | None", probe_facts.get("ms"))
    findings = []
    if tools:
        count = "one tool" if len(tools) == 1 else f"{len(tools)} tools"
        findings.append(CheckResult("ok", name, f"{count}: {shortened(tools, SHOWN_TOOLS)}", ms, facts=facts))
    else:
        remedy = "check which tools the server should offer, and its key `only`"
        findings.append(CheckResult("warn", name, "it is connected but offers no tool", ms, remedy, facts=facts))
    for remark in cast("list[str]", probe_facts.get("remarks", [])):
        what, _, remedy = remark.removeprefix(f"the tool server {section.name} ").partition(": ")
        findings.append(CheckResult("warn", name, what, remedy=remedy))
    return findings
