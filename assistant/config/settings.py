"""All settings: one frozen dataclass per section of config.toml, checked on construction.

The annotation of each field holds its description and allowed values. The comments in config.toml, the table in
docs/configuration.md and the error texts come from here (tests/config_texts.py writes the first two).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from assistant.config.cluster_settings import ClusterSection
from assistant.config.document_settings import DocumentsSection
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.home_settings import HomeSection, WeatherSection
from assistant.config.keys import ConfigSection, Key, KeyInfo, keys_of
from assistant.config.server_settings import ServerSection
from assistant.config.talk_settings import AudioSection, TalkSection
from assistant.config.toml_table import NO_LEXICON, Lexicon
from assistant.config.tool_settings import ToolsSection
from audio.execution_provider import Provider

Profile = Literal["auto", "eager", "balanced", "patient"]
VadEngine = Literal["silero", "cascade", "webrtc"]
SttEngine = Literal["auto", "faster-whisper", "ray"]
WhisperDevice = Literal["auto", "cpu", "cuda"]
ComputeType = Literal[
    "auto", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
]
EncoderWindow = Literal["adaptive", "full", "dynamic"]
TtsEngine = Literal["auto", "piper", "espeak-ng", "ray"]
SmartTurnPlace = Literal["auto", "ray"]
CacheStoreKind = Literal["sqlite", "memory", "redis"]
RoutingPolicy = Literal["latency", "geo", "ordered", "weighted"]

PROFILE_HANGOVER_MS: Mapping[Profile, int] = MappingProxyType(
    {"auto": 400, "eager": 250, "balanced": 400, "patient": 700}
)
"""Silence in ms that ends the turn, by profile, where `turn.hangover_ms` is 0."""

_PROFILES_TEXT = ", ".join(f"{name} {ms}" for name, ms in PROFILE_HANGOVER_MS.items())
_INSTRUCTIONS = (
    "You are Repartee, a voice assistant. Everything you write is spoken aloud. Answer in one to three short "
    "sentences of plain words, the most useful first: no lists, markdown, links or emoji. Write numbers, dates and "
    "units as one says them. If you do not know or cannot do something, say so, and never that it is done. Answer in "
    "the language you are spoken to in."
)


@dataclass(frozen=True, slots=True)
class AssistantSection(ConfigSection):
    """Language, instructions and greeting of the assistant."""

    language: Annotated[
        str,
        KeyInfo(
            "Language of the conversation, for speech recognition, instructions and voice.",
            pattern=r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*",
            form="a language code such as en or de",
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


@dataclass(frozen=True, slots=True)
class TurnSection(ConfigSection):
    """When a turn ends and when speech interrupts a reply."""

    profile: Annotated[
        Profile,
        KeyInfo(
            f"How long users may pause; without an end-of-turn estimate, silence ends the turn (ms): {_PROFILES_TEXT}."
        ),
    ] = "auto"
    hangover_ms: Annotated[
        int,
        KeyInfo(
            "Silence that always ends the turn; 0: the end of turn is estimated from sound and words, by the profile.",
            unit="ms",
            low=100,
            high=3000,
            zero=True,
        ),
    ] = 0
    speculate_after_ms: Annotated[
        int,
        KeyInfo(
            "Silence after which a speculative reply is prepared, before the turn is over; 0: never.",
            unit="ms",
            low=40,
            high=1000,
            zero=True,
        ),
    ] = 40
    interrupt_after_ms: Annotated[
        int,
        KeyInfo(
            "Certain speech during a reply that interrupts it; a recognized word interrupts sooner. With Whisper, only "
            "words interrupt. Below 300, speech no louder than the background interrupts only with a recognized word, "
            "or after 1000 ms.",
            unit="ms",
            low=40,
            high=2000,
        ),
    ] = 40
    max_turn_s: Annotated[
        float,
        KeyInfo(
            "Longest turn; it ends then even if speech goes on, for example from a radio.", unit="s", low=5, high=600
        ),
    ] = 60.0
    stuck_after_s: Annotated[
        float,
        KeyInfo(
            "Time without progress after which the assistant listens again; at least 2 s more than any timeout below.",
            unit="s",
            low=2,
            high=120,
        ),
    ] = 10.0
    pre_roll_ms: Annotated[
        int,
        KeyInfo(
            "Audio kept from before the detected start of speech, so that the first word is complete.",
            unit="ms",
            low=0,
            high=1000,
        ),
    ] = 300

    provider: Annotated[
        Provider,
        KeyInfo("Where the end-of-turn network computes; auto: CUDA if onnxruntime is built with it, else the CPU."),
    ] = "auto"
    listening_sounds: Annotated[
        bool,
        KeyInfo(
            'A soft "mhm" in a pause of 0.7 s that sounds unfinished. It needs a profile that waits for 1 s or more '
            "(auto, patient), and a microphone that stays open (not audio.echo = half-duplex)."
        ),
    ] = False

    smart_turn: Annotated[
        SmartTurnPlace,
        KeyInfo(
            "Where Smart Turn judges the sound of an ending; auto: on this machine, if it is downloaded; ray: on a "
            "cluster ([cluster])."
        ),
    ] = "auto"

    @property
    def hangover_in_use_ms(self) -> int:
        """`hangover_ms`, or the profile's value if that is 0."""
        return self.hangover_ms or PROFILE_HANGOVER_MS[self.profile]


