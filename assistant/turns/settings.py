"""How long turn taking waits, and for what."""

from dataclasses import dataclass

from assistant.end_of_turn.estimator import EndOfTurnProfile


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How long to wait.

    Attributes:
        hangover_ms: Silence after the last word that ends a turn, where nobody judges.
        patience: From how finished a turn sounds to the silence that ends it; None: always `hangover_ms`.
        speculate_after_ms: Silence that starts an attempt; None: the attempt starts at the endpoint.
        settle_ms: Silence after which a recognizer's words are as good as they get: those asked for sooner are asked
            for again then, and the attempt begins anew if they have changed.
        interrupt_after_ms: Voice during a reply that takes the floor, a frame counting as much as it is surely voice;
            less is asked for its words, and without any lets the reply swell up again. Below 300 ms a voice that is no
            louder than the room takes it with words, or when it is long.
        max_turn_s: A turn is ended here even if the voice goes on (a fan, a radio) or the key was forgotten. If it had
            words, what goes on is the next one; else it is nothing, up to the next pause.
        stuck_after_s: Without progress for so long the floor is given back.
        pre_roll_ms: A segment begins this much before the detected onset, so that no first word is clipped.
        manual: Turns end when the client says so, not by silence; replies are not interrupted by voice.
        held: A key is held while one speaks: as `manual`, but a turn is answered at its end, and prepared for before.
        answers: Turns are answered; else their words are taken down, and the client asks for an answer or does not.
        interruptible: Voice during a reply can take the floor.
        by_client: A client does what turn taking does not: it may cut speech in two, and what goes on behind the cut is
            another turn; and it may interrupt a reply where voice may not: what is said into one is a turn behind it.
        by_name: Voice that may not interrupt a reply does if it is addressed: its words are asked for, as a turn's are.
    """

    hangover_ms: float = 400.0
    speculate_after_ms: float | None = None
    settle_ms: float = 60.0
    interrupt_after_ms: float = 300.0
    max_turn_s: float = 60.0
    stuck_after_s: float = 10.0
    pre_roll_ms: float = 300.0
    patience: EndOfTurnProfile | None = None
    manual: bool = False
    held: bool = False
    answers: bool = True
    interruptible: bool = True
    by_client: bool = False
    by_name: bool = False
