"""Measures how long the installed Whisper models take for a decode on this machine, for `stt.model = "auto"`.

Blocking: loads each model and decodes the turns of the shipped conversation.
"""

import json
import math
import os
import wave
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np

from assistant.config.settings import Settings
from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.models.whisper_choice import BESIDES_MS, LIMIT_MS, keep_time, whisper_choice
from assistant.setup.build import whisper_decoder
from assistant.support.cpu import cores
from audio.errors import EngineLoadError
from audio.exit_guard import at_work
from audio.units import MIC_RATE_HZ, Pcm

_BEFORE_S, _AFTER_S = 0.3, 0.16
"""Sound before and after the speech of a turn, as a conversation decodes it: the pre-roll and the settled silence."""

_ROUNDS = 2
"""Decodes of each recording; the fastest counts, because another program may have delayed the others."""

_BUSY_SHARE = 0.8
"""Processor time per elapsed time below which other programs delayed the decodes."""

_BUSY_LOAD = 0.5
"""Load per core from which other programs slow decodes down even if these get a core: cores may share their units."""

_HOPELESS = 2.0
"""Multiple of the allowed time from which a model is not measured further."""


def measure_unmeasured(settings: Settings, now_s: Callable[[], float], used_s: Callable[[], float]) -> dict[str, float]:
    """Measures the models that `whisper_choice` lacks times of, the smallest first. Keeps the times and returns them.

    Models larger than the first that is too slow are taken to be as slow.

    Args:
        settings: The settings in effect.
        now_s: A monotonic clock.
        used_s: Processor time of this process.
    """
    allowed_ms, too_slow_ms, busy = LIMIT_MS - BESIDES_MS, 0.0, False
    measured: dict[str, float] = {}
    for name in whisper_choice(settings).unmeasured:
        time_ms = too_slow_ms
        if not too_slow_ms:
            time_ms, busy = _measure(settings, name, allowed_ms, now_s, used_s)
        keep_time(settings, name, time_ms, busy=busy)
        measured[name] = time_ms
        too_slow_ms = time_ms if allowed_ms < time_ms < math.inf else 0.0  # one that is damaged says nothing of others
    return measured


def _measure(
    settings: Settings, name: str, allowed_ms: float, now_s: Callable[[], float], used_s: Callable[[], float]
) -> tuple[float, bool]:
    """Returns the slowest recording in ms, infinity if the model cannot be loaded; and whether decodes were delayed."""
    folder = installed(MODELS[name])
    assert folder is not None, "only installed models are measured"
    named = replace(settings, stt=replace(settings.stt, model=name))
    with at_work():
        try:
            decode = whisper_decoder(named, folder)
        except EngineLoadError:  # reported when it is chosen by name
            return math.inf, False
        busy = _load() > _BUSY_LOAD * cores().whole
        slowest_ms = elapsed_s = working_s = 0.0
        for pcm in _turns():
            took_s = []
            for _ in range(_ROUNDS):
                began_s, used_before_s = now_s(), used_s()
                decode(pcm)
                took_s.append(now_s() - began_s)
                working_s += used_s() - used_before_s
            elapsed_s += sum(took_s)
            slowest_ms = max(slowest_ms, 1000 * min(took_s))
            if slowest_ms > _HOPELESS * allowed_ms:
                break
        return slowest_ms, busy or working_s < _BUSY_SHARE * elapsed_s


def _load() -> float:
    """Returns how many processes wanted a processor in the last minute; 0 where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def _turns() -> Iterator[Pcm]:
    """Yields the turns of the shipped conversation as int16, 16 kHz."""
    folder = files("assistant") / "recordings"
    with wave.open(str(Path(str(folder / "conversation.wav")))) as recording:
        sound = np.frombuffer(recording.readframes(recording.getnframes()), np.int16)
    for turn in json.loads((folder / "conversation.json").read_text(encoding="utf-8")):
        first, last = turn["start_s"] - _BEFORE_S, turn["end_s"] + _AFTER_S
        yield sound[round(first * MIC_RATE_HZ) : round(last * MIC_RATE_HZ)]
