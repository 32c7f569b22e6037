"""Implements `repartee doctor`: checks what works on this machine, what is missing, and how to fix it.

Cheap checks run here. Checks that may hang or crash run in separate processes (`process`).
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from assistant.commands.doctor.capacity import capacity_section
from assistant.commands.doctor.cluster import cluster_section
from assistant.commands.doctor.engines import engines, models
from assistant.commands.doctor.machine import configuration, devices, program_version, threads, versions
from assistant.commands.doctor.process import ProbeResult, ProbeRunner
from assistant.commands.doctor.report import DoctorReport, ReportSection, refused_json
from assistant.commands.doctor.screen import show
from assistant.commands.doctor.servers import endpoints_section, servers_of, servers_section
from assistant.commands.doctor.services import services_section
from assistant.commands.doctor.tools import tools_section
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded, load_settings
from assistant.config.settings import Settings
from assistant.models.model_choice import model_choice
from assistant.setup import build
from assistant.setup.answering.services import check_skills
from assistant.support.console import write_json
from assistant.support.cpu import cores

LIMIT_S = 18.0
"""Seconds for all checks. Checks not started by then are skipped and reported as such."""

MEASURE_LIMIT_S = 30.0
"""Seconds to measure the installed models of the recognizer for `stt.model = "auto"`, before the checks.

They are measured once for each machine. A model whose measurement is unfinished is measured again at the next start.
"""

ENDPOINT_LIMIT_S = 16.0
TOOLS_LIMIT_S = 14.0
SERVERS_LIMIT_S = 3.0
SERVICE_LIMIT_S = 12.0
CLUSTER_LIMIT_S = 16.0
AT_ONCE = 4
"""Endpoints and tool servers checked concurrently."""


def doctor(config: Path | None, overrides: Sequence[str], console: Console, *, as_json: bool) -> int:
    """Runs the checks and shows the report. Returns the exit code. Raises ConfigError, unless JSON is requested."""
    try:
        loaded = load_settings(config, os.environ, overrides)
    except ConfigError as error:
        if not as_json:
            raise
        write_json(refused_json(error.problems))
        return 2
    check_skills(loaded.settings, os.environ)
    if as_json:
        report = asyncio.run(examine(loaded, config, overrides, os.environ))
        write_json(report.to_json())
        return report.exit_code
    with console.status("checking; this takes about ten seconds"):
        report = asyncio.run(
            examine(
                loaded,
                config,
                overrides,
                os.environ,
                lambda what: console.print(f"measuring {what}", style="dim", soft_wrap=True),
            )
        )
    show(report, console)
    return report.exit_code


async def examine(
    loaded: Loaded,
    config: Path | None,
    overrides: Sequence[str],
    environ: Mapping[str, str],
    show_measuring: Callable[[str], None] = lambda _what: None,
) -> DoctorReport:
    """Runs all checks. Never raises; takes little more than LIMIT_S, and MEASURE_LIMIT_S before if models are measured.

    Args:
        loaded: The settings in effect.
        config: The file as given by the flag; child processes read it again.
        overrides: The --set flags, for the child processes.
        environ: Environment variables.
        show_measuring: Is told what is measured, at the beginning.
    """
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    settings, _ = build.with_local_model(loaded.settings)
    file = "" if config is None else str(config)
    await _measure_models(ProbeRunner(file, tuple(overrides), began_s + MEASURE_LIMIT_S), settings, show_measuring)
    runner = ProbeRunner(file, tuple(overrides), loop.time() + LIMIT_S)
    async with asyncio.TaskGroup() as tasks:
        # Network checks run concurrently with the others; CPU-bound checks run one after another.
        network = tasks.create_task(_network(runner, settings), name="endpoints")
        sound = tasks.create_task(devices(runner), name="devices")
        capacity = tasks.create_task(capacity_section(settings.server), name="capacity")
        cluster = tasks.create_task(_cluster_sections(runner, settings), name="cluster")
        packages = await versions(runner)
        speech = await engines(runner, settings)
    servers, answers, tools, services = network.result()
    seen = servers_of(servers)
    return DoctorReport(
        program_version(),
        loop.time() - began_s,
        (
            packages,
            threads(cores(), sys.getswitchinterval() * 1000, settings.stt.threads, environ),
            sound.result(),
            models(settings, environ),
            speech,
            *cluster.result(),
            servers_section(servers),
            endpoints_section(settings.llm.endpoints, answers, seen, skills=settings.skills.enabled),
            tools_section(settings.tools.servers, tools, settings.llm.endpoints),
            services_section(settings, services),
            capacity.result(),
            configuration(loaded, environ),
        ),
    )


async def _measure_models(runner: ProbeRunner, settings: Settings, show_measuring: Callable[[str], None]) -> None:
    """Measures the models that "auto" needs times of. The check of a conversation shows the result.

    No other check runs meanwhile: it would slow the measurement down, and the measurement would use up its time.
    """
    choice = model_choice(settings)
    if choice.to_measure:
        show_measuring(choice.measuring(MEASURE_LIMIT_S))
        await runner.examine("times", MEASURE_LIMIT_S)


async def _cluster_sections(runner: ProbeRunner, settings: Settings) -> list[ReportSection]:
    """Checks the cluster, if an engine is on one."""
    if not build.uses_cluster(settings):
        return []
    return [cluster_section(settings, await runner.examine("cluster", CLUSTER_LIMIT_S))]


async def _network(
    runner: ProbeRunner, settings: Settings
) -> tuple[ProbeResult, list[ProbeResult], list[ProbeResult], dict[str, ProbeResult]]:
    """Checks the local servers, each endpoint, each tool server, the home and the weather."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def ask(what: str, limit_s: float) -> ProbeResult:
        async with turns:
            return await runner.examine(what, limit_s)

    async with asyncio.TaskGroup() as tasks:
        servers = tasks.create_task(runner.examine("servers", SERVERS_LIMIT_S), name="servers")
        endpoints = [
            tasks.create_task(ask(f"endpoint {index}", ENDPOINT_LIMIT_S), name=f"endpoint {index}")
            for index in range(len(settings.llm.endpoints))
        ]
        tools = [
            tasks.create_task(ask(f"tools {index}", TOOLS_LIMIT_S), name=f"tools {index}")
            for index in range(len(settings.tools.servers))
        ]
        used = {"home": bool(settings.home.url), "weather": settings.weather.enabled}
        services = {
            name: tasks.create_task(ask(f"service {name}", SERVICE_LIMIT_S), name=name) for name in used if used[name]
        }
    return (
        servers.result(),
        [task.result() for task in endpoints],
        [task.result() for task in tools],
        {name: task.result() for name, task in services.items()},
    )
