"""Chooses the recognizer of the settings, and names the model that it needs. Reads the disk."""

from assistant.config.settings import Settings
from assistant.models.model_choice import model_choice
from assistant.models.needs import Need, at_hand, lacking_model
from assistant.registry.listening import RECOGNIZERS, measured_recognizer, ranked_recognizers
from assistant.registry.packages import lacking_package
from assistant.registry.voices import AUTO
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
        if not lack_of(engine, settings):
            return engine
    return own


def recognizer_need(settings: Settings) -> Need | None:
    """Returns the model of a recognizer that is not the program's own; None if it needs none."""
    if settings.stt.engine not in {AUTO, *RECOGNIZERS.names}:
        return None
    engine = chosen_recognizer(settings)
    return None if engine.measured is not None else model_need(engine, settings)


def lack_of(engine: RecognizerEngine, settings: Settings) -> str:
    """Returns what a declared recognizer lacks, as part of a sentence; "" if it can be made."""
    need = model_need(engine, settings)
    return lacking_package(engine) or (lacking_model(need) if need is not None and at_hand(need) is None else "")


def model_need(engine: RecognizerEngine, settings: Settings) -> Need | None:
    """Returns the model of a declared recognizer, whether the settings select it or not; None if it needs none."""
    if engine.models is None:
        return None
    language, model = settings.assistant.language_of_models, settings.stt.model
    if engine.measured is not None:
        name = model_choice(settings).name
    elif model == AUTO or settings.stt.engine not in {AUTO, engine.name}:
        name = engine.default_model(language)
    else:
        name = model
    return Need(name, engine.models.name, engine.models.purpose, "stt.model", language)
