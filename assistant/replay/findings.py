"""What pieces of advice are made of: the turns that tell, and the gains that they show. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from assistant.replay.figures import COMPARED
from assistant.replay.turns import Replayed
from assistant.trace.latency import STAGES, Stage
from assistant.trace_report.figures import Figures
from assistant.trace_report.reading import Record
from assistant.trace_report.statistics import IntervalEstimate, Proportion, least_turns

LEAST_GAIN_MS = 20.0
"""Less than a frame is not worth a setting."""

DEVICE_COUNTER = "speaker_latency_ms"
"""What a record counts where a sound card of this machine plays (docs/talk.md)."""

KEYS: dict[Stage, tuple[str, ...]] = {
    "endpoint_wait": ("turn.profile", "turn.hangover_ms", "turn.speculate_after_ms"),
    "stt": ("stt.engine", "stt.model", "stt.device", "stt.threads", "stt.encoder_window"),
    "queue": ("server.max_sessions", "llm.endpoints"),
    "llm_network": ("llm.endpoints", "llm.policy"),
    "llm_first_token": (
        "llm.endpoints", "llm.policy", "llm.hedge_share", "llm.max_history_turns", "llm.max_history_tokens",
        "skills.before_llm",
    ),
    "first_sentence": ("assistant.instructions", "llm.endpoints"),
    "tts": ("tts.engine", "tts.voice"),
    "transport": (),
    "playout": (),
}  # fmt: skip
"""What of config.toml moves a stage."""

Certainty = Literal["measured", "at most", "cannot tell"]
"""Decided again; the most there is to gain; or too few turns, or too unlike each other, to say."""


class TurnGain(NamedTuple):
    """Of a turn with a latency: it, and by how much it would fall if a stage took no time, in order of STAGES; ms.

    `recognizer`, `voice`: what served it. `on_device`: a sound device played its reply, here or at a client.
    """

    latency_ms: float
    slack_ms: tuple[float, ...]
    recognizer: str = ""
    voice: str = ""
    on_device: bool = False


@dataclass(frozen=True, slots=True)
class AdviceInputs:
    """What advice is given from.

    Attributes:
        turns: With a latency.
        replays: Every turn that can be replayed, once for each of TRIED.
        beheaded: Conversations whose beginning is missing, so that none of their turns can be.
    """

    figures: Figures
    turns: tuple[TurnGain, ...]
    replays: tuple[tuple[Replayed, ...], ...]
    beheaded: int = 0


@dataclass(frozen=True, slots=True)
class AdviceItem:
    """One piece of advice.

    Attributes:
        keys: Of config.toml, as they are or with the value that was tried.
        gain: By percent: how much sooner answers would be heard, ms; its interval.
        says: What to do, in a sentence.
        cut_ins: Where it was decided again: as recorded, and then.
        in_vain: The same of answers begun for nothing.
    """

    stage: Stage
    keys: tuple[str, ...]
    certainty: Certainty
    turns: int
    gain: dict[int, IntervalEstimate]
    says: str
    cut_ins: tuple[Proportion | None, Proportion | None] | None = None
    in_vain: tuple[int, int] | None = None


def weighed(record: Record) -> TurnGain:
    """What advice needs of a record with a latency. Raises KeyError, TypeError, ValueError."""
    stages = record["stages"]
    slack = tuple([float(stages[stage]["slack_ms"]) if stage in stages else 0.0 for stage in STAGES])
    engines = record["engines"]
    on_device = DEVICE_COUNTER in record.get("counters", ()) or any(
        span["name"] == "transport" for span in record["spans"]
    )
    return TurnGain(
        float(record["response_latency_ms"]), slack, engines.get("stt", ""), engines.get("tts", ""), on_device
    )


def is_proven(gain: Mapping[int, IntervalEstimate]) -> bool:
    """Whether the turns are enough, and unlike each other by so little, that there is a gain."""
    return any(each.enough and each.low >= LEAST_GAIN_MS for each in gain.values())


def why_not(gain: Mapping[int, IntervalEstimate], turns: int) -> str:
    """Why a gain is not proven: turns are missing, or they are too unlike each other; "" where there is no gain."""
    if turns < (least := least_turns(COMPARED[0])):
        return f"Cannot tell yet: {more(least - turns)}."
    lacking = [percent for percent, each in gain.items() if each.value >= LEAST_GAIN_MS and not each.enough]
    if any(each.enough and each.value >= LEAST_GAIN_MS for each in gain.values()):
        return "Cannot tell yet: the turns are too unlike each other; more of them may tell."
    return f"Cannot tell yet: {more(least_turns(lacking[0]) - turns)} for p{lacking[0]}." if lacking else ""


def more(turns: int) -> str:
    return "1 more turn is needed" if turns == 1 else f"{turns:,} more turns are needed"


def most(gain: Mapping[int, IntervalEstimate]) -> float:
    """The largest gain that the turns are enough for; of fewer than a median takes, the median's."""
    return max((each.value for each in gain.values() if each.enough), default=gain[50].value)


def less(change: IntervalEstimate) -> IntervalEstimate:
    return IntervalEstimate(0.0 - change.value, 0.0 - change.high, 0.0 - change.low, change.enough)
