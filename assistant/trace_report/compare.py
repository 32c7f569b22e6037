"""Compares two sets of turns stage by stage: better, worse, or cannot tell. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rich.table import Table

from assistant.trace.waterfall import shown
from assistant.trace_report.sheet import plain_table
from assistant.trace_report.statistics import LEVEL, IntervalEstimate, Values, difference, min_turns, percentile

COMPARED = (50, 95)

MIN_MS = 1.0
"""Smallest relevant difference in milliseconds. Smaller ones do not count, even if statistically certain."""

GATED = "response_latency"
"""The only stage that --gate checks. Of ten stages, one or two look worse by chance."""

Verdict = Literal["better", "worse", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares one percentile of one stage in both sets. Values are in milliseconds.

    Attributes:
        change: After minus before.
    """

    stage: str
    percent: int
    before_ms: float
    after_ms: float
    change: IntervalEstimate

    @property
    def verdict(self) -> Verdict:
        """Whether the stage has become better or worse.

        It "cannot tell" with too few turns, a change below MIN_MS, or a confidence interval that contains zero.
        """
        if not self.change.enough or abs(self.change.value) < MIN_MS:
            return "cannot tell"
        if self.change.high < 0:
            return "better"
        return "worse" if self.change.low > 0 else "cannot tell"


def compare(before: Mapping[str, Values], after: Mapping[str, Values]) -> list[Comparison]:
    """Compares every stage that took time in either set, at the percentiles COMPARED. Expects sorted values."""
    return [
        Comparison(
            stage=stage,
            percent=percent,
            before_ms=round(percentile(before[stage], percent), 3),
            after_ms=round(percentile(after[stage], percent), 3),
            change=difference(before[stage], after[stage], percent),
        )
        for stage in before
        if before[stage].size and after[stage].size and max(before[stage][-1], after[stage][-1]) > 0
        for percent in COMPARED
    ]


def is_worse(comparisons: list[Comparison]) -> bool:
    """Returns whether a gate fails: the median or the p95 of the response latency is worse."""
    return any(comparison.stage == GATED and comparison.verdict == "worse" for comparison in comparisons)


def comparison_table(comparisons: list[Comparison], before: str, after: str) -> Table:
    """Returns the comparison as a table for the screen."""
    table = plain_table("ms", "", "", before, after, "change", "")
    for comparison in comparisons:
        change = f"{comparison.change.value:+.0f} ({comparison.change.low:+.0f} to {comparison.change.high:+.0f})"
        numbers = (f"{comparison.before_ms:.0f}", f"{comparison.after_ms:.0f}", change)
        name = (
            shown(comparison.stage).replace("response_latency", "response latency")
            if comparison.percent == COMPARED[0]
            else ""
        )
        style = {"better": "green", "worse": "red", "cannot tell": None}[comparison.verdict]
        table.add_row(name, f"p{comparison.percent}", *numbers, comparison.verdict, style=style)
    return table


def notes(comparisons: list[Comparison]) -> list[str]:
    """Returns lines that explain the table."""
    lines = [f"change: B minus A in ms, with {LEVEL:.0%} intervals; less than {MIN_MS:g} ms is no difference"]
    few = sorted({comparison.percent for comparison in comparisons if not comparison.change.enough})
    lines += [f"p{percent} needs {min_turns(percent)} turns or more in each set" for percent in few]
    return lines
