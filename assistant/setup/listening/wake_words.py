"""Makes the detector of the wake words that are chosen by name."""

from collections.abc import Mapping, Sequence

from assistant.registry.listening import WAKE_WORDS
from assistant.registry.packages import lacking_package
from assistant.turns.settings import WakePhraseThresholds
from audio.engines.wake import WakeWordEngine
from audio.errors import EngineLoadError
from audio.units import samples_of_s
from audio.wake import WakeWordDetector
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener


def wake_words() -> Mapping[str, WakeWordEngine]:
    """Returns the engine of each wake word that can be detected by its sound."""
    return {word: engine for engine in WAKE_WORDS.all() for word in engine.words}


def installed_wake_words() -> tuple[str, ...]:
    """Returns the wake words whose engine has all of its packages."""
    return tuple(word for word, engine in wake_words().items() if not lacking_package(engine))


def wake_word_engine(names: Sequence[str]) -> WakeWordEngine:
    """Returns the engine of these wake words, at least one.

    Raises EngineLoadError for an unknown name, for words of two engines, or if a package is missing.
    """
    known = wake_words()
    if unknown := [name for name in names if name not in known]:
        raise EngineLoadError(f"no wake word is called {unknown[0]!r}: known are {', '.join(known)}")
    engine, *others = {known[name].name: known[name] for name in names}.values()
    if others:
        raise EngineLoadError(f"{' and '.join(names)} are of the engines {engine.name} and {others[0].name}: use one")
    if lacking := lacking_package(engine):
        raise EngineLoadError(lacking)
    return engine


def wake_word_listener(names: Sequence[str], listen_s: float) -> WakeWordListener:
    """Returns a listener for these wake words. Blocking: 50 ms. Raises EngineLoadError as `wake_word_engine`.

    `listen_s`: time after a reply in which no wake word is needed.
    """
    listener = sleeping_listener(listen_s)
    listener.detector = wake_word_detector(names)
    return listener


def sleeping_listener(listen_s: float) -> WakeWordListener:
    """Returns a listener whose detector is not loaded yet: the conversation sleeps, and no word wakes it.

    `listen_s`: time after a reply in which no wake word is needed.
    """
    return WakeWordListener(None, WakeWordGate(samples_of_s(after_word_s(listen_s)), samples_of_s(listen_s)))


def after_word_s(listen_s: float) -> float:
    """Returns how long after the wake word speech may begin. `listen_s`: the time after a reply."""
    return max(listen_s, WakePhraseThresholds().after_phrase_window_s)


def wake_word_detector(names: Sequence[str]) -> WakeWordDetector:
    """Returns the detector of these wake words. Blocking: 50 ms. Raises EngineLoadError as `wake_word_engine`."""
    return wake_word_engine(names).make(names)
