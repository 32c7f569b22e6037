"""Tests the figures of turn taking on constructed turns."""

from dataclasses import replace
from itertools import pairwise
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from assistant.end_of_turn.estimator import fitted_turn_end
from audio.end_of_turn.prosody_features import Prosody
from bench.doc_tables import BEGIN, END, write_page
from bench.end_of_turn.clips import Turn
from bench.end_of_turn.curve import Wait
from bench.end_of_turn.moments import AT_MS, Moment
from bench.end_of_turn.table import GIVEN_WEIGHT
from bench.turn_taking import FUSED, result_of, subset
from bench.turns.figures import Corpus, ReplyTiming, figures, figures_by_group, main_figures, measured, outcomes
from bench.turns.table import tables

PROSODY = dict.fromkeys(Prosody.__dataclass_fields__, 0.0)
PAUSE = (1000.0, 1600.0)
END_MS = 3000.0


def turn(name: str, *pauses: tuple[float, float], **change: object) -> Turn:
    """Returns a dictated turn that ends at END_MS."""
    one = Turn(
        id=name, speaker=name, source="", kind="command", pcm=np.zeros(0, np.int16), start_ms=0.0, end_ms=END_MS,
        pauses=pauses, made=(), real_until_ms=5000.0, group="dictation", use="judge",
    )  # fmt: skip
    return replace(one, **change)  # type: ignore[arg-type]


def silence(place: int, number: int, label: str, lasts_ms: float, smart: float = 0.5, **change: object) -> list[Moment]:
    """Returns the moments of a silence that the detector dates exactly, and whose end it knows 60 ms late."""
    one = Moment(
        place, f"s{place}", "", "command", label, made=False, number=number, at_ms=0, known_ms=0.0, lasts_ms=lasts_ms,
        prosody=PROSODY, smart=smart, text="five five five", low_confidence=False, group="dictation", use="judge",
        resumes_ms=lasts_ms - 60 if label == "pause" else lasts_ms,
    )  # fmt: skip
    one = replace(one, **change)  # type: ignore[arg-type]
    return [replace(one, at_ms=at_ms, known_ms=float(at_ms)) for at_ms in AT_MS if at_ms < lasts_ms]


def fixed(timeout_ms: float) -> Wait:
    """Returns a wait that is always the same."""
    return lambda _: timeout_ms


PAUSED = [*silence(0, 0, "pause", 660, smart=0.05), *silence(0, 1, "end", 2000, smart=0.95)]
PLAIN = silence(1, 0, "end", 2000, smart=0.95)
BOTH = Corpus([turn("s0", PAUSE), turn("s1")], [*PAUSED, *PLAIN])


def test_pause_shorter_than_wait_is_not_cut() -> None:
    long, short = (figures(outcomes(BOTH, fixed(ms))) for ms in (700.0, 300.0))
    assert (long.cut_share, long.talked_over, long.mean_delay_ms) == (0.0, 0.0, 700.0)
    assert (short.cut_share, short.talked_over, short.mean_delay_ms) == (1.0, 0.5, 300.0)
    assert (short.turns, short.speakers, short.ends, short.pauses) == (2, 2, 2, 1.0)


def test_reply_is_heard_from_its_onset_until_it_is_retracted() -> None:
    reply = ReplyTiming(work_ms=100.0, retract_ms=200.0)
    talked, _ = outcomes(BOTH, fixed(300.0), reply)  # from 400; the user speaks from 600, known at 660
    assert talked.overlap_ms == pytest.approx(660 + 200 - 600)
    late, _ = outcomes(BOTH, fixed(580.0), reply)  # ready at 680: the speech is known, and nothing is heard
    assert (late.cut_pauses, late.talked_over, late.overlap_ms) == (1.0, False, 0.0)


def test_turns_without_long_pause_are_plain() -> None:
    found = figures_by_group(outcomes(BOTH, fixed(300.0)))
    assert list(found) == ["plain", "dictation"]
    assert (found["plain"].talked_over, found["plain"].p50_ms) == (0.0, 300.0)
    assert (found["dictation"].talked_over, isnan(found["dictation"].p50_ms)) == (1.0, True)


