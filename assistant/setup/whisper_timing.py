"""Measures how long the installed Whisper models take for a decode on this machine, for `stt.model = "auto"`.

Blocking: loads each model and decodes the turns of the shipped conversation.
"""

import json
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
from audio.errors import EngineLoadError
from audio.exit_guard import at_work
from audio.units import MIC_RATE_HZ, Pcm

_BEFORE_S, _AFTER_S = 0.3, 0.16
"""Sound before and after the speech of a turn, as a conversation decodes it: the pre-roll and the settled silence."""

_ROUNDS = 2
"""Decodes of each recording; the fastest counts, because another program may have delayed the others."""

_HOPELESS = 2.0
"""Multiple of the allowed time from which a model is not measured further."""


def measure_unmeasured(settings: Settings, now_s: Callable[[], float]) -> None:
    """Measures the models that `whisper_choice` lacks times of, the smallest first, and keeps the times.

    Models larger than the first that is too slow are taken to be as slow. `now_s`: a monotonic clock.
    """
    allowed_ms, too_slow_ms = LIMIT_MS - BESIDES_MS, 0.0
    for name in whisper_choice(settings).unmeasured:
        time_ms = too_slow_ms or _decode_p95_ms(settings, name, allowed_ms, now_s)
        keep_time(settings, name, time_ms)
        too_slow_ms = time_ms if time_ms > allowed_ms else 0.0


def _decode_p95_ms(settings: Settings, name: str, allowed_ms: float, now_s: Callable[[], float]) -> float:
    """Returns the time of the slowest recording in ms; infinity if the model cannot be loaded."""
    folder = installed(MODELS[name])
    assert folder is not None, "only installed models are measured"
    named = replace(settings, stt=replace(settings.stt, model=name))
    with at_work():
        try:
            decode = whisper_decoder(named, folder)
        except EngineLoadError:  # reported when it is chosen by name
            return float("inf")
        slowest_ms = 0.0
        for pcm in _turns():
            took_ms = min(_decode_ms(decode, pcm, now_s) for _ in range(_ROUNDS))
            slowest_ms = max(slowest_ms, took_ms)
            if slowest_ms > _HOPELESS * allowed_ms:
                break
        return slowest_ms


def _decode_ms(decode: Callable[[Pcm], object], pcm: Pcm, now_s: Callable[[], float]) -> float:
    began_s = now_s()
    decode(pcm)
    return (now_s() - began_s) * 1000


def _turns() -> Iterator[Pcm]:
    """Yields the turns of the shipped conversation as int16, 16 kHz."""
    folder = files("assistant") / "recordings"
    with wave.open(str(Path(str(folder / "conversation.wav")))) as recording:
        sound = np.frombuffer(recording.readframes(recording.getnframes()), np.int16)
    for turn in json.loads((folder / "conversation.json").read_text(encoding="utf-8")):
        first, last = turn["start_s"] - _BEFORE_S, turn["end_s"] + _AFTER_S
        yield sound[round(first * MIC_RATE_HZ) : round(last * MIC_RATE_HZ)]
