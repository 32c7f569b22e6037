"""Checks whether the home and the weather service answer."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from assistant.checks.result import CheckResult, Fact
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.report import ReportSection
from assistant.config.settings import Settings

KNOWN_PLACE = "Paris"
"""Asked for if the configuration names no place."""

_HOME_REMEDIES = {
    "unreachable": "start Home Assistant, or check home.url",
    "late": "check home.url and the network",
    "unauthorized": "make a new long-lived access token in Home Assistant (your profile, Security)",
    "not_found": "check home.url: the address of Home Assistant without a path",
}
_HOME_REMEDY = "check home.url and the log of Home Assistant"
_WEATHER_REMEDY = "check the internet connection, or set weather.enabled to false"


@dataclass(slots=True)
class ServiceProbe:
    """Results for one service.

    Attributes:
        text: What was found, for a person.
        ms: Time of one request; None after a failure.
        failure: What is wrong; "" for nothing.
        remedy: What to do about it.
        fatal: Whether it prevents the start of the program.
    """

    text: str = ""
    ms: float | None = None
    failure: str = ""
    remedy: str = ""
    fatal: bool = False


async def probe(settings: Settings, environ: Mapping[str, str], service: str) -> ServiceProbe:
    """Asks "home" or "weather" once. Never raises; takes twice the timeout of the service at most."""
    try:
        return await (_home(settings, environ) if service == "home" else _weather(settings))
    except ValueError as error:
        what, _, remedy = str(error).removeprefix("home: ").partition("; ")
        return ServiceProbe(failure=what, remedy=remedy.rstrip("."), fatal=True)


async def _home(settings: Settings, environ: Mapping[str, str]) -> ServiceProbe:
    from assistant.home.connection import HomeConnection  # noqa: PLC0415 - httpx, in the child process only
    from assistant.setup.answering.services import HOME_TIMEOUT_S, home_token  # noqa: PLC0415
    from assistant.support.json_http import JsonHttp  # noqa: PLC0415

    token = home_token(settings, environ)
    home = HomeConnection(settings.home, JsonHttp(settings.home.url, HOME_TIMEOUT_S, token=token))
    loop = asyncio.get_running_loop()
    try:
        began_s = loop.time()
        await home.read()
        ms = (loop.time() - began_s) * 1000
    finally:
        await home.aclose()
    if home.state is None:
        return ServiceProbe(failure=home.fault_text, remedy=_HOME_REMEDIES.get(home.fault or "", _HOME_REMEDY))
    devices, areas = len(home.state.devices), len(home.state.areas)
    probe = ServiceProbe(f"{devices} device{'s' * (devices != 1)} in {areas} area{'s' * (areas != 1)}", ms)
    if not areas:
        probe.remedy = "areas are unknown: use the token of an administrator, or add areas in Home Assistant"
    return probe


async def _weather(settings: Settings) -> ServiceProbe:
    from assistant.setup.answering.services import weather_service  # noqa: PLC0415
    from assistant.support.json_http import ServiceFault  # noqa: PLC0415

    service, place = weather_service(settings), settings.weather.place or KNOWN_PLACE
    loop = asyncio.get_running_loop()
    try:
        began_s = loop.time()
        places = await service.places(place, settings.assistant.language)
        if not places:
            return ServiceProbe(failure="knows no place of the name in weather.place", remedy="check weather.place")
        await service.forecast(places[0])
        return ServiceProbe("it answers", (loop.time() - began_s) * 1000)
    except ServiceFault as fault:
        return ServiceProbe(failure=str(fault), remedy=_WEATHER_REMEDY)
    finally:
        await service.aclose()


def services_section(settings: Settings, answers: Mapping[str, ProbeResult]) -> ReportSection:
    """Returns the results. Pure.

    Args:
        settings: The settings.
        answers: Results of `probe`, by configured service.
    """
    lines = [
        _finding("home", answers.get("home"), "none is configured: set home.url to use Home Assistant"),
        _finding("weather", answers.get("weather"), "off: weather.enabled turns it on"),
        _memory(settings),
    ]
    return ReportSection("services", "Home, weather and memory", tuple(lines))


def _memory(settings: Settings) -> CheckResult:
    if not settings.memory.enabled:
        return CheckResult("info", "memory", "off: memory.enabled turns it on")
    limits = [] if settings.llm.endpoints else ["no [[llm.endpoints]] to draw facts from conversations"]
    limits += [] if settings.talk.remember or settings.server.keep_conversations else ["no conversation is kept"]
    remedy = f"only what you ask to remember is kept: {', and '.join(limits)}" if limits else ""
    return CheckResult("warn" if limits else "ok", "memory", "on: `repartee memory` shows it", remedy=remedy)


def _finding(name: str, answer: ProbeResult | None, unused: str) -> CheckResult:
    if answer is None:
        return CheckResult("info", name, unused)
    probe_facts = answer.facts
    facts: dict[str, Fact] = {"service": name}
    remedy = str(probe_facts.get("remedy") or "")
    if failure := answer.error or str(probe_facts.get("failure") or ""):
        return CheckResult("fail", name, failure, remedy=remedy, essential=bool(probe_facts.get("fatal")), facts=facts)
    ms = cast("float | None", probe_facts.get("ms"))
    return CheckResult("warn" if remedy else "ok", name, str(probe_facts.get("text")), ms, remedy, facts=facts)
