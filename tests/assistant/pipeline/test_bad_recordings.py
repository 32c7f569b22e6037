"""`repartee demo --wav FILE` with real-world files: unusable ones are rejected in one line, usable ones
work. Each run is a separate process, in real time; the long ones run three at a time."""

import json
import os
import re
import resource
import signal
import struct
import subprocess
import time
import wave
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from support.clocks.stopwatch import Stopwatch
from support.conversations.real_time_conversation import WHAT_TIME, bare_environment
from support.models.phrase_whisper import phrase_settings
from support.programs.program import REPARTEE, repartee

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(200)]

START_S = 3.0
RUNS_AT_ONCE = 3
"""Concurrent conversations. A core can run about ten, but each loads its engines at the start."""


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A finished run of the program.

    Attributes:
        took_s: From its start to its end, while the machine was free for it.
        folder: Where it ran; its --out is `folder`/out unless told otherwise.
    """

    code: int
    screen: str
    complaints: str
    took_s: float
    folder: Path

    @property
    def records(self) -> list[dict[str, object]]:
        """The trace next to the audio file."""
        return [json.loads(line) for line in (self.folder / "out" / "trace.jsonl").read_text().splitlines()]


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


def run(folder: Path, *arguments: str | Path) -> ProgramRun:
    watch = Stopwatch()
    with start_program(folder, *arguments) as process:
        screen, complaints = process.communicate(timeout=55)
    return ProgramRun(process.returncode, screen, complaints, watch.undisturbed_s, folder)


def run_forked(folder: Path, *arguments: str | Path) -> ProgramRun:
    """Runs the program in a child that has its imports already: for errors before engines are loaded."""
    watch = Stopwatch()
    done = repartee(*arguments_of(arguments), cwd=folder, env={**bare_environment(), "COLUMNS": "200"})
    return ProgramRun(done.returncode, done.stdout, done.stderr, watch.undisturbed_s, folder)


def check_rejected(ran: ProgramRun, *messages: str) -> None:
    """Checks for exit code 2 and one line that says what is wrong."""
    assert ran.code == 2
    (line,) = ran.complaints.splitlines()
    assert line.startswith("repartee: ")
    for part in messages:
        assert part in line
    assert "Traceback" not in ran.screen


# What cannot be used.


def speech() -> bytes:
    return WHAT_TIME.read_bytes()


def directory(path: Path) -> None:
    path.mkdir()


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, "does not exist"),
    "directory": (directory, "is a directory"),
    "empty": (lambda path: path.write_bytes(b""), "is empty"),
    "header only": (lambda path: path.write_bytes(header(0)), "no samples"),
    "half a header": (lambda path: path.write_bytes(speech()[:30]), "is not a recording"),
    "text": (lambda path: path.write_text("what time is it\n" * 100), "is not a recording"),
    "html": (lambda path: path.write_text("<!doctype html><title>Not found</title>"), "is not a recording"),
    "pipe": (os.mkfifo, "is not a regular file"),
}


def header(samples: int) -> bytes:
    """Returns the header of a WAV file at 16 kHz, mono, 16 bits."""
    size = samples * 2
    layout = (b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16, b"data", size)
    return struct.pack("<4sI4s4sIHHIIHH4sI", *layout)


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_recording_gives_a_one_line_error(tmp_path: Path, name: str) -> None:
    make, message = REFUSED[name]
    make(tmp_path / "speech.wav")
    ran = (run if name == "missing" else run_forked)(tmp_path, "--wav", "speech.wav", "--out", "out")
    check_rejected(ran, "speech.wav", message)
    assert ran.took_s < START_S
    assert not (tmp_path / "out").exists(), "nothing is left behind"


@pytest.mark.parametrize(
    "out", ["file", "file/out", "/proc/out"], ids=["file", "folder below a file", "folder in /proc"]
)
def test_uncreatable_folder_gives_a_one_line_error(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("")
    ran = run_forked(tmp_path, "--wav", WHAT_TIME, "--out", out)
    check_rejected(ran, out, "--out")
    assert ran.took_s < START_S


def test_unwritable_audio_file_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "out" / "demo.wav").mkdir(parents=True)
    ran = run_forked(tmp_path, "--wav", WHAT_TIME, "--out", "out")
    check_rejected(ran, "out/demo.wav cannot be written", "--out")
    assert ran.screen == "", "said before anything is loaded"
    assert ran.took_s < START_S


def test_input_recording_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    tape = tmp_path / "out" / "demo.wav"
    tape.write_bytes(speech())
    ran = run_forked(tmp_path, "--wav", "./out/demo.wav")
    check_rejected(ran, "out/demo.wav would be overwritten", "--out")
    assert tape.read_bytes() == speech()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "turn.no_such_key=1"), "turn.no_such_key"),
        (("--set", "turn.hangover_ms=soon"), "turn.hangover_ms"),
        (("--config", "bad.toml"), "bad.toml:2"),
        (("--config", "missing.toml"), "missing.toml"),
        (("--config", "recording.toml"), "recording.toml"),
    ],
    ids=["unknown key", "wrong type", "broken file", "missing file", "no text"],
)
def test_invalid_settings_give_a_one_line_error(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "bad.toml").write_text("[turn]\nhangover_ms = = 3\n")
    (tmp_path / "recording.toml").write_bytes(speech())
    ran = run_forked(tmp_path, "--wav", WHAT_TIME, "--out", "out", *arguments)
    check_rejected(ran, message)
    assert ran.took_s < START_S


# What can be used.


def samples() -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    sound, _ = soundfile.read(WHAT_TIME, dtype="float64")
    return np.asarray(sound)


def stereo_48k(path: Path) -> None:
    resampled = soxr.resample(samples(), 16_000, 48_000)
    soundfile.write(path, np.stack((resampled, resampled), axis=1), 48_000, subtype="PCM_16")


def truncated(path: Path) -> None:
    path.write_bytes(speech()[:-5001])  # 0.16 s of silence, and half a sample


def as_subtype(subtype: str) -> Callable[[Path], None]:
    return lambda path: soundfile.write(path, samples(), 16_000, subtype=subtype)


USED: dict[str, Callable[[Path], object]] = {
    "8-bit": as_subtype("PCM_U8"),
    "24-bit": as_subtype("PCM_24"),
    "float": as_subtype("FLOAT"),
    "48 kHz stereo": stereo_48k,
    "truncated": truncated,
    "silence": lambda path: soundfile.write(path, np.zeros(16_000), 16_000),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[ProgramRun]]]:
    """Starts all runs in this order. Each test waits for its own."""
    with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        waiting = {}
        for name, make in USED.items():
            folder = tmp_path_factory.mktemp("run")
            make(folder / "speech.wav")
            waiting[name] = pool.submit(run, folder, "--wav", "speech.wav", "--out", "out")
        yield waiting


@pytest.mark.parametrize("name", [name for name in USED if name != "silence"])
def test_other_audio_formats_are_accepted(runs: dict[str, Future[ProgramRun]], name: str) -> None:
    ran = runs[name].result(timeout=55)
    assert (ran.code, ran.complaints) == (0, "")
    assert "you  what time is it" in ran.screen
    assert re.search(r"repartee  It's .+ [AP]M\.", ran.screen)
    assert ("speech.wav is cut off" in ran.screen) == (name == "truncated")
    (record,) = ran.records
    assert (record["outcome"], record["error"]) == ("answered", None)
    stages = record["stages"]
    assert isinstance(stages, dict)
    assert sum(share["ms"] for share in stages.values()) == pytest.approx(record["response_latency_ms"], abs=0.02)


def test_silent_recording_is_reported(runs: dict[str, Future[ProgramRun]]) -> None:
    ran = runs["silence"].result(timeout=55)
    assert (ran.code, ran.complaints) == (0, "")
    assert "no words were recognized" in ran.screen
    with wave.open(str(ran.folder / "out" / "demo.wav")) as sound:
        assert sound.getnframes() / sound.getframerate() == pytest.approx(5.0, abs=0.1)
    for path in re.findall(r"\S+\.(?:wav|jsonl)", ran.screen.partition("sound  ")[2]):
        assert (ran.folder / path).exists(), f"{path} was named and is not there"


# What goes wrong on the way.


@pytest.fixture
def going(tmp_path: Path) -> "Iterator[Callable[..., subprocess.Popen[str]]]":
    """Starts the program and kills it when the test ends."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path) -> "subprocess.Popen[str]":
        processes.append(start_program(tmp_path, *arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=20)


def wait_for(process: "subprocess.Popen[str]", text: str) -> str:
    """Returns the output up to a line with `text`."""
    assert process.stdout is not None
    screen = ""
    for line in process.stdout:
        screen += line
        if text in line:
            return screen
    pytest.fail(f"{text!r} did not come: {screen} {process.communicate()[1]}")


def test_recording_damaged_during_the_run_gives_a_one_line_error(
    tmp_path: Path, going: "Callable[..., subprocess.Popen[str]]"
) -> None:
    """The file is overwritten or its disk is removed during the run."""
    path = tmp_path / "speech.wav"
    path.write_bytes(speech())
    process = going("--wav", path, "--out", "out")
    wait_for(process, "hearing  what")
    os.truncate(path, 20_000)
    screen, complaints = process.communicate(timeout=40)
    check_rejected(
        ProgramRun(process.returncode, screen, complaints, 0.0, tmp_path),
        "speech.wav is damaged or was changed while it was read",
    )


def test_disk_that_fills_up_gives_a_one_line_error(
    tmp_path: Path, going: "Callable[..., subprocess.Popen[str]]"
) -> None:
    process = going("--wav", WHAT_TIME, "--out", "out")
    wait_for(process, "hearing  what")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, 1000))  # no file may grow beyond 1000 bytes
    screen, complaints = process.communicate(timeout=40)
    check_rejected(
        ProgramRun(process.returncode, screen, complaints, 0.0, tmp_path), "demo.wav cannot be written", "free space"
    )
    assert re.search(r"^sound  out/demo.wav  \(only the first \d+\.\d s could be written; left", screen, re.MULTILINE)
    assert re.search(r"^trace  none: ", screen, re.MULTILINE)
    assert "no words were recognized" not in screen
    with wave.open(str(tmp_path / "out" / "demo.wav")) as sound:
        assert f"first {sound.getnframes() / sound.getframerate():.1f} s" in screen
    assert not (tmp_path / "out" / "trace.jsonl").exists()


