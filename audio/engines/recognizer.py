"""Declaration of a recognizer: the object that its package offers as an entry point of the group `repartee.stt`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from audio.engines.voice import ANY_LANGUAGE
from declarations.models import ModelKind
from declarations.settings import NoSettings

if TYPE_CHECKING:
    from audio.engine_lateness import EngineLateness
    from audio.stt import SharedRecognizer


@dataclass(frozen=True, slots=True)
class RecognizerThresholds:
    """Times in speech after which the words of a recognizer can be used.

    Attributes:
        settle_ms: Silence after which its words no longer improve; 0: the first ones are final.
        words_after_ms: Speech during a reply after which its words so far are requested: they decide whether it
            interrupts. None: it is too slow for that, and speech interrupts without words.
        first_word_until_ms: Speech during a reply until which only the first word is examined, which takes less time.
    """

    settle_ms: float = 0.0
    words_after_ms: float | None = None
    first_word_until_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class RecognizerRequest:
    """The settings and the model for which a recognizer is made.

    Attributes:
        settings: The engine's section of the configuration.
        language: Language of the conversation, as in "en" or "de-AT".
        model: Path of its model; None for an engine without models.
        threads: Number of threads that it may use.
        hot_words: Names and terms to expect; "": none.
        initial_prompt: Text before the words, which guides the spelling; "": none.
        lateness: Is told how late it is; None: nothing is.
    """

    settings: object
    language: str
    model: Path | None
    threads: int
    hot_words: str = ""
    initial_prompt: str = ""
    lateness: "EngineLateness | None" = None


@dataclass(frozen=True, slots=True)
class RecognizerEngine:
    """A recognizer.

    Attributes:
        name: As in `stt.engine`; also the name of the entry point.
        make: Returns what all conversations share, not loaded yet. Raises EngineLoadError. It imports the engine's
            libraries. None: its model is chosen by measured times, which only the program's own recognizer has.
        about: One clause for the list of engines.
        settings: Dataclass of its section [stt.NAME], with a `KeyInfo` for each field.
        ranks: How much it is preferred by `stt.engine = "auto"`, by language; `ANY_LANGUAGE` for all others.
        models: Its models; None: it needs none.
        default_models: Model of each language that is used if none is configured.
        thresholds: When its words can be used.
        has_probabilities: Whether it knows the probabilities of its tokens; see `TokenRecognizer`.
        packages: Distributions that it needs, with the module of each.
        most_threads: Greatest useful number of threads.
        thread: Name of its thread, as the system shows it (15 characters); "" if its threads have no name.
    """

    name: str
    make: "Callable[[RecognizerRequest], SharedRecognizer] | None"
    about: str
    settings: type = NoSettings
    ranks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    models: ModelKind | None = None
    default_models: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    thresholds: RecognizerThresholds = RecognizerThresholds()
    has_probabilities: bool = False
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    most_threads: int = 1
    thread: str = ""

    def rank(self, language: str) -> int | None:
        """Returns its rank for a language such as de-AT; None: "auto" does not use it."""
        return self.ranks.get(language.partition("-")[0], self.ranks.get(ANY_LANGUAGE))

    def default_model(self, language: str) -> str:
        """Returns the model of a language that is used if none is configured; "" if there is none."""
        return self.default_models.get(language.partition("-")[0], self.default_models.get(ANY_LANGUAGE, ""))
