"""The demo with Whisper and Piper: real loading and inference, synthetic weights."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.models.synthetic_piper import tone_voice
from support.models.synthetic_whisper import scripted_whisper

from audio.level import audible_onset

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(300)]

REPARTEE = Path(sys.executable).with_name("repartee")
RECORDING = Path(__file__).parent.parent.parent / "recordings" / "rhasspy3_what-time-is-it.wav"


def test_demo_runs_with_faster_whisper_and_piper(tmp_path: Path) -> None:
    words = ["what", "time", "is", "it"]
    # The synthetic Whisper says a word for every 300 ms of loud sound: it begins behind the silent pre-roll of 300 ms.
    whisper = scripted_whisper(tmp_path / "whisper", words, start_ms=500)
    voice = tone_voice(tmp_path)
    settings = [f"stt.model={whisper}", f"tts.voice={voice}", "trace.words=true"]
    arguments = ["--wav", str(RECORDING), "--out", "out", "--stt", "faster-whisper", "--tts", "piper"]
    done = subprocess.run(
        [str(REPARTEE), "demo", *arguments, *(part for setting in settings for part in ("--set", setting))],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    assert (record["engines"]["stt"], record["engines"]["tts"]) == ("faster-whisper", "piper")
    assert not any(fallback.startswith(("stt", "tts")) for fallback in record["fallbacks"])
    heard = record["words"]["user"].split()
    assert heard
    assert heard == words[: len(heard)], "as many words as there is loud sound"
    assert record["outcome"] == "answered"
    total_ms = sum(share["ms"] for share in record["stages"].values())
    assert total_ms == pytest.approx(record["response_latency_ms"], abs=0.02)
    sound, rate_hz = soundfile.read(tmp_path / "out" / "demo.wav", dtype="int16")
    left, right = (np.ascontiguousarray(channel) for channel in sound.T)
    last, onset = audible_onset(np.ascontiguousarray(left[::-1]), rate_hz), audible_onset(right, rate_hz)
    assert last is not None
    assert onset is not None
    gap_ms = (onset - (len(left) - last)) * 1000 / rate_hz  # from the user's last sound to the first one of the reply
    assert gap_ms == pytest.approx(record["response_latency_ms"], abs=40)
