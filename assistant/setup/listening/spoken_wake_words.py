"""Returns wake words as phrases, which are searched in transcripts."""

from collections.abc import Mapping, Sequence

from assistant.setup.listening.wake_words import wake_word_engine
from assistant.turns.words.wake_phrase import WakePhrase


def spoken_wake_words(names: Sequence[str]) -> Mapping[str, WakePhrase]:
    """Returns wake words as phrases, by name. Raises EngineLoadError as `wake_word_engine`."""
    engine = wake_word_engine(names)
    return {name: WakePhrase(engine.words[name]) for name in names}
