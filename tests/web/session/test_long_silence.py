"""Clients that send nothing for minutes, as satellites do that listen for their own wake word. In virtual time."""

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest
from support.conversations.session_harness import LONG, SessionHarness

from assistant.skills.answers import SetTimer
from assistant.turns.state.states import Phase
from assistant.turns.words.wake_phrase import WakePhrase
from audio.frame import Frame, SilentSpan
from audio.units import ms_of_samples, samples_of_ms, samples_of_s
from audio.wake import WakeWordDetection
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener

pytestmark = [pytest.mark.virtual_time, pytest.mark.leaves_no_tasks]

MINUTE_MS = 60_000


class WordAt:
    """Detects the wake word in the frame at a time."""

    def __init__(self, at_ms: float) -> None:
        self._at = samples_of_ms(at_ms)

    def process(self, frame: Frame) -> WakeWordDetection | None:
        return WakeWordDetection("alexa", frame.end) if frame.start <= self._at < frame.end else None


def spans_of(harness: SessionHarness) -> list[SilentSpan]:
    """Returns the spans that the session will have passed over."""
    spans: list[SilentSpan] = []
    passes: Callable[[SilentSpan], None] = harness.talk.microphone.on_silence

    def noted(span: SilentSpan) -> None:
        spans.append(span)
        passes(span)

    harness.talk.microphone.on_silence = noted
    return spans


async def wait(harness: SessionHarness, ms: int) -> None:
    """Sends nothing for this long, and then half a second of room noise before the next speech."""
    await harness.pause(ms)
    await harness.sound(500, loud=False)


async def test_long_silence_comes_in_half_seconds() -> None:
    harness = SessionHarness()
    spans = spans_of(harness)
    async with harness.running():
        await harness.pause(MINUTE_MS)
    assert len(spans) == pytest.approx(100, abs=3)  # from the tenth second on
    assert all(before.end == after.start for before, after in pairwise(spans))
    assert ms_of_samples(spans[-1].end) == pytest.approx(MINUTE_MS, abs=600)


async def test_question_after_long_silence_is_answered_as_soon_as_ever() -> None:
    latencies = []
    for silent_ms in (5000, MINUTE_MS):
        harness = SessionHarness()
        spans = spans_of(harness)
        async with harness.running():
            await wait(harness, silent_ms)
            began_ms = harness.now_ms
            await harness.speak(until="response.done")
        assert bool(spans) == (silent_ms == MINUTE_MS)
        onset_ms = harness.events("input_audio_buffer.speech_started")[0]["audio_start_ms"]
        assert onset_ms == pytest.approx(began_ms, abs=60)
        latencies.append(harness.records[0].response_latency_ms)
        assert harness.records[0].counters["inserted_frames"] * 20 == pytest.approx(silent_ms, abs=400)
        assert harness.errors == []
    assert latencies[0] == pytest.approx(latencies[1], abs=21)


async def test_frames_come_again_while_a_reply_plays() -> None:
    harness = SessionHarness((LONG,))
    spans = spans_of(harness)
    async with harness.running():
        await harness.pause(MINUTE_MS)
        await harness.ask("what time is it", until="response.created")
        await harness.pause(600)
        before = len(spans)
        await harness.pause(1000)
        assert harness.session.turns.phase is Phase.REPLYING
        assert len(spans) == before


async def test_silent_user_is_prompted_in_time() -> None:
    harness = SessionHarness(("It is ten o'clock.", "Are you still there?"))
    async with harness.running():
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 20_000}}})
        await harness.ask("what time is it")
        await harness.pause(MINUTE_MS)
    first = harness.events("input_audio_buffer.timeout_triggered")[0]
    assert first["audio_end_ms"] - first["audio_start_ms"] == pytest.approx(20_000, abs=200)


async def test_timer_rings_on_time() -> None:
    harness = SessionHarness()
    async with harness.running():
        timers = harness.session.engines.skill_effects.timers
        timers.apply(SetTimer(40.0, "pasta", "Your pasta timer is done."), asyncio.get_running_loop().time())
        await harness.pause(MINUTE_MS)
    assert harness.at_ms("response.created")[0] == pytest.approx(40_000, abs=60)


async def test_sleeping_conversation_passes_over_silence_and_wakes() -> None:
    harness = SessionHarness()
    spans = spans_of(harness)
    listener = WakeWordListener(WordAt(MINUTE_MS + 300), WakeWordGate(samples_of_s(8), samples_of_s(8)))
    harness.session.wake_phrase.by_sound = {"alexa": WakePhrase("alexa")}
    harness.session.use_wake_word(listener)
    async with harness.running():
        await wait(harness, MINUTE_MS)
        assert listener.awake
        assert len(spans) > 90
        await harness.speak(until="response.done")
    assert len(harness.events("repartee.wake_word")) == 1
    assert harness.errors == []


async def test_client_that_sends_is_heard_in_frames() -> None:
    harness = SessionHarness()
    spans = spans_of(harness)
    async with harness.running():
        await harness.sound(30_000, loud=False)
        await harness.pause(9000)
    assert spans == []
