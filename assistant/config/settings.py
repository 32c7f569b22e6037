"""What can be set: one frozen dataclass per section of config.toml, checked when made.

Each field's annotation says what it means and what it may be. The comments in config.toml, the table in
docs/configuration.md and the texts of errors come from here (tests/config_texts.py writes the first two).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.keys import ConfigSection, Key, KeyInfo, keys_of
from assistant.config.talk_settings import AudioSection, TalkSection
from assistant.config.tool_settings import ToolsSection

Profile = Literal["eager", "balanced", "patient"]
VadEngine = Literal["silero", "cascade", "webrtc"]
SttEngine = Literal["auto", "faster-whisper", "pocketsphinx"]
WhisperDevice = Literal["auto", "cpu", "cuda"]
ComputeType = Literal[
    "auto", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
]
EncoderWindow = Literal["adaptive", "full", "dynamic"]
TtsEngine = Literal["auto", "piper", "espeak-ng"]
RoutingPolicy = Literal["latency", "geo", "ordered", "weighted"]

PROFILE_HANGOVER_MS: Mapping[Profile, int] = MappingProxyType({"eager": 250, "balanced": 400, "patient": 700})
"""The silence that ends a turn, by profile, where `turn.hangover_ms` is 0."""

_PROFILES_TEXT = ", ".join(f"{name} {ms}" for name, ms in PROFILE_HANGOVER_MS.items())
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?"
_ORIGIN = rf"https?://{_HOST}"
_INSTRUCTIONS = (
    "You are Repartee, a voice assistant. Everything you write is spoken aloud. Answer in one to three short "
    "sentences of plain words, the most useful first: no lists, markdown, links or emoji. Write numbers, dates and "
    "units as one says them. If you do not know or cannot do something, say so, and never that it is done. Answer in "
    "the language you are spoken to in."
)


@dataclass(frozen=True, slots=True)
class AssistantSection(ConfigSection):
    """Who answers."""

    language: Annotated[
        str,
        KeyInfo(
            "Language of the conversation, through speech recognition, instructions and voice.",
            pattern=r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*",
            form="a language code such as en or de",
        ),
    ] = "en"
    instructions: Annotated[str, KeyInfo("What the language model is told before every conversation.")] = _INSTRUCTIONS
    greeting: Annotated[str, KeyInfo("Spoken when a conversation begins; empty: nothing.")] = ""


@dataclass(frozen=True, slots=True)
class TurnSection(ConfigSection):
    """When a turn ends, and who has the floor."""

    profile: Annotated[
        Profile,
        KeyInfo(f"How long people may pause; until a silence is judged it ends the turn after (ms) {_PROFILES_TEXT}."),
    ] = "balanced"
    hangover_ms: Annotated[
        int,
        KeyInfo(
            "Silence that ends the turn, however it sounds; 0: judged by sound and words, as the profile says.",
            unit="ms",
            low=100,
            high=3000,
            zero=True,
        ),
    ] = 0
    speculate_after_ms: Annotated[
        int,
        KeyInfo(
            "Silence after which a reply is prepared, unheard, in case the turn is over; 0: never.",
            unit="ms",
            low=40,
            high=1000,
            zero=True,
        ),
    ] = 40
    interrupt_after_ms: Annotated[
        int,
        KeyInfo(
            "Voice during a reply that interrupts it, counted as far as it is surely voice; less does if it is a word. "
            "Below 300 a voice no louder than the room needs one, or 1000.",
            unit="ms",
            low=40,
            high=2000,
        ),
    ] = 40
    max_turn_s: Annotated[
        float, KeyInfo("A turn ends here even if the voice goes on, as from a radio.", unit="s", low=5, high=600)
    ] = 60.0
    stuck_after_s: Annotated[
        float,
        KeyInfo(
            "Without progress for so long, the assistant listens again; never sooner than 2 s after any timeout below.",
            unit="s",
            low=2,
            high=120,
        ),
    ] = 10.0
    pre_roll_ms: Annotated[
        int,
        KeyInfo(
            "Sound kept from before the detected start, so that no first word is clipped.", unit="ms", low=0, high=1000
        ),
    ] = 300

    @property
    def hangover_in_use_ms(self) -> int:
        """`hangover_ms`, or the profile's where that is 0."""
        return self.hangover_ms or PROFILE_HANGOVER_MS[self.profile]


@dataclass(frozen=True, slots=True)
class VadSection(ConfigSection):
    """Voice activity detection."""

    engine: Annotated[VadEngine, KeyInfo("Which detector; cascade is silero, asleep while webrtc hears nothing.")] = (
        "silero"
    )