@dataclass(frozen=True, slots=True)
class VadSection(ConfigSection):
    """Voice activity detection."""

    engine: Annotated[
        VadEngine, KeyInfo("Voice activity detector; cascade runs silero only while webrtc detects sound.")
    ] = "silero"


@dataclass(frozen=True, slots=True)
class SttSection(ConfigSection):
    """Speech to text."""

    engine: Annotated[
        SttEngine,
        KeyInfo(
            "Speech recognizer; without its model, auto answers typed text only, and faster-whisper is an error; ray: "
            "faster-whisper on a cluster ([cluster]).",
            retired={"pocketsphinx": 'was removed: set "auto" and run repartee models pull tiny.en'},
        ),
    ] = "auto"
    model: Annotated[
        str,
        KeyInfo(
            "Model of faster-whisper: a name from `repartee models`, or a folder; auto: the largest installed model "
            "that keeps p95 of response latency within 500 ms on this machine.",
            pattern=r".*\S.*",
            form="auto, a name or a folder",
        ),
    ] = "auto"
    device: Annotated[WhisperDevice, KeyInfo("Device for faster-whisper; auto: CUDA if available, else the CPU.")] = (
        "auto"
    )
    compute_type: Annotated[
        ComputeType,
        KeyInfo("Number format of faster-whisper, if the device supports it; auto: int8 on a CPU, float16 on CUDA."),
    ] = "auto"
    threads: Annotated[
        int,
        KeyInfo(
            "CPU threads for faster-whisper and for Piper; 0: chosen by the number of cores.",
            unit="threads",
            low=0,
            high=64,
        ),
    ] = 0
    encoder_window: Annotated[
        EncoderWindow,
        KeyInfo(
            "Audio length that faster-whisper encodes; adaptive: the speech plus 2 s, at least 10 s; full: always 30 "
            "s; dynamic: the speech plus 2 s, for models trained for it."
        ),
    ] = "adaptive"
    hot_words: Annotated[str, KeyInfo("Names and terms that faster-whisper should expect; empty: none.")] = ""
    initial_prompt: Annotated[
        str, KeyInfo("Text that faster-whisper treats as preceding speech, to guide its spelling; empty: none.")
    ] = ""
    timeout_s: Annotated[
        float, KeyInfo("Longest wait for the final transcript once the turn is over.", unit="s", low=0.1, high=60)
    ] = 3.0


