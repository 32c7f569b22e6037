"""A client's wake word: until its sound is heard, nothing is recognized."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from support.conversations.session_harness import SessionHarness
from support.protocol import wire_client
from support.protocol.wire_client import SERVICE

from assistant.setup.listening import wake_word_loader
from assistant.turns.words.wake_phrase import WakePhrase
from audio.errors import EngineLoadError
from audio.frame import Frame
from audio.units import samples_of_ms, samples_of_s
from audio.wake import WakeWordDetection, WakeWordDetector
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

    def listener(listen_s: float) -> WakeWordListener:
        return WakeWordListener(None, WakeWordGate(samples_of_s(8), samples_of_s(listen_s)))

    async def load(function: Callable[..., WakeWordDetector], *given: object) -> WakeWordDetector:
        return function(*given)

    monkeypatch.setattr(wake_word, "sleeping_listener", listener)
    monkeypatch.setattr(wake_word_loader, "wake_word_detector", lambda _names: DetectorAt(2000))
    monkeypatch.setattr(wake_word, "spoken_wake_words", lambda _names: {"alexa": WakePhrase("alexa")})
    monkeypatch.setattr(asyncio, "to_thread", load)
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


def notices(harness: SessionHarness) -> list[str]:
    return [event["code"] for event in harness.events("repartee.notice")]


async def test_nothing_is_heard_before_the_detector_is_loaded(
    harness: SessionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def load(*_given: object) -> WakeWordDetector:
        await asyncio.sleep(3)
        return DetectorAt(4000)

    monkeypatch.setattr(asyncio, "to_thread", load)
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(1500, loud=True)
        await harness.sound(2700, loud=False)
        assert harness.events("input_audio_buffer.speech_started") == []
        await harness.speak(until="response.done")
    assert len(harness.events("repartee.wake_word")) == 1


async def test_session_sleeps_if_the_detector_cannot_be_loaded(
    harness: SessionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_names: object) -> WakeWordDetector:
        raise EngineLoadError("the library is broken: install the extra wake.")

    with monkeypatch.context() as patched:
        patched.setattr(wake_word_loader, "wake_word_detector", broken)
        async with harness.running():
            await harness.update(repartee={"wake_word": "alexa"})
            await harness.sound(1500, loud=True)
            await harness.sound(1000, loud=False)
            assert harness.events("input_audio_buffer.speech_started") == []
            (told,) = harness.events("repartee.notice")
            assert told["code"] == "wake_word_failed"
            assert "install the extra wake" in told["text"]
            await harness.update(repartee={"wake_word": None})
            await harness.speak(until="response.done")


async def test_wake_word_that_failed_can_be_chosen_again(
    harness: SessionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[WakeWordDetector | None] = [None, DetectorAt(2000)]

    def load(_names: object) -> WakeWordDetector:
        if (loaded := outcomes.pop(0)) is None:
            raise EngineLoadError("the library is broken")
        return loaded

    monkeypatch.setattr(wake_word_loader, "wake_word_detector", load)
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(600, loud=False)
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(1700, loud=False)
        await harness.speak(until="response.done")
    assert notices(harness) == ["wake_word_failed"]
    assert len(harness.events("repartee.wake_word")) == 1


async def test_session_with_too_many_tasks_sleeps_and_says_so(
    harness: SessionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.pipeline.side_tasks.MAX_TASKS", 0)
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(1000, loud=True)
        assert harness.events("input_audio_buffer.speech_started") == []
    assert notices(harness) == ["wake_word_failed"]


class FailingDetector:
    """Fails at a time, and at each later frame."""

    def __init__(self, fails_ms: float) -> None:
        self._fails = samples_of_ms(fails_ms)

    def process(self, frame: Frame) -> WakeWordDetection | None:
        if frame.end > self._fails:
            raise RuntimeError("the network is broken")
        return None


@pytest.mark.parametrize("again_broken", [False, True])
async def test_detector_that_fails_is_loaded_once_more(
    harness: SessionHarness, monkeypatch: pytest.MonkeyPatch, again_broken: bool
) -> None:
    detectors = [FailingDetector(500), FailingDetector(500) if again_broken else DetectorAt(2000)]
    monkeypatch.setattr(wake_word_loader, "wake_word_detector", lambda _names: detectors.pop(0))
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"})
        await harness.sound(1200, loud=True)
        await harness.sound(1000, loud=False)
        assert harness.events("input_audio_buffer.speech_started") == []
        if not again_broken:
            await harness.speak(until="response.done")
    assert notices(harness) == ["wake_word_reloads"] + ["wake_word_failed"] * again_broken
    assert detectors == []


async def test_silence_of_a_sleeping_session_is_no_idle_user(harness: SessionHarness) -> None:
    detection = {"type": "server_vad", "idle_timeout_ms": 10_000}
    harness.session.wake_phrase.window = samples_of_s(1)
    async with harness.running():
        await harness.update(repartee={"wake_word": "alexa"}, audio={"input": {"turn_detection": detection}})
        await harness.sound(2100, loud=False)
        await harness.speak(until="response.done")
        await harness.sound(16_000, loud=False)
        harness.session.wake_word.detector = DetectorAt(harness.now_ms)  # type: ignore[union-attr]
        await harness.sound(1000, loud=False)
    assert len(harness.events("repartee.wake_word")) == 2
    assert len(harness.events("response.created")) == 1
