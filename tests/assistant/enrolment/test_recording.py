"""Recordings become voices only if they hold enough clear speech of one person."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.conversations.voices import voice

from assistant.enrolment.recording import EnrolmentError, SpeechCollector, voiceprint_of
from audio.frame import Frame
from audio.speaker_embedding.embedder import Embedding
from audio.units import MIC_RATE_HZ, Pcm, Samples
from audio.vad import VadResult


@dataclass
class LevelVad:
    """Calls sound above a level speech."""

    name: str = "level"
    end_bias_ms: float = 0.0

    def process(self, frame: Frame) -> VadResult:
        loud = bool(np.abs(frame.pcm.astype(np.int32)).max() >= 100)
        return VadResult(loud, Samples(0), float(loud))

    def reset(self) -> None:
        pass


def noise(seconds: float, level: float) -> Pcm:
    rng = np.random.default_rng(1)
    return np.clip(rng.normal(0, level, round(seconds * MIC_RATE_HZ)), -32_768, 32_767).astype(np.int16)


def collected(*sounds: Pcm) -> SpeechCollector:
    collector = SpeechCollector(LevelVad())
    collector.add_sound(np.concatenate(sounds))
    return collector


def test_speech_is_found_without_its_pauses() -> None:
    speech = collected(noise(6, 3000), noise(2, 10), noise(6, 3000)).checked_speech()
    assert len(speech) == 12 * MIC_RATE_HZ


@pytest.mark.parametrize(
    ("sounds", "code", "remedy"),
    [
        ([noise(20, 10)], "voice_no_speech", "Unmute it"),
        ([noise(8, 3000), noise(8, 10)], "voice_too_short", "only 8 s of speech were heard, and 10 s are needed"),
        ([noise(15, 60)], "voice_too_quiet", "raise the microphone's level"),
        ([noise(15, 40_000)], "voice_clipped", "lower the microphone's level"),
        ([noise(12, 3000), noise(8, 24)] * 2, "", ""),
    ],
    ids=["silence", "too little", "quiet", "clipped", "fine"],
)
def test_unsuitable_recording_says_the_remedy(sounds: list[Pcm], code: str, remedy: str) -> None:
    if not code:
        assert len(collected(*sounds).checked_speech())
        return
    with pytest.raises(EnrolmentError, match=remedy) as refused:
        collected(*sounds).checked_speech()
    assert refused.value.code == code


def test_background_as_loud_as_the_voice_is_refused() -> None:
    class EverySecond(LevelVad):
        def process(self, frame: Frame) -> VadResult:
            speaking = frame.start // MIC_RATE_HZ % 2 == 0
            return VadResult(speaking, Samples(0), float(speaking))

    collector = SpeechCollector(EverySecond())
    collector.add_sound(noise(30, 1000))
    with pytest.raises(EnrolmentError, match="quiet room"):
        collector.checked_speech()


def embeddings(*people: int) -> "list[Embedding]":
    return [voice(person) for person in people]


def voiceprint(*people: int) -> Embedding:
    pieces = iter(embeddings(*people))
    return voiceprint_of("Ann", noise(2.0 * len(people) + 1, 3000), lambda _piece: next(pieces)).embedding


def test_voice_is_the_mean_of_its_pieces() -> None:
    assert np.allclose(voiceprint(0, 0, 0, 0, 0), voice(0))


@pytest.mark.parametrize("people", [(0, 0, 0, 0, 0, 0, 0, 0, 0, 1), (0, 1, 0, 1, 0, 1), (0, 0, 0, 0, 1)])
def test_second_voice_is_refused(people: tuple[int, ...]) -> None:
    with pytest.raises(EnrolmentError, match="more than one voice"):
        voiceprint(*people)
