"""Sections of config.toml for the detection of speech and for turn taking; see `assistant/config/settings.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal

from assistant.config.keys import ConfigSection
from assistant.registry.listening import default_detector, detector_choices
from audio.execution_provider import Provider
from declarations.settings import KeyInfo

ProfileName = Literal["auto", "eager", "balanced", "patient"]
SmartTurnPlace = Literal["auto", "ray"]
VoiceFocusName = Literal["off", "first", "enrolled"]

PROFILE_HANGOVER_MS: Mapping[ProfileName, int] = MappingProxyType(
    {"auto": 400, "eager": 250, "balanced": 400, "patient": 700}
)
"""Silence in ms that ends the turn, by profile, where `turn.hangover_ms` is 0."""

_PROFILES_TEXT = ", ".join(f"{name} {ms}" for name, ms in PROFILE_HANGOVER_MS.items())


@dataclass(frozen=True, slots=True)
class TurnSection(ConfigSection):
    """When a turn ends and when speech interrupts a reply."""

    profile: Annotated[
        ProfileName,
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
            "Certain speech during a reply that interrupts it; a recognized word interrupts sooner. With a fast "
            "recognizer, only words interrupt. Below 300, speech no louder than the background interrupts only with a "
            "recognized word, or after 1000 ms.",
            unit="ms",
            low=40,
            high=2000,
        ),
    ] = 40
    stuck_after_s: Annotated[
        float,
        KeyInfo(
            "Time without progress after which the assistant listens again; at least 2 s more than any timeout below.",
            unit="s",
            low=2,
            high=120,
        ),
    ] = 10.0

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

    remember_pauses: Annotated[
        bool,
        KeyInfo("Keep how often the user pauses, for the next conversation, while conversations of the user are kept."),
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

    engine: Annotated[str, KeyInfo("Voice activity detector (`repartee engines`).", choices=detector_choices)] = field(
        default_factory=lambda: default_detector().name
    )


@dataclass(frozen=True, slots=True)
class VoiceSection(ConfigSection):
    """The voices that the assistant listens to."""

    focus: Annotated[
        VoiceFocusName,
        KeyInfo(
            "The voices to listen to; first: after the first turn, the voice of that turn; enrolled: only "
            "those of `repartee voices`. Other voices neither start turns nor interrupt, except with the wake phrase. "
            "It is no authentication, and needs `repartee models pull speaker-embedder`."
        ),
    ] = "off"
