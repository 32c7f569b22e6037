"""All settings: one frozen dataclass per section of config.toml, checked on construction.

The annotation of each field holds its description and allowed values. The comments in config.toml and the error texts
come from here (tests/support/generated/config_texts.py writes config.toml).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from assistant.config.engine_sections import EngineSections, default_sections
from assistant.config.home_settings import HomeSection, WeatherSection
from assistant.config.keys import ConfigSection, Key, check_section, keys_of
from assistant.config.llm_settings import CacheSection, LlmSection, MemorySection
from assistant.config.server_settings import ServerSection
from assistant.config.talk_settings import AudioSection, SatelliteSection, TalkSection
from assistant.config.toml_table import NO_LEXICON, Lexicon
from assistant.config.tool_settings import DocumentsSection, ToolsSection
from assistant.config.turn_settings import TurnSection, VadSection, VoiceSection
from assistant.registry.listening import recognizer_choices
from assistant.registry.voices import AUTO, engine_choices
from declarations.settings import KeyInfo

_INSTRUCTIONS = (
    "You are Repartee, a voice assistant. Everything you write is spoken aloud. Answer in one to three short "
    "sentences of plain words, the most useful first: no lists, markdown, links or emoji. Write numbers, dates and "
    "units as one says them. If you do not know or cannot do something, say so, and never that it is done. Answer in "
    "the language you are spoken to in."
)


_CODE = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"

AUTO_LANGUAGES = ("en", "de", "fr", "es")
"""The languages of `auto`: those that the skills, the spoken forms and the program's own sentences know."""

_ADDRESS = r"auto|[A-Za-z0-9._-]+:[0-9]{1,5}|\[[0-9A-Fa-f:]+\]:[0-9]{1,5}"


@dataclass(frozen=True, slots=True)
class ClusterSection(ConfigSection):
    """Speech engines on a Ray cluster, for engines that are set to ray (docs/cluster.md)."""

    address: Annotated[
        str,
        KeyInfo(
            "Head of the Ray cluster, of which this machine must be a node; auto: the cluster of this machine.",
            pattern=_ADDRESS,
            form="auto, or host:port as in 127.0.0.1:6379",
        ),
    ] = "auto"
    min_replicas: Annotated[
        int, KeyInfo("Replicas of each engine that always run.", unit="replicas", low=1, high=1000)
    ] = 1
    max_replicas: Annotated[
        int,
        KeyInfo("Replicas of each engine to which the cluster grows under load.", unit="replicas", low=1, high=1000),
    ] = 4
    replica_cpus: Annotated[
        float,
        KeyInfo(
            "CPU cores that are reserved for one replica; it has as many threads, unless stt.threads is set.",
            unit="cores",
            low=0,
            high=64,
        ),
    ] = 1.0
    stt_gpus: Annotated[
        float, KeyInfo("GPUs that are reserved for one replica of the recognizer.", unit="GPUs", low=0, high=8)
    ] = 0.0
    tts_gpus: Annotated[
        float, KeyInfo("GPUs that are reserved for one replica of the voice.", unit="GPUs", low=0, high=8)
    ] = 0.0


@dataclass(frozen=True, slots=True)
class AssistantSection(ConfigSection):
    """Language, instructions and greeting of the assistant."""

    language: Annotated[
        str,
        KeyInfo(
            "Language of the conversation, for speech recognition, instructions and voice; auto or a list: each "
            "utterance is recognized and answered in its own.",
            pattern=rf"{_CODE}( {_CODE})*|{AUTO}",
            form='a language code such as en or de, a list such as ["en", "de"], or auto',
            listed=True,
        ),
    ] = "en"
    region: Annotated[
        str,
        KeyInfo(
            "Country or region whose phone numbers users dictate; empty: the main one of the language, as US for en.",
            pattern=r"([A-Z]{2})?",
            form="two capital letters such as US or DE, or empty",
        ),
    ] = ""
    instructions: Annotated[str, KeyInfo("System prompt of the language model.")] = _INSTRUCTIONS
    greeting: Annotated[str, KeyInfo("Spoken when a conversation begins; empty: no greeting.")] = ""
    languages: tuple[str, ...] = ()
    """The languages of a conversation that changes between several, without regions; empty: it has one.

    It follows from the value of `language`, which then is the first of them.
    """

    def __post_init__(self) -> None:
        """See `ConfigSection`. Divides a list of languages."""
        check_section(self)
        given = AUTO_LANGUAGES if self.language == AUTO else tuple(self.language.split())
        bases = tuple(dict.fromkeys(code.partition("-")[0] for code in given))
        if len(given) > 1:
            object.__setattr__(self, "language", given[0])
            object.__setattr__(self, "languages", bases if len(bases) > 1 else ())
        elif bases != self.languages[:1]:  # another language was chosen instead of several
            object.__setattr__(self, "languages", ())

    @property
    def language_of_models(self) -> str:
        """A language whose models know all languages of the conversation: only English has models of its own."""
        return next((language for language in self.languages if language != "en"), self.language)

    @property
    def written_language(self) -> str:
        """The value of `language` as it is written: a code, codes with blanks, or auto."""
        if self.languages == AUTO_LANGUAGES:
            return AUTO
        return " ".join((self.language, *self.languages[1:]))


