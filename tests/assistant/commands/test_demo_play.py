"""`repartee demo --play` plays the conversation where there is a loudspeaker."""

import asyncio
import io
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rich.console import Console
from support.clocks.virtual_time import run_virtual
from support.sound.fake_cards import FakeLibrary, device, playback, run_card

from assistant.commands import demo
from assistant.commands.demo import play_tape
from audio.card.speaker import CardSpeaker
from audio.devices import Device
from audio.units import Pcm


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """One second: the user in the first half, the assistant in the second."""
    sound = np.zeros((24_000, 2), np.int16)
    sound[:12_000, 0], sound[12_000:, 1] = 1000, -2000
    soundfile.write(tmp_path / "demo.wav", sound, 24_000)
    return tmp_path / "demo.wav"


def played(tape: Path, monkeypatch: pytest.MonkeyPatch, *devices: Device) -> tuple[Pcm, str]:
    """Returns what the loudspeaker played and what was printed."""
    out, blocks = io.StringIO(), [np.zeros(0, np.int16)]
    monkeypatch.setattr(demo, "list_devices", lambda: devices)

    async def run() -> None:
        library = FakeLibrary(*devices)
        monkeypatch.setattr(demo, "CardSpeaker", partial(CardSpeaker, library=library))
        async with asyncio.TaskGroup() as tasks:
            card = tasks.create_task(run_card(library, playback(lambda pcm, _at_s: blocks.append(pcm.copy()))))
            await play_tape(tape, "", Console(file=out, width=200))
            card.cancel()

    run_virtual(run())
    return np.concatenate(blocks), out.getvalue()


def test_both_speakers_are_played(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, text = played(tape, monkeypatch, device("desk", default=True, rate_hz=24_000))
    assert text == "playing it; Ctrl-C stops\n"
    assert np.count_nonzero(sound > 900) == pytest.approx(12_000, abs=500)
    assert np.count_nonzero(sound < -1900) == pytest.approx(12_000, abs=500)


def test_missing_loudspeaker_is_named(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, text = played(tape, monkeypatch)
    assert text.startswith("not played: ")
    assert sound.size == 0
