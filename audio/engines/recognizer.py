"""Declaration of a recognizer: the object that its package offers as an entry point of the group `repartee.stt`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from audio.engines.voice import ANY_LANGUAGE
from declarations.models import ModelKind
from declarations.settings import NoSettings

if TYPE_CHECKING:
    from audio.cluster import ClusterConnection
    from audio.engine_lateness import EngineLateness
    from audio.stt import SharedRecognizer
    from audio.units import Pcm


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
        model_name: Name of the model in the catalogue; "" for a path, and without models.
        threads: Number of threads that it may use.
        spare_threads: Whether there are cores for as many threads again.
        hot_words: Names and terms to expect; "": none.
        lateness: Is told how late it is; None: nothing is.
    """

    settings: object
    language: str
    model: Path | None
    threads: int
    model_name: str = ""
    spare_threads: bool = False
    hot_words: str = ""
    lateness: "EngineLateness | None" = None


@dataclass(frozen=True, slots=True)
class MeasuredModels:
    """Models of which one is chosen by what it costs a turn, for `stt.model = "auto"`.

    Attributes:
        decoder: Loads the model of a request, and returns its decode of a segment. Both block. Raises EngineLoadError.
        wait_share: Returns the longest wait for a running decode, as a part of a decode, with these settings.
        weights: Name of the file in a model's folder that decides its times.
        library: Distribution whose version decides them, too.
        equals: Models that recognize no more than a smaller one, and that one, by the band of the line: "wide" or
            "telephone".
    """

    decoder: "Callable[[RecognizerRequest], Callable[[Pcm], object]]"
    wait_share: Callable[[object], float]
    weights: str
    library: str
    equals: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))


class ReplicaModel(Protocol):
    """A loaded model in a replica of a cluster. Its methods block.

    Attributes:
        detail: One line: model, threads, device.
        device: "cpu" or "cuda".
        compute_type: Number format of the weights.
        multilingual: Whether it knows several languages.
    """

    detail: str
    device: str
    compute_type: str
    multilingual: bool

    def answer(self, is_wanted: Callable[[], bool], question: str, *arguments: object) -> object:
        """Returns the answer to a question of a gateway, as plain values; None once it is no longer wanted."""
        ...

    def trial(self) -> object:
        """Decodes a second of silence. Raises an exception if the model does not work."""
        ...


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """The settings for which the part of a recognizer is made that stays in a gateway.

    Attributes:
        connection: Stays open; its owner closes it.
        language: Language of the conversation.
        decodes: Decodes at the same time.
        timeout_s: A decode that takes longer, in seconds, fails.
    """

    connection: "ClusterConnection"
    language: str
    decodes: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ClusterRecognizer:
    """A recognizer on a cluster: the gateway decides what is decoded and when, and replicas decode it.

    Attributes:
        gateway: Returns what all conversations of a gateway share. It asks replicas of the service "recognizer".
        replica: Loads the model of a request in a replica. Blocks. Raises EngineLoadError.
    """

    gateway: "Callable[[GatewayRequest], SharedRecognizer]"
    replica: Callable[[RecognizerRequest], ReplicaModel]


@dataclass(frozen=True, slots=True)
class RecognizerEngine:
    """A recognizer.

    Attributes:
        name: As in `stt.engine`; also the name of the entry point.
        make: Returns what all conversations share, not loaded yet. Raises EngineLoadError. It imports the engine's
            libraries.
        about: One clause for the list of engines.
        settings: Dataclass of its section [stt.NAME], with a `KeyInfo` for each field.
        ranks: How much it is preferred by `stt.engine = "auto"`, by language; `ANY_LANGUAGE` for all others.
        models: Its models; None: it needs none.
        default_models: Model of each language that is used if none is configured. Of measured models it is the one to
            download.
        measured: Choice of its model by measured times. Only the program's own recognizer has it.
        cluster: Its parts on a cluster; None: it does not run there.
        thresholds: When its words can be used.
        has_probabilities: Whether it knows the probabilities of its tokens; see `TokenRecognizer`.
        packages: Distributions that it needs, with the module of each.
        most_threads: Greatest useful number of threads.
        thread: Name of its thread, as the system shows it (15 characters); "" if its threads have no name.
    """

    name: str
    make: "Callable[[RecognizerRequest], SharedRecognizer]"
    about: str
    settings: type = NoSettings
    ranks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    models: ModelKind | None = None
    default_models: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    measured: MeasuredModels | None = None
    cluster: ClusterRecognizer | None = None
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
