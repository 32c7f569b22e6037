"""Reports of wyoming-bench are read, and the table has a line for each figure that was measured."""

import pytest

from bench.wyoming.measurement import Measurement
from bench.wyoming.others_bench import measurements
from bench.wyoming.table import table

HEARD = """
[warmup:non_streaming] lamp: ok
[non_streaming] r0 lamp total=326ms ttft=n/a WER=100.0% audio=1.85s
[non_streaming] r0 time total=49ms ttft=n/a WER=0.0% audio=3.14s

Server: 127.0.0.1:21300 (faster-whisper)
[non_streaming] ok=2 fail=0
  metric             min      mean    median       p95       max
  Total (ms)       325.8     647.3     473.1    1844.3    2049.1
  Accuracy     WER=14.1%  CER=6.8%  SAR=54.5%
               edits S=12 I=6 D=1  (ref words=128)
"""
SPOKEN = "[streaming] r0 sent=2 ttft=66ms total=189ms audio=4.50s bytes=198450 cycles=2\n"


def test_times_and_word_errors_of_a_report_are_read() -> None:
    assert measurements(HEARD, "a", "stt file") == [
        Measurement("a", "stt file", "non_streaming", "lamp", 326.0, None, 1.85),
        Measurement("a", "stt file", "non_streaming", "time", 49.0, None, 3.14),
        Measurement("a", "stt file", "", "words", errors=19, words=128),
    ]
    assert measurements(SPOKEN, "b", "tts") == [Measurement("b", "tts", "streaming", "2 sentences", 189.0, 66.0, 4.5)]


def test_failed_request_ends_the_bench() -> None:
    with pytest.raises(SystemExit, match="no audio chunks"):
        measurements("[streaming] r1 FAIL: no audio chunks received\n", "b", "tts")


def test_table_puts_the_programs_side_by_side() -> None:
    rows = [
        Measurement("Repartee", "stt live", "", "lamp", 2.0, audio_s=30.0),
        Measurement("Repartee", "stt live", "", "words", errors=1, words=8),
        Measurement("Repartee", "stt live", "", "processor", audio_s=30.0, processor_s=4.0),
        Measurement("wyoming-faster-whisper", "stt live", "", "lamp", 400.0, audio_s=30.0),
    ]
    assert table(rows).splitlines()[2:] == [
        "| transcript, live sound: p50 / p90 ms | 1 | 400 / 400 | 2 / 2 |",
        "| live sound, processor time: s a minute of sound | | – | 8.00 |",
        "| live sound: word errors | | – | 12.5 % |",
    ]
