"""Results for language models: configured endpoints, and servers found on this machine. Pure."""

from collections.abc import Mapping, Sequence
from typing import cast

from assistant.checks.result import CheckResult, Fact
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.report import ReportSection
from assistant.config.endpoint_settings import EndpointSection
from assistant.endpoint_probe.local_servers import SUGGESTED, described, handles, shortened
from llm.discovery import PORTS, FoundServer, is_listed

SLOW_MS = 500.0
"""Milliseconds to the first token above which no reply is within the band of 200-500 ms."""

SHOWN_MODELS = 5
HOW_TO_ADD = (
    f"get one for this machine with `repartee models pull {SUGGESTED}`, or connect one with `repartee endpoints add` "
    "(docs/endpoints.md)"
)


def endpoints_section(
    endpoints: Sequence[EndpointSection],
    answers: Sequence[ProbeResult],
    servers: Sequence[FoundServer],
    *,
    skills: bool,
) -> ReportSection:
    """Returns the results for all endpoints, and which model answers.

    Args:
        endpoints: As configured.
        answers: Results of `endpoints.probe`, in the same order.
        servers: Servers found on this machine.
        skills: Whether the built-in skills answer.
    """
    findings: list[CheckResult] = []
    usable = []
    for endpoint, answer in zip(endpoints, answers, strict=True):
        lines = endpoint_findings(endpoint, answer)
        findings += lines
        if all(line.level != "fail" for line in lines):
            usable.append(endpoint.name)
    findings.append(_answering_model(endpoints, usable, servers, skills=skills))
    return ReportSection("endpoints", "Language models", tuple(findings))


def _answering_model(
    endpoints: Sequence[EndpointSection], usable: Sequence[str], servers: Sequence[FoundServer], *, skills: bool
) -> CheckResult:
    name = "answers"
    facts: dict[str, Fact] = {"usable": usable, "skills": skills}
    stand_in = "only the built-in skills answer" if skills else "nothing answers"
    if not endpoints:
        usable_servers = [server for server in servers if server.usable]
        first = next(iter(handles(usable_servers)), "")
        remedy = f"repartee endpoints add {first} (or, for one run, --llm auto)" if usable_servers else HOW_TO_ADD
        text = f"no language model is configured: {stand_in}"
        return CheckResult("warn", name, text, remedy=remedy, facts=facts)
    if not usable:
        text = f"none of the configured language models can be used: {stand_in}"
        return CheckResult("fail", name, text, remedy="repair one of the endpoints above", essential=True, facts=facts)
    before = "the built-in skills, then " if skills else ""
    return CheckResult("ok", name, f"{before}{', '.join(usable)}", facts=facts)


def endpoint_findings(endpoint: EndpointSection, answer: ProbeResult) -> list[CheckResult]:
    """Returns the results for one endpoint: its key and connection, its models, its first token."""
    probe_facts, name = answer.facts, f"llm {endpoint.name}"
    facts: dict[str, Fact] = {
        "endpoint": endpoint.name,
        "kind": endpoint.kind,
        "model": endpoint.model,
        "url": endpoint.shown_url,
    }
    on_this_machine = endpoint.is_on_this_machine
    where = f"{endpoint.model} {endpoint.shown_place}"
    failure = answer.error or str(probe_facts.get("failure") or "")
    if failure and probe_facts.get("list_ms") is None and not probe_facts.get("list_failure"):
        return [_failed(name, endpoint, failure, facts)]
    key = endpoint.protocol.credentials or "no key"
    if endpoint.variables and not endpoint.protocol.credentials:
        key = f"key in {', '.join(endpoint.variables)}"
    if on_this_machine:
        findings = [_connected(name, where, probe_facts, facts)]
    else:
        findings = [_connected(name, f"{where}, {key}", probe_facts, facts), _listed(endpoint, probe_facts)]
    if failure:
        findings.append(_failed(f"{name}: answer", endpoint, failure, {}))
    else:
        findings.append(_answered(f"{name}: answer", probe_facts, on_this_machine=on_this_machine))
    return findings


def _failed(name: str, endpoint: EndpointSection, failure: str, facts: Mapping[str, Fact]) -> CheckResult:
    """Splits an error text at the first colon into problem and remedy, without the endpoint's name."""
    what, _, remedy = failure.removeprefix(_subject(endpoint)).partition(": ")
    return CheckResult(
        "fail", name, f"{endpoint.model} {what}" if what.startswith("at ") else what, None, remedy, facts=facts
    )


