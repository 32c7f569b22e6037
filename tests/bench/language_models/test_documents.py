"""The bench of `repartee read`."""

import asyncio

import pytest

from assistant.documents.splitting import split
from bench.language_models.documents import PART_CHARS, ReadingFigures, compare, document, table


def test_document_has_the_wanted_number_of_parts() -> None:
    assert len(split([document(12)], PART_CHARS)) == 12


def test_table_has_a_row_for_each_reading() -> None:
    assert table([ReadingFigures(100.0, 4, 80.0, 104.0, 2300.0)]).splitlines()[-1] == "| 100 | 4 | 80 | 104 | 2.3 |"


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
def test_parallel_requests_are_sooner_complete() -> None:
    alone, four = asyncio.run(compare(4, [100.0], [1, 4]))
    assert four.all_ms < 0.6 * alone.all_ms
    assert 0 < four.sound_ms < four.all_ms
    assert four.summary_ms >= 100
