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
from assistant.support.cpu import cores, is_busy, whisper_threads
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
"""Time after which a model that was too slow is measured again; the second if the processor was busy then and still
is."""

_MAX_TIMES = 16
"""Limit on the times in the file: those of all models of the catalogue, with two settings or library versions."""

_METHOD = 1
"""Version of the measurement; another one makes older times invalid."""


@dataclass(frozen=True, slots=True)
class DecodeTime:
    """Measured time of a model.

    Attributes:
        p95_ms: Time of a decode at p95, in ms; infinity if the model cannot be used.
        busy: Whether other programs kept the processor busy during the measurement.
        problem: Why the model cannot be used, for display; "" if it can.
    """

    p95_ms: float
    busy: bool = False
    problem: str = ""

    @property
    def is_within_limit(self) -> bool:
        """Whether the model may be chosen for its speed."""
        return self.p95_ms + BESIDES_MS <= LIMIT_MS


@dataclass(frozen=True, slots=True)
class WhisperChoice:
    """The Whisper model in use.

    Attributes:
        name: As in `stt.model`: a name of the catalogue, or a path.
        why: Reason, for display; "" if the configuration names the model, or none is installed.
        unmeasured: Installed models without a time on this machine, the smallest first.
        doubtful: Models that were too slow while the machine was busy, the smallest first.
    """

    name: str
    why: str = ""
    unmeasured: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()

    @property
    def to_measure(self) -> tuple[str, ...]:
        """The models to measure at this start, the smallest first: doubtful ones only if the machine is free now."""
        if not self.doubtful or is_busy():
            return self.unmeasured
        names = {*self.unmeasured, *self.doubtful}
        return tuple(sorted(names, key=lambda name: _size(MODELS[name])))

    def measuring(self, limit_s: float) -> str:
        """Returns what is measured, within this time, for display."""
        return f"the speed of Whisper on this machine ({', '.join(self.to_measure)}), {limit_s:g} s at most"


def whisper_choice(settings: Settings, measured: Mapping[str, DecodeTime] = MappingProxyType({})) -> WhisperChoice:
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
    return [model.name for model in sorted(models, key=_size) if installed(model) is not None]


def _size(model: Model) -> tuple[float, bool]:
    return model.size_mb or 0, bool(model.languages)


def choose(times: Mapping[str, DecodeTime | None]) -> WhisperChoice:
    """Returns the largest model within `LIMIT_MS`, or the smallest that may work if none is. Pure.

    `times`: measured times by model, the smallest first; None: not measured, so not chosen.
    """
    usable = (name for name, time in times.items() if time is None or math.isfinite(time.p95_ms))
    fast = [name for name, time in times.items() if time is not None and time.is_within_limit]
    chosen = fast[-1] if fast else next(usable, next(iter(times)))
    estimates, smaller = [], None
    for name, time in times.items():
        estimates.append(f"{name} {_estimate(time, smaller)}")
        smaller = time
    why = f"auto: {chosen} is the largest that keeps p95 of response latency within {LIMIT_MS:.0f} ms"
    if not fast:
        why = f"auto: no model keeps p95 of response latency within {LIMIT_MS:.0f} ms, and {chosen} is the smallest"
    unmeasured = tuple(name for name, time in times.items() if time is None)
    doubtful = tuple(name for name, time in times.items() if time and time.busy and not time.is_within_limit)
    note = ""
    if doubtful:
        note = (
            f"; the machine was busy when {' and '.join(doubtful)} {'was' if len(doubtful) == 1 else 'were'} measured"
        )
        note += ": measured again at the next start on a free machine"
    return WhisperChoice(chosen, f"{why} (estimates: {', '.join(estimates)}{note})", unmeasured, doubtful)


def _estimate(time: DecodeTime | None, smaller: DecodeTime | None) -> str:
    """Returns the estimate of a model for display. `smaller`: the time of the next smaller one."""
    if time is None:
        return "not measured"
    if not math.isfinite(time.p95_ms):
        return time.problem or "cannot be loaded"
    # The smaller one was already too slow.
    taken_over = smaller is not None and time.p95_ms == smaller.p95_ms and not time.is_within_limit
    return f"{'over ' if taken_over else ''}{time.p95_ms + BESIDES_MS:.0f} ms"


# ---- measured times ----


def times_file() -> Path:
    """Returns the file of the measured times, in the user's cache folder. Raises HomeError."""
    return at_home(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "repartee" / "whisper-times.json"


def read_times() -> dict[str, DecodeTime]:
    """Returns the valid times by `time_key`; none if the file is missing or damaged."""
    try:
        content = json.loads(times_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, HomeError):
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    times = {str(key): _valid_time(entry) for key, entry in entries}
    return {key: time for key, time in times.items() if time is not None}


def keep_time(settings: Settings, name: str, time: DecodeTime) -> None:
    """Adds a measured time; beyond the limit the oldest is removed.

    Without a writable cache folder it is measured again at the next start.
    """
    with suppress(OSError, HomeError):
        file = times_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            content = {}
        content, key = content if isinstance(content, dict) else {}, time_key(settings, name)
        newest = [item for item in content.items() if item[0] != key][-_MAX_TIMES + 1 :]  # the newest is the last
        entry = {
            "model": name,
            "decode_p95_ms": round(time.p95_ms, 1),
            "busy": time.busy,
            "problem": time.problem,
            "machine": _processor(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_whole(file, json.dumps(dict(newest) | {key: entry}, indent=1).encode())


def _valid_time(entry: Any) -> DecodeTime | None:
    """Returns the time of an entry of the file; None if the entry is incomplete or too old."""
    try:
        time = DecodeTime(float(entry["decode_p95_ms"]), bool(entry["busy"]), str(entry.get("problem", "")))
        age = datetime.now(UTC) - datetime.fromisoformat(entry["measured_at"])
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
        return None
    return time if time.is_within_limit or age < (_SLOW_AND_BUSY_KEPT if time.busy else _SLOW_KEPT) else None


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
