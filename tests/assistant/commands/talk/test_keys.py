"""All keys of the whole program on a virtual sound card: each has its effect, and the trace shows it."""

import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.models.installed_model import TINY_EN_FOLDER
from support.programs.talk_app import App, conversing
from support.sound.virtual_card import MICROPHONE, SPEAKER, VOICE, VirtualCard, virtual_card, write_wav

pytestmark = [pytest.mark.slow, pytest.mark.calm, pytest.mark.timeout(300)]

RECORDINGS = Path(__file__).parent.parent.parent.parent / "recordings"
WHAT_TIME = RECORDINGS / "rhasspy3_what-time-is-it.wav"
SET_TIMER = RECORDINGS / "rhasspy3_set-timer.wav"
CALL = RECORDINGS.parent.parent / "bench" / "clips" / "cognitive-services_kws-whatstheweatherlike.wav"
"""Begins with "computer"."""


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


def say(card: VirtualCard, folder: Path, recording: Path) -> None:
    """Plays into the microphone, with half a second of silence before and after it."""
    pcm, rate_hz = soundfile.read(recording, dtype="int16")
    quiet = np.zeros(rate_hz // 2, np.int16)
    card.speak(write_wav(folder / "said.wav", np.concatenate([quiet, pcm, quiet]), rate_hz)).wait()


def listeners(card: VirtualCard) -> int:
    """Returns the number of open streams of the microphone."""
    sources = [line.split("\t") for line in card.pactl("list", "short", "sources").splitlines()]
    (number,) = [index for index, name, *_ in sources if name == MICROPHONE]
    outputs = [line.split("\t") for line in card.pactl("list", "short", "source-outputs").splitlines()]
    return sum(source == number for _, source, *_ in outputs)


def recorded(app: App, count: int) -> None:
    app.eventually(lambda: len(app.records()) >= count)


def test_typed_text_is_answered_repeated_and_interrupted(card: VirtualCard, tmp_path: Path) -> None:
    """Without a recognizer, which is said at the start."""
    with conversing(tmp_path, card.environ, recognizer=()) as app:
        app.until("only typed text is answered, because the Whisper model tiny.en is not downloaded")
        app.say("/repeat")
        app.until("there is no reply to repeat yet")
        app.say("what is two plus three")
        app.until("That's 5.")
        recorded(app, 1)
        app.say("/repeat")
        app.until("That's 5.", count=2)
        recorded(app, 2)
        app.say("help")
        app.until("repartee:", count=3)
        time.sleep(0.6)
        app.say("/interrupt")
        app.until("repartee: (interrupted)")
        recorded(app, 3)
    typed, again, cut = app.records()
    assert [record["outcome"] for record in (typed, again, cut)] == ["answered", "answered", "interrupted"]
    assert [record["no_latency_reason"] for record in (typed, again)] == ["requested", "repeated"]


@pytest.mark.thorough
def test_muting_closes_the_microphone_and_discards_speech(card: VirtualCard, tmp_path: Path) -> None:
    with conversing(tmp_path, card.environ) as app:
        assert listeners(card) == 1
        pcm, rate_hz = soundfile.read(SET_TIMER, dtype="int16")
        speaking = card.speak(write_wav(tmp_path / "cut.wav", np.concatenate([pcm, pcm]), rate_hz))
        app.eventually(lambda: listeners(card) == 1)
        time.sleep(1.3)  # during the speech
        app.say("/mute")
        app.until("microphone: closed; /mute opens it")
        app.eventually(lambda: listeners(card) == 0)
        speaking.wait()
        say(card, tmp_path, WHAT_TIME)
        recorded(app, 1)
        assert not any(line.startswith("you:") for line in app.lines)
        app.say("/mute")
        app.eventually(lambda: listeners(card) == 1)
        say(card, tmp_path, WHAT_TIME)
        app.until("you: what time is it")
        recorded(app, 2)
    assert [record["outcome"] for record in app.records()] == ["cleared", "answered"]


@pytest.mark.thorough
def test_selected_device_is_used_and_traced(card: VirtualCard, tmp_path: Path) -> None:
    with conversing(tmp_path, card.environ) as app:
        app.say("/devices")
        app.until("output: default, ALSA (in use)")
        app.say("what time is it")
        recorded(app, 1)
        app.say(f"/use output {SPEAKER}")
        app.until(f"loudspeaker: {SPEAKER}, ALSA")
        app.say(f"/use input {MICROPHONE}")
        app.until(f"microphone: {MICROPHONE}, ALSA")
        app.say("/use output nothing of the kind")
        app.until('no loudspeaker is called "nothing of the kind"')
        say(card, tmp_path, WHAT_TIME)
        recorded(app, 2)
    before, after = (record["engines"] for record in app.records())
    assert (before["microphone"], before["speaker"]) == ("default", "default")
    assert (after["microphone"], after["speaker"]) == (MICROPHONE, SPEAKER)
    assert app.records()[1]["response_latency_ms"] is not None


@pytest.mark.thorough
def test_push_to_talk_records_only_between_presses(card: VirtualCard, tmp_path: Path) -> None:
    with conversing(tmp_path, card.environ, "--mode", "push-to-talk") as app:
        app.eventually(lambda: listeners(card) == 0)
        say(card, tmp_path, SET_TIMER)
        app.say("/talk")
        app.eventually(lambda: listeners(card) == 1)
        say(card, tmp_path, WHAT_TIME)
        app.say("/talk")
        app.until("you: what time is it")
        app.until("repartee:")
        app.eventually(lambda: listeners(card) == 0)
        recorded(app, 1)
    (record,) = app.records()
    assert (record["outcome"], record["words"]["user"]) == ("answered", "what time is it")


@pytest.mark.thorough
@pytest.mark.weights
@pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en is not downloaded: repartee models pull tiny.en")
def test_speech_without_wake_phrase_is_ignored(card: VirtualCard, tmp_path: Path) -> None:
    wake = ("--mode", "wake", "--set", "talk.wake_phrase=computer")
    recognizer = [f"stt.model={TINY_EN_FOLDER}", "stt.timeout_s=10"]
    with conversing(tmp_path, card.environ, *wake, recognizer=recognizer) as app:
        app.until('wake: say "computer"')
        say(card, tmp_path, WHAT_TIME)
        time.sleep(1.0)
        say(card, tmp_path, CALL)
        app.until("you:")  # tiny.en may miss a word of the request
        recorded(app, 1)
        app.until("wake: speak")
        say(card, tmp_path, WHAT_TIME)  # within the window after a reply
        app.until("you: What time")
        recorded(app, 2)
    assert app.records()[0]["counters"]["overheard"] == 1
    assert [record["outcome"] for record in app.records()] == ["answered", "answered"]


@pytest.mark.thorough
def test_both_devices_may_be_unplugged_and_returned(card: VirtualCard, tmp_path: Path) -> None:
    with conversing(tmp_path, card.environ, "--input", MICROPHONE, "--output", SPEAKER) as app:
        app.until(f"loudspeaker: {SPEAKER}, ALSA")
        for name in (SPEAKER, VOICE):  # after unplugging only one, PulseAudio moves the streams to the other
            card.unplug(name)
        for what in (f'loudspeaker "{SPEAKER}"', f'microphone "{MICROPHONE}"'):
            app.until(f"the {what} is gone")
        app.until("loudspeaker: disconnected")
        app.say("what time is it")
        recorded(app, 1)
        for name in (SPEAKER, VOICE):
            card.plug(name)
        for what in (f'loudspeaker "{SPEAKER}"', f'microphone "{MICROPHONE}"'):
            app.until(f"the {what} is back")
        say(card, tmp_path, WHAT_TIME)
        app.until("you: what time is it")
        recorded(app, 2)
    unheard, heard = app.records()
    assert (unheard["outcome"], unheard["playout_start_ms"]) == ("failed", None)
    assert "nobody heard" in unheard["error"]
    assert (unheard["engines"]["microphone"], unheard["engines"]["speaker"]) == ("gone", "gone")
    assert unheard["counters"]["unheard_ms"] > 500
    assert (heard["outcome"], heard["engines"]["speaker"]) == ("answered", SPEAKER)
    assert heard["response_latency_ms"] is not None


@pytest.mark.thorough
def test_restarted_sound_server_is_awaited(card: VirtualCard, tmp_path: Path) -> None:
    with conversing(tmp_path, card.environ) as app:
        app.until("loudspeaker: default, ALSA")
        card.kill()
        for what in ("loudspeaker", "microphone"):
            app.until(f'the {what} "default" is gone')
        card.start()
        for what in ("loudspeaker", "microphone"):
            app.until(f'the {what} "default" is back')
        say(card, tmp_path, WHAT_TIME)
        app.until("you: what time is it")
        recorded(app, 1)
    assert any(line.startswith("problem ") for line in app.lines)
    assert app.records()[0]["outcome"] == "answered"
