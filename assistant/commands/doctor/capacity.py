"""Checks what limits the number of conversations of `repartee serve`, and reads what one costs a server that runs."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import httpx

from assistant.checks.result import CheckResult, Fact
from assistant.checks.wyoming import wyoming_finding
from assistant.commands.doctor.report import ReportSection
from assistant.config.server_settings import ServerSection
from assistant.support.process_limits import small_memory_limit

MAX_DESCRIPTORS = 65_536
"""The server raises its limit of file descriptors to at most this (web/process/descriptors.py)."""
DESCRIPTORS_EACH = 12
"""File descriptors of one conversation: 8 of its own, and 4 kept free (web/limits/session_limits.py)."""
DESCRIPTORS_BESIDE = 100
"""File descriptors of libraries, models, listening sockets and idle connections (measured: about 60)."""
ANSWERS_WITHIN_S = 2.0
MAX_METRICS_BYTES = 1_000_000
LOOPBACK = frozenset({"127.0.0.1", "localhost"})

_SHOWN: Mapping[str, str] = {
    "sessions": "repartee_sessions",
    "conversation_bytes": "repartee_conversation_memory_bytes",
    "resident_bytes": "repartee_resident_memory_bytes",
    "response_latency_s": 'repartee_load_seconds{of="response_latency_p95"}',
    "loop_lag_s": 'repartee_load_seconds{of="loop_lag_p99"}',
}
"""Samples of /metrics, by the names of their facts."""


async def capacity_section(section: ServerSection) -> ReportSection:
    """Returns the limits of the server, and the figures of one that runs on this machine. Never raises."""
    findings = (
        conversations_finding(section),
        descriptors_finding(section, descriptor_limit()),
        *memory_findings(small_memory_limit()),
        running_finding(section, await running_metrics(section)),
        *((await asyncio.to_thread(wyoming_finding, section.wyoming),) if section.wyoming else ()),
    )
    return ReportSection("server", "Conversations of repartee serve", findings)


def conversations_finding(section: ServerSection) -> CheckResult:
    """Returns what limits the number of conversations. Pure."""
    measured = section.admission == "measured"
    more = "fewer while the measured load is above its limits" if measured else "whatever the load"
    facts: dict[str, Fact] = {"max_sessions": section.max_sessions, "admission": section.admission}
    return CheckResult("ok", "at the same time", f"up to {section.max_sessions}, {more}", facts=facts)


def descriptors_finding(section: ServerSection, limit: int | None) -> CheckResult:
    """Returns whether the file descriptors suffice. Pure. `limit`: None: unknown or unlimited."""
    needed = DESCRIPTORS_BESIDE + DESCRIPTORS_EACH * section.max_sessions
    facts: dict[str, Fact] = {"limit": limit, "needed": needed}
    if limit is None:
        return CheckResult("info", "file descriptors", "their limit is unknown, or there is none", facts=facts)
    text = f"{limit} allowed; {section.max_sessions} conversations need about {needed}"
    if limit >= needed:
        return CheckResult("ok", "file descriptors", text, facts=facts)
    remedy = f"allow {needed} (ulimit -Hn, LimitNOFILE=), or lower server.max_sessions"
    return CheckResult("warn", "file descriptors", text, remedy=remedy, facts=facts)


def memory_findings(problem: str) -> tuple[CheckResult, ...]:
    """Returns a warning if a limit of memory is too small for the default engines. Pure."""
    if not problem:
        return ()
    text, _, remedy = problem.rpartition(": ")
    return (CheckResult("warn", "memory limit", text, remedy=remedy),)


def descriptor_limit() -> int | None:
    """Returns the number of descriptors that a server may get on this machine; None: unknown or unlimited."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    return None


def running_finding(section: ServerSection, metrics: str | int | None) -> CheckResult:
    """Returns what the conversations of a running server cost. Pure.

    Args:
        section: Where it listens.
        metrics: Its metrics in Prometheus text, or the HTTP status if it gave none; None: no server answers, or it
            was not asked.
    """
    name, place = "running server", f"{section.host}:{section.port}"
    if not is_asked(section):
        text = f"not asked at {place}: its figures are read only on loopback, at a fixed port and without TLS"
        return CheckResult("info", name, text)
    if metrics is None:
        return CheckResult("info", name, f"none at {place}; while one runs, its figures are shown here")
    if isinstance(metrics, int):
        text = f"{place} answers {metrics}; its /metrics needs the token of the server"
        return CheckResult("info", name, text, facts={"status": metrics})
    values = samples(metrics)
    if "sessions" not in values:
        return CheckResult("info", name, f"{place} is no server of Repartee, or an older one")
    parts = [f"{values['sessions']:.0f} conversations"]
    parts += [f"{values['resident_bytes'] / 1e6:.0f} MB"] if "resident_bytes" in values else ["memory unknown"]
    if "conversation_bytes" in values:
        parts.append(f"{values['conversation_bytes'] / 1e6:.1f} MB for each conversation")
    if "response_latency_s" in values:
        parts.append(f"response latency p95 {values['response_latency_s'] * 1000:.0f} ms")
    if "loop_lag_s" in values:
        parts.append(f"event loop lag p99 {values['loop_lag_s'] * 1000:.1f} ms")
    return CheckResult("ok", name, f"{place}: {', '.join(parts)}", facts=dict(values))


def samples(metrics: str) -> dict[str, float]:
    """Returns the shown samples of a text in Prometheus's format, by the names of their facts. Pure."""
    values: dict[str, float] = {}
    for line in metrics.splitlines():
        sample, _, value = line.rpartition(" ")
        for name, metric in _SHOWN.items():
            if sample == metric:
                with suppress(ValueError):
                    values[name] = float(value)
    return values


def is_asked(section: ServerSection) -> bool:
    """Returns whether a server with these settings is asked for its figures: on loopback, without TLS."""
    tls = section.tls_self_signed or bool(section.tls_cert)
    return section.host in LOOPBACK and bool(section.port) and not tls


async def running_metrics(section: ServerSection) -> str | int | None:
    """Returns the metrics of a server on this machine's loopback, or the HTTP status if there are none.

    None: no server answers, or it is not asked (`is_asked`). No token is sent, because another program may listen
    there.
    """
    if not is_asked(section):
        return None
    try:
        async with (
            asyncio.timeout(ANSWERS_WITHIN_S),
            httpx.AsyncClient(trust_env=False) as client,
            client.stream("GET", f"http://{section.host}:{section.port}/metrics") as answer,
        ):
            return await _text(answer) if answer.status_code == httpx.codes.OK else answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return None


async def _text(answer: httpx.Response) -> str:
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > MAX_METRICS_BYTES:
            break
    return body.decode(errors="replace")
