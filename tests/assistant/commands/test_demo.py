"""Runs the demo once, in real time, with real engines, and measures its recording."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.models.installed_model import TINY_EN_FOLDER
from support.programs.machine_notes import without_machine_notes

import assistant
from assistant.replay.turns import conversation_of
from audio.level import audible_onset

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.calm,
    pytest.mark.real_time,
    pytest.mark.timeout(400),
    pytest.mark.weights,
    pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en was not downloaded"),
]

REPARTEE = Path(sys.executable).with_name("repartee")
LABELS = Path(assistant.__file__).parent / "recordings" / "demo.json"


@dataclass(frozen=True)
class DemoRun:
    """Results of a run of the demo."""

    began: datetime
    screen: str
    records: list[dict[str, object]]
    rate_hz: int
    left: np.ndarray[tuple[int], np.dtype[np.int16]]
    right: np.ndarray[tuple[int], np.dtype[np.int16]]


def run(folder: Path, *arguments: str) -> DemoRun:
    began = datetime.now().astimezone()
    done = subprocess.run(
        [REPARTEE, "demo", "--out", "out", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "140"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert without_machine_notes(done.stderr) == ""
    sound, rate_hz = soundfile.read(folder / "out" / "demo.wav", dtype="int16")
    lines = (folder / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    return DemoRun(began, done.stdout, [json.loads(line) for line in lines], rate_hz, sound[:, 0], sound[:, 1])


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    settings = (
        "trace.words=true",
        "stt.engine=faster-whisper",
        f"stt.model={TINY_EN_FOLDER}",
        "stt.faster-whisper.device=cpu",
    )
    return run(tmp_path_factory.mktemp("demo"), *(part for value in settings for part in ("--set", value)))


@pytest.fixture(scope="module")
def labels() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(LABELS.read_text(encoding="utf-8"))
    return found


def words(record: dict[str, object], who: str) -> str:
    """Returns what the user or the assistant said; of the user, the plain words."""
    said = record["words"]
    assert isinstance(said, dict)
    return str(said[who]) if who == "assistant" else str(said[who]).lower().rstrip(".?!")


def number(record: dict[str, object], key: str) -> float:
    value = record[key]
    assert isinstance(value, float)
    return value


def test_every_turn_is_answered(ran: DemoRun) -> None:
    answers = {words(record, "user"): words(record, "assistant") for record in ran.records}
    assert list(answers) == [
        "what time is it",
        "set a timer for 10 minutes",
        "make it 15 minutes",
        "what can you do",
        "what's the date today",
    ]
    assert answers["what time is it"].startswith("It's ")
    assert answers["what time is it"].endswith(("AM.", "PM."))
    assert answers["set a timer for 10 minutes"] == "Your 10 minute timer is set."
    assert answers["make it 15 minutes"] == "Your 15 minute timer is set."
    assert f"{ran.began:%A, %B}" in answers["what's the date today"]


def test_last_turn_interrupts_the_reply_before(ran: DemoRun) -> None:
    assert [record["outcome"] for record in ran.records] == [*["answered"] * 3, "interrupted", "answered"]
    assert "(interrupted)" in ran.screen
    assert words(ran.records[3], "assistant").startswith("By myself I can tell the time")
    assert "roll dice" not in words(ran.records[3], "assistant")


def end_of_sound_s(left: "np.ndarray[tuple[int], np.dtype[np.int16]]", about_s: float, rate_hz: int) -> float:
    """Returns the end of the last sustained sound within 0.8 s of a moment, by the project's measure of audible.

    The room noise is only a few dB below the limit, so single windows may exceed it. The median over ten positions of
    the windows does not.
    """
    ends = []
    for shift in range(0, rate_hz // 100, rate_hz // 1000):
        stop = round((about_s + 0.8) * rate_hz) + shift
        found = audible_onset(np.ascontiguousarray(left[stop - 8 * rate_hz // 5 : stop][::-1]), rate_hz)
        assert found is not None
        ends.append((stop - found) / rate_hz)
    return float(np.median(ends))


def test_recorded_gaps_equal_the_traced_latencies(ran: DemoRun) -> None:
    """Both ends are found in the file: the last sustained sound on the left, the first on the right."""
    for record in ran.records:
        end_ms, start_ms = number(record, "speech_end_ms"), number(record, "playout_start_ms")
        after = round((end_ms / 1000 + 0.1) * ran.rate_hz)
        onset = audible_onset(np.ascontiguousarray(ran.right[after : after + 3 * ran.rate_hz]), ran.rate_hz)
        assert onset is not None
        reply_ms = (after + onset) / ran.rate_hz * 1000
        assert reply_ms == pytest.approx(start_ms, abs=15)
        gap_ms = reply_ms - end_of_sound_s(ran.left, end_ms / 1000, ran.rate_hz) * 1000
        assert gap_ms == pytest.approx(number(record, "response_latency_ms"), abs=40)


def test_end_of_speech_matches_the_label(ran: DemoRun, labels: list[dict[str, object]]) -> None:
    for record, label in zip(ran.records, labels, strict=True):
        end_s, uncertainty_ms = float(str(label["end_s"])), float(str(label["end_uncertainty_ms"]))
        assert number(record, "speech_end_ms") == pytest.approx(end_s * 1000, abs=40 + uncertainty_ms)


def test_recording_is_on_the_left_channel_unchanged(ran: DemoRun) -> None:
    original, rate_hz = soundfile.read(LABELS.with_suffix(".flac"), dtype="int16")
    here = ran.left[:: ran.rate_hz * 2 // rate_hz][: len(original) // 2].astype(float)  # 24 kHz and 16 kHz meet at 8
    there = original[::2][: len(here)].astype(float)
    assert np.corrcoef(here, there)[0, 1] > 0.98


def test_screen_shows_the_whole_conversation(ran: DemoRun) -> None:
    screen = ran.screen
    assert "hearing  " in screen
    assert "you  what time is it" in screen.lower()
    assert screen.count(" ms ✓ ") + screen.count(" ms ✗ ") == len(ran.records)
    assert "response latency  p50" in screen
    assert "no language model: the built-in skills answer" in screen
    assert "as configured" not in screen, "the table of engines is for --verbose"
    assert "out/demo.wav" in screen
    assert "out/trace.jsonl" in screen


def test_replay_repeats_the_decisions(ran: DemoRun) -> None:
    """Uses the trace without words."""
    conversation = conversation_of([{**record, "words": None} for record in ran.records])
    assert len(conversation.records) == len(ran.records) >= 3
    assert conversation.disagree == ()
    for (found,) in conversation.replayed([lambda settings: settings]):
        assert found.same
        assert found.was.latency_ms == conversation.records[found.turn]["response_latency_ms"]