def test_pause_before_given_word_counts_less() -> None:
    given = silence(0, 0, "pause", 660, given=True)
    other = silence(0, 1, "pause", 660)
    pauses = PAUSE, (2000.0, 2600.0)
    corpus = Corpus([turn("s0", *pauses, given=(PAUSE,))], [*given, *other, *silence(0, 2, "end", 2000)])
    assert figures(outcomes(corpus, fixed(300.0))).pauses == 1 + GIVEN_WEIGHT
    waits = {0: 300.0, 1: 700.0, 2: 300.0}
    found = figures(outcomes(corpus, lambda moment: waits[moment.number]))
    assert found.cut_share == pytest.approx(GIVEN_WEIGHT / (1 + GIVEN_WEIGHT))


def test_pause_that_detector_does_not_report_is_not_cut() -> None:
    corpus = Corpus([turn("s0", PAUSE)], silence(0, 0, "end", 2000))
    assert figures(outcomes(corpus, fixed(200.0))).cut_share == 0.0


def test_end_that_detector_dates_before_last_words_has_no_delay() -> None:
    corpus = Corpus([turn("s0")], silence(0, 0, "end", 2000, ended_ms=900.0))
    early, late = (outcomes(corpus, fixed(ms))[0] for ms in (300.0, 1000.0))
    assert isnan(early.delay_ms)
    assert isnan(late.delay_ms)
    assert (early.talked_over, early.overlap_ms) == (True, 500.0)
    assert not late.talked_over


def test_delay_counts_from_labelled_end() -> None:
    corpus = Corpus([turn("s0")], silence(0, 0, "end", 2000, ended_ms=-40.0))
    assert outcomes(corpus, fixed(300.0))[0].delay_ms == 340.0


def test_turn_without_reported_end_never_ends() -> None:
    never, cut = outcomes(Corpus([turn("s0"), turn("s1", ends=False)], []), fixed(300.0))
    assert (never.never_ended, cut.never_ended) == (True, False)


def test_main_figures_are_read_off_the_curve() -> None:
    families = [outcomes(BOTH, fixed(ms)) for ms in (200.0, 400.0, 800.0)]
    found = main_figures(families)
    assert [delay_ms for delay_ms, _ in found.points] == [200, 400, 800]
    assert [cut for _, cut in found.points] == [1, 1, 0]
    assert [figure.value for figure in found.cut_shares] == pytest.approx([1.0, 0.5])
    assert found.delay_ms.value == pytest.approx(780)


def test_figure_outside_curve_is_missing() -> None:
    found = main_figures([outcomes(BOTH, fixed(ms)) for ms in (400.0, 500.0)])
    assert isnan(found.cut_shares[0].value)
    assert isnan(found.delay_ms.value)


def test_policy_gets_evidence_of_each_moment() -> None:
    found = measured(BOTH, lambda evidence: 300.0 if (evidence.smart_turn or 0) > 0.5 else 900.0)
    assert (found["all"].cut_share, found["all"].mean_delay_ms) == (0.0, 300.0)
    evidence = BOTH.evidence()
    assert not evidence[0, 0, 100].pause_stats.paused
    assert evidence[0, 1, 100].pause_stats.paused


def test_tables_show_each_source_and_profile() -> None:
    result = result_of("all", BOTH, fitted_turn_end(), ReplyTiming())
    text = tables(result.name, result.total, result.curves, result.profiles)
    for shown in ("| silence alone |", "| Smart Turn alone |", f"| {FUSED} |", "| balanced |", "plain (1)"):
        assert shown in text
    for earlier, later in pairwise(result.curves[FUSED].points):
        assert earlier[0] <= later[0] + 1e-6


def test_subset_keeps_moments_of_its_turns() -> None:
    part = subset(BOTH, lambda one: one.id == "s1")
    assert [one.id for one in part.turns] == ["s1"]
    assert {moment.turn for moment in part.moments} == {0}


def test_page_gets_tables_between_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_page("new", page)
    assert page.read_text() == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="has no place for the tables"):
        write_page("new", page)
