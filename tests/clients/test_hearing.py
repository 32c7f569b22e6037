"""The recognizer of the client programs' server tells only the words that it heard."""

import pytest
from clients.hearing import QuestionRecognizer
from soxr import resample
from support.servers.session_server import WHAT_TIME, recording

from audio.stt import SegmentId
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ


@pytest.mark.parametrize(("lost_s", "words"), [(0.0, "what time is it"), (0.2, "what time"), (2.0, "")])
def test_words_are_missing_if_sound_is_missing(lost_s: float, words: str) -> None:
    sound = resample(recording(WHAT_TIME), REPLY_RATE_HZ, MIC_RATE_HZ)
    recognizer, segment = QuestionRecognizer(), SegmentId(0)
    stream = recognizer.open(segment, lambda _interim: None)
    stream.feed(sound[: MIC_RATE_HZ * 3 // 4])
    stream.feed(sound[int(MIC_RATE_HZ * (0.75 + lost_s)) :])
    assert recognizer.transcript_of(segment) == words
