"""Chooses the Whisper model for `stt.model = "auto"` from the installed ones and their measured times. Reads the disk.

The times come from assistant/setup/whisper_timing.py and are kept in the user's cache folder.
"""

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assistant.config.settings import Settings
from assistant.models.catalogue import MODELS, Model
from assistant.models.needs import installed
from assistant.support.atomic_file import write_whole
from assistant.support.cpu import cores, whisper_threads
from assistant.support.paths import HomeError, at_home

AUTO = "auto"
"""Value of `stt.model` for which the model is chosen here."""

LIMIT_MS = 500.0
"""Longest response latency at p95, in ms, that a chosen model may cause."""

BESIDES_MS = 245.0
"""Response latency in ms beside the decode: the pause that starts it, the first token, the first sound, the output.

`bench.serve` measured 455 ms at p95 with a model that takes 211 ms a decode at p95 (docs/lab/stt.md).
"""

_SMALLEST = "tiny.en"
_SMALLEST_OF_MANY_LANGUAGES = "base"
"""Model that is needed if none is installed. With `tiny`, other languages than English have too many errors."""

_SLOW_KEPT = timedelta(days=1)
_SLOW_AND_BUSY_KEPT = timedelta(hours=1)
"""Time after which a model that was too slow is measured again; the second if the processor was busy otherwise."""

_METHOD = 1
"""Version of the measurement; another one makes older times invalid."""


@dataclass(frozen=True, slots=True)
class WhisperChoice:
    """The Whisper model in use.

    Attributes:
        name: As in `stt.model`: a name of the catalogue, or a path.
        why: Reason, for display; "" if the configuration names the model, or none is installed.
        unmeasured: Installed models without a time on this machine, the smallest first.
    """

    name: str
    why: str = ""
    unmeasured: tuple[str, ...] = ()


def whisper_choice(settings: Settings, measured: Mapping[str, float] = MappingProxyType({})) -> WhisperChoice:
    """Returns the configured model, or the one chosen for "auto". Never downloads or measures.

    `measured`: times of models that this process measured. They count also if the cache folder cannot be written.
    """
    if settings.stt.model != AUTO:
        return WhisperChoice(settings.stt.model)
    language = settings.assistant.language
    found = candidates(language)
    if len(found) < 2:
        smallest = _SMALLEST if MODELS[_SMALLEST].covers(language) else _SMALLEST_OF_MANY_LANGUAGES
        return WhisperChoice(found[0], f"auto: {found[0]} is the only one here") if found else WhisperChoice(smallest)
    known = read_times()
    return choose({name: measured.get(name, known.get(time_key(settings, name))) for name in found})


def candidates(language: str) -> list[str]:
    """Returns the installed catalogue models for a language by size; the English one follows that of the same size."""
    models = [model for model in MODELS.values() if model.kind == "whisper" and model.covers(language)]
    models.sort(key=lambda model: (model.size_mb or 0, bool(model.languages)))
    return [model.name for model in models if installed(model) is not None]


def choose(decode_ms: Mapping[str, float | None]) -> WhisperChoice:
    """Returns the largest model within `LIMIT_MS`, or the smallest that may work if none is. Pure.

    Args:
        decode_ms: Time of a decode at p95, by model, the smallest first; None: not measured, so not chosen; infinity:
            the model cannot be loaded.
    """
    usable = (name for name, time_ms in decode_ms.items() if time_ms is None or math.isfinite(time_ms))
    chosen = next(usable, next(iter(decode_ms)))
    for name, time_ms in decode_ms.items():
        if time_ms is not None and time_ms + BESIDES_MS <= LIMIT_MS:
            chosen = name
    estimates, smaller_ms = [], None
    for name, time_ms in decode_ms.items():
        estimates.append(f"{name} {_estimate(time_ms, smaller_ms)}")
        smaller_ms = time_ms
    why = f"auto: {chosen} is the largest that keeps p95 of response latency within {LIMIT_MS:.0f} ms"
    if not any(time_ms is not None and time_ms + BESIDES_MS <= LIMIT_MS for time_ms in decode_ms.values()):
        why = f"auto: no model keeps p95 of response latency within {LIMIT_MS:.0f} ms, and {chosen} is the smallest"
    unmeasured = tuple(name for name, time_ms in decode_ms.items() if time_ms is None)
    return WhisperChoice(chosen, f"{why} (estimates: {', '.join(estimates)})", unmeasured)


def _estimate(time_ms: float | None, smaller_ms: float | None) -> str:
    """Returns the estimate of a model for display. `smaller_ms`: the time of the next smaller one."""
    if time_ms is None:
        return "not measured"
    if not math.isfinite(time_ms):
        return "cannot be loaded"
    taken_over = time_ms == smaller_ms and time_ms + BESIDES_MS > LIMIT_MS  # the smaller one was already too slow
    return f"{'over ' if taken_over else ''}{time_ms + BESIDES_MS:.0f} ms"


# ---- measured times ----


def times_file() -> Path:
    """Returns the file of the measured times, in the user's cache folder. Raises HomeError."""
    return at_home(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "repartee" / "whisper-times.json"


def read_times() -> dict[str, float]:
    """Returns the valid times by `time_key`; none if the file is missing or damaged."""
    try:
        content = json.loads(times_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, HomeError):
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    return {str(key): float(entry["decode_p95_ms"]) for key, entry in entries if _is_valid(entry)}


def keep_time(settings: Settings, name: str, decode_p95_ms: float, *, busy: bool = False) -> None:
    """Adds a measured time. Without a writable cache folder it is measured again at the next start.

    `busy`: other programs kept the processor busy during the measurement.
    """
    with suppress(OSError, HomeError):
        file = times_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            content = {}
        content = content if isinstance(content, dict) else {}
        entry = {
            "model": name,
            "decode_p95_ms": round(decode_p95_ms, 1),
            "busy": busy,
            "machine": _processor(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_whole(file, json.dumps(content | {time_key(settings, name): entry}, indent=1).encode())


def _is_valid(entry: Any) -> bool:
    """Whether an entry of the file is complete and not too old."""
    try:
        age = datetime.now(UTC) - datetime.fromisoformat(entry["measured_at"])
        kept = _SLOW_AND_BUSY_KEPT if entry["busy"] else _SLOW_KEPT
        return float(entry["decode_p95_ms"]) + BESIDES_MS <= LIMIT_MS or age < kept
    except (ValueError, TypeError, KeyError, OverflowError):
        return False


def time_key(settings: Settings, name: str) -> str:
    """Returns a hash of all that the time of a decode depends on: model, settings, machine and library version."""
    stt, found, model = settings.stt, cores(), MODELS[name]
    parts = (
        _METHOD,
        name,
        _content_of(model),
        stt.device,
        stt.compute_type,
        whisper_threads(stt.threads, found),
        stt.encoder_window,
        _processor(),
        found.whole,
        sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*")),
        _version("ctranslate2"),
        _version("repartee"),
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _content_of(model: Model) -> str:
    """Returns the hash of the weights, which is the file's name in the cache, or its size and date."""
    folder = installed(model)
    if folder is None:
        return ""
    weights = (folder / "model.bin").resolve()
    found = weights.stat()
    return weights.name if weights.parent.name == "blobs" else f"{found.st_size} {found.st_mtime_ns}"


@cache
def _processor() -> str:
    with suppress(OSError, UnicodeError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
