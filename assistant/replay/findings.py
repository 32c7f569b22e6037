"""Data types of the advice: the turns it is based on, and the gains they show. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from assistant.config.settings import KEYS as SETTINGS
from assistant.replay.turns import Replayed
from assistant.trace.latency import STAGES, Stage
from assistant.trace_report.figures import Figures
from assistant.trace_report.reading import Record
from assistant.trace_report.statistics import IntervalEstimate, Proportion, min_turns

MIN_GAIN_MS = 20.0
"""Smallest relevant gain in milliseconds: one frame."""

MIN_TURNS = 20
"""Minimum number of turns before the advice says what to do. With fewer, it only states what the turns show.

The slowest 5 % of 20 turns are one turn (assistant/trace_report/figures.py).
"""

CUT_INTO: Mapping[str, int] = MappingProxyType(
    {
        "turn.profile=eager": 86,
        "turn.profile=balanced": 64,
        "turn.profile=auto": 64,
        "turn.profile=patient": 39,
        "turn.hangover_ms=200": 100,
        "turn.hangover_ms=300": 100,
        "turn.hangover_ms=400": 86,
    }
)
"""The price of a setting: how many of 100 turns with a pause it cuts into, on recordings not used for fitting.

From docs/lab/turn-taking.md, in which each turn is its speaker's first: there, auto decides as balanced does.
"""

DEVICE_COUNTER = "speaker_latency_ms"
"""Counter in a record that shows playback on a local sound device (docs/lab/talk.md)."""

_OF_RECOGNIZERS = tuple(key for key in SETTINGS if key.startswith("stt.") and key.count(".") == 2)
"""Keys in the sections of recognizers."""

KEYS: dict[Stage, tuple[str, ...]] = {
    "endpoint_wait": ("turn.profile", "turn.hangover_ms", "turn.speculate_after_ms"),
    "stt": ("stt.engine", "stt.model", "stt.threads", *_OF_RECOGNIZERS),
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
"""Keys of config.toml that affect a stage."""

Certainty = Literal["measured", "at most", "cannot tell"]
"""Certainty of a gain: replayed; an upper bound; or too few or too varied turns."""


class TurnGain(NamedTuple):
    """A turn's latency and, in the order of STAGES, by how much it would fall if a stage took no time. In milliseconds.

    `recognizer`, `voice`: engines that served it. `on_device`: a sound device played its reply, here or at a client.
    `busy_others`: see `TurnRecord`.
    """

    latency_ms: float
    slack_ms: tuple[float, ...]
    recognizer: str = ""
    voice: str = ""
    on_device: bool = False
    busy_others: float | None = None


@dataclass(frozen=True, slots=True)
class AdviceInputs:
    """Inputs of the advice.

    Attributes:
        turns: Turns with a latency.
        replays: Every replayable turn, once for each entry of TRIED.
        beheaded: Conversations whose beginning is missing. None of their turns can be replayed.
        recognizer: The recognizer that was used last, if others served other turns. Only its turns are replayed.
    """

    figures: Figures
    turns: tuple[TurnGain, ...]
    replays: tuple[tuple[Replayed, ...], ...]
    beheaded: int = 0
    recognizer: str = ""


@dataclass(frozen=True, slots=True)
class AdviceItem:
    """One piece of advice.

    Attributes:
        keys: Keys of config.toml, plain or with the value that was tried.
        gain: Latency saved in milliseconds, by percent, with its interval.
        says: What to do, in one sentence.
        cut_ins: Cut-ins as recorded and as replayed, if replayed.
        in_vain: Unused answers as recorded and as replayed, if replayed.
        price: What a setting costs that answers sooner, measured on recordings; "" for no such setting.
    """

    stage: Stage
    keys: tuple[str, ...]
    certainty: Certainty
    turns: int
    gain: dict[int, IntervalEstimate]
    says: str
    cut_ins: tuple[Proportion | None, Proportion | None] | None = None
    in_vain: tuple[int, int] | None = None
    price: str = ""


def turn_gain_of(record: Record) -> TurnGain:
    """Extracts what the advice needs from a record with a latency. Raises KeyError, TypeError, ValueError."""
    stages = record["stages"]
    slack = tuple([float(stages[stage]["slack_ms"]) if stage in stages else 0.0 for stage in STAGES])
    engines = record["engines"]
    on_device = DEVICE_COUNTER in record.get("counters", ()) or any(
        span["name"] == "transport" for span in record["spans"]
    )
    return TurnGain(
        float(record["response_latency_ms"]),
        slack,
        engines.get("stt", ""),
        engines.get("tts", ""),
        on_device,
        record.get("busy_others"),
    )


def is_proven(gain: Mapping[int, IntervalEstimate], turns: int) -> bool:
    """Returns whether there are enough turns, and little enough variation, to prove a gain."""
    return turns >= MIN_TURNS and any(each.enough and each.low >= MIN_GAIN_MS for each in gain.values())


def reason_unproven(gain: Mapping[int, IntervalEstimate], turns: int) -> str:
    """Returns why a gain is not proven: too few or too varied turns. Returns "" if there is no gain."""
    if turns < MIN_TURNS:
        return f"Cannot tell yet: {more(MIN_TURNS - turns)}."
    lacking = [percent for percent, each in gain.items() if each.value >= MIN_GAIN_MS and not each.enough]
    if any(each.enough and each.value >= MIN_GAIN_MS for each in gain.values()):
        return "Cannot tell yet: the turns vary too much; more turns may help."
    return f"Cannot tell yet: {more(min_turns(lacking[0]) - turns)} for p{lacking[0]}." if lacking else ""


def price_of(tried: str) -> str:
    """Returns what a setting costs users who pause, beside the default and the most patient profile. "": no cut-ins."""
    if tried not in CUT_INTO:
        return ""
    others = [name for name in ("turn.profile=auto", "turn.profile=patient") if name != tried]
    shares = ", ".join(f"{CUT_INTO[name]} % with {name.partition('=')[2]}" for name in others)
    return f"of turns with a pause, on recordings, it cuts into {CUT_INTO[tried]} %; {shares}"


def more(turns: int) -> str:
    return "1 more turn is needed" if turns == 1 else f"{turns:,} more turns are needed"


def largest_gain(gain: Mapping[int, IntervalEstimate]) -> float:
    """Returns the largest gain for which there are enough turns; the median's if there are too few for any."""
    return max((each.value for each in gain.values() if each.enough), default=gain[50].value)


def less(change: IntervalEstimate) -> IntervalEstimate:
    return IntervalEstimate(0.0 - change.value, 0.0 - change.high, 0.0 - change.low, change.enough)
