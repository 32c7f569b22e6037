"""The whole program with its own echo: its output returns to its microphone, softer and delayed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.models.phrase_whisper import phrase_settings
from support.programs.complete_lines import complete_lines
from support.sound.virtual_card import SPEAKER, VOICE, VirtualCard, virtual_card

pytestmark = [
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.real_time,
    pytest.mark.timeout(300),
]

REPARTEE = Path(sys.executable).with_name("repartee")
SETTINGS = ("tts.engine=espeak-ng", "talk.ready_sound=false")
ECHO_PERCENT = 55
"""PulseAudio's volume is cubic: about -16 dB."""

LONG = "what can you do"
"""The answer takes 13 s."""


@dataclass
class App:
    """A running `repartee talk --plain`."""

    process: "subprocess.Popen[str]"
    folder: Path
    lines: list[str] = field(default_factory=list)

    def until(self, text: str, within_s: float = 40.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not any(text in line for line in self.lines):
            assert time.monotonic() < deadline_s, self.lines
            time.sleep(0.02)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def records(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "traces").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in complete_lines(file)]

    def first_record(self, within_s: float = 40.0) -> dict[str, Any]:
        deadline_s = time.monotonic() + within_s
        while not self.records():
            assert time.monotonic() < deadline_s, self.lines
            time.sleep(0.05)
        return self.records()[0]


@contextmanager
def talking(folder: Path, card: VirtualCard, echo: str) -> Generator[App]:
    flags = [word for setting in (*SETTINGS, *phrase_settings()) for word in ("--set", setting)]
    with subprocess.Popen(
        [REPARTEE, "talk", "--plain", "--echo", echo, *flags],
        cwd=folder,
        env={**card.environ, "XDG_DATA_HOME": str(folder / "data"), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        app = App(process, folder)
        assert process.stdout is not None
        out = process.stdout
        reader = threading.Thread(target=lambda: app.lines.extend(iter(out.readline, "")))
        reader.start()
        try:
            yield app
        finally:
            process.kill()
            reader.join()


@pytest.fixture
def card() -> Generator[VirtualCard]:
    """Yields a card whose microphone receives the loudspeaker."""
    with virtual_card() as one:
        one.pactl(
            "load-module", "module-loopback", f"source={SPEAKER}.monitor", f"sink={VOICE}", "latency_msec=100",
            "source_dont_move=true", "sink_dont_move=true", "adjust_time=0",
        )  # fmt: skip
        # No rate changes to keep the latency: the delay of a room is constant.
        (number,) = [line.split()[0] for line in one.pactl("list", "short", "sink-inputs").splitlines()]
        one.pactl("set-sink-input-volume", number, f"{ECHO_PERCENT}%")
        yield one


def long_reply_with_echo(folder: Path, card: VirtualCard, echo: str) -> dict[str, Any]:
    """Returns the record of a long reply without any user speech."""
    with talking(folder, card, echo) as app:
        app.until("ready:")
        app.say(LONG)
        record = app.first_record()
        app.say("/quit")
        assert app.process.wait(timeout=10) == 0
    return record


def test_echo_canceller_prevents_self_interruption(card: VirtualCard, tmp_path: Path) -> None:
    pytest.importorskip("livekit.rtc")
    record = long_reply_with_echo(tmp_path, card, "cancel")
    assert record["engines"]["echo"] == "cancel"
    assert record["outcome"] == "answered"


@pytest.mark.thorough
def test_headphones_mode_with_a_loudspeaker_hears_its_own_reply(card: VirtualCard, tmp_path: Path) -> None:
    """The echo is really there: without echo control, the same reply is heard as speech of the user.

    Whether it is also interrupted depends on the words that the recognizer finds in the echo.
    """
    record = long_reply_with_echo(tmp_path, card, "headphones")
    assert {"overlap", "interrupt"} & {event["name"] for event in record["events"]}