@dataclass(frozen=True, slots=True)
class LlmSection(ConfigSection):
    """The language model."""

    first_token_timeout_s: Annotated[
        float, KeyInfo("Longest wait for the first token of an answer.", unit="s", low=0.1, high=120)
    ] = 8.0
    token_gap_timeout_s: Annotated[
        float, KeyInfo("Longest wait for each further token.", unit="s", low=0.1, high=120)
    ] = 5.0
    connect_timeout_s: Annotated[float, KeyInfo("Longest wait for a connection.", unit="s", low=0.1, high=60)] = 3.0
    max_tokens: Annotated[int, KeyInfo("Longest answer of the model.", unit="tokens", low=1, high=32768)] = 400
    temperature: Annotated[float, KeyInfo("Sampling temperature; 0: always the most likely token.", low=0, high=2)] = (
        0.7
    )
    max_history_turns: Annotated[
        int,
        KeyInfo(
            "Maximum number of turns sent as history; when there are more, the older half is dropped.",
            unit="turns",
            low=1,
            high=1000,
        ),
    ] = 20
    max_history_tokens: Annotated[
        int,
        KeyInfo(
            "Maximum number of tokens of history, estimated as four bytes each; when there are more, half are kept.",
            unit="tokens",
            low=100,
            high=1000000,
        ),
    ] = 2000
    summary: Annotated[
        bool,
        KeyInfo(
            "Whether old turns are summarized in the background, by an endpoint of size small if there is one, before "
            "the history is full; otherwise they are dropped."
        ),
    ] = False
    local_model: Annotated[
        str,
        KeyInfo(
            "Language model that this program runs where no endpoint is configured: the name or file of one; auto: the "
            "best that is downloaded; off: none.",
            pattern=r".*\S.*",
            form="auto, off, the name of a model or the path of a GGUF file",
        ),
    ] = "auto"
    policy: Annotated[
        RoutingPolicy,
        KeyInfo(
            "Which of several endpoints is asked; latency: the lowest recent time to the first token; geo: the same, "
            "and the nearest until times are known; ordered: the first; weighted: at random, by weight."
        ),
    ] = "latency"
    hedge_share: Annotated[
        float,
        KeyInfo(
            "Share of requests, and of tokens, that may also go to a second endpoint when the first takes longer than "
            "usual; 0: never.",
            low=0,
            high=0.5,
        ),
    ] = 0.1
    escalate: Annotated[
        bool,
        KeyInfo("Whether an endpoint of size large is asked when one of size small declines to answer."),
    ] = True
    escalate_below: Annotated[
        float,
        KeyInfo(
            "Mean probability of a small model's first tokens below which a large one is asked, where the service "
            "reports it; the first sentence is held until then; 0: it does not count.",
            low=0,
            high=1,
        ),
    ] = 0.0
    bridge: Annotated[
        bool,
        KeyInfo(
            "Whether a small model says the first sentence of a large model's answer, so that it is heard sooner. Only "
            "where the reply has no tools."
        ),
    ] = False
    latitude: Annotated[
        float,
        KeyInfo(
            "Latitude of this machine, for policy geo; 0 with longitude 0: not known.",
            unit="degrees",
            low=-90,
            high=90,
        ),
    ] = 0.0
    longitude: Annotated[
        float, KeyInfo("Longitude of this machine, east positive.", unit="degrees", low=-180, high=180)
    ] = 0.0
    endpoints: tuple[EndpointSection, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        names = [endpoint.name for endpoint in self.endpoints]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'endpoints: two are named "{name}"; each needs a name of its own')

    @property
    def placed(self) -> bool:
        """Whether this machine's location is set."""
        return bool(self.latitude or self.longitude)


