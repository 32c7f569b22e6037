"""`repartee talk --server` with its own server and a virtual sound card."""

import asyncio
import re
import subprocess
import threading
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.models.phrase_whisper import phrase_settings
from support.programs.program import REPARTEE
from support.programs.serve_program import serving
from support.servers.session_server import eventually
from support.sound.virtual_card import VOICE, Recorder, VirtualCard, virtual_card, write_wav

from assistant.commands.talk.cards import Cards
from assistant.commands.talk.keys import TalkControls
from assistant.commands.talk.stage import stage_of
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.registry.engine_choice import EngineChoice
from audio.card.microphone import CardMicrophone
from audio.card.speaker import CardSpeaker
from audio.level import audible_onset
from audio.units import Pcm
from repartee.server_talk import _Remote, talk_with
from web.remote.address import address_of
from web.remote.talk import RemoteTalk

WHAT_TIME = Path(__file__).parent.parent.parent / "recordings" / "rhasspy3_what-time-is-it.wav"


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


def end_of_sound_s(pcm: Pcm, rate_hz: int) -> float:
    found = audible_onset(np.ascontiguousarray(pcm[::-1]), rate_hz)
    assert found is not None
    return (len(pcm) - found) / rate_hz


def until(lines: list[str], text: str, within_s: float = 40.0) -> str:
    deadline_s = time.monotonic() + within_s
    while True:
        for line in lines:
            if text in line:
                return line
        assert time.monotonic() < deadline_s, lines
        time.sleep(0.02)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.real_time
@pytest.mark.timeout(300)
def test_measured_latency_matches_recorded_gap(card: VirtualCard, tmp_path: Path) -> None:
    pcm, rate_hz = soundfile.read(WHAT_TIME, dtype="int16")
    quiet = np.zeros(rate_hz // 2, np.int16)
    wav = write_wav(tmp_path / "question.wav", np.concatenate([quiet, pcm, quiet]), rate_hz)
    with serving(tmp_path, "tts.engine=espeak-ng", *phrase_settings()) as address:
        url = address.replace("http", "ws")
        command = [str(REPARTEE), "talk", "--plain", "--server", url, "--set", "talk.ready_sound=false"]
        with subprocess.Popen(
            command,
            env=card.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            lines: list[str] = []
            out = process.stdout
            assert out is not None
            assert process.stdin is not None
            reader = threading.Thread(target=lambda: lines.extend(iter(out.readline, "")))
            reader.start()
            until(lines, "ready:")
            with Recorder(card, f"{VOICE}.monitor") as said, Recorder(card) as heard:
                speaking = card.speak(wav)
                told = until(lines, "latency:")
                speaking.wait()
                time.sleep(0.5)
                said.stop()
                heard.stop()
            process.stdin.write("/quit\n")
            process.stdin.flush()
            assert process.wait(timeout=5) == 0
            reader.join()
    assert any(line.startswith("you: what time is it") for line in lines)
    latency_ms = float(re.findall(r"latency: (\d+) ms", told)[0])
    from_end_s = len(said.pcm) / said.rate_hz - end_of_sound_s(said.pcm, said.rate_hz)
    onset = audible_onset(heard.pcm, heard.rate_hz)
    assert onset is not None
    gap_ms = (from_end_s - (len(heard.pcm) - onset) / heard.rate_hz) * 1000
    assert gap_ms == pytest.approx(latency_ms, abs=40)


@pytest.mark.parametrize(
    ("card_ms", "asked_ms"), [(300.0, 300.0), (0.0, None)], ids=["echo canceller", "no echo canceller"]
)
async def test_echo_canceller_raises_interrupt_after_ms(
    monkeypatch: pytest.MonkeyPatch, card_ms: float, asked_ms: float | None
) -> None:
    made: list[RemoteTalk] = []

    async def at_once(talk: RemoteTalk) -> None:
        made.append(talk)

    cards = Cards(CardMicrophone("", report=print), CardSpeaker("", report=print), "", (), ())
    monkeypatch.setattr(Cards, "interrupt_after_ms", card_ms)
    monkeypatch.setattr("repartee.server_talk.open_cards", lambda *_given: cards)
    monkeypatch.setattr(RemoteTalk, "run", at_once)
    controls = TalkControls("open", "")
    settings = load_settings(None, {}, []).settings
    await _Remote(settings, address_of("ws://127.0.0.1:1"), None, stage_of(controls, plain=True), controls).hold()
    assert made[0].interrupt_after_ms == asked_ms


async def test_room_of_this_machine_is_sent_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RemoteTalk] = []
    shown: list[EngineChoice] = []

    async def at_once(talk: RemoteTalk) -> None:
        made.append(talk)
        talk.engines(())

    cards = Cards(CardMicrophone("", report=print), CardSpeaker("", report=print), "", (), ())
    monkeypatch.setattr("repartee.server_talk.open_cards", lambda *_given: cards)
    monkeypatch.setattr(RemoteTalk, "run", at_once)
    controls, settings = TalkControls("open", ""), load_settings(None, {}, ["satellite.room=Kitchen"]).settings
    stage = stage_of(controls, plain=True)
    monkeypatch.setattr(stage, "engines", shown.extend)
    await _Remote(settings, address_of("ws://127.0.0.1:1"), None, stage, controls).hold()
    assert made[0].room == "Kitchen"
    assert [(row.stage, row.name) for row in shown] == [("room", "Kitchen")]


async def test_state_is_shown_outside_of_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "state"

    async def one_step(talk: RemoteTalk) -> None:
        talk.on_step()
        await eventually(file.exists)

    cards = Cards(CardMicrophone("", report=print), CardSpeaker("", report=print), "", (), ())
    monkeypatch.setattr("repartee.server_talk.open_cards", lambda *_given: cards)
    monkeypatch.setattr(RemoteTalk, "run", one_step)
    controls = TalkControls("open", "")
    settings = load_settings(None, {}, [f"satellite.state_file={file}"]).settings
    await _Remote(settings, address_of("ws://127.0.0.1:1"), None, stage_of(controls, plain=True), controls).hold()
    assert file.read_text() == "disconnected\n"


def test_wake_mode_is_refused_with_a_server() -> None:
    loaded = load_settings(None, {}, ["talk.mode=wake"])
    with pytest.raises(ConfigError, match="all speech would be sent"):
        asyncio.run(talk_with("ws://127.0.0.1:1", loaded, {}, plain=True))