@dataclass(frozen=True, slots=True)
class SttSection(ConfigSection):
    """Speech to text."""

    engine: Annotated[
        SttEngine, KeyInfo("Which recognizer; auto: faster-whisper where its model is at hand, else pocketsphinx.")
    ] = "auto"
    model: Annotated[
        str,
        KeyInfo(
            "faster-whisper's model: a name as `repartee models` lists them, or a folder.",
            pattern=r".*\S.*",
            form="a name or a folder",
        ),
    ] = "tiny.en"
    device: Annotated[WhisperDevice, KeyInfo("Where faster-whisper computes; auto: on CUDA where there is one.")] = (
        "auto"
    )
    compute_type: Annotated[
        ComputeType, KeyInfo("How it computes, as far as the device can; auto: int8 on a CPU, float16 on CUDA.")
    ] = "auto"
    threads: Annotated[
        int,
        KeyInfo(
            "Threads it and Piper compute with, on a CPU; 0: by the number of cores.", unit="threads", low=0, high=64
        ),
    ] = 0
    encoder_window: Annotated[
        EncoderWindow,
        KeyInfo(
            "How much it encodes; adaptive: the sound and 2 s, at least 10 s; full: always 30 s; dynamic: the sound "
            "and 2 s, for models that were tuned for it."
        ),
    ] = "adaptive"
    hot_words: Annotated[str, KeyInfo("Names and terms that it should expect; empty: none.")] = ""
    initial_prompt: Annotated[str, KeyInfo("Text as if said before, for its spelling; empty: none.")] = ""
    timeout_s: Annotated[
        float, KeyInfo("Longest wait for the words once the turn is over.", unit="s", low=0.1, high=60)
    ] = 3.0


