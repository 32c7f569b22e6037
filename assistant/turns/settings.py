"""Defines the settings of turn taking."""

from dataclasses import dataclass

from assistant.end_of_turn.estimator import EndOfTurnProfile


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Holds the thresholds and modes of turn taking. The field names are part of the trace format.

    Attributes:
        hangover_ms: Silence that ends a turn if there is no EOT estimate.
        patience: Maps the EOT probability to the silence timeout; None: always `hangover_ms`.
        speculate_after_ms: Silence that starts an attempt; None: the attempt starts at the end of turn.
        settle_ms: Silence after which a transcript is final. One that was requested sooner is requested again then. The
            attempt restarts if the words have changed.
        interrupt_after_ms: Speech during a reply that interrupts it. Each frame is weighted by its speech probability.
            For less speech the transcript is requested; without words the reply continues at full volume. Below 300 ms,
            speech no louder than the background interrupts only with words, or when it is long.
        max_turn_s: Maximum length of a turn, for continuous noise or a forgotten key. If the turn had words, speech
            that continues is the next turn; otherwise it is ignored up to the next pause.
        stuck_after_s: Time without progress after which a turn or a reply is given up.
        pre_roll_ms: How much before the detected onset a segment begins, so that the first word is complete.
        manual: The client ends turns, not silence. Speech does not interrupt replies.
        held: Push-to-talk: like `manual`, but a turn is answered when it ends, and attempts are made before.
        answers: Turns are answered automatically. Otherwise they are only recorded, and the client requests replies.
        interruptible: Speech interrupts a reply.
        by_client: The client controls turns in addition. It may cut speech in two: speech after the cut is another
            turn. It may interrupt a reply that speech may not: such speech is a turn after the reply.
        by_name: Speech that may not interrupt a reply does so if it is addressed to the assistant. Its transcript is
            requested like that of a turn.
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