def _subject(endpoint: EndpointSection) -> str:
    return f"llm endpoint {endpoint.name!r} "


def _connected(name: str, where: str, probe_facts: Mapping[str, object], facts: Mapping[str, Fact]) -> CheckResult:
    steps = {step: probe_facts.get(f"{step}_ms") for step in ("lookup", "connect", "tls")}
    known = {step: value for step, value in steps.items() if isinstance(value, int | float)}
    labels = {"lookup": "name", "connect": "TCP", "tls": "TLS"}
    how = ", ".join(f"{labels[step]} {value:.1f} ms" for step, value in known.items())
    if probe_facts.get("proxy"):
        how = "through a proxy"
    total_ms = sum(known.values()) if "connect" in known else None
    timed: dict[str, Fact] = {f"{step}_ms": value for step, value in known.items()}
    text = f"{where}; {how}" if how else where
    return CheckResult("ok", name, text, total_ms if len(known) > 1 else None, facts={**facts, **timed})


def _listed(endpoint: EndpointSection, probe_facts: Mapping[str, object]) -> CheckResult:
    name = f"llm {endpoint.name}: models"
    list_ms = cast("float | None", probe_facts.get("list_ms"))
    if refused := str(probe_facts.get("list_failure") or ""):
        what, _, remedy = refused.removeprefix(_subject(endpoint)).partition(": ")
        return CheckResult("warn", name, what, remedy=remedy)
    if endpoint.protocol.list_models is None:
        return CheckResult("info", name, f"a service of kind {endpoint.kind} lists no models")
    if probe_facts.get("models") is None:
        return CheckResult("info", name, "its list of models could not be read", list_ms)
    models = cast("list[str]", probe_facts["models"])
    facts: dict[str, Fact] = {"models": models, "listed": is_listed(endpoint.model, models)}
    if facts["listed"]:
        count = f"1 of {len(models)} models" if len(models) != 1 else "the only model"
        return CheckResult("ok", name, f"{endpoint.model} is {count}", list_ms, facts=facts)
    text = f"{endpoint.model} is not listed"
    if not models:
        text = f"{text}: the server has no models"
        return CheckResult("warn", name, text, list_ms, "load a model on that server", facts=facts)
    remedy = f"set its model to one of: {shortened(models, SHOWN_MODELS)}"
    return CheckResult("warn", name, text, list_ms, remedy, facts=facts)


def _answered(name: str, probe_facts: Mapping[str, object], *, on_this_machine: bool) -> CheckResult:
    token_ms = cast("float | None", probe_facts.get("token_ms"))
    if not token_ms:
        text = "its first 8 tokens had no text: the model probably reasons before it answers"
        return CheckResult("warn", name, text, remedy="use a model, or a setting of its server, without reasoning")
    if token_ms > SLOW_MS:
        remedy = "use a nearer server or a smaller model; if the model had to be loaded first, check again"
        remedy = "use a smaller model, or a server elsewhere" if on_this_machine else remedy
        return CheckResult("warn", name, "first token, too late for an answer within 500 ms", token_ms, remedy)
    return CheckResult("ok", name, "first token", token_ms)


def servers_section(answer: ProbeResult) -> ReportSection:
    """Returns the servers found on this machine; `answer` contains the fields of `FoundServer`s."""
    servers = servers_of(answer)
    ports = ", ".join(map(str, PORTS))
    if answer.error:
        findings = [CheckResult("info", "localhost", f"not searched: {answer.error}")]
    elif not servers:
        findings = [CheckResult("info", "localhost", f"none (ports {ports})")]
    else:
        findings = [
            CheckResult(
                "info",
                name,
                described(server),
                server.round_trip_ms,
                facts={"url": server.url, "models": server.models, "needs_key": server.needs_key},
            )
            for name, server in handles(servers).items()
        ]
    return ReportSection("servers", "Servers found on localhost", tuple(findings))


def servers_of(answer: ProbeResult) -> tuple[FoundServer, ...]:
    """Restores the servers from JSON."""
    servers = cast("list[dict[str, object]]", answer.facts.get("servers", []))
    return tuple(
        FoundServer(
            str(item["name"]),
            str(item["url"]),
            tuple(cast("list[str]", item["models"])),
            cast("float", item["round_trip_ms"]),
            needs_key=bool(item["needs_key"]),
            others=tuple(cast("list[str]", item["others"])),
        )
        for item in servers
    )
