"""The measurement of engines ends in a verdict."""

import json
from dataclasses import replace

from assistant.commands.engine_bench.bench import BenchReport, BenchRow, MedianAndP95
from assistant.commands.engine_bench.report import as_json
from assistant.commands.engine_bench.verdict import verdict
from assistant.commands.engine_bench.words import WordErrors


def heard(model: str, p95_ms: float, errors: int | None, said: int = 200) -> BenchRow:
    words = None if errors is None else WordErrors(errors, said)
    return BenchRow("stt", "faster-whisper", model, "", 600.0, MedianAndP95(p95_ms / 2, p95_ms), None, 0.2, words)


def spoken(voice: str, p95_ms: float, factor: float = 0.1) -> BenchRow:
    return BenchRow("tts", "piper", voice, "", 30.0, MedianAndP95(p95_ms / 2, p95_ms), None, factor)


MISSING = BenchRow("stt", "faster-whisper", "base.en", "missing: repartee models pull base.en")


def judged(*rows: BenchRow) -> list[str]:
    return verdict(BenchReport(rows, clips=5, speech_s=60.0, asked_after_ms=400, machine="Linux, 2 cores"))


def test_most_accurate_recognizer_that_is_in_time_is_chosen() -> None:
    (line,) = judged(heard("tiny.en", 90, 20), heard("base.en", 240, 10), heard("small.en", 900, 4), MISSING)
    assert line == (
        "recognizer: faster-whisper base.en has the fewest errors (WER 0.05, p95 240 ms) of those with the transcript "
        "within 300 ms at p95; 1 of 3 settings are slower"
    )


def test_errors_in_noise_count_too() -> None:
    first = replace(heard("tiny.en", 90, 4), words_in_noise=WordErrors(30, 100))
    (line,) = judged(first, replace(heard("base", 240, 5), words_in_noise=WordErrors(14, 100)))
    assert line.startswith(
        "recognizer: faster-whisper base has the fewest errors (WER 0.03, in noise 0.14, p95 240 ms) of those with"
    )


def test_faster_of_two_equal_recognizers_is_chosen() -> None:
    (line,) = judged(heard("tiny.en, full, 1 thread", 200, 10), heard("tiny.en, adaptive, 1 thread", 90, 10))
    assert line.startswith("recognizer: faster-whisper tiny.en, adaptive, 1 thread has the fewest errors")


def test_few_words_are_named() -> None:
    assert judged(heard("tiny.en", 90, 3, said=12))[1].startswith("  12 words are too few to tell recognizers apart")


def test_slow_machine_is_named() -> None:
    (line,) = judged(heard("tiny.en", 700, 3), heard("base.en", 900, 1))
    assert line.startswith("recognizer: none has its transcript within 300 ms at p95 on this machine; ")
    assert "faster-whisper tiny.en is the fastest (700 ms)" in line


def test_recognizer_without_error_rate_is_judged_by_its_time() -> None:
    (line,) = judged(heard("random", 90, None))
    assert "is the fastest (p95 90 ms)" in line


def test_voices_are_fast_enough_or_too_slow() -> None:
    lines = judged(spoken("joe", 110), spoken("amy", 60), spoken("large", 400), spoken("late", 60, factor=1.5))
    assert lines == [
        "voice: fast enough, with the first audio within 150 ms at p95: piper amy (60 ms), piper joe (110 ms); "
        "choose by ear",
        "voice: too slow on this machine: piper large, piper late",
    ]


def test_nothing_measured_gives_no_verdict() -> None:
    assert judged(MISSING) == []


def test_json_has_the_verdict() -> None:
    report = BenchReport((spoken("amy", 60),), clips=0, speech_s=0.0, asked_after_ms=400, machine="Linux")
    assert json.loads(as_json(report))["verdict"] == verdict(report)
