"""Splits the response latency of a turn into stages. No I/O.

The work of a turn is a graph of spans; each names the spans it waited for. The latency is split without gap or overlap
by walking back from the first audible sample to the end of speech. At each step the predecessor is the span that ended
last of those waited for. The interval since then counts for the stage of the current span. Work that was hidden
behind a longer wait costs nothing. Silence before the first counted work is `endpoint_wait`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, get_args

Stage = Literal[
    "endpoint_wait",
    "stt",
    "queue",
    "llm_network",
    "llm_first_token",
    "first_sentence",
    "tts",
    "transport",
    "playout",
]
"""The stages, in the order in which a turn passes them.

endpoint_wait: deciding that the turn is over. stt: transcript of the last audio. queue: a free engine or connection, or
a tool. llm_network: connect, TLS, request, round trip. llm_first_token: the LLM's own time. first_sentence: tokens
until the first text chunk. tts: until its first audible sample. transport: socket, for remote clients. playout:
jitter buffer and device.
"""

RESUME_WAIT = "look"
"""Name of an `endpoint_wait` span: the first audio is ready and held, because the user may be resuming."""

HOME_WAIT = "home"
"""Name of a `queue` span: the first audio is ready and waits for the home to confirm what it says."""

STAGES: tuple[Stage, ...] = get_args(Stage)
"""All stages, in the same order."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of work or waiting.

    Attributes:
        name: Unique within the attempt.
        stage: The stage that its time counts for.
        start_s: Loop time at which it began.
        end_s: Loop time at which it finished.
        after: Names of the spans that had to finish first.
    """

    name: str
    stage: Stage
    start_s: float
    end_s: float
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageShare:
    """The share of a stage in the response latency.

    Attributes:
        ms: Its part; all parts sum to the response latency.
        slack_ms: How much the latency would fall if the stage took no time. Beyond that another span is the bottleneck.
    """

    ms: float
    slack_ms: float


def account(speech_end_s: float, spans: Mapping[str, Span], last: str) -> dict[Stage, StageShare]:
    """Splits the time from `speech_end_s` to the end of span `last` into stages.

    Args:
        speech_end_s: Loop time of the last speech sample.
        spans: The spans of the attempt that was heard, by name. Unknown names in `after` are ignored.
        last: Name of the span that ends with the first audible sample.

    Returns:
        A share for every stage, in the order of STAGES. Each `ms` is >= 0. They sum to
        max(0, spans[last].end_s - speech_end_s), exactly except for float rounding.

    Raises:
        KeyError: `last` is not among the spans.
        ValueError: The spans wait for each other in a circle.
    """
    measured_s = _finish(speech_end_s, spans, last, free=None)  # first, because it detects circles
    held = dict.fromkeys(STAGES, 0.0)
    for stage, seconds in _walk_back(speech_end_s, spans, last):
        held[stage] += seconds
    return {
        stage: StageShare(held[stage] * 1000, (measured_s - _finish(speech_end_s, spans, last, free=stage)) * 1000)
        for stage in STAGES
    }


def _walk_back(speech_end_s: float, spans: Mapping[str, Span], last: str) -> Iterable[tuple[Stage, float]]:
    span = spans[last]
    until_s = span.end_s
    while until_s > speech_end_s:
        before = max((spans[name] for name in span.after if name in spans), key=attrgetter("end_s"), default=None)
        if before is None:
            # It waited for no span: its own time counts, and the silence before it is `endpoint_wait`.
            began_s = min(max(span.start_s, speech_end_s), until_s)
            yield span.stage, until_s - began_s
            yield "endpoint_wait", began_s - speech_end_s
            return
        since_s = min(max(before.end_s, speech_end_s), until_s)
        yield span.stage, until_s - since_s
        span, until_s = before, since_s


def _finish(speech_end_s: float, spans: Mapping[str, Span], last: str, free: Stage | None) -> float:
    """Returns when `last` would have finished if every span of stage `free` had taken no time."""
    done: dict[str, float] = {}
    open_names: set[str] = set()

    def finish(name: str) -> float:
        if name in done:
            return done[name]
        if name in open_names:
            raise ValueError(f"span {name!r} waits for itself")
        open_names.add(name)
        span = spans[name]
        before = [other for other in span.after if other in spans]
        ready_s = max((finish(other) for other in before), default=speech_end_s)
        if before:
            began_s = max(speech_end_s, *(spans[other].end_s for other in before))
        else:
            began_s = max(span.start_s, speech_end_s)
            ready_s += 0.0 if free == "endpoint_wait" else began_s - speech_end_s
        done[name] = ready_s + (0.0 if span.stage == free else max(0.0, span.end_s - began_s))
        return done[name]

    return finish(last)