@dataclass(frozen=True, slots=True)
class SttSection(ConfigSection):
    """Speech to text."""

    engine: Annotated[
        str,
        KeyInfo(
            "Speech recognizer; without its model, auto answers typed text only, and any other is an error; ray: on a "
            "cluster ([cluster]).",
            choices=recognizer_choices,
            retired={"pocketsphinx": 'was removed: set "auto" and run repartee models pull tiny.en'},
        ),
    ] = "auto"
    model: Annotated[
        str,
        KeyInfo(
            "The recognizer's model: a name from `repartee models`, or a path; auto: the largest installed one that "
            "keeps p95 of response latency within 500 ms on this machine.",
            pattern=r".*\S.*",
            form="auto, a name or a path",
        ),
    ] = "auto"
    threads: Annotated[
        int,
        KeyInfo(
            "CPU threads for recognizers and voices that use several; 0: chosen by the number of cores.",
            unit="threads",
            low=0,
            high=64,
        ),
    ] = 0
    hot_words: Annotated[str, KeyInfo("Names and terms that the recognizer should expect; empty: none.")] = ""
    timeout_s: Annotated[
        float,
        KeyInfo(
            "Longest wait for the final transcript of a recognizer that does not tell whether it works. The built-in "
            "recognizer is waited for as long as it works.",
            unit="s",
            low=0.1,
            high=60,
        ),
    ] = 3.0


