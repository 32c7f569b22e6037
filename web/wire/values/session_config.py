"""The settings of a session that its client may change.

`session_fields.py` parses a client's changes; `session_object.py` builds what the client is sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from assistant.config.mcp_hosts import NO_HOSTS, McpHosts
from assistant.config.turn_settings import ProfileName
from assistant.home.client_home import SentHome
from assistant.setup.conversation.engine_options import EngineOptions
from assistant.tools.client_mcp import ClientServer
from llm.chat import Function

Modality = Literal["audio", "text"]
Limit = int | Literal["inf"]
Eagerness = Literal["low", "medium", "high", "auto"]
SessionKind = Literal["realtime", "transcription"]
NoiseReduction = Literal["near_field", "far_field"]
Delay = Literal["minimal", "low", "medium", "high", "xhigh"]

_PROFILES: dict[Eagerness, ProfileName] = {"low": "patient", "medium": "balanced", "high": "eager"}
_EAGERNESS: dict[ProfileName, Eagerness] = {"auto": "auto", "patient": "low", "balanced": "medium", "eager": "high"}


class AudioFormat(Enum):
    """Audio formats on the wire: linear 16 bit at 24 kHz, or G.711 at 8 kHz."""

    PCM = "audio/pcm"
    ULAW = "audio/pcmu"
    ALAW = "audio/pcma"

    @property
    def rate_hz(self) -> int:
        """Sample rate in Hz."""
        return 24_000 if self is AudioFormat.PCM else 8_000

    @property
    def sample_bytes(self) -> int:
        """Bytes per sample."""
        return 2 if self is AudioFormat.PCM else 1


@dataclass(frozen=True, slots=True)
class ServerVad:
    """Ends a turn after a fixed silence, or after a silence that depends on the EOT probability.

    Attributes:
        threshold: Speech probability from which the VAD reports speech.
        silence_duration_ms: The fixed silence; None: the server decides (setting turn.profile).
        prefix_padding_ms: Audio before the speech onset.
        create_response: Whether turns are answered without a request.
        interrupt_response: Whether speech interrupts a reply.
        idle_timeout_ms: Silence after a heard reply, after which the assistant speaks again; None: it waits.
    """

    threshold: float = 0.5
    silence_duration_ms: int | None = None
    prefix_padding_ms: int = 300
    create_response: bool = True
    interrupt_response: bool = True
    idle_timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SemanticVad:
    """Ends a turn after a silence that depends on the EOT probability.

    Attributes:
        eagerness: How early a turn may end.
        create_response: Whether turns are answered without a request.
        interrupt_response: Whether speech interrupts a reply.
    """

    eagerness: Eagerness = "auto"
    create_response: bool = True
    interrupt_response: bool = True

    def profile_name(self, servers: ProfileName) -> ProfileName:
        """Returns the turn-taking profile of the eagerness; "auto" is the server's (setting turn.profile)."""
        return _PROFILES.get(self.eagerness, servers)

    @classmethod
    def of_profile(cls, profile: ProfileName) -> "SemanticVad":
        """Returns the default of a server with this setting of turn.profile."""
        return cls(eagerness=_EAGERNESS[profile])


TurnDetection = ServerVad | SemanticVad
"""Method that detects the end of a turn. None instead: the client commits its turns itself."""


@dataclass(frozen=True, slots=True)
class Extensions:
    """Extensions of the protocol that a client has declared.

    Attributes:
        events: Whether it wants repartee.* events. Other clients do not get them, because some treat them as errors.
        duck: Whether it can lower the volume: it gets repartee.duck and repartee.unduck.
        playout: Whether it reports what it has played.
        turn_events: Whether it gets turn records with all inputs of turn taking, to replay the decisions.
        interrupt_after_ms: Shortest speech that may interrupt a reply, if more than the setting
            turn.interrupt_after_ms: residual echo can look like speech for a moment. None: the server's setting.
        listening_sounds: Whether it plays listening sounds, which belong to no response.
        reloads: Whether it may resume the conversation after it has left, as a page does that is reloaded.
        markup: Whether it shows Markdown: it gets repartee.markup.
        wake_phrase: Words that address the assistant; other speech is ignored. None: all speech is answered.
        wake_word: Name of a wake word; until its sound is heard, nothing else listens. None: it always listens.
        room: Name of the room in which the client stands; "" for none.
    """

    events: bool = False
    duck: bool = False
    playout: bool = False
    turn_events: bool = False
    interrupt_after_ms: int | None = None
    listening_sounds: bool = False
    reloads: bool = False
    markup: bool = False
    wake_phrase: str | None = None
    wake_word: str | None = None
    room: str = ""


@dataclass(frozen=True, slots=True)
class Keeping:
    """The place of a kept conversation.

    Attributes:
        browser: The secret of the browser that may list, continue and delete it.
        conversation: Id of the kept conversation to continue; "" for a new one, or for the running one.
    """

    browser: str = field(repr=False)
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Truncation:
    """Truncation of a conversation that is longer than the model sees.

    Attributes:
        kind: "auto": the server's limits. "disabled": never; a longer conversation is not answered.
            "retention_ratio": to a share of the limit.
        retention_ratio: The share that is kept.
        post_instructions: Limit in tokens, without instructions and tools; None: the server's.
    """

    kind: Literal["auto", "disabled", "retention_ratio"] = "auto"
    retention_ratio: float = 0.5
    post_instructions: int | None = None


