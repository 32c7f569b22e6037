"""`repartee demo` with unusable recordings, full disks and missing engines: one line says what is wrong.

What a recording may be is tested in tests/audio/formats/test_recording.py.
"""

import asyncio
import json
import os
import re
import resource
import signal
import struct
import subprocess
import time
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.clocks.stopwatch import Stopwatch
from support.conversations.real_time_conversation import WHAT_TIME, bare_environment
from support.models.phrase_whisper import phrase_settings
from support.programs.machine_notes import without_machine_notes
from support.programs.program import REPARTEE, repartee

from assistant.config.loading import load_settings
from assistant.setup.engine_loader import EngineLoader
from audio.vad.silero import detector
from audio.vad.silero.network import SileroNetwork

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(200)]

START_S = 3.0


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A finished run of the program. `took_s`: from its start to its end, while the machine was free for it."""

    code: int
    screen: str
    complaints: str
    took_s: float


def arguments_of(arguments: tuple[str | Path, ...]) -> list[str]:
    """Returns the command line of the demo, with a small recognizer."""
    recognizer = (part for value in phrase_settings() for part in ("--set", value))
    return ["demo", *map(str, arguments), *recognizer]


def start_program(folder: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [REPARTEE, *arguments_of(arguments)],
        cwd=folder,
        env={**bare_environment(), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> ProgramRun:
    """Waits for the end of a program."""
    watch = Stopwatch()
    with process:
        try:
            screen, complaints = process.communicate(timeout=55)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return ProgramRun(process.returncode, screen, without_machine_notes(complaints), watch.undisturbed_s)


def run_forked(folder: Path, *arguments: str | Path) -> ProgramRun:
    """Runs the program in a child that has its imports already: for errors before engines are loaded."""
    watch = Stopwatch()
    done = repartee(*arguments_of(arguments), cwd=folder, env={**bare_environment(), "COLUMNS": "200"})
    return ProgramRun(done.returncode, done.stdout, done.stderr, watch.undisturbed_s)


def check_rejected(ran: ProgramRun, *messages: str) -> None:
    """Checks for exit code 2 and one line that says what is wrong."""
    assert ran.code == 2
    (line,) = ran.complaints.splitlines()
    assert line.startswith("repartee: ")
    for part in messages:
        assert part in line
    assert "Traceback" not in ran.screen
    assert ran.took_s < START_S


def test_invalid_recording_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "speech.wav").write_text("what time is it\n" * 100)
    check_rejected(run_forked(tmp_path, "--wav", "speech.wav", "--out", "out"), "speech.wav", "is not a recording")
    assert not (tmp_path / "out").exists(), "nothing is left behind"


@pytest.mark.parametrize("out", ["file/out", "/proc/out"], ids=["folder below a file", "folder in /proc"])
def test_uncreatable_folder_gives_a_one_line_error(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("")
    check_rejected(run_forked(tmp_path, "--wav", WHAT_TIME, "--out", out), out, "--out")


def test_unwritable_audio_file_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "out" / "demo.wav").mkdir(parents=True)
    ran = run_forked(tmp_path, "--wav", WHAT_TIME, "--out", "out")
    check_rejected(ran, "out/demo.wav cannot be written", "--out")
    assert ran.screen == "", "said before anything is loaded"


def test_input_recording_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    tape = tmp_path / "out" / "demo.wav"
    tape.write_bytes(WHAT_TIME.read_bytes())
    check_rejected(run_forked(tmp_path, "--wav", "./out/demo.wav"), "out/demo.wav would be overwritten", "--out")
    assert tape.read_bytes() == WHAT_TIME.read_bytes()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, ProgramRun]]:
    """Runs a truncated and a silent recording at once. The first run cannot write its trace file."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "truncated.wav").write_bytes(WHAT_TIME.read_bytes()[:-5001])  # 0.16 s of silence, and half a sample
    soundfile.write(folder / "silent.wav", np.zeros(16_000), 16_000)
    (folder / "full").touch()
    traces = {"truncated": "full/traces", "silent": "traces"}
    started = {
        name: start_program(folder, "--wav", f"{name}.wav", "--out", name, "--set", f"trace.dir={traces[name]}")
        for name in traces
    }
    return folder, {name: finish(process) for name, process in started.items()}


def test_truncated_recording_is_answered_also_without_a_trace_file(runs: tuple[Path, dict[str, ProgramRun]]) -> None:
    folder, ran = runs[0], runs[1]["truncated"]
    assert (ran.code, ran.complaints) == (0, "")
    assert "you  what time is it" in ran.screen
    assert re.search(r"repartee  It's .+ [AP]M\.", ran.screen)
    assert "truncated.wav is cut off" in ran.screen
    assert re.search(r"^trace  none: full/traces/\S+ could not be written$", ran.screen, re.MULTILINE)
    assert not (folder / "truncated" / "trace.jsonl").exists()


