"""Turns of `server_vad` with a silence of its own: the sound alone decides where they end, in virtual time."""

import pytest
from support.conversations.session_harness import TRANSCRIBED, SessionHarness

pytestmark = pytest.mark.virtual_time

SPOKEN = ("one apple", "two pears", "three plums", "four figs")


@pytest.mark.parametrize("kind", ["realtime", "transcription"])
@pytest.mark.parametrize("answers", [True, False], ids=["answered", "not answered"])
@pytest.mark.parametrize("delay_ms", [10.0, 700.0, 2500.0], ids="transcript after {} ms".format)
async def test_late_transcripts_do_not_join_turns(delay_ms: float, answers: bool, kind: str) -> None:
    harness = SessionHarness(transcripts=SPOKEN, answers=("It is ten.",) * 4)
    harness.recognizer.delay_ms = delay_ms
    async with harness.running():
        detection = {"type": "server_vad", "silence_duration_ms": 500, "create_response": answers}
        await harness.send("session.update", session={"type": kind, "audio": {"input": {"turn_detection": detection}}})
        for _ in SPOKEN:
            await harness.sound(700, loud=True)
            await harness.sound(1200, loud=False)
        for _ in range(100):
            await harness.sound(200, loud=False)
            if len(harness.events(TRANSCRIBED)) == len(SPOKEN):
                break
    stops_ms = [event["audio_end_ms"] for event in harness.events("input_audio_buffer.speech_stopped")]
    assert stops_ms == pytest.approx([700 + 1900 * number for number in range(4)], abs=80)
    assert [event["transcript"] for event in harness.events(TRANSCRIBED)] == list(SPOKEN)
    assert harness.errors == []
