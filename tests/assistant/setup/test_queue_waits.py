"""The queue waits of the engines that all conversations share."""

from pathlib import Path

from assistant.config.settings import Settings
from assistant.pipeline.no_recognizer import NoVoice
from assistant.setup.engine_loader import EngineLoader
from audio.stt.whisper.model import WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.remembered import RememberedVoice


def test_waits_of_recognizer_and_voice_are_listed(tmp_path: Path) -> None:
    loader = EngineLoader(Settings(), {})
    assert loader.queue_waits == {}
    loader.shared_recognizer = shared = SharedWhisper(WhisperSettings(tmp_path))
    loader._voice = RememberedVoice(EspeakVoice(), 1000)
    waits = loader.queue_waits
    assert set(waits) == {"stt", "tts"}
    assert waits["stt"] is shared.queue_wait


def test_voice_without_queue_has_no_waits() -> None:
    loader = EngineLoader(Settings(), {})
    loader._voice = NoVoice()
    assert loader.queue_waits == {}