def test_full_disk_is_reported_before_engines_are_loaded(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # the program's: no file may grow
    try:
        process = start_program(tmp_path, "--wav", WHAT_TIME, "--out", "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with process:
        screen, complaints = process.communicate(timeout=40)
    check_rejected(
        ProgramRun(process.returncode, screen, complaints, 0.0, tmp_path),
        "out/demo.wav cannot be written",
        "free some space",
    )
    assert screen == ""
    assert not list((tmp_path / "out").iterdir())


def test_unwritable_trace_file_is_not_announced(tmp_path: Path, going: "Callable[..., subprocess.Popen[str]]") -> None:
    (tmp_path / "full").touch()
    process = going("--wav", WHAT_TIME, "--out", "out", "--set", "trace.dir=full/traces")
    screen, complaints = process.communicate(timeout=40)
    assert (process.returncode, complaints) == (0, "")
    assert re.search(r"^trace  none: full/traces/\S+ could not be written$", screen, re.MULTILINE)
    assert not (tmp_path / "out" / "trace.jsonl").exists()


def peak_mib(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def test_hour_long_recording_starts_at_once_and_can_be_stopped(
    tmp_path: Path, going: "Callable[..., subprocess.Popen[str]]"
) -> None:
    path = tmp_path / "hour.wav"
    samples_of_an_hour = 3600 * 16_000
    path.write_bytes(header(samples_of_an_hour) + speech()[44:])
    os.truncate(path, 44 + 2 * samples_of_an_hour)
    watch = Stopwatch()
    process = going("--wav", path, "--out", "out", "--set", "tts.engine=espeak-ng")  # a voice of little memory
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
    watch = Stopwatch()
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=40)
    assert watch.undisturbed_s < START_S
    assert process.returncode == 130
    assert complaints.strip() in {"", "repartee: stopped"}
    with wave.open(str(tmp_path / "out" / "demo.wav")) as sound:
        assert (sound.getnchannels(), sound.getframerate()) == (2, 24_000)
        recorded_ms = 1000 * sound.getnframes() / sound.getframerate()
    assert recorded_ms > record["playout_start_ms"], "it ends after the reply has begun"