@dataclass(frozen=True, slots=True)
class SkillsSection(ConfigSection):
    """Built-in answers that need no language model: time, date, arithmetic, units."""

    enabled: Annotated[bool, KeyInfo("Whether the built-in skills answer.")] = True
    before_llm: Annotated[bool, KeyInfo("Whether a matching skill answers without asking the language model.")] = True
    store_timers: Annotated[
        bool,
        KeyInfo(
            "Whether timers, alarms, reminders, lists and notes are stored in files, so that they survive the program; "
            "talk and the clients of serve then share them. false: they belong to one conversation."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class TtsSection(ConfigSection):
    """Text to speech."""

    engine: Annotated[
        str,
        KeyInfo(
            "Speech synthesizer; auto: the best installed one that speaks the language; ray: the same on a cluster "
            "([cluster]).",
            choices=engine_choices,
        ),
    ] = AUTO
    voice: Annotated[
        str, KeyInfo("The engine's name of the voice; empty: the default voice of the conversation's language.")
    ] = ""
    speed: Annotated[float, KeyInfo("Speed of the voice; 1 is its normal speed.", low=0.5, high=2)] = 1.0
    timeout_s: Annotated[
        float,
        KeyInfo(
            "Longest wait for the first audio of a sentence of a voice that does not tell whether it works. The "
            "built-in voices are waited for as long as they work.",
            unit="s",
            low=0.1,
            high=60,
        ),
    ] = 3.0
    lexicon: Annotated[
        Lexicon, KeyInfo("Pronunciation of single words: another spelling, or phonemes between slashes.")
    ] = NO_LEXICON


@dataclass(frozen=True, slots=True)
class TraceSection(ConfigSection):
    """Traces: what is recorded of each turn, and for how long."""

    dir: Annotated[
        Path,
        KeyInfo(
            "Folder for the traces; a relative path starts at the working directory.",
            pattern=r".+",
            form="a folder's path",
        ),
    ] = Path("traces")
    words: Annotated[
        bool, KeyInfo("Whether traces contain the words of the conversation, which are personal data.")
    ] = False
    max_mb: Annotated[
        int,
        KeyInfo(
            "Largest total size of the traces; the oldest are deleted beyond it; 0: no limit.",
            unit="MB",
            low=1,
            high=1000000,
            zero=True,
        ),
    ] = 0
    max_days: Annotated[
        int, KeyInfo("Age at which traces are deleted; 0: never.", unit="days", low=1, high=36500, zero=True)
    ] = 0
    otlp_url: Annotated[
        str,
        KeyInfo(
            "OpenTelemetry collector that receives every turn as spans, by OTLP over HTTP, as in "
            "http://127.0.0.1:4318; empty: none. Headers are read from OTEL_EXPORTER_OTLP_HEADERS.",
            pattern=r"(https?://[^\s/?#@]+(/[^\s?#]*)?)?",
            form="an http:// or https:// address without a user name or password, or empty",
            private=True,
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by section.

    Attributes:
        engines: The sections of engines, such as [tts.piper].
    """

    assistant: AssistantSection = AssistantSection()
    turn: TurnSection = field(default_factory=TurnSection)
    voice: VoiceSection = field(default_factory=VoiceSection)
    vad: VadSection = field(default_factory=VadSection)
    stt: SttSection = SttSection()
    llm: LlmSection = field(default_factory=LlmSection)
    skills: SkillsSection = SkillsSection()
    cache: CacheSection = field(default_factory=CacheSection)
    memory: MemorySection = field(default_factory=MemorySection)
    home: HomeSection = field(default_factory=HomeSection)
    weather: WeatherSection = field(default_factory=WeatherSection)
    tools: ToolsSection = field(default_factory=ToolsSection)
    documents: DocumentsSection = field(default_factory=DocumentsSection)
    tts: TtsSection = TtsSection()
    trace: TraceSection = TraceSection()
    audio: AudioSection = field(default_factory=AudioSection)
    talk: TalkSection = field(default_factory=TalkSection)
    satellite: SatelliteSection = field(default_factory=SatelliteSection)
    server: ServerSection = field(default_factory=ServerSection)
    cluster: ClusterSection = field(default_factory=ClusterSection)
    engines: EngineSections = field(default_factory=default_sections)

    def section(self, name: str) -> Any:
        """Returns a section by its name, as in "tts" or "tts.piper"."""
        stage, dot, engine = name.partition(".")
        return self.engines.of(stage, engine) if dot else getattr(self, stage)

    def value(self, dotted: str) -> object:
        """Returns the value of a key by its dotted name."""
        if dotted == "assistant.language":
            return self.assistant.written_language
        section, _, name = dotted.rpartition(".")
        value: object = getattr(self.section(section), name)
        return value

    def changed(self, section: str, values: Mapping[str, Any]) -> "Settings":
        """Returns the settings with other values in a section. Raises ValueError for one that is not allowed."""
        if "." in section:
            return replace(self, engines=self.engines.changed(section, dict(values)))
        changed: dict[str, Any] = {section: replace(getattr(self, section), **values)}
        return replace(self, **changed)


DEFAULTS = Settings()

SECTIONS: tuple[str, ...] = tuple(
    name
    for section in fields(Settings)
    if section.name != "engines"
    for name in (
        section.name,
        *(own for own, _values in DEFAULTS.engines.content if own.startswith(f"{section.name}.")),
    )
)
"""Names of the sections, in the order of config.toml: those of engines follow that of their stage."""

KEYS: Mapping[str, Key] = MappingProxyType(
    {f"{section}.{key.name}": key for section in SECTIONS for key in keys_of(type(DEFAULTS.section(section)))}
)
"""Every key with a single value, by its dotted name, in the order of config.toml."""

FORMER_KEYS: Mapping[str, str] = MappingProxyType(
    {key.about.formerly: dotted for dotted, key in reversed(tuple(KEYS.items())) if key.about.formerly}
)
"""The present name of keys that had another one in earlier versions. Several engines may inherit such a key: the first
one has it, which is one of the program."""
