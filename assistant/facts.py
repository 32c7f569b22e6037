"""What happens in a conversation, told to whoever shows it: a terminal, a page, a client on the wire."""

from dataclasses import dataclass

from assistant.record import TurnRecord


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Somebody began to speak (dated back: `at_ms` on the microphone's line)."""

    at_ms: float


@dataclass(frozen=True, slots=True)
class WordsHeard:
    """Words so far of what is being said."""

    text: str
    rough: bool


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """The turn is over; these are its words (`rough`: as good as a guess) and the assistant has the floor."""

    turn: int
    text: str
    rough: bool


@dataclass(frozen=True, slots=True)
class UnitSpoken:
    """A unit of the reply goes to the speaker."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class ReplyCut:
    """The reply was interrupted; `heard` is what of it was heard and is remembered."""

    turn: int
    heard: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """Everything about the turn is known."""

    record: TurnRecord


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong that the person should know of: one sentence."""

    what: str


Fact = SpeechStarted | WordsHeard | TurnTaken | UnitSpoken | ReplyCut | TurnFinished | Trouble
