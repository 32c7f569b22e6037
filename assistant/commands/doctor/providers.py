"""Shows where the models on ONNX Runtime compute: as configured, as available, and as loaded."""

from collections.abc import Mapping
from typing import cast

from assistant.checks.result import CheckResult, Fact
from assistant.commands.doctor.process import ProbeResult
from assistant.config.settings import Settings
from assistant.registry.voices import CLUSTER
from audio.engines.settings import OnnxSettings
from audio.execution_provider import PACKAGE, SHOWN, Provider, providers_named

NOT_LOADED = "not loaded"


def provider_findings(settings: Settings, conversation: ProbeResult, columns: int) -> list[CheckResult]:
    """Returns a result for each key that names a provider of this machine. Pure.

    A missing provider is a failure only if the engines did not load: else nothing in this configuration uses it.

    Args:
        settings: The settings.
        conversation: Result of the check that loaded the engines.
        columns: Number of columns of the section, which are empty here.
    """
    failed = bool(conversation.found.get("error"))
    available = [str(name) for name in cast("list[object]", conversation.found.get("available_providers", []))]
    in_use = cast("Mapping[str, str]", conversation.found.get("providers", {}))
    chosen = cast("list[dict[str, object]]", conversation.found.get("chosen", []))
    voice = next((f"tts.{one['name']}" for one in chosen if one["stage"] == "tts"), "")
    keys: list[tuple[str, Provider, str]] = []
    if settings.tts.engine != CLUSTER:  # the cluster's machines have their own onnxruntime
        for name, section in settings.engines.content:
            if isinstance(section, OnnxSettings):
                keys.append((f"{name}.provider", section.provider, "tts_provider" if voice in {"", name} else ""))
    if settings.turn.smart_turn != CLUSTER:
        keys.append(("turn.provider", settings.turn.provider, "turn_provider"))
    return [
        _finding(key, wanted, in_use.get(traced, ""), available, columns, failed=failed) for key, wanted, traced in keys
    ]


def _finding(
    key: str, wanted: Provider, in_use: str, available: list[str], columns: int, *, failed: bool
) -> CheckResult:
    here = providers_named(available)
    shown, _, fallback = in_use.partition("; ")
    names = ", ".join(SHOWN[name] for name in here)
    text = f"{wanted}: {shown or NOT_LOADED}"
    text += f"; onnxruntime has {names}" if names else ""
    cells = ("–",) * columns
    facts: dict[str, Fact] = {"wanted": wanted, "in_use": shown or None, "available": list(here)}
    if fallback:
        remedy = f'install the libraries that {PACKAGE} needs, or set {key} = "cpu"'
        return CheckResult("warn", key, f"{text}; {fallback}", remedy=remedy, cells=cells, facts=facts)
    if failed and wanted != "auto" and here and wanted not in here:
        remedy = f'replace the package onnxruntime by {PACKAGE}, or set {key} = "auto"'
        return CheckResult("fail", key, text, remedy=remedy, cells=cells, facts=facts)
    return CheckResult("ok" if shown else "info", key, text, cells=cells, facts=facts)
