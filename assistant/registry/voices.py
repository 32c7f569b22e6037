"""The installed voice engines, and which of them speaks a language or a voice."""

from assistant.registry.entry_points import Registry
from audio.engines.voice import VoiceEngine

AUTO, CLUSTER = "auto", "ray"
"""Values of `tts.engine` that are no engines."""

VOICES = Registry("repartee.tts", VoiceEngine, frozenset({AUTO, CLUSTER}))


def engine_choices() -> tuple[str, ...]:
    """Returns the values that `tts.engine` may have."""
    return (AUTO, *VOICES.names, CLUSTER)


def ranked_voice_engines(language: str) -> tuple[VoiceEngine, ...]:
    """Returns the engines that "auto" may use for a language, the preferred one first. The last resort is the last."""
    ranked = [(rank, engine) for engine in VOICES.all() if (rank := engine.rank(language)) is not None]
    # sorting is stable: of the same rank, the program's own comes first
    ranked.sort(key=lambda pair: (pair[1].last_resort, -pair[0]))
    return tuple(engine for _rank, engine in ranked)


def downloadable_voices() -> dict[str, str]:
    """Returns the default voice of each language that has one to download, by the language's code."""
    with_models = sorted(
        (engine for engine in VOICES.all() if engine.models is not None), key=lambda engine: engine.name
    )
    return {code: name for engine in with_models for code, name in engine.default_voices.items()}


def voice_kinds() -> frozenset[str]:
    """Returns the names of the kinds of models that are voices."""
    return frozenset(engine.models.name for engine in VOICES.all() if engine.models is not None)


def last_resort() -> VoiceEngine:
    """Returns the engine that speaks every language without a model."""
    return next(engine for engine in VOICES.all() if engine.last_resort)
