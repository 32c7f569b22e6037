"""Measures how long the installed models of the recognizer take for a decode on this machine, for `stt.model = "auto"`.

Blocking: loads each model and decodes the turns of the shipped conversation.
"""

import json
import math
import wave
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np

from assistant.config.settings import Settings
from assistant.models.model_choice import model_choice
from assistant.models.model_times import keep_time, wait_share
from assistant.models.turn_cost import ALLOWED_MS, DecodeTime
from assistant.registry.listening import measured_recognizer
from assistant.setup.listening.recognizer_loader import recognizer_request
from assistant.support.cpu import is_busy
from audio.errors import EngineLoadError
from audio.exit_guard import at_work
from audio.units import MIC_RATE_HZ, Pcm

_BEFORE_S, _AFTER_S = 0.3, 0.16
"""Sound before and after the speech of a turn, as a conversation decodes it: the pre-roll and the settled silence."""

_ROUNDS = 2
"""Decodes of each recording; the fastest counts, because another program may have delayed the others."""

_BUSY_SHARE = 0.8
"""Processor time per elapsed time below which other programs delayed the decodes."""

_HOPELESS = 2.0
"""Multiple of the allowed time from which a model is not measured further."""

_PROBLEM_CHARS = 120


class MeasurementStoppedError(Exception):
    """The caller no longer waits for the measurement."""


def measure_unmeasured(
    settings: Settings,
    now_s: Callable[[], float],
    used_s: Callable[[], float],
    stops: Callable[[], bool] = lambda: False,
) -> dict[str, DecodeTime]:
    """Measures the models that `model_choice` lacks times of, the smallest first. Keeps the times and returns them.

    Models larger than the first that is too slow are taken to be as slow.

    Args:
        settings: The settings in effect.
        now_s: A monotonic clock.
        used_s: Processor time of this process.
        stops: Whether to stop; asked before each decode. The model under measurement then gets no time.
    """
    slow: DecodeTime | None = None
    measured: dict[str, DecodeTime] = {}
    for name in model_choice(settings).to_measure:
        time = slow
        if time is None:
            try:
                time = _measure(settings, name, now_s, used_s, stops)
            except MeasurementStoppedError:
                break
        keep_time(settings, name, time)
        measured[name] = time
        slow = (
            time if _allowed_ms(settings) < time.p95_ms < math.inf else None
        )  # one that is damaged says nothing of others
    return measured


def _measure(
    settings: Settings, name: str, now_s: Callable[[], float], used_s: Callable[[], float], stops: Callable[[], bool]
) -> DecodeTime:
    """Returns the time of the slowest recording. Raises MeasurementStoppedError."""
    named = replace(settings, stt=replace(settings.stt, model=name))
    with at_work():
        _stop_if_asked(stops)
        try:
            decode = _decoder(named)
        except EngineLoadError:  # reported when it is chosen by name
            return DecodeTime(math.inf, problem="cannot be loaded")
        busy = is_busy()
        slowest_ms = elapsed_s = working_s = 0.0
        for pcm in _turns():
            took_s = []
            for _ in range(_ROUNDS):
                _stop_if_asked(stops)
                began_s, used_before_s = now_s(), used_s()
                try:
                    decode(pcm)
                except Exception as error:  # noqa: BLE001 - the library raises RuntimeError and others
                    reason = " ".join(f"{error}".split())[:_PROBLEM_CHARS] or type(error).__name__
                    return DecodeTime(math.inf, problem=f"cannot decode ({reason})")
                took_s.append(now_s() - began_s)
                working_s += used_s() - used_before_s
            elapsed_s += sum(took_s)
            slowest_ms = max(slowest_ms, 1000 * min(took_s))
            if slowest_ms > _HOPELESS * _allowed_ms(settings):
                break
        return DecodeTime(slowest_ms, busy=busy or working_s < _BUSY_SHARE * elapsed_s)


def _decoder(settings: Settings) -> Callable[[Pcm], object]:
    """Loads the recognizer's model and returns its decode of a segment. Raises EngineLoadError."""
    engine = measured_recognizer()
    assert engine.measured is not None
    return engine.measured.decoder(recognizer_request(settings, engine))


def _allowed_ms(settings: Settings) -> float:
    """Returns the longest time of a decode that a chosen model may take."""
    return ALLOWED_MS / (1 + wait_share(settings))


def _stop_if_asked(stops: Callable[[], bool]) -> None:
    if stops():
        raise MeasurementStoppedError


def _turns() -> Iterator[Pcm]:
    """Yields the turns of the shipped conversation as int16, 16 kHz."""
    folder = files("assistant") / "recordings"
    with wave.open(str(Path(str(folder / "conversation.wav")))) as recording:
        sound = np.frombuffer(recording.readframes(recording.getnframes()), np.int16)
    for turn in json.loads((folder / "conversation.json").read_text(encoding="utf-8")):
        first, last = turn["start_s"] - _BEFORE_S, turn["end_s"] + _AFTER_S
        yield sound[round(first * MIC_RATE_HZ) : round(last * MIC_RATE_HZ)]
