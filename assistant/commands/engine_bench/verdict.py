"""Says what a measurement of engines means: which recognizer to choose, and which voices are fast enough. Pure."""

from collections.abc import Iterator, Sequence

from assistant.commands.engine_bench.bench import BenchReport, BenchRow
from assistant.commands.engine_bench.words import WordErrors
from assistant.trace.waterfall import BAND_MS

MAX_TRANSCRIPT_MS = BAND_MS[1] - BAND_MS[0]
"""Longest wait for the transcript at p95: what is left of 500 ms after the shortest silence of about 200 ms."""

MAX_FIRST_AUDIO_MS = 150.0
"""Longest time to the first audio of a voice at p95, of the same 300 ms."""

MIN_WORDS = 100
"""Number of words below which the error rates of two recognizers do not tell them apart."""


def verdict(report: BenchReport) -> list[str]:
    """Returns the lines of the verdict; empty if nothing was measured."""
    measured = [row for row in report.rows if row.wait is not None]
    return [
        *_recognizers([row for row in measured if row.stage == "stt"]),
        *_voices([row for row in measured if row.stage == "tts"]),
    ]


def _recognizers(rows: Sequence[BenchRow]) -> Iterator[str]:
    if not rows:
        return
    timely = [row for row in rows if _p95_ms(row) <= MAX_TRANSCRIPT_MS]
    if not timely:
        fastest = min(rows, key=_p95_ms)
        yield (
            f"recognizer: none has its transcript within {MAX_TRANSCRIPT_MS:.0f} ms at p95 on this machine; "
            f"{_named(fastest)} is the fastest ({_p95_ms(fastest):.0f} ms)"
        )
        return
    best = min(timely, key=lambda row: (_rate(row), _p95_ms(row)))
    slower = f"; {len(rows) - len(timely)} of {len(rows)} settings are slower" if len(timely) < len(rows) else ""
    in_time = f"the transcript within {MAX_TRANSCRIPT_MS:.0f} ms at p95{slower}"
    if best.words is None:
        yield f"recognizer: {_named(best)} is the fastest (p95 {_p95_ms(best):.0f} ms) of those with {in_time}"
    else:
        yield (
            f"recognizer: {_named(best)} has the fewest errors (WER {_spelled(best)}, p95 {_p95_ms(best):.0f} ms) of "
            f"those with {in_time}"
        )
    word_count = 0 if (counted := _counted(best)) is None else counted.reference_words
    if 0 < word_count < MIN_WORDS:
        yield f"  {word_count} words are too few to tell recognizers apart: name more recordings (--manifest)"


def _voices(rows: Sequence[BenchRow]) -> Iterator[str]:
    fast = [row for row in rows if _p95_ms(row) <= MAX_FIRST_AUDIO_MS and (row.real_time_factor or 0.0) < 1.0]
    slow = [row for row in rows if row not in fast]
    if fast:
        names = ", ".join(f"{_named(row)} ({_p95_ms(row):.0f} ms)" for row in sorted(fast, key=_p95_ms))
        within = f"the first audio within {MAX_FIRST_AUDIO_MS:.0f} ms at p95"
        yield f"voice: fast enough, with {within}: {names}; choose by ear"
    if slow:
        yield f"voice: too slow on this machine: {', '.join(map(_named, slow))}"


def _p95_ms(row: BenchRow) -> float:
    return float("inf") if row.wait is None else row.wait.p95_ms


def _counted(row: BenchRow) -> WordErrors | None:
    """Returns the errors of all recordings, those in noise included."""
    if row.words is None or row.words_in_noise is None:
        return row.words
    noisy = row.words_in_noise
    return WordErrors(row.words.errors + noisy.errors, row.words.reference_words + noisy.reference_words)


def _rate(row: BenchRow) -> float:
    counted = _counted(row)
    return 1.0 if counted is None or counted.rate is None else counted.rate


def _spelled(row: BenchRow) -> str:
    rates = [words.rate for words in (row.words, row.words_in_noise) if words is not None and words.rate is not None]
    return ", in noise ".join(f"{rate:.2f}" for rate in rates)


def _named(row: BenchRow) -> str:
    return f"{row.engine} {row.setting}".strip()
