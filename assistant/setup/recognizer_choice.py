"""Chooses the recognizer of the settings, and names the model that it needs. Reads the disk."""

from assistant.config.settings import Settings
from assistant.models.needs import Need, at_hand
from assistant.registry.listening import RECOGNIZERS, measured_recognizer, ranked_recognizers
from assistant.registry.voices import AUTO
from assistant.setup.voice_choice import lacking_package
from audio.engines.recognizer import RecognizerEngine
from audio.errors import EngineLoadError


def chosen_recognizer(settings: Settings) -> RecognizerEngine:
    """Returns the recognizer that is named, or the preferred one that can be used; the program's own without one.

    Raises EngineLoadError if the named one cannot be used.
    """
    own = measured_recognizer()
    if settings.stt.engine != AUTO:
        engine = RECOGNIZERS.get(settings.stt.engine)
        if engine is None:
            problem = RECOGNIZERS.problem_of(settings.stt.engine)
            raise EngineLoadError(f"{problem}; repair this package, or name another stt.engine.")
        return engine
    for engine in ranked_recognizers(settings.assistant.language):
        if engine is own:
            return own
        need = _need(engine, settings)
        if not lacking_package(engine) and (need is None or at_hand(need) is not None):
            return engine
    return own


def recognizer_need(settings: Settings) -> Need | None:
    """Returns the model of a recognizer that is not the program's own; None if it needs none."""
    if settings.stt.engine not in {AUTO, *RECOGNIZERS.names}:
        return None
    engine = chosen_recognizer(settings)
    return None if engine.make is None else _need(engine, settings)


def _need(engine: RecognizerEngine, settings: Settings) -> Need | None:
    if engine.models is None:
        return None
    language, model = settings.assistant.language, settings.stt.model
    name = engine.default_model(language) if model == AUTO else model
    return Need(name, engine.models.name, engine.models.purpose, "stt.model", language)
