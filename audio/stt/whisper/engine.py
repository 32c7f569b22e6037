"""Declares the recognizer faster-whisper. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.recognizer import RecognizerEngine, RecognizerThresholds
from audio.engines.voice import ANY_LANGUAGE
from audio.stt.whisper.catalogue import MODELS

THRESHOLDS = RecognizerThresholds(
    settle_ms=160.0,  # its first answer may come from a decode that began before the end was detected (docs/lab/stt.md)
    words_after_ms=200.0,
    first_word_until_ms=300.0,
)

ENGINE = RecognizerEngine(
    name="faster-whisper",
    make=None,
    about="Whisper on CTranslate2, about 90 languages",
    ranks=MappingProxyType({ANY_LANGUAGE: 50}),
    models=MODELS,
    thresholds=THRESHOLDS,
    has_probabilities=True,
    packages=MappingProxyType({"faster-whisper": "faster_whisper", "ctranslate2": "ctranslate2"}),
    most_threads=4,
    thread="faster-whisper",
)
