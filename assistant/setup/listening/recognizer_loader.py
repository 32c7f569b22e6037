"""Makes and loads a recognizer. One whose model is chosen by measured times is loaded by `recognizer_models.py`."""

import logging

from assistant.config.settings import Settings
from assistant.models.needs import at_hand, is_path
from assistant.registry.voices import AUTO
from assistant.setup.listening.recognizer_choice import lack_of, model_need
from assistant.setup.loading import Loading, close_engine, now_s
from assistant.support.cpu import cores, engine_threads
from audio.engine_lateness import EngineLateness
from audio.engines.recognizer import RecognizerEngine, RecognizerRequest
from audio.errors import EngineLoadError
from audio.stt import SharedRecognizer

log = logging.getLogger(__name__)


def make_recognizer(
    settings: Settings, engine: RecognizerEngine, lateness: EngineLateness | None = None
) -> SharedRecognizer:
    """Returns what the conversations share, not loaded yet. Raises EngineLoadError."""
    return engine.make(recognizer_request(settings, engine, lateness))


def recognizer_request(
    settings: Settings, engine: RecognizerEngine, lateness: EngineLateness | None = None
) -> RecognizerRequest:
    """Returns what a recognizer is made of. Raises EngineLoadError if its package or its model is missing."""
    if lacking := lack_of(engine, settings):
        raise EngineLoadError(f"{lacking}.")
    need, core_count = model_need(engine, settings), cores()
    threads = engine_threads(settings.stt.threads, core_count, engine.most_threads)
    return RecognizerRequest(
        settings=settings.engines.of("stt", engine.name),
        language=settings.assistant.language,
        model=None if need is None else at_hand(need),
        threads=threads,
        model_name="" if need is None or is_path(need.name) else need.name,
        spare_threads=2 * threads <= core_count.whole,
        hot_words=settings.stt.hot_words,
        lateness=lateness,
    )


async def load_recognizer(loading: Loading, engine: RecognizerEngine) -> SharedRecognizer:
    """Returns what the conversations share, loaded. Raises EngineLoadError."""
    began_s = now_s()
    shared = make_recognizer(loading.settings, engine, loading.lateness)
    try:
        await loading.with_timeout(shared.name, shared.load())
    except BaseException:  # otherwise it goes on loading, and nothing would release it
        await close_engine(shared, log.warning)
        raise
    is_auto = loading.settings.stt.engine == AUTO
    why = "auto: the preferred one that is installed" if is_auto else "as configured"
    loading.record_choice("stt", shared.name, shared.transcriber().detail, why, began_s)
    return shared