def test_silent_recording_is_reported(runs: tuple[Path, dict[str, ProgramRun]]) -> None:
    folder, ran = runs[0], runs[1]["silent"]
    assert (ran.code, ran.complaints) == (0, "")
    assert "no words were recognized" in ran.screen
    with wave.open(str(folder / "silent" / "demo.wav")) as sound:
        assert sound.getnframes() / sound.getframerate() == pytest.approx(5.0, abs=0.1)
    for path in re.findall(r"\S+\.(?:wav|jsonl)", ran.screen.partition("sound  ")[2]):
        assert (folder / path).exists(), f"{path} was named and is not there"


def wait_for(process: "subprocess.Popen[str]", text: str) -> None:
    """Reads the output up to a line with `text`."""
    assert process.stdout is not None
    screen = ""
    for line in process.stdout:
        screen += line
        if text in line:
            return
    pytest.fail(f"{text!r} did not come: {screen} {process.communicate()[1]}")


def test_disk_that_fills_up_gives_a_one_line_error(tmp_path: Path) -> None:
    process = start_program(tmp_path, "--wav", WHAT_TIME, "--out", "out")
    wait_for(process, "hearing  what")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, 1000))  # no file may grow beyond 1000 bytes
    ran = finish(process)
    check_rejected(ran, "demo.wav cannot be written", "free space")
    assert re.search(
        r"^sound  out/demo.wav  \(only the first \d+\.\d s could be written; left", ran.screen, re.MULTILINE
    )
    assert re.search(r"^trace  none: ", ran.screen, re.MULTILINE)
    assert "no words were recognized" not in ran.screen
    with wave.open(str(tmp_path / "out" / "demo.wav")) as sound:
        assert f"first {sound.getnframes() / sound.getframerate():.1f} s" in ran.screen
    assert not (tmp_path / "out" / "trace.jsonl").exists()


def test_full_disk_is_reported_before_engines_are_loaded(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # the program's: no file may grow
    try:
        process = start_program(tmp_path, "--wav", WHAT_TIME, "--out", "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    ran = finish(process)
    check_rejected(ran, "out/demo.wav cannot be written", "free some space")
    assert ran.screen == ""
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([], "the demo needs speech recognition, but the Whisper model tiny.en is not downloaded; fetch it: repartee "),
        ([*phrase_settings(), "assistant.language=xx"], '"xx"'),
    ],
    ids=["no recognizer", "unknown language"],
)
def test_engine_that_cannot_be_loaded_gives_a_one_line_error(
    tmp_path: Path, overrides: list[str], message: str
) -> None:
    settings = [part for override in overrides for part in ("--set", override)]
    done = repartee("demo", "--wav", WHAT_TIME, "--out", "out", *settings, cwd=tmp_path, env=bare_environment())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("repartee: ")
    assert message in line
    assert "Traceback" not in done.stdout


def test_silero_without_its_network_is_replaced_by_webrtc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector, "shared_network", lambda: SileroNetwork(tmp_path / "gone.onnx"))
    loader = EngineLoader(load_settings(None, {}, ["vad.engine=silero"]).settings, {})

    async def main() -> str:
        return loader._make_vads()[0].name

    assert asyncio.run(main()) == "webrtc"
    (fallback,) = loader.fallbacks
    assert fallback.startswith("vad: webrtc, instead of silero, because Silero VAD's network is missing")


def peak_mib(pid: int) -> float:
    """Returns the most memory that a process had so far."""
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert peak is not None
    return int(peak[1]) / 1024


@pytest.mark.thorough
def test_hour_long_recording_starts_at_once_and_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "hour.wav"
    size = 2 * 3600 * 16_000
    header = (b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16, b"data", size)
    path.write_bytes(struct.pack("<4sI4s4sIHHIIHH4sI", *header) + WHAT_TIME.read_bytes()[44:])
    os.truncate(path, 44 + size)
    watch = Stopwatch()
    process = start_program(tmp_path, "--wav", path, "--out", "out", "--set", "tts.engine=espeak-ng")
    wait_for(process, "3600.0 s")
    assert watch.undisturbed_s < START_S
    wait_for(process, "ms ")  # the waterfall of the first turn
    watch, line = Stopwatch(), ""
    while not line.endswith("\n") and watch.undisturbed_s < 1.0:  # within which the trace is on disk
        time.sleep(0.05)
        line = "".join(trace.read_text() for trace in (tmp_path / "traces").glob("*.jsonl"))
    record = json.loads(line)
    assert record["outcome"] == "answered"
    assert peak_mib(process.pid) < 320, "an hour of samples is 110 MiB, beside the engines' 250"
    process.send_signal(signal.SIGINT)
    ran = finish(process)
    assert ran.took_s < START_S
    assert ran.code == 130
    assert ran.complaints.strip() in {"", "repartee: stopped"}
    with wave.open(str(tmp_path / "out" / "demo.wav")) as sound:
        assert (sound.getnchannels(), sound.getframerate()) == (2, 24_000)
        recorded_ms = 1000 * sound.getnframes() / sound.getframerate()
    assert recorded_ms > record["playout_start_ms"], "it ends after the reply has begun"
