"""Prints the figures of turn taking as tables."""

from collections.abc import Iterator, Mapping
from math import isnan

from bench.turns.figures import CUT_SHARE, MEAN_DELAYS_MS, Figures, MainFigure, MainFigures

MISSING = "–"
SHORT_GROUPS = ("plain", "dictation", "telephone sentence")
"""Kinds of speech in the tables of a page."""


def tables(
    name: str,
    total: Figures,
    curves: Mapping[str, MainFigures],
    profiles: Mapping[str, Mapping[str, Figures]],
) -> str:
    """Returns three tables: sources, profiles, and profiles by kind of speech.

    Args:
        name: Heading; "" for none.
        total: Counts of the set.
        curves: Main figures by source.
        profiles: Figures by profile and group, with "all".
    """
    heading = [f"### {name}", ""] if name else []
    return "\n".join(
        [*heading, _counts(total), "", *_sources(curves), "", *_profiles(profiles), "", *_groups(profiles)]
    )


def page_table(total: Figures, profiles: Mapping[str, Mapping[str, Figures]]) -> str:
    """Returns a short table of the profiles for a page. Arguments as in `tables`."""
    return "\n".join([_counts(total), "", *_short(profiles)])


def _counts(total: Figures) -> str:
    pauses = f"{total.pauses:.0f} pauses of 200 ms or more"
    return f"{total.turns} turns of {total.speakers} speakers, {total.ends} ends, {pauses}."


def _short(profiles: Mapping[str, Mapping[str, Figures]]) -> Iterator[str]:
    groups = [name for name in next(iter(profiles.values())) if name in SHORT_GROUPS]
    titles = [f"{'plain' if name == 'plain' else f'{name}, with a pause'}: talked over; others" for name in groups]
    yield "| " + " | ".join(["profile", "mean delay, pauses cut", *titles]) + " |"
    yield "|---" * (2 + len(groups)) + "|"
    for profile, figures_by_group in profiles.items():
        whole = f"{_ms(figures_by_group['all'].mean_delay_ms)} ms, {_percent(figures_by_group['all'].cut_share)}"
        cells = [
            f"{_percent(figures.talked_over)}; {_ms(figures.p50_ms)} / {_ms(figures.p95_ms)} ms"
            for figures in (figures_by_group[group] for group in groups)
        ]
        yield f"| {profile} | {whole} | " + " | ".join(cells) + " |"


def _sources(curves: Mapping[str, MainFigures]) -> Iterator[str]:
    delays = " | ".join(f"pauses cut at a mean delay of {ms:.0f} ms" for ms in MEAN_DELAYS_MS)
    yield f"| source | {delays} | mean delay at {100 * CUT_SHARE:.0f} % cut |"
    yield "|---|---|---|---|"
    for source, curve in curves.items():
        cells = [*(_share_cell(figure) for figure in curve.cut_shares), _delay_cell(curve.delay_ms)]
        yield f"| {source} | " + " | ".join(cells) + " |"


def _profiles(profiles: Mapping[str, Mapping[str, Figures]]) -> Iterator[str]:
    yield "| profile | mean delay | pauses cut |"
    yield "|---|---|---|"
    for profile, figures_by_group in profiles.items():
        of_all = figures_by_group["all"]
        yield f"| {profile} | {_ms(of_all.mean_delay_ms)} ms | {_percent(of_all.cut_share)} |"


def _groups(profiles: Mapping[str, Mapping[str, Figures]]) -> Iterator[str]:
    columns = "talked over | delay of the others p50 / p95 | never ended | heard while the user speaks"
    yield f"| kind of speech | profile | {columns} |"
    yield "|---|---|---|---|---|---|"
    for group in next(iter(profiles.values())):
        if group == "all":
            continue
        for profile, groups in profiles.items():
            figures = groups[group]
            kind = f"{group} ({figures.turns})" if group == "plain" else f"{group}, with a pause ({figures.turns})"
            yield (
                f"| {kind} | {profile} | {_percent(figures.talked_over)} "
                f"| {_ms(figures.p50_ms)} / {_ms(figures.p95_ms)} ms "
                f"| {figures.never_ended} | {_ms(figures.overlap_ms)} ms |"
            )


def _share_cell(figure: MainFigure) -> str:
    if isnan(figure.value):
        return MISSING
    return f"{_percent(figure.value)} ({100 * figure.low:.0f}–{100 * figure.high:.0f})"


def _delay_cell(figure: MainFigure) -> str:
    if isnan(figure.value):
        return MISSING
    return f"{_ms(figure.value)} ms ({_ms(figure.low)}–{_ms(figure.high)})"


def _percent(share: float) -> str:
    return MISSING if isnan(share) else f"{100 * share:.1f} %"


def _ms(value_ms: float) -> str:
    return MISSING if isnan(value_ms) else f"{value_ms:.0f}"
