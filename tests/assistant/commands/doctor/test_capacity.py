"""The doctor's section about the number of conversations."""

import asyncio
import socket

import pytest

from assistant.checks.wyoming import wyoming_finding
from assistant.commands.doctor.capacity import (
    DESCRIPTORS_EACH,
    MAX_DESCRIPTORS,
    capacity_section,
    conversations_finding,
    descriptors_finding,
    memory_findings,
    running_finding,
    running_metrics,
)
from assistant.config.server_settings import ServerSection
from web.limits import session_limits
from web.process import descriptors

METRICS = (
    "# HELP repartee_sessions Sessions that are open.\n"
    "repartee_sessions 3.0\n"
    "repartee_resident_memory_bytes 4.12e+08\n"
    "repartee_conversation_memory_bytes 5.9e+06\n"
    'repartee_load_seconds{of="response_latency_p95"} 0.512\n'
    'repartee_load_seconds{of="loop_lag_p99"} 0.0042\n'
)


@pytest.mark.parametrize(
    ("section", "text"),
    [
        (ServerSection(), "up to 32, fewer while the measured load is above its limits"),
        (ServerSection(max_sessions=40, admission="fixed"), "up to 40, whatever the load"),
    ],
    ids=["measured", "fixed"],
)
def test_limits_of_conversations_are_named(section: ServerSection, text: str) -> None:
    assert conversations_finding(section).text == text


def test_too_few_descriptors_are_a_warning_with_a_remedy() -> None:
    section = ServerSection(max_sessions=100)
    few, enough, unknown = (descriptors_finding(section, limit) for limit in (1024, 4096, None))
    assert (few.level, enough.level, unknown.level) == ("warn", "ok", "info")
    assert "100 conversations need about 1300" in few.text
    assert "LimitNOFILE=" in few.remedy


def test_small_memory_limit_is_a_warning_with_a_remedy() -> None:
    (found,) = memory_findings("the address space is limited to 9 MB, and it needs 16 MB: raise RLIMIT_AS")
    assert (found.level, found.remedy) == ("warn", "raise RLIMIT_AS")
    assert found.text == "the address space is limited to 9 MB, and it needs 16 MB"
    assert memory_findings("") == ()


def test_needs_are_those_of_the_server() -> None:
    assert session_limits.NEEDED_DESCRIPTORS + session_limits.RESERVED_DESCRIPTORS == DESCRIPTORS_EACH
    assert descriptors.MAX_DESCRIPTORS == MAX_DESCRIPTORS


def test_figures_of_a_running_server_are_shown() -> None:
    finding = running_finding(ServerSection(), METRICS)
    assert finding.text == (
        "127.0.0.1:8765: 3 conversations, 412 MB, 5.9 MB for each conversation, response latency p95 512 ms, "
        "event loop lag p99 4.2 ms"
    )
    assert finding.facts["sessions"] == 3.0


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        (None, "none at 127.0.0.1:8765"),
        (401, "answers 401"),
        ("up 1\n", "is no server of Repartee"),
        ("repartee_sessions 0.0\n", "0 conversations, memory unknown"),
    ],
    ids=["none", "token", "other program", "no figures"],
)
def test_missing_figures_are_explained(metrics: str | int | None, text: str) -> None:
    assert text in running_finding(ServerSection(), metrics).text


async def _answering(reply: bytes) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + METRICS.encode(), METRICS),
        (b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n", 401),
        (b"SSH-2.0-OpenSSH\r\n", None),
    ],
    ids=["metrics", "token", "other program"],
)
async def test_metrics_are_read_from_a_server_on_loopback(
    reply: bytes, found: str | int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.commands.doctor.capacity.ANSWERS_WITHIN_S", 60.0)
    async with await _answering(reply) as server:
        port = server.sockets[0].getsockname()[1]
        assert await running_metrics(ServerSection(port=port)) == found


@pytest.mark.parametrize(
    "section",
    [ServerSection(host="192.0.2.1"), ServerSection(port=0), ServerSection(tls_self_signed=True)],
    ids=["other machine", "any port", "TLS"],
)
def test_server_that_cannot_be_asked_is_not_asked(section: ServerSection) -> None:
    assert asyncio.run(running_metrics(section)) is None
    findings = asyncio.run(capacity_section(section)).findings
    assert [finding.name for finding in findings] == ["at the same time", "file descriptors", "running server"]
    assert findings[-1].text.startswith("not asked at ")


def test_wyoming_address_in_use_is_a_warning() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        uri = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        finding = wyoming_finding(uri)
        assert (finding.level, finding.text) == ("warn", f"{uri} cannot be used (Address already in use)")
        assert "running `repartee serve`" in finding.remedy
    assert wyoming_finding(uri).level == "ok"


def test_wrong_wyoming_address_is_told_with_the_remedy() -> None:
    finding = wyoming_finding("10300")
    assert finding.level == "fail"
    assert "tcp://127.0.0.1:10300" in finding.remedy
