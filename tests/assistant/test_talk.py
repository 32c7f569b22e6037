"""The whole app as a person runs it, on a virtual sound card: what is played into its microphone, what leaves it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from virtual_card import SPEAKER, VOICE, Recorder, VirtualCard, virtual_card, write_wav

from assistant.talk_cards import chime
from audio.level import audible_onset
from audio.units import Pcm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # the card's log, closed late
]

REPARTEE = Path(sys.executable).with_name("repartee")
RECORDINGS = Path(__file__).parent.parent / "recordings"
WHAT_TIME = RECORDINGS / "rhasspy3_what-time-is-it.wav"
SETTINGS = ("stt.engine=pocketsphinx", "tts.engine=espeak-ng", "talk.ready_sound=false", "trace.words=true")


@dataclass
class App:
    """`repartee talk --plain`, running."""

    process: "subprocess.Popen[str]"
    folder: Path
    lines: list[str] = field(default_factory=list)

    def until(self, text: str, within_s: float = 40.0, count: int = 1) -> None:
        """Wait until a line holds this text."""
        self.eventually(lambda: sum(text in line for line in self.lines) >= count, within_s)

    def eventually(self, true: Callable[[], bool], within_s: float = 40.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < deadline_s, self.lines
            time.sleep(0.02)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ends_within_s(self, limit_s: float) -> int:
        began_s = time.monotonic()
        code = self.process.wait(timeout=30)
        assert time.monotonic() - began_s <= limit_s
        return code

    def records(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "traces").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@contextmanager
def talking(
    folder: Path, environ: Mapping[str, str], *arguments: str, settings: Sequence[str] = SETTINGS
) -> Generator[App]:
    flags = [word for setting in settings for word in ("--set", setting)]
    process = subprocess.Popen(
        [REPARTEE, "talk", "--plain", *flags, *arguments],
        cwd=folder,
        env={**environ, "XDG_DATA_HOME": str(folder / "data"), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    app = App(process, folder)
    assert process.stdout is not None
    out = process.stdout

    def keep() -> None:
        for line in out:
            app.lines.append(line.rstrip("\n"))

    reader = threading.Thread(target=keep)
    reader.start()
    try:
        yield app
    finally:
        process.kill()
        process.wait()
        reader.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


def question(folder: Path) -> Path:
    """The recording with silence around it, at the card's rate."""
    pcm, rate_hz = soundfile.read(WHAT_TIME, dtype="int16")
    quiet = np.zeros(rate_hz // 2, np.int16)
    return write_wav(folder / "question.wav", np.concatenate([quiet, pcm, quiet]), rate_hz)


def end_of_sound_s(pcm: Pcm, rate_hz: int) -> float:
    found = audible_onset(np.ascontiguousarray(pcm[::-1]), rate_hz)
    assert found is not None
    return (len(pcm) - found) / rate_hz


@pytest.mark.real_time
def test_the_gap_in_the_recorded_sound_is_the_one_in_the_trace(card: VirtualCard, tmp_path: Path) -> None:
    wav = question(tmp_path)
    with talking(tmp_path, card.environ, "--set", "talk.remember=true") as app:
        app.until("ready:")
        with Recorder(card, f"{VOICE}.monitor") as said, Recorder(card) as heard:
            speaking = card.speak(wav)
            app.until("latency:")
            speaking.wait()
            time.sleep(0.5)
        app.say("/quit")
        assert app.ends_within_s(2.0) == 0
    (record,) = app.records()
    assert record["words"]["user"] == "what time is it"
    assert record["engines"]["echo"] in {"cancel", "half-duplex"}
    assert {"overflows", "underflows", "underruns"} <= record["counters"].keys()
    # Both recordings end together, within what a recorder holds back.
    from_end_s = len(said.pcm) / said.rate_hz - end_of_sound_s(said.pcm, said.rate_hz)
    onset = audible_onset(heard.pcm, heard.rate_hz)
    assert onset is not None
    gap_ms = (from_end_s - (len(heard.pcm) - onset) / heard.rate_hz) * 1000
    assert gap_ms == pytest.approx(record["response_latency_ms"], abs=40)
    (kept,) = (tmp_path / "data" / "repartee" / "conversations").glob("*.jsonl")
    assert "what time is it" in kept.read_text()


def test_the_loudspeaker_may_go_and_come_back(card: VirtualCard, tmp_path: Path) -> None:
    with talking(tmp_path, card.environ) as app:
        app.until("ready:")
        app.say("what time is it")
        app.until("repartee:")
        card.unplug(SPEAKER)
        card.plug(SPEAKER)
        app.say("what is two plus three")
        app.until("repartee:", count=2)
        app.say("/quit")
        assert app.ends_within_s(2.0) == 0
    assert {record["outcome"] for record in app.records()} <= {"answered", "interrupted"}


@pytest.mark.skipif(os.name != "posix", reason="how a terminal ends a program here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_everything_on_disk(card: VirtualCard, tmp_path: Path, number: int) -> None:
    with talking(tmp_path, card.environ, "--set", "talk.remember=true") as app:
        app.until("ready:")
        app.say("what time is it")
        app.until("repartee:")
        app.process.send_signal(number)
        assert app.ends_within_s(2.5) == 0
    assert len(app.records()) == 1
    assert list((tmp_path / "data" / "repartee" / "conversations").glob("*.jsonl"))


def test_a_kept_conversation_goes_on(card: VirtualCard, tmp_path: Path) -> None:
    for arguments in (("--set", "talk.remember=true"), ("--resume",)):
        with talking(tmp_path, card.environ, *arguments) as app:
            app.until("ready:")
            app.say("what time is it")
            app.until("repartee:")
            app.eventually(lambda: bool(app.records()))
            app.say("/quit")
            app.ends_within_s(2.0)
    kept = [path.read_text() for path in (tmp_path / "data" / "repartee" / "conversations").glob("*.jsonl")]
    assert sorted(text.count("what time is it") for text in kept) == [1, 2]


def test_no_sound_card_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    environ = {**os.environ, "PULSE_SERVER": "unix:/nowhere"}
    with talking(tmp_path, environ) as app:
        assert app.process.wait(timeout=30) == 2
        app.eventually(lambda: any(line.startswith("repartee: ") for line in app.lines))
    assert sum(line.startswith("repartee: ") for line in app.lines) == 1
    assert "Traceback" not in "\n".join(app.lines)


def test_the_chime_is_short_soft_and_no_reply() -> None:
    pcm = chime()
    assert len(pcm) / 24 < 200
    assert np.abs(pcm).max() < 3000
    assert pcm[0] == 0
    assert abs(int(pcm[-1])) < 50
