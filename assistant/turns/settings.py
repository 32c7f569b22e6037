"""Defines the settings of turn taking."""

from dataclasses import dataclass
from enum import StrEnum

from assistant.end_of_turn.estimator import EndOfTurnProfile


class EndsTurn(StrEnum):
    """Who ends the user's turn. The values are part of the trace format.

    - AUTO: the program, after a silence. A client may end the turn sooner.
    - PUSH_TO_TALK: the release of the push-to-talk key. Attempts are made before, in pauses.
    - CLIENT: the client. There are no attempts before, and a reply is only given on request.
    """

    AUTO = "auto"
    PUSH_TO_TALK = "push_to_talk"
    CLIENT = "client"


class InterruptedBy(StrEnum):
    """What interrupts a reply where turns end by silence. The values are part of the trace format.

    With push-to-talk the key interrupts, and where the client ends turns, only the client.

    - VOICE: any speech that is not a backchannel.
    - WAKE_PHRASE: speech that is addressed to the assistant. Its transcript is requested like that of a turn.
    - CLIENT: the client. Speech during a reply becomes a turn after it.
    - NOTHING: nothing. Speech during a reply is ignored, unless it is still going on when the reply ends.
    """

    VOICE = "voice"
    WAKE_PHRASE = "wake_phrase"
    CLIENT = "client"
    NOTHING = "nothing"


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
        ends_turn: Who ends the user's turn.
        interrupted_by: What interrupts a reply. The wake phrase, once it is recognized, interrupts in every mode.
        answers: Turns are answered automatically. Otherwise they are only recorded, and the client requests replies.
            A client chooses it for itself, whoever ends the turns.
        has_client: A client takes part, which may end turns, too. If it cuts speech in two, speech after the cut is
            another turn. It is independent of `ends_turn`: without a client, speech that continues after a cut is
            ignored up to the next pause.
    """

    hangover_ms: float = 400.0
    speculate_after_ms: float | None = None
    settle_ms: float = 60.0
    interrupt_after_ms: float = 300.0
    max_turn_s: float = 60.0
    stuck_after_s: float = 10.0
    pre_roll_ms: float = 300.0
    patience: EndOfTurnProfile | None = None
    ends_turn: EndsTurn = EndsTurn.AUTO
    interrupted_by: InterruptedBy = InterruptedBy.VOICE
    answers: bool = True
    has_client: bool = False

    @property
    def ends_by_silence(self) -> bool:
        """Whether silence ends turns."""
        return self.ends_turn is EndsTurn.AUTO

    @property
    def voice_interrupts(self) -> bool:
        """Whether any speech may interrupt a reply."""
        return self.interrupted_by is InterruptedBy.VOICE and self.ends_turn is EndsTurn.AUTO

    @property
    def answers_at_end(self) -> bool:
        """Whether a turn is answered when it ends, without a request."""
        return self.answers and self.ends_turn is not EndsTurn.CLIENT
