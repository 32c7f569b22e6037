"""The whole program with its own echo: its output returns to its microphone, softer and delayed."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs.talk_app import talking
from support.sound.virtual_card import MICROPHONE, SPEAKER, VOICE, Recorder, VirtualCard, virtual_card

pytestmark = [
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.real_time,
    pytest.mark.timeout(300),
]

ECHO_PERCENT = 55
"""PulseAudio's volume is cubic: about -16 dB."""

LOUD = 1500
"""The echo's peaks reach about 4,500. Without the loopback the microphone is silent."""

LONG = "what can you do"
"""The answer takes 13 s."""


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
    with talking(folder, card.environ, "--echo", echo) as app:
        app.until("ready:", within_s=40)
        app.say(LONG)
        app.eventually(lambda: bool(app.records()), within_s=40)
        app.say("/quit")
        assert app.process.wait(timeout=10) == 0
    return app.records()[0]


def test_echo_canceller_prevents_self_interruption(card: VirtualCard, tmp_path: Path) -> None:
    pytest.importorskip("livekit.rtc")
    with Recorder(card, MICROPHONE) as recorder:
        record = long_reply_with_echo(tmp_path, card, "cancel")
    assert np.abs(recorder.pcm).max() > LOUD, "the echo reaches the microphone"
    assert record["engines"]["echo"] == "cancel"
    assert record["outcome"] == "answered"


@pytest.mark.thorough
def test_headphones_mode_with_a_loudspeaker_hears_its_own_reply(card: VirtualCard, tmp_path: Path) -> None:
    """The echo is really there: without echo control, the same reply is heard as speech of the user.

    Whether it is also interrupted depends on the words that the recognizer finds in the echo.
    """
    record = long_reply_with_echo(tmp_path, card, "headphones")
    assert {"overlap", "interrupt"} & {event["name"] for event in record["events"]}
