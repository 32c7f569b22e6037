"""Recordings that a client of a transcription session sends faster than real time."""

import asyncio
import base64
from typing import Any

import numpy as np
import pytest
from support.conversations.session_harness import TRANSCRIBED, SessionHarness, run_scene

SPOKEN_S, PAUSE_S, TURNS = 1.5, 1.5, 8
DETECTIONS = [{"type": "server_vad", "silence_duration_ms": 500}, {"type": "server_vad"}, {"type": "semantic_vad"}]


def recording() -> bytes:
    """Returns turns of equal length, as pcm."""
    one = np.concatenate([np.full(round(24_000 * s), level, "<i2") for s, level in ((SPOKEN_S, 8000), (PAUSE_S, 0))])
    return np.tile(one, TURNS).tobytes()


def transcribed(message_s: float, detection: dict[str, Any], delay_ms: float = 200.0) -> SessionHarness:
    """Sends the recording in messages of this length, live ones in real time; returns the conversation at its end."""

    async def scene(harness: SessionHarness) -> None:
        harness.recognizer.delay_ms = delay_ms
        session = {"type": "transcription", "audio": {"input": {"turn_detection": detection}}}
        await harness.send("session.update", session=session)
        sound, size = recording(), round(48_000 * message_s)
        for at in range(0, len(sound), size):
            await harness.send_paced(
                "input_audio_buffer.append", audio=base64.b64encode(sound[at : at + size]).decode()
            )
            await asyncio.sleep(message_s if message_s < 1 else 0)
        await harness.until(TRANSCRIBED, TURNS)

    return run_scene(scene, SessionHarness(transcripts=[f"sentence {turn}" for turn in range(TURNS)]))


def borders(harness: SessionHarness) -> list[int]:
    """Returns the positions in the sound at which turns began and ended, in ms."""
    named = [(event, name) for _, event in harness.log for name in ("audio_start_ms", "audio_end_ms") if name in event]
    return [event[name] for event, name in named]


@pytest.mark.parametrize("detection", DETECTIONS, ids=str)
def test_recording_at_once_has_the_turns_of_real_time_in_order(detection: dict[str, Any]) -> None:
    at_once, live = transcribed(10.0, detection), transcribed(0.02, detection)
    assert at_once.at_ms(TRANSCRIBED)[-1] < live.at_ms(TRANSCRIBED)[-1] / 3
    assert [event["transcript"] for event in at_once.events(TRANSCRIBED)] == [f"sentence {n}" for n in range(TURNS)]
    assert len(borders(live)) == 2 * TURNS
    assert borders(at_once) == pytest.approx(borders(live), abs=20)