@dataclass(frozen=True, slots=True)
class SkillsSection(ConfigSection):
    """Built-in answers that need no language model: time, date, arithmetic, units."""

    enabled: Annotated[bool, KeyInfo("Whether the built-in skills answer.")] = True
    before_llm: Annotated[bool, KeyInfo("Whether a matching skill answers without asking the language model.")] = True
    store_timers: Annotated[
        bool,
        KeyInfo(
            "Whether timers, alarms and reminders are stored in a file, so that they survive the program; talk and the "
            "clients of serve then share them. false: they belong to one conversation."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class CacheSection(ConfigSection):
    """Answer cache: requests that were answered before are answered without the language model (docs/cache.md)."""

    enabled: Annotated[
        bool,
        KeyInfo(
            "Whether requests and answers are stored, which are personal data, to answer the same requests again. "
            "trace.words and talk.remember do not matter here."
        ),
    ] = False
    store: Annotated[
        CacheStoreKind,
        KeyInfo(
            "Where answers are stored; sqlite: a file; memory: nowhere but in the program, until it ends; redis: a "
            "server for several processes."
        ),
    ] = "sqlite"
    file: Annotated[str, KeyInfo("File of the store sqlite; empty: answers.sqlite3 beside the kept conversations.")] = (
        ""
    )
    redis_url: Annotated[
        str,
        KeyInfo(
            "Address of the store redis.",
            pattern=r"(rediss?|unix)://\S+",
            form="an address as in redis://127.0.0.1:6379/0",
            private=True,
        ),
    ] = "redis://127.0.0.1:6379/0"
    threshold: Annotated[
        float,
        KeyInfo(
            "Cosine similarity from which requests may be the same; 0: as calibrated for the embedding model; 1: only "
            "the same words.",
            low=0.5,
            high=1,
            zero=True,
        ),
    ] = 0.0
    max_entries: Annotated[
        int,
        KeyInfo(
            "Maximum number of stored answers; the least recently used is removed first.",
            unit="answers",
            low=10,
            high=100000,
        ),
    ] = 5000
    max_days: Annotated[
        float, KeyInfo("Age at which a stored answer is removed.", unit="days", low=0.01, high=3650)
    ] = 30.0


@dataclass(frozen=True, slots=True)
class TtsSection(ConfigSection):
    """Text to speech."""

    engine: Annotated[
        TtsEngine,
        KeyInfo(
            "Speech synthesizer; auto: piper if its voice is downloaded, else espeak-ng; ray: the same on a cluster "
            "([cluster])."
        ),
    ] = "auto"
    voice: Annotated[
        str, KeyInfo("The engine's name of the voice; empty: the default voice of the conversation's language.")
    ] = ""
    provider: Annotated[
        Provider,
        KeyInfo("Where piper computes; auto: CUDA if onnxruntime is built with it, else the CPU."),
    ] = "auto"
    fp16: Annotated[bool, KeyInfo("Whether piper computes in float16; only with tts.provider = tensorrt.")] = False
    speaker: Annotated[int, KeyInfo("Number of the speaker, for piper voices with several.", low=0, high=10000)] = 0
    speed: Annotated[float, KeyInfo("Speed of the voice; 1 is its normal speed.", low=0.5, high=2)] = 1.0
    volume_dbfs: Annotated[float, KeyInfo("Loudness of the synthesized speech.", unit="dBFS", low=-60, high=0)] = -20.0
    timeout_s: Annotated[
        float, KeyInfo("Longest wait for the first audio of a sentence.", unit="s", low=0.1, high=60)
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
class SpeakerSection(ConfigSection):
    """Playback of replies."""

    duck_db: Annotated[
        float, KeyInfo("Ducking: change of a reply's volume during an undecided overlap.", unit="dB", low=-60, high=0)
    ] = -18.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by section."""

    assistant: AssistantSection = AssistantSection()
    turn: TurnSection = TurnSection()
    vad: VadSection = VadSection()
    stt: SttSection = SttSection()
    llm: LlmSection = LlmSection()
    skills: SkillsSection = SkillsSection()
    cache: CacheSection = CacheSection()
    home: HomeSection = field(default_factory=HomeSection)
    weather: WeatherSection = field(default_factory=WeatherSection)
    tools: ToolsSection = field(default_factory=ToolsSection)
    documents: DocumentsSection = field(default_factory=DocumentsSection)
    tts: TtsSection = TtsSection()
    trace: TraceSection = TraceSection()
    speaker: SpeakerSection = SpeakerSection()
    audio: AudioSection = field(default_factory=AudioSection)
    talk: TalkSection = field(default_factory=TalkSection)
    server: ServerSection = field(default_factory=ServerSection)
    cluster: ClusterSection = field(default_factory=ClusterSection)


DEFAULTS = Settings()

SECTIONS: tuple[str, ...] = tuple(field.name for field in fields(Settings))
"""Names of the sections, in the order of config.toml."""

KEYS: Mapping[str, Key] = MappingProxyType(
    {f"{section}.{key.name}": key for section in SECTIONS for key in keys_of(type(getattr(DEFAULTS, section)))}
)
"""Every key with a single value, by its dotted name, in the order of config.toml."""
