"""The sections of config.toml that are about `repartee talk`; see `assistant/config/settings.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from assistant.config.keys import ConfigSection, KeyInfo

EchoMode = Literal["auto", "cancel", "headphones", "half-duplex"]
TalkMode = Literal["open", "push-to-talk", "wake"]

_DEVICE = "an index, a name or a part of one as `repartee devices` lists them, or empty: the system's default"


@dataclass(frozen=True, slots=True)
class AudioSection(ConfigSection):
    """The sound card of `repartee talk`."""

    input: Annotated[str, KeyInfo("The microphone.", form=_DEVICE)] = ""
    output: Annotated[str, KeyInfo("The loudspeaker.", form=_DEVICE)] = ""
    echo: Annotated[
        EchoMode,
        KeyInfo(
            "How the assistant is kept from hearing itself: its echo is canceled; nothing, where headphones are worn; "
            "it does not hear while it speaks. Auto: cancel with the extra repartee[desktop], else half-duplex."
        ),
    ] = "auto"


@dataclass(frozen=True, slots=True)
class TalkSection(ConfigSection):
    """The conversation of `repartee talk`: who is answered, and what is kept."""

    mode: Annotated[
        TalkMode,
        KeyInfo(
            "Who is answered: everybody; who holds the key, and the microphone is closed otherwise; who begins with "
            "the wake phrase."
        ),
    ] = "open"
    wake_phrase: Annotated[
        str,
        KeyInfo(
            "What wakes the assistant in mode wake, in the conversation's language; two words or more are safer.",
            pattern=r"\s*[^\W_][\w'’-]*(\s+[\w'’-]+){0,4}\s*",
            form="one to five words without punctuation, as in hey computer",
        ),
    ] = "hey computer"
    listen_s: Annotated[
        float,
        KeyInfo(
            "In mode wake, what begins within this time after a reply needs no phrase, nor does what interrupts one; "
            "0: both need it.",
            unit="s",
            low=1,
            high=120,
            zero=True,
        ),
    ] = 8.0
    remember: Annotated[
        bool,
        KeyInfo("Whether conversations are kept in files, to be gone on with; they hold what was said."),
    ] = False
    ready_sound: Annotated[bool, KeyInfo("Whether a short sound tells that the assistant listens.")] = True
