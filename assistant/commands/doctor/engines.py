"""Checks each engine, and the engines of a conversation, each in a separate process."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from assistant.checks.result import CheckResult, Fact, Level
from assistant.commands.doctor.process import ProbeResult, ProbeRunner
from assistant.commands.doctor.report import ReportSection
from assistant.config.settings import Settings
from assistant.models.needs import rows
from assistant.pipeline.missing_engines import NoRecognizer
from assistant.registry.voices import CLUSTER
from assistant.setup.derived_settings import needs
from assistant.setup.engine_catalog import ENGINES, Stage, lacking
from assistant.setup.listening.wake_words import wake_word_engine
from assistant.support.paths import HomeError
from audio.engines.settings import OnnxSettings
from audio.errors import EngineLoadError
from audio.execution_provider import PACKAGE, SHOWN, Provider, providers_named

NOT_LOADED = "not loaded"


LIMIT_S = 8.0
"""Seconds to load one engine and use it three times. A slower engine cannot be used in a conversation."""

CONVERSATION_LIMIT_S = 12.0
"""Seconds to load one engine of each stage."""

COLUMNS = ("load ms", "first ms", "x real time", "adds ms")
NOTE = "x real time: seconds of work per second of audio. adds: delay of an answer (vad: of each frame)"
_FOREIGN = re.compile(r"[A-Za-z_.]+(Error|Exception|Exit|Group): ")
NO_CELLS = ("–",) * len(COLUMNS)


@dataclass(frozen=True, slots=True)
class InUse:
    """An engine that the configuration selects.

    Attributes:
        why: Why it was selected.
        fallback: Whether it replaces another engine.
    """

    why: str
    fallback: bool


async def engines(runner: ProbeRunner, settings: Settings) -> ReportSection:
    """Checks all engines, and whether a conversation has one for each stage. Never raises.

    The checks run one after another, because concurrent ones would slow each other down.
    """
    conversation = await runner.examine("conversation", CONVERSATION_LIMIT_S)
    in_use = chosen_of(conversation)
    answers: dict[tuple[str, str], ProbeResult] = {}
    # Engines in use first: if time runs out, the others are skipped.
    for stage, name in sorted(ENGINES, key=lambda engine: engine[1] not in in_use.get(engine[0], {})):
        if not lacking(settings, name):
            answers[stage, name] = await runner.examine(f"{stage} {name}", LIMIT_S)
    findings = [
        engine_finding(stage, name, answers.get((stage, name)), in_use.get(stage, {}), lacking(settings, name))
        for stage, name in ENGINES
    ]
    findings += provider_findings(settings, conversation)
    findings += wake_word_findings(settings)
    findings.append(conversation_finding(conversation))
    return ReportSection("engines", "Engines", tuple(findings), NOTE, COLUMNS)


def wake_word_findings(settings: Settings) -> list[CheckResult]:
    """Returns a result for the wake words that `talk` waits for, if there are any."""
    names = settings.talk.wake_word.split()
    if not names:
        return []
    title, facts = "wake word", {"words": list(names)}
    try:
        engine = wake_word_engine(names)
        engine.make(names)
    except EngineLoadError as error:
        why, _, remedy = str(error).partition(": ")
        return [CheckResult("fail", title, why, remedy=remedy, cells=NO_CELLS, facts=facts)]
    return [CheckResult("ok", title, f"{', '.join(names)}, by {engine.name}", cells=NO_CELLS, facts=facts)]


def chosen_of(conversation: ProbeResult) -> dict[str, dict[str, InUse]]:
    """Returns the engines that `EngineLoader` selected, by stage and name."""
    choices: dict[str, dict[str, InUse]] = {}
    for item in _chosen(conversation):
        use = InUse(str(item["why"]), fallback=bool(item["fallback"]))
        choices.setdefault(str(item["stage"]), {})[str(item["name"])] = use
    return choices


def engine_finding(
    stage: Stage, name: str, answer: ProbeResult | None, in_use: Mapping[str, InUse], missing: str
) -> CheckResult:
    """Returns the result for one engine.

    Args:
        stage: Its stage.
        name: Its name.
        answer: Result of the check; None if there was nothing to check.
        in_use: Engines that a conversation uses in this stage, by name; empty if loading failed before.
        missing: What the engine lacks, as `lacking` words it; "" if nothing.
    """
    level: Level
    title, mine = f"{stage} {name}", in_use.get(name)
    facts: dict[str, Fact] = {"stage": stage, "engine": name, "in_use": mine is not None}
    if mine is not None:
        facts |= {"why": mine.why, "fallback": mine.fallback}
    use = f"in use, {mine.why.partition('; fetch it: ')[0]}; " if mine else "not in use; " if in_use else ""
    if answer is None:
        level = "warn" if any(used.fallback for used in in_use.values()) else "info"
        remedy = missing.partition("missing: ")[2]
        text = "its model is not downloaded" if remedy else missing
        return CheckResult(level, title, text, remedy=remedy, cells=NO_CELLS, facts=facts)
    if answer.error:
        level = "info" if not mine else "warn" if answer.no_result else "fail"
        text, remedy = f"{use}{answer.error}", _remedy_of(answer.error)
        return CheckResult(level, title, text, remedy=remedy, cells=NO_CELLS, facts=facts)
    figures = _figures(answer.facts)
    facts |= {**figures, "threads": cast("int | None", answer.facts.get("threads"))}
    rtf, delay_ms = figures["real_time_factor"], figures["delay_ms"]
    text = f"{use}{answer.facts.get('text', '')}"
    if rtf is not None and rtf > 1:
        remedy = "use a smaller model, or a machine with more or faster cores"
        return CheckResult(
            "warn", title, f"slower than real time; {text}", delay_ms, remedy, cells=_cells(figures), facts=facts
        )
    level = "ok" if mine else "info"
    if not answer.facts.get("ok") or (mine and mine.fallback):
        level = "warn"
    return CheckResult(level, title, text, delay_ms, cells=_cells(figures), facts=facts)


def _figures(facts: Mapping[str, object]) -> dict[str, float | None]:
    names = {"load_ms": "load_ms", "first_ms": "first_ms", "rtf": "real_time_factor", "delay_ms": "delay_ms"}
    return {name: _number(facts.get(key)) for key, name in names.items()}


def _cells(figures: Mapping[str, float | None]) -> tuple[str, ...]:
    formats = {"load_ms": ".0f", "first_ms": ".1f", "real_time_factor": ".3f", "delay_ms": ".1f"}
    return tuple("–" if (value := figures[name]) is None else format(value, form) for name, form in formats.items())


def conversation_finding(conversation: ProbeResult) -> CheckResult:
    """Returns the result for all engines of one conversation together."""
    chosen = _chosen(conversation)
    names = [f"{item['stage']} {item['name']}" for item in chosen]
    load_ms = sum(_number(item.get("load_ms")) or 0.0 for item in chosen)
    facts: dict[str, Fact] = {"engines": names}
    if conversation.no_result:
        text = f"not checked: {conversation.error.removeprefix('not checked: ')}"
        remedy = "run `repartee doctor` again when this machine is less busy"
        return CheckResult(
            "warn", "all engines", text, None, remedy, essential=True, checked=False, cells=NO_CELLS, facts=facts
        )
    if error := conversation.error or str(conversation.facts.get("error", "")):
        remedy = _remedy_of(error)
        return CheckResult("fail", "all engines", error, remedy=remedy, essential=True, cells=NO_CELLS, facts=facts)
    cells = (f"{load_ms:.0f}", *NO_CELLS[1:])
    absent = next((item for item in chosen if item["name"] == NoRecognizer.name), None)
    if absent is not None:
        why, _, fetch = str(absent["why"]).partition("; fetch it: ")
        return CheckResult("warn", "all engines", why, load_ms, fetch, cells=cells, facts=facts)
    text = f"every stage has an engine: {', '.join(names)}"
    return CheckResult("ok", "all engines", text, load_ms, cells=cells, facts=facts)


def models(settings: Settings, environ: Mapping[str, str]) -> ReportSection:
    """Returns the models that the configuration needs, with their paths, and the enrolled voices. Reads the disk."""
    findings = []
    for row in rows(needs(settings)):
        about = ", ".join(word for word in (row.purpose, row.size, row.licence) if word)
        facts: dict[str, Fact] = {"at_hand": row.at_hand, "purpose": row.purpose, "where": row.where}
        if row.at_hand:
            findings.append(CheckResult("ok", row.name, f"{about}: {row.where}", facts=facts))
        else:
            remedy = row.where.removeprefix("missing: ")
            findings.append(CheckResult("warn", row.name or "a voice", f"{about}: missing", remedy=remedy, facts=facts))
    if settings.voice.focus != "off":
        findings.append(enrolled_voices(settings, environ))
    return ReportSection("models", "Models that this configuration needs", tuple(findings))


def enrolled_voices(settings: Settings, environ: Mapping[str, str]) -> CheckResult:
    """Returns how many voices of people are known; never their names. Reads the file."""
    from assistant.enrolment.voice_file import VoiceFile, VoiceFileError, voices_path  # noqa: PLC0415 - numpy, on use

    title = "voices of people"
    try:
        file = VoiceFile(voices_path(environ), lambda: 0.0)  # nothing is added here
        try:
            voices = file.voices()
        finally:
            file.close()
    except (VoiceFileError, HomeError) as error:
        return CheckResult("warn", title, str(error), remedy="repartee voices add NAME")
    usable = sum(voice.is_usable for voice in voices)
    facts: dict[str, Fact] = {"focus": settings.voice.focus, "voices": len(voices), "usable": usable}
    if usable < len(voices):
        text = f"{len(voices) - usable} of {len(voices)} are of another model"
        return CheckResult("warn", title, text, remedy="remove them, and add them again: repartee voices", facts=facts)
    if not voices and settings.voice.focus == "enrolled":
        text = 'none is kept, so voice.focus = "enrolled" listens to every voice'
        return CheckResult("warn", title, text, remedy="repartee voices add NAME", facts=facts)
    return CheckResult("ok" if voices else "info", title, f"{len(voices)} kept", facts=facts)


def _remedy_of(error: str) -> str:
    """An engine's own message ends with the remedy. An unexpected error begins with the name of its class."""
    return "run `make setup` again; if that does not help, report it" if _FOREIGN.match(error) else ""