@dataclass(frozen=True, slots=True)
class PromptReference:
    """A prompt of the server's configuration, with values for its variables.

    Attributes:
        id: Its name.
        variables: The values, by name.
        text: The prompt with these values.
    """

    id: str
    variables: tuple[tuple[str, str], ...]
    text: str


@dataclass(frozen=True, slots=True)
class Tracing:
    """Fields that a client adds to the traces of its session.

    Attributes:
        workflow_name: Name of the workflow; "" for none.
        group_id: Groups several sessions; "" for none.
        metadata: Further entries, as JSON text; "" for none.
    """

    workflow_name: str = ""
    group_id: str = ""
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """All settings of a session that a client may change.

    Attributes:
        turn_detection: None: the client commits its turns itself.
        transcription: Whether the client wants transcripts.
        voice: The voice in use.
        speed: Speed of the voice; 1 is its own.
        tool_choice: "auto", "none", "required", or the name of the function that must be called.
        kind: "transcription": the session has transcripts only, no replies.
        transcription_prompt: Text that the recognizer takes as said before.
        keywords: Names and terms that it expects.
        transcription_delay: How long a transcription session waits before it sends words that may still change.
        logprobs: Whether transcripts come with the probabilities of their tokens.
        noise_reduction: The kind of microphone whose noise is removed; None: nothing is removed.
        truncation: How a long conversation is cut.
        prompt: The named prompt that the instructions came from, if any.
        tracing: What the client adds to traces; None: nothing.
        mcp_servers: MCP servers whose tools are offered.
        mcp_hosts: The hosts that these may have; the client cannot change it.
        keeping: Where the conversation is kept; None: nowhere.
        language: Language that the client has chosen; "": the server's.
        chosen_voice: Voice that the client has chosen; "": the server's, or the default one of `language`.
        endpoint: LLM endpoint that the client has chosen; "": the server chooses.
        words: Whether words are recorded in the trace; None: the server's setting.
        beta: Whether the client uses the beta of the protocol (web/wire/values/beta.py).
        home: The client's home, which replaces the server's in this session; None: it has sent none.
    """

    instructions: str = ""
    modality: Modality = "audio"
    input_format: AudioFormat = AudioFormat.PCM
    output_format: AudioFormat = AudioFormat.PCM
    turn_detection: TurnDetection | None = SemanticVad()
    transcription: bool = True
    voice: str = ""
    speed: float = 1.0
    tools: tuple[Function, ...] = ()
    tool_choice: str = "auto"
    max_output_tokens: Limit = "inf"
    extensions: Extensions = Extensions()
    kind: SessionKind = "realtime"
    transcription_prompt: str = ""
    keywords: tuple[str, ...] = ()
    transcription_delay: Delay = "low"
    logprobs: bool = False
    noise_reduction: NoiseReduction | None = None
    truncation: Truncation = Truncation()
    prompt: PromptReference | None = None
    tracing: Tracing | None = None
    mcp_servers: tuple[ClientServer, ...] = ()
    mcp_hosts: McpHosts = NO_HOSTS
    keeping: Keeping | None = None
    language: str = ""
    chosen_voice: str = ""
    endpoint: str = ""
    words: bool | None = None
    beta: bool = False
    home: SentHome | None = None

    @property
    def takes_recordings(self) -> bool:
        """Whether sound may come faster than real time: no reply could be late, and no silence is waited for."""
        return self.turn_detection is None or self.kind == "transcription"

    @property
    def answers(self) -> bool:
        """Whether turns are answered without a request."""
        return self.turn_detection is not None and self.turn_detection.create_response and self.kind == "realtime"


@dataclass(frozen=True, slots=True)
class SessionOffer:
    """Features that this server offers a session, apart from the protocol itself.

    Attributes:
        prompts: The named prompts of the configuration, with {{variables}}.
        max_history_tokens: The most tokens of a conversation that the model sees.
        images: Whether an LLM endpoint takes images.
        noise_reduction: Whether noise can be reduced.
        logprobs: Whether transcripts can have probabilities.
        threshold: Whether the VAD has a threshold.
        wake_window_s: Time after a reply in which speech needs no wake phrase (setting talk.listen_s).
        wake_words: Names of the wake words that are detected by their sound (setting server.wake_words).
        options: The engines that a client may choose.
        voice: Name of the server's own voice.
    """

    prompts: Mapping[str, str] = field(default_factory=dict)
    max_history_tokens: int = 1_000_000
    images: bool = False
    noise_reduction: bool = True
    logprobs: bool = True
    threshold: bool = True
    wake_window_s: float = 8.0
    wake_words: tuple[str, ...] = ()
    options: EngineOptions = field(default_factory=EngineOptions)
    voice: str = ""
