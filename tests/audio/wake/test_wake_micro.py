"""The wake words of microWakeWord with the real networks, on synthesized calls."""

import numpy as np
import pytest
import soxr
from support.sound.speech import sound_of, spoken

from assistant.registry.listening import WAKE_WORDS
from assistant.setup.listening.wake_words import wake_word_engine, wake_words
from audio.errors import EngineLoadError
from audio.frame import Frame
from audio.tts.espeak.voice import EspeakVoice
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, Samples, ms_of_samples
from audio.wake import WakeWordDetection

pytest.importorskip("pymicro_wakeword", reason="the extra wake is not installed")


def call(text: str) -> Pcm:
    """Returns a call of the voice espeak-ng at 16 kHz, with a second of a quiet room before and after it."""
    pcm = sound_of(spoken(EspeakVoice(), text)).astype(np.float32)
    room = np.random.default_rng(1).normal(0, 20, 2 * MIC_RATE_HZ)
    sound = np.concatenate([room[:MIC_RATE_HZ], soxr.resample(pcm, REPLY_RATE_HZ, MIC_RATE_HZ), room[MIC_RATE_HZ:]])
    return sound.clip(-32768, 32767).astype(np.int16)


def detections(pcm: Pcm, *words: str) -> list[WakeWordDetection]:
    detector = wake_word_engine(words).make(words)
    frames = [
        Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES)
    ]
    return [found for frame in frames if (found := detector.process(frame)) is not None]


@pytest.mark.parametrize(("word", "said"), [("okay_nabu", "Okay Nabu"), ("alexa", "Alexa")])
def test_word_is_detected_once_and_near_its_end(word: str, said: str) -> None:
    pcm = call(said)
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > 500)
    (found,) = detections(pcm, word)
    assert found.word == word
    assert abs(ms_of_samples(found.end) - ms_of_samples(Samples(int(loud[-1])))) <= 150


def test_other_words_are_not_detected() -> None:
    assert detections(call("What time is it in New York?"), *wake_words()) == []


def test_each_of_several_words_is_detected() -> None:
    found = detections(np.concatenate([call("Okay Nabu"), call("Alexa")]), "okay_nabu", "alexa")
    assert [detection.word for detection in found] == ["okay_nabu", "alexa"]


def test_every_declared_word_has_a_network() -> None:
    engine = WAKE_WORDS.get("microwakeword")
    assert engine is not None
    engine.make(tuple(engine.words))


def test_unknown_word_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EngineLoadError, match=r"'computer': known are okay_nabu, hey_jarvis, hey_mycroft, alexa"):
        wake_word_engine(["computer"])
