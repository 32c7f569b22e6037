"""Loads a recognizer that its package declares; the program's own one is loaded by `whisper_models.py`."""

from assistant.models.needs import at_hand, lacking_model
from assistant.registry.voices import AUTO
from assistant.setup.loading import Loading, now_s
from assistant.setup.recognizer_choice import recognizer_need
from assistant.setup.voice_choice import lacking_package
from assistant.support.cpu import cores, engine_threads
from audio.engines.recognizer import RecognizerEngine, RecognizerRequest
from audio.errors import EngineLoadError
from audio.stt import SharedRecognizer


async def load_recognizer(loading: Loading, engine: RecognizerEngine) -> SharedRecognizer:
    """Returns what the conversations share, loaded. Raises EngineLoadError."""
    assert engine.make is not None, "the program's own is loaded elsewhere"
    began_s, settings = now_s(), loading.settings
    need = recognizer_need(settings)
    place = None if need is None else at_hand(need)
    lacking = lacking_package(engine) or (lacking_model(need) if need is not None and place is None else "")
    if lacking:
        raise EngineLoadError(f"{lacking}.")
    shared = engine.make(
        RecognizerRequest(
            settings=settings.engines.of("stt", engine.name),
            language=settings.assistant.language,
            model=place,
            threads=engine_threads(settings.stt.threads, cores(), engine.most_threads),
            hot_words=settings.stt.hot_words,
            initial_prompt=settings.stt.initial_prompt,
            lateness=loading.lateness,
        )
    )
    await loading.with_timeout(shared.name, shared.load())
    why = "auto: the preferred one that is installed" if settings.stt.engine == AUTO else "as configured"
    loading.record_choice("stt", shared.name, shared.transcriber().detail, why, began_s)
    return shared
