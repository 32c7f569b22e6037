"""The installed recognizers, voice activity detectors, end-of-turn estimators and wake-word detectors."""

from assistant.registry.entry_points import Registry
from assistant.registry.packages import lacking_package
from assistant.registry.voices import AUTO, CLUSTER
from audio.engines.recognizer import RecognizerEngine
from audio.engines.turn_end import TurnEndEngine
from audio.engines.vad import VadEngine
from audio.engines.wake import WakeWordEngine

RECOGNIZERS = Registry("repartee.stt", RecognizerEngine, frozenset({AUTO, CLUSTER}))
DETECTORS = Registry("repartee.vad", VadEngine)
TURN_ENDS = Registry("repartee.turn", TurnEndEngine, frozenset({AUTO, CLUSTER}))
WAKE_WORDS = Registry("repartee.wake", WakeWordEngine)


def recognizer_choices() -> tuple[str, ...]:
    """Returns the values that `stt.engine` may have."""
    return (AUTO, *RECOGNIZERS.names, CLUSTER)


def detector_choices() -> tuple[str, ...]:
    """Returns the values that `vad.engine` may have."""
    return DETECTORS.names


def measured_recognizer() -> RecognizerEngine:
    """Returns the program's own recognizer, whose model is chosen by measured times."""
    return next(engine for engine in RECOGNIZERS.all() if engine.measured is not None)


def ranked_recognizers(language: str) -> tuple[RecognizerEngine, ...]:
    """Returns the recognizers that "auto" may use for a language, the preferred one first."""
    ranked = [(rank, engine) for engine in RECOGNIZERS.all() if (rank := engine.rank(language)) is not None]
    return tuple(engine for _rank, engine in sorted(ranked, key=lambda pair: -pair[0]))


def default_detector() -> VadEngine:
    """Returns the detector that is used if none is configured."""
    return next(engine for engine in DETECTORS.all() if engine.is_default)


def spare_detector() -> VadEngine:
    """Returns the detector that replaces one that has failed."""
    return next(engine for engine in DETECTORS.all() if engine.is_spare)


def turn_end_engine() -> TurnEndEngine:
    """Returns the preferred end-of-turn estimator: of those whose packages are installed, if there are any."""
    return max(TURN_ENDS.all(), key=lambda engine: (not lacking_package(engine), engine.rank))
