"""The whole program on a virtual sound card: audio goes to its microphone, and its output is recorded."""

import os
import signal
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.programs.talk_app import conversing, talking
from support.sound.virtual_card import VOICE, Recorder, VirtualCard, virtual_card, write_wav

from assistant.storage.conversation_file import TERMINAL, ConversationFile
from assistant.storage.conversation_search import Summary
from assistant.storage.conversation_store import conversations_path
from audio.level import audible_onset
from audio.units import Pcm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.timeout(300),
]

RECORDINGS = Path(__file__).parent.parent.parent.parent / "recordings"
WHAT_TIME = RECORDINGS / "rhasspy3_what-time-is-it.wav"


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


def stored(folder: Path) -> list[Summary]:
    """Returns the conversations of the terminal."""
    file = ConversationFile(conversations_path({"XDG_DATA_HOME": str(folder / "data")}), time.time)
    return file.summaries(TERMINAL, 9)


def question(folder: Path) -> Path:
    """Returns the recording with silence around it, at the card's rate."""
    pcm, rate_hz = soundfile.read(WHAT_TIME, dtype="int16")
    quiet = np.zeros(rate_hz // 2, np.int16)
    return write_wav(folder / "question.wav", np.concatenate([quiet, pcm, quiet]), rate_hz)


def end_of_sound_s(pcm: Pcm, rate_hz: int) -> float:
    found = audible_onset(np.ascontiguousarray(pcm[::-1]), rate_hz)
    assert found is not None
    return (len(pcm) - found) / rate_hz


@pytest.mark.alone
@pytest.mark.real_time
def test_recorded_gap_equals_the_traced_latency(card: VirtualCard, tmp_path: Path) -> None:
    wav = question(tmp_path)
    with (
        conversing(tmp_path, card.environ, "--set", "talk.remember=true") as app,
        Recorder(card, f"{VOICE}.monitor") as said,
        Recorder(card) as heard,
    ):
        speaking = card.speak(wav)
        app.until("latency:")
        speaking.wait()
        time.sleep(0.5)
        said.stop()
        heard.stop()
    (record,) = app.records()
    assert record["words"]["user"] == "what time is it"
    assert record["engines"]["echo"] in {"cancel", "half-duplex"}
    assert {"overflows", "underflows", "underruns"} <= record["counters"].keys()
    # Both recordings end together, within the buffer of a recorder.
    from_end_s = len(said.pcm) / said.rate_hz - end_of_sound_s(said.pcm, said.rate_hz)
    onset = audible_onset(heard.pcm, heard.rate_hz)
    assert onset is not None
    gap_ms = (from_end_s - (len(heard.pcm) - onset) / heard.rate_hz) * 1000
    assert gap_ms == pytest.approx(record["response_latency_ms"], abs=40)
    (kept,) = stored(tmp_path)
    assert kept.title == "what time is it"


@pytest.mark.skipif(os.name != "posix", reason="how a terminal ends a program here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_ends_talk_with_all_files_written(card: VirtualCard, tmp_path: Path, number: int) -> None:
    with talking(tmp_path, card.environ, "--set", "talk.remember=true", recognizer=()) as app:
        app.until("ready:")
        app.say("what time is it")
        app.until("repartee:")
        app.process.send_signal(number)
        assert app.ends_within_s(2.5) == 0
    assert len(app.records()) == 1
    assert len(stored(tmp_path)) == 1


def test_stored_conversation_is_resumed(card: VirtualCard, tmp_path: Path) -> None:
    def converse(*arguments: str) -> list[str]:
        before = len(list((tmp_path / "traces").glob("*.jsonl")))
        with talking(tmp_path, card.environ, *arguments, recognizer=()) as app:
            app.until("ready:")
            app.say("what time is it")
            app.until("repartee:")
            app.eventually(lambda: len(app.records()) > before)
            app.say("/quit")
            app.ends_within_s(2.0)
        return app.lines

    assert not [line for line in converse("--set", "talk.remember=true") if line.startswith("resumed: ")]
    (first,) = stored(tmp_path)
    lines = converse("--resume")
    assert [line for line in lines if line.startswith(f"resumed: {first.id}, started 20")]
    assert "you (earlier): what time is it" in lines
    converse("--resume", first.id[:-3])
    assert [(one.id, one.turns) for one in stored(tmp_path)] == [(first.id, 3)]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--input", "no such microphone"), id="a wrong device name"),
        pytest.param(("--server", "ws://127.0.0.1:9"), id="no device, another server"),
        pytest.param(("--resume", "yesterday"), id="no such conversation"),
        pytest.param(("--set", "stt.engine=faster-whisper", "--set", "stt.model=/nowhere"), id="no such model"),
    ],
)
def test_failed_start_is_one_sentence_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    environ = {**os.environ, "PULSE_SERVER": "unix:/nowhere"}
    with talking(tmp_path, environ, *arguments, recognizer=()) as app:
        assert app.process.wait(timeout=30) == 2
        app.eventually(lambda: any(line.startswith("repartee: ") for line in app.lines))
    (line,) = app.lines
    assert line.startswith("repartee: ")
