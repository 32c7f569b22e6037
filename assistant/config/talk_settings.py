"""Sections of config.toml for `repartee talk`; see `assistant/config/settings.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from assistant.config.keys import ConfigSection
from declarations.settings import KeyInfo

EchoMode = Literal["auto", "cancel", "headphones", "half-duplex"]
TalkMode = Literal["open", "push-to-talk", "wake"]

_DEVICE = "an index, a name or a part of one as `repartee devices` lists them, or empty: the system's default"


@dataclass(frozen=True, slots=True)
class AudioSection(ConfigSection):
    """The sound card of `repartee talk`."""

    input: Annotated[str, KeyInfo("Microphone.", form=_DEVICE)] = ""
    output: Annotated[str, KeyInfo("Loudspeaker.", form=_DEVICE)] = ""
    echo: Annotated[
        EchoMode,
        KeyInfo(
            "Echo control; cancel: echo cancellation; headphones: none needed; half-duplex: the microphone is off "
            "while the assistant speaks; auto: cancel with the extra repartee[desktop], else half-duplex."
        ),
    ] = "auto"


@dataclass(frozen=True, slots=True)
class TalkSection(ConfigSection):
    """The conversation of `repartee talk`: who is answered, and what is stored."""

    mode: Annotated[
        TalkMode,
        KeyInfo(
            "Which speech is answered; open: all; push-to-talk: while the key is held, the microphone is off "
            "otherwise; wake: what begins with the wake phrase."
        ),
    ] = "open"
    wake_phrase: Annotated[
        str,
        KeyInfo(
            "Wake phrase for mode wake, in the conversation's language; two or more words are more reliable.",
            pattern=r"\s*[^\W_][\w'’-]*(\s+[\w'’-]+){0,4}\s*",
            form="one to five words without punctuation, as in hey computer",
        ),
    ] = "hey computer"
    wake_word: Annotated[
        str,
        KeyInfo(
            "Wake words that are detected by their sound, before everything else: okay_nabu, hey_jarvis, hey_mycroft, "
            "alexa; empty: none. Needs the extra repartee[wake] and mode open.",
            pattern=r"\s*(\w+(\s+\w+)*\s*)?",
            form="names separated by blanks, as in okay_nabu, or empty",
        ),
    ] = ""
    listen_s: Annotated[
        float,
        KeyInfo(
            "Time after a reply in which speech needs no wake phrase in mode wake, or no wake word; interruptions then "
            "need none either; 0: both need it.",
            unit="s",
            low=1,
            high=120,
            zero=True,
        ),
    ] = 8.0
    remember: Annotated[
        bool,
        KeyInfo("Whether conversations are kept so that they can be continued; the file contains what was said."),
    ] = False
    ready_sound: Annotated[bool, KeyInfo("Whether a short sound signals that the assistant listens.")] = True


@dataclass(frozen=True, slots=True)
class SatelliteSection(ConfigSection):
    """A machine with microphone and loudspeaker in a room, for `repartee talk --server` (docs/devices.md)."""

    room: Annotated[
        str,
        KeyInfo(
            "Name of its room: commands without a place mean it.",
            pattern=r"[^\x00-\x1f\x7f]{0,80}",
            form="a name in one line, at most 80 characters, or empty",
        ),
    ] = ""
    state_command: Annotated[
        str,
        KeyInfo(
            "Program that shows its state, as with an LED: it is run with asleep, listening, hearing, thinking, "
            "speaking, muted or disconnected as its last argument; empty: none.",
            pattern=r"[^\x00-\x1f\x7f]*",
            form="one line without control characters",
        ),
    ] = ""
    state_file: Annotated[
        str,
        KeyInfo(
            "File that contains the state; empty: none.",
            pattern=r"[^\x00-\x1f\x7f]*",
            form="one line without control characters",
        ),
    ] = ""
