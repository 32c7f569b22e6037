"""The settings of a session, as its client may change them.

What a client says about them is read in `session_fields.py`; what it is told about them is `session_object.py`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from llm.chat import Function

Modality = Literal["audio", "text"]
Limit = int | Literal["inf"]
Eagerness = Literal["low", "medium", "high", "auto"]
Profile = Literal["patient", "balanced", "eager"]

_PROFILES: dict[Eagerness, Profile] = {"low": "patient", "medium": "balanced", "high": "eager"}
_EAGERNESS: dict[Profile, Eagerness] = {"patient": "low", "balanced": "auto", "eager": "high"}


class AudioFormat(Enum):
    """What sound is on the wire: linear 16 bit at 24 kHz, or G.711 at 8 kHz."""

    PCM = "audio/pcm"
    ULAW = "audio/pcmu"
    ALAW = "audio/pcma"

    @property
    def rate_hz(self) -> int:
        """Samples in a second."""
        return 24_000 if self is AudioFormat.PCM else 8_000

    @property
    def sample_bytes(self) -> int:
        """Bytes in a sample."""
        return 2 if self is AudioFormat.PCM else 1


@dataclass(frozen=True, slots=True)
class ServerVad:
    """A turn is over after a fixed silence, or after one that depends on how finished it sounds.

    Attributes:
        threshold: Has no effect here: the detector is calibrated.
        silence_duration_ms: The hangover; None where the client left it to the server (setting turn.profile).
        prefix_padding_ms: The pre-roll.
        create_response: Turns are answered at once.
        interrupt_response: Speech interrupts a reply.
    """

    threshold: float = 0.5
    silence_duration_ms: int | None = None
    prefix_padding_ms: int = 300
    create_response: bool = True
    interrupt_response: bool = True


@dataclass(frozen=True, slots=True)
class SemanticVad:
    """A turn is over after a silence that depends on how finished it sounds.

    Attributes:
        create_response: Turns are answered at once.
        interrupt_response: Speech interrupts a reply.
    """

    eagerness: Eagerness = "auto"
    create_response: bool = True
    interrupt_response: bool = True

    def profile(self, servers: Profile) -> Profile:
        """The turn-taking profile that it asks for; "auto" is the server's own (setting turn.profile)."""
        return _PROFILES.get(self.eagerness, servers)

    @classmethod
    def of_profile(cls, profile: Profile) -> "SemanticVad":
        """The default of a server with this setting of turn.profile."""
        return cls(eagerness=_EAGERNESS[profile])


TurnDetection = ServerVad | SemanticVad
"""How a turn's end is found; where there is none, the client commits its turns itself."""


@dataclass(frozen=True, slots=True)
class Extensions:
    """What a client has declared that the protocol does not know: about the repartee.* events, and about its sound.

    Attributes:
        events: It wants them; whoever never spoke of repartee does not know them (some clients take them for errors).
        duck: It can lower the volume: repartee.duck and repartee.unduck are sent.
        playout: It reports what it has played, and is trusted about it.
        told: It keeps the records of turns to decide them again, and gets them whole.
        interrupt_after_ms: No less voice may interrupt a reply (setting turn.interrupt_after_ms where that is more):
            what is left of an echo is taken for a voice for a moment. None: it asks for nothing.
    """

    events: bool = False
    duck: bool = False
    playout: bool = False
    told: bool = False
    interrupt_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Everything a client may change about its session.

    Attributes:
        turn_detection: None: the client commits its turns itself.
        transcription: The client wants to know what was heard.
        voice: The voice in use.
        speed: 1 is the voice's own pace.
        tool_choice: "auto", "none", "required", or the name of the function that must be called.
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

    @property
    def answers(self) -> bool:
        """Turns are answered without being asked to."""
        return self.turn_detection is not None and self.turn_detection.create_response
