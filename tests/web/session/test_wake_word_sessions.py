"""A client's wake word: until its sound is heard, nothing is recognized."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from support.conversations.session_harness import SessionHarness
from support.protocol import wire_client
from support.protocol.wire_client import SERVICE

from assistant.turns.words.wake_phrase import WakePhrase
from audio.frame import Frame
from audio.units import samples_of_ms, samples_of_s
from audio.wake import WakeWordDetection
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener
from web.session import wake_word
from web.wire.values.session_config import SessionOffer

pytestmark = [pytest.mark.virtual_time, pytest.mark.leaves_no_tasks]


class DetectorAt:
    """Detects the word in the frame at a time."""

    def __init__(self, at_ms: float) -> None:
        self._at = samples_of_ms(at_ms)

    def process(self, frame: Frame) -> WakeWordDetection | None:
        return WakeWordDetection("alexa", frame.end) if frame.start <= self._at < frame.end else None


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> SessionHarness:
    """Returns a session that hears "alexa" 2 s after its beginning, on a server that has this wake word."""

    def listener(_names: Sequence[str], listen_s: float) -> WakeWordListener:
        return WakeWordListener(DetectorAt(2000), WakeWordGate(samples_of_s(8), samples_of_s(listen_s)))

    async def load(function: Callable[..., WakeWordListener], *given: object) -> WakeWordListener:
        return function(*given)

    monkeypatch.setattr(wake_word, "wake_word_listener", listener)
    monkeypatch.setattr(wake_word, "spoken_wake_words", lambda _names: {"alexa": WakePhrase("alexa")})
    monkeypatch.setattr("web.session.wake_word.asyncio.to_thread", load)
    monkeypatch.setattr(wire_client, "SERVICE", replace(SERVICE, offer=SessionOffer(wake_words=("alexa",))))
    one = SessionHarness(("It is ten o'clock.",) * 2, ("what time is it", "and in Rome"))
    one.session.wake_phrase.window = samples_of_s(8)
    return one


async def test_speech_before_the_wake_word_is_not_recognized(harness: SessionHarness) -> None:
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(600, loud=True)
        await harness.sound(1600, loud=False)
        assert harness.events("input_audio_buffer.speech_started") == []
        await harness.speak(until="response.done")
    assert harness.errors == []
    (heard,) = harness.events("repartee.wake_word")
    assert heard["word"] == "alexa"
    assert heard["at_ms"] == pytest.approx(2000, abs=40)
    assert harness.events("session.updated")[0]["session"]["repartee"]["wake_word"] == "alexa"
    assert len(harness.events("input_audio_buffer.speech_started")) == 1


async def test_next_question_needs_no_wake_word(harness: SessionHarness) -> None:
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(2200, loud=False)
        await harness.speak(until="response.done")
        await harness.speak(until="response.done", count=2)
    transcripts = harness.events("conversation.item.input_audio_transcription.completed")
    assert [event["transcript"] for event in transcripts] == ["what time is it", "and in Rome"]


async def test_null_ends_the_sleep(harness: SessionHarness) -> None:
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(600, loud=False)
        await harness.update(repartee={"duck": True})
        assert harness.session.wake_word is not None
        await harness.update(repartee={"wake_word": None})
        assert harness.session.wake_word is None
        await harness.speak(until="response.done")
    assert harness.events("repartee.wake_word") == []


async def test_speech_that_the_client_ends_needs_no_wake_word(harness: SessionHarness) -> None:
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"}, audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.session.wake_word is None


async def test_unknown_wake_word_is_refused_with_the_known_ones(harness: SessionHarness) -> None:
    async with harness.running():
        await harness.update(repartee={"wake_word": "computer"})
        await harness.until("error")
    (error,) = harness.events("error")
    assert error["error"]["param"] == "session.repartee.wake_word"
    assert "alexa" in error["error"]["message"]


async def test_server_without_wake_words_says_so() -> None:
    harness = SessionHarness()
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.until("error")
    assert harness.errors == ["not_supported"]
