"""Renders advice as text for people, or as JSON. Pure."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from assistant.replay.advice import Advice
from assistant.replay.findings import MIN_GAIN_MS, MIN_TURNS, AdviceItem
from assistant.trace.waterfall import shown
from assistant.trace_report.statistics import LEVEL, IntervalEstimate, Proportion
from assistant.trace_report.text import number_of, spelled_share

LEADS = {
    "measured": "replayed",
    "at most": "at most, had it taken no time",
    "cannot tell": "cannot tell yet",
}
"""Phrases for the certainty of a gain."""


def advice_lines(advice: Advice) -> Iterator[str]:
    """Yields the lines of the advice; the stage that costs most comes first."""
    yield f"{number_of(advice.turns, 'turn')} with a response latency, {advice.replayed:,} of them replayed"
    if advice.busy is not None:
        busy = advice.busy
        free = "" if busy.free_latency_ms is None else f", the others {busy.free_latency_ms:.0f} ms"
        yield (
            f"this machine was busy in {number_of(busy.turns, 'turn')}: other programs used {100 * busy.others:.0f} % "
            f"of its processors; these turns took {busy.latency_ms:.0f} ms in the median{free}"
        )
        yield "before you change a setting, end those programs or give them a lower priority, and measure again"
    for kind, served in advice.engines.items():
        counted = [f"{name} ({number_of(turns, 'turn')})" for name, turns in served.items()]
        last = f"; advice for {advice.recognizer}, used last" if kind == "recognizers" and advice.recognizer else ""
        yield f"{kind}: {', '.join(counted)}{last}"
    if not advice.on_device:
        yield "no sound device played these replies: nothing is said about playout"
    if not advice.enough:
        yield f"too few turns to say what to do: at least {MIN_TURNS} are needed; below is what these show"
    tail = advice.tail
    if tail is None:
        yield "cannot tell which stage makes slow turns slow: at least 20 turns are needed"
    else:
        slowest = "turn" if tail.turns == 1 else f"{tail.turns:,}"
        yield (
            f"slow turns are slow by {shown(tail.stage)}: in the slowest {slowest}, from {tail.from_ms:.0f} ms, it "
            f"exceeds its own median by {tail.excess_ms:.0f} ms on average"
        )
    if not advice.findings:
        yield f"no setting would gain {MIN_GAIN_MS:g} ms or more"
    for finding in advice.findings:
        yield ""
        yield from _finding(finding)
    yield ""
    yield f"gains with {LEVEL:.0%} intervals; ?: too few turns for that percentile"


def _finding(finding: AdviceItem) -> Iterator[str]:
    yield f"{shown(finding.stage)}  {', '.join(finding.keys) or 'no setting'}"
    yield f"  {finding.says}"
    if finding.gain:
        gains = ", ".join(f"p{percent} {_spelled(gain)}" for percent, gain in finding.gain.items())
        yield f"  gain, {LEADS[finding.certainty]}: {gains}, of {number_of(finding.turns, 'turn')}"
    if finding.cut_ins is not None:
        was, now = finding.cut_ins
        yield f"  cut-ins: was {_share(was)}, would be {_share(now)}"
    if finding.price:
        yield f"  price: {finding.price}"


def advice_json(advice: Advice) -> str:
    """Returns the complete advice as JSON."""
    return json.dumps(asdict(advice), indent=2, ensure_ascii=False) + "\n"


def _spelled(gain: IntervalEstimate) -> str:
    return f"{gain.value:.0f} ms ({gain.low:.0f} to {gain.high:.0f}{'' if gain.enough else '?'})"


def _share(share: Proportion | None) -> str:
    return "none" if share is None else spelled_share(share)