def _chosen(conversation: ProbeResult) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", conversation.facts.get("chosen", []))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def provider_findings(settings: Settings, conversation: ProbeResult) -> list[CheckResult]:
    """Returns a result for each key that names a provider of this machine. Pure.

    A missing provider is a failure only if the engines did not load: else nothing in this configuration uses it.

    Args:
        settings: The settings.
        conversation: Result of the check that loaded the engines.
    """
    failed = bool(conversation.facts.get("error"))
    available = [str(name) for name in cast("list[object]", conversation.facts.get("available_providers", []))]
    in_use = cast("Mapping[str, str]", conversation.facts.get("providers", {}))
    chosen = cast("list[dict[str, object]]", conversation.facts.get("chosen", []))
    voice = next((f"tts.{choice['name']}" for choice in chosen if choice["stage"] == "tts"), "")
    keys: list[tuple[str, Provider, str]] = []
    if settings.tts.engine != CLUSTER:  # the cluster's machines have their own onnxruntime
        for name, section in settings.engines.content:
            if isinstance(section, OnnxSettings):
                keys.append((f"{name}.provider", section.provider, "tts_provider" if voice in {"", name} else ""))
    if settings.turn.smart_turn != CLUSTER:
        keys.append(("turn.provider", settings.turn.provider, "turn_provider"))
    return [_finding(key, provider, in_use.get(traced, ""), available, failed=failed) for key, provider, traced in keys]


def _finding(key: str, provider: Provider, in_use: str, available: list[str], *, failed: bool) -> CheckResult:
    here = providers_named(available)
    shown, _, fallback = in_use.partition("; ")
    names = ", ".join(SHOWN[name] for name in here)
    text = f"{provider}: {shown or NOT_LOADED}"
    text += f"; onnxruntime has {names}" if names else ""
    facts: dict[str, Fact] = {"wanted": provider, "in_use": shown or None, "available": list(here)}
    if fallback:
        remedy = f'install the libraries that {PACKAGE} needs, or set {key} = "cpu"'
        return CheckResult("warn", key, f"{text}; {fallback}", remedy=remedy, cells=NO_CELLS, facts=facts)
    if failed and provider != "auto" and here and provider not in here:
        remedy = f'replace the package onnxruntime by {PACKAGE}, or set {key} = "auto"'
        return CheckResult("fail", key, text, remedy=remedy, cells=NO_CELLS, facts=facts)
    return CheckResult("ok" if shown else "info", key, text, cells=NO_CELLS, facts=facts)