@dataclass(frozen=True, slots=True)
class LlmSection(ConfigSection):
    """The language model."""

    first_token_timeout_s: Annotated[
        float, KeyInfo("Longest wait for the first word of an answer.", unit="s", low=0.1, high=120)
    ] = 8.0
    token_gap_timeout_s: Annotated[
        float, KeyInfo("Longest wait for each further word.", unit="s", low=0.1, high=120)
    ] = 5.0
    connect_timeout_s: Annotated[float, KeyInfo("Longest wait for a connection.", unit="s", low=0.1, high=60)] = 3.0
    max_tokens: Annotated[int, KeyInfo("Longest answer.", unit="tokens", low=1, high=32768)] = 400
    temperature: Annotated[
        float, KeyInfo("How free the choice of words is; 0: always the likeliest.", low=0, high=2)
    ] = 0.7
    max_history_turns: Annotated[
        int,
        KeyInfo(
            "Most turns that the model is reminded of; when there are more, the older half goes at once.",
            unit="turns",
            low=1,
            high=1000,
        ),
    ] = 20
    max_history_tokens: Annotated[
        int,
        KeyInfo(
            "Most tokens of them, a token being taken for four bytes; when there are more, half stay.",
            unit="tokens",
            low=100,
            high=1000000,
        ),
    ] = 2000
    policy: Annotated[
        RoutingPolicy,
        KeyInfo(
            "Which of several endpoints is asked: the one with the least recent time to the first token; as that, "
            "nearest first until it is known; in their order; by lot."
        ),
    ] = "latency"
    hedge_share: Annotated[
        float,
        KeyInfo(
            "Share of questions, and of tokens, that may be asked of a second endpoint when the first is silent for "
            "longer than usual; 0: never.",
            low=0,
            high=0.5,
        ),
    ] = 0.1
    latitude: Annotated[
        float,
        KeyInfo(
            "Where this machine stands, for policy geo; 0 with longitude 0: not known.",
            unit="degrees",
            low=-90,
            high=90,
        ),
    ] = 0.0
    longitude: Annotated[float, KeyInfo("As latitude, eastward.", unit="degrees", low=-180, high=180)] = 0.0
    endpoints: tuple[EndpointSection, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError: the key, and what is allowed."""
        ConfigSection.__post_init__(self)
        names = [endpoint.name for endpoint in self.endpoints]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'endpoints: two are named "{name}"; each needs a name of its own')

    @property
    def placed(self) -> bool:
        """Whether it is known where this machine stands."""
        return bool(self.latitude or self.longitude)


@dataclass(frozen=True, slots=True)
class SkillsSection(ConfigSection):
    """Built-in answers that need no model: time, date, arithmetic, units."""

    enabled: Annotated[bool, KeyInfo("Whether the built-in skills answer at all.")] = True
    before_llm: Annotated[bool, KeyInfo("Whether a skill that fits answers before a language model is asked.")] = True


@dataclass(frozen=True, slots=True)
class TtsSection(ConfigSection):
    """Text to speech."""

    engine: Annotated[
        TtsEngine, KeyInfo("Which voice engine; auto: piper where its voice is at hand, else espeak-ng.")
    ] = "auto"
    voice: Annotated[str, KeyInfo("Voice, as the engine names it; empty: one of the conversation's language.")] = ""
    speaker: Annotated[int, KeyInfo("Which of piper's speakers, where a voice has several.", low=0, high=10000)] = 0
    speed: Annotated[float, KeyInfo("How fast it speaks; 1 is the voice's own pace.", low=0.5, high=2)] = 1.0
    volume_dbfs: Annotated[float, KeyInfo("Loudness of speech.", unit="dBFS", low=-60, high=0)] = -20.0
    timeout_s: Annotated[
        float, KeyInfo("Longest wait for the first sound of a sentence.", unit="s", low=0.1, high=60)
    ] = 3.0


@dataclass(frozen=True, slots=True)
class TraceSection(ConfigSection):
    """The account of every millisecond."""

    dir: Annotated[
        Path,
        KeyInfo(
            "Folder for the traces; a relative one lies in the working directory.",
            pattern=r".+",
            form="a folder's path",
        ),
    ] = Path("traces")
    words: Annotated[bool, KeyInfo("Whether traces hold the words that were said; they are personal.")] = False
    max_mb: Annotated[
        int,
        KeyInfo(
            "The oldest traces go when all of them are larger; 0: no limit.", unit="MB", low=1, high=1000000, zero=True
        ),
    ] = 0
    max_days: Annotated[
        int, KeyInfo("Traces older than that go; 0: none does.", unit="days", low=1, high=36500, zero=True)
    ] = 0
    otlp_url: Annotated[
        str,
        KeyInfo(
            "OpenTelemetry collector that gets every turn as spans, by OTLP over HTTP, as in http://127.0.0.1:4318; "
            "empty: none. Its headers come from OTEL_EXPORTER_OTLP_HEADERS.",
            pattern=r"(https?://[^\s/?#@]+(/[^\s?#]*)?)?",
            form="an http:// or https:// address without a user name or password, or empty",
            private=True,
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class SpeakerSection(ConfigSection):
    """The reply's way to the ear."""

    duck_db: Annotated[
        float, KeyInfo("How far a reply is turned down while somebody speaks into it.", unit="dB", low=-60, high=0)
    ] = -18.0


@dataclass(frozen=True, slots=True)
class ServerSection(ConfigSection):
    """The server of `repartee serve`: where it listens, and how much it lets in."""

    host: Annotated[
        str,
        KeyInfo(
            "Where it listens; beyond this machine (0.0.0.0) it needs a token in the environment, REPARTEE_TOKEN.",
            pattern=r"[A-Za-z0-9.:_-]+",
            form="a host name or an IP address, without a port",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, KeyInfo("Its port; 0: any free one.", low=1, high=65535, zero=True)] = 8765
    allowed_hosts: Annotated[
        str,
        KeyInfo(
            "Further names by which it may be reached, as behind a proxy.",
            pattern=rf"({_HOST})?(\s+{_HOST})*\s*",
            form="names with or without a port, separated by blanks, as in voice.example voice.local:8765",
        ),
    ] = ""
    allowed_origins: Annotated[
        str,
        KeyInfo(
            "Further web sites whose pages may connect; its own page always may.",
            pattern=rf"({_ORIGIN})?(\s+{_ORIGIN})*\s*",
            form="origins separated by blanks, as in https://app.example",
        ),
    ] = ""
    max_sessions: Annotated[int, KeyInfo("Most conversations at a time.", unit="sessions", low=1, high=1000)] = 8
    max_session_s: Annotated[float, KeyInfo("Longest conversation of one connection.", unit="s", low=1, high=86400)] = (
        3600.0
    )
    idle_timeout_s: Annotated[
        float,
        KeyInfo(
            "A connection from which nothing comes for so long is closed; 0: never.",
            unit="s",
            low=1,
            high=86400,
            zero=True,
        ),
    ] = 0.0
    max_message_bytes: Annotated[
        int,
        KeyInfo(
            "Longest message of a client; of other events than audio 1 MB.", unit="bytes", low=65536, high=67108864
        ),
    ] = 16777216
    ahead_ms: Annotated[
        int, KeyInfo("How far a reply is sent ahead of its playing.", unit="ms", low=200, high=10000)
    ] = 1000
    resume_s: Annotated[
        float,
        KeyInfo("How long a conversation is kept for a client whose connection broke.", unit="s", low=0, high=3600),
    ] = 60.0
    drain_s: Annotated[
        float,
        KeyInfo("After SIGTERM: how long turns under way may take to finish; 0: none.", unit="s", low=0, high=600),
    ] = 10.0

    @property
    def hosts(self) -> tuple[str, ...]:
        """`allowed_hosts`, one by one."""
        return tuple(self.allowed_hosts.split())

    @property
    def origins(self) -> tuple[str, ...]:
        """`allowed_origins`, one by one."""
        return tuple(self.allowed_origins.split())


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    assistant: AssistantSection = AssistantSection()
    turn: TurnSection = TurnSection()
    vad: VadSection = VadSection()
    stt: SttSection = SttSection()
    llm: LlmSection = LlmSection()
    skills: SkillsSection = SkillsSection()
    tools: ToolsSection = field(default_factory=ToolsSection)
    tts: TtsSection = TtsSection()
    trace: TraceSection = TraceSection()
    speaker: SpeakerSection = SpeakerSection()
    audio: AudioSection = field(default_factory=AudioSection)
    talk: TalkSection = field(default_factory=TalkSection)
    server: ServerSection = ServerSection()


DEFAULTS = Settings()

SECTIONS: tuple[str, ...] = tuple(field.name for field in fields(Settings))
"""The sections, in the order of config.toml."""

KEYS: Mapping[str, Key] = MappingProxyType(
    {f"{section}.{key.name}": key for section in SECTIONS for key in keys_of(type(getattr(DEFAULTS, section)))}
)
"""Every key that is one value, by its dotted name, in the order of config.toml."""
