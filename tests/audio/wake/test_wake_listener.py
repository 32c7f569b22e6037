"""Frames that are heard: those after the wake word, from the sound that was held."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.wake import WakeWordDetection
from audio.wake.gate import Activity, WakeWordGate
from audio.wake.listener import WakeWordListener


class DetectorAt:
    """Detects the word in the frame that begins at a time, with an end before it."""

    def __init__(self, *detections_ms: tuple[int, int]) -> None:
        self._ends = {samples_of_ms(at): samples_of_ms(end) for at, end in detections_ms}

    def process(self, frame: Frame) -> WakeWordDetection | None:
        return WakeWordDetection("okay_nabu", self._ends[frame.start]) if frame.start in self._ends else None


def taken(
    listener: WakeWordListener, ms: int, activity: Activity = Activity.NONE, since_ms: int = 0
) -> Iterator[tuple[Frame, bool]]:
    pcm = np.full(FRAME_SAMPLES, 1000, np.int16)
    for start in range(samples_of_ms(since_ms), samples_of_ms(ms), FRAME_SAMPLES):
        yield from listener.take(Frame(Samples(start), pcm), activity)


def listener_of(*detections_ms: tuple[int, int]) -> WakeWordListener:
    return WakeWordListener(DetectorAt(*detections_ms), WakeWordGate(samples_of_ms(5000), samples_of_ms(8000)))


def test_sleeping_conversation_hears_nothing_and_keeps_two_seconds() -> None:
    frames = list(taken(listener_of(), 5000))
    assert not any(heard for _, heard in frames)
    assert frames[-1][0].end == samples_of_ms(3000)


def test_speech_right_after_the_word_is_heard_from_its_beginning() -> None:
    frames = list(taken(listener_of((3000, 2890)), 3020))
    assert [frame.start for frame, _ in frames] == list(range(0, samples_of_ms(3020), FRAME_SAMPLES))
    first = next(frame for frame, heard in frames if heard)
    assert first.start == samples_of_ms(2880)
    assert np.flatnonzero(first.pcm)[0] == samples_of_ms(10)


def test_word_itself_is_silence_for_the_recognizer() -> None:
    frames = [frame for frame, _ in taken(listener_of((3000, 2900)), 3020) if frame.start >= samples_of_ms(1020)]
    sound = np.concatenate([frame.pcm for frame in frames])
    assert np.flatnonzero(sound)[0] == samples_of_ms(2900 - 1020)


def test_word_that_ends_after_its_detection_stays_silent() -> None:
    frames = list(taken(listener_of((3000, 3070)), 3100))
    assert next(frame.start for frame, heard in frames if heard) == samples_of_ms(3060)
    sound = np.concatenate([frame.pcm for frame, _ in frames])
    assert not sound[samples_of_ms(1020) : samples_of_ms(3070)].any()


@pytest.mark.parametrize("error_ms", [-95, -55, 5, 45, 85])
def test_silence_ends_between_word_and_question(error_ms: int) -> None:
    sound = np.full(samples_of_ms(4000), 1000, np.int16)  # the word ends at 2900 ms, the question begins at 2930 ms
    sound[samples_of_ms(2900) : samples_of_ms(2930)] = 3
    end_ms = 2915 + error_ms
    listener = listener_of((end_ms + 100, end_ms))
    frames = [
        taken_frame
        for start in range(0, len(sound), FRAME_SAMPLES)
        for taken_frame, _ in listener.take(Frame(Samples(start), sound[start : start + FRAME_SAMPLES]), Activity.NONE)
    ]
    loud = np.flatnonzero(np.concatenate([frame.pcm for frame in frames])[samples_of_ms(1200) :] > 100)
    assert loud[0] == samples_of_ms(2930 - 1200)


def test_conversation_sleeps_again_without_a_gap() -> None:
    listener = listener_of((1000, 900))
    frames = list(taken(listener, 20_000))
    starts = [frame.start for frame, _ in frames]
    assert starts == list(range(0, samples_of_ms(18_000), FRAME_SAMPLES))
    assert [heard for _, heard in frames].count(True) == 5000 // 20


def test_held_sound_is_not_heard_when_a_timer_rings() -> None:
    listener = listener_of()
    list(taken(listener, 3000))
    frames = list(taken(listener, 3020, Activity.REPLY, since_ms=3000))
    assert [heard for _, heard in frames] == [False] * 100 + [True]
    assert frames[0][0].pcm.any()


def test_refused_detection_does_not_wake() -> None:
    listener = listener_of((1000, 900))
    listener.accept = lambda _detection: False
    assert not any(heard for _, heard in taken(listener, 3000))


def test_room_needs_no_recognizer_and_no_network_library() -> None:
    """A device that only waits for its word loads little."""
    program = "import sys, audio.wake.listener, audio.wake.micro.engine; print(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    for heavy in ("onnxruntime", "faster_whisper", "ctranslate2", "pymicro_wakeword", "'assistant", "'llm"):
        assert heavy not in modules
