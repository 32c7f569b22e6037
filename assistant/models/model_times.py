"""Keeps measured decodes of the recognizer's models, its shares of real turns and the choice. Uses the disk.

They are in one file of the user's cache folder, with an entry for each model and all that its times depend on.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from assistant.config.settings import Settings
from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.models.turn_cost import (
    MAX_TURNS,
    DecodeTime,
    Line,
    ModelCost,
    agreed_ms,
    is_slow,
    merged,
)
from assistant.registry.listening import measured_recognizer
from assistant.support.atomic_file import write_whole
from assistant.support.cpu import cores, engine_threads
from assistant.support.paths import HomeError, at_home
from audio.engines.recognizer import MeasuredModels
from declarations.models import Model

_SLOW_KEPT = timedelta(days=1)
_SLOW_AND_BUSY_KEPT = timedelta(hours=1)
"""Time after which a model that was too slow is measured again; the second if the processor was busy then and still
is."""

_TURNS_KEPT = timedelta(days=1)
"""Time after which the turns with a model no longer count, if no later one was made with it."""

_MAX_ENTRIES = 16
"""Limit on the entries of the file: those of all models of the catalogue, with two settings or library versions."""

_METHOD = 1
"""Version of the measurement; another one makes older times invalid."""

Content = dict[str, Any]


def times_file() -> Path:
    """Returns the file, in the user's cache folder. Raises HomeError."""
    return at_home(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "repartee" / "recognizer-times.json"


def read_costs(settings: Settings, names: Sequence[str]) -> tuple[dict[str, ModelCost], dict[Line, str]]:
    """Returns what is known of these models, and the model in use on each line; nothing if the file is damaged."""
    content, costs, share = _content(), {}, wait_share(settings)
    in_use: dict[Line, str] = {}
    for name in names:
        entry = content.get(time_key(settings, name))
        costs[name] = ModelCost(_valid_time(entry, share), share, _valid_turns(entry))
        lines = entry.get("lines") if isinstance(entry, dict) else None
        for line in ("wide", "telephone"):
            if isinstance(lines, list) and line in lines:
                in_use[line] = name
    return costs, in_use


def wait_share(settings: Settings) -> float:
    """Returns the longest wait for a running decode, as a part of a decode."""
    return _measured().wait_share(settings.engines.of("stt", measured_recognizer().name))


def keep_time(settings: Settings, name: str, time: DecodeTime) -> None:
    """Adds a measured time; beyond the limit the oldest entry is removed. The median of the latest counts.

    Without a writable cache folder it is measured again at the next start.
    """

    def add_time(entry: Content) -> None:
        old = entry.get("measured_ms", [entry["decode_p95_ms"]] if "decode_p95_ms" in entry else [])
        earlier = [float(time_ms) for time_ms in old] if isinstance(old, list) else []
        measured, busy = merged(earlier, bool(entry.get("busy")), time)
        entry |= {
            "decode_p95_ms": round(agreed_ms(measured), 1),
            "measured_ms": [round(time_ms, 1) for time_ms in measured],
            "busy": busy,
            "problem": time.problem,
            "machine": _processor(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }

    _change(settings, {name: add_time})


def keep_turns(settings: Settings, turns_ms: Mapping[str, Sequence[float]]) -> None:
    """Adds the recognizer's shares of turns, by model. Without a writable cache folder they are lost."""

    def adding(latest: Sequence[float]) -> Callable[[Content], None]:
        def add_times(entry: Content) -> None:
            entry["turns_ms"] = [*_valid_turns(entry), *(round(time_ms, 1) for time_ms in latest)][-MAX_TURNS:]
            entry["turns_at"] = datetime.now(UTC).isoformat(timespec="seconds")

        return add_times

    _change(settings, {name: adding(latest) for name, latest in turns_ms.items()})


def keep_choice(settings: Settings, names: Sequence[str], line: Line, chosen: str) -> None:
    """Notes which of these models is in use on a line."""

    def marking(name: str) -> Callable[[Content], None]:
        def mark(entry: Content) -> None:
            lines = entry.get("lines")
            others = [other for other in lines if other != line] if isinstance(lines, list) else []
            entry["lines"] = [*others, line] if name == chosen else others

        return mark

    if read_costs(settings, names)[1].get(line) != chosen:
        _change(settings, {name: marking(name) for name in names})


def time_key(settings: Settings, name: str) -> str:
    """Returns a hash of all that the time of a decode depends on: model, settings, machine and library version."""
    engine, core_count, model = measured_recognizer(), cores(), MODELS[name]
    parts = (
        _METHOD,
        name,
        _content_of(model),
        repr(settings.engines.of("stt", engine.name)),
        engine_threads(settings.stt.threads, core_count, engine.most_threads),
        _processor(),
        core_count.whole,
        sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*")),
        _version(_measured().library),
        _version("repartee"),
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _measured() -> MeasuredModels:
    measured = measured_recognizer().measured
    assert measured is not None
    return measured


def _content() -> Content:
    try:
        content = json.loads(times_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, HomeError):
        return {}
    return content if isinstance(content, dict) else {}


def _change(settings: Settings, changes: Mapping[str, Callable[[Content], None]]) -> None:
    """Changes the entries of these models, which become the newest; the file is replaced as a whole."""
    with suppress(OSError, HomeError):
        file = times_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        content = _content()
        for name, change in changes.items():
            key = time_key(settings, name)
            entry = content.pop(key, {})
            entry = entry if isinstance(entry, dict) else {}
            change(entry)
            content[key] = {"model": name} | entry  # the newest is the last
        write_whole(file, json.dumps(dict(list(content.items())[-_MAX_ENTRIES:]), indent=1).encode())


def _valid_time(entry: Any, wait_share: float) -> DecodeTime | None:
    """Returns the time of an entry; None if the entry is incomplete or too old."""
    try:
        time = DecodeTime(float(entry["decode_p95_ms"]), bool(entry["busy"]), str(entry.get("problem", "")))
        age = datetime.now(UTC) - datetime.fromisoformat(entry["measured_at"])
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
        return None
    kept = _SLOW_AND_BUSY_KEPT if time.busy else _SLOW_KEPT
    return time if not is_slow(time, wait_share) or age < kept else None


def _valid_turns(entry: Any) -> tuple[float, ...]:
    """Returns the turns of an entry; none if they are damaged or too old."""
    try:
        turns = tuple(float(time_ms) for time_ms in entry["turns_ms"])
        age = datetime.now(UTC) - datetime.fromisoformat(entry["turns_at"])
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
        return ()
    return turns if age < _TURNS_KEPT else ()


def _content_of(model: Model) -> str:
    """Returns the hash of the weights, which is the file's name in the cache, or its size and date."""
    folder = installed(model)
    if folder is None:
        return ""
    weights = (folder / _measured().weights).resolve()
    result = weights.stat()
    return weights.name if weights.parent.name == "blobs" else f"{result.st_size} {result.st_mtime_ns}"


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
