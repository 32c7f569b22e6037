"""The lexical gate on the pairs of bench/language_models/cache_pairs.tsv: no false hit, and most paraphrases hit."""

from dataclasses import replace

import pytest

from bench.language_models.cache_pairs import groups_taken_for_the_same, of_parts, read, upper_bound

PAIRS = read()


def test_set_is_as_large_as_it_should_be() -> None:
    assert sum(not pair.same for pair in PAIRS) >= 300
    assert sum(pair.same for pair in PAIRS) >= 300
    assert len({(pair.stored, pair.asked) for pair in PAIRS}) == len(PAIRS)
    kinds = {pair.kind for pair in PAIRS}
    assert kinds >= set("negation antonym number name role context tense date unit homophone person".split())


def test_gate_lets_no_false_hit_through() -> None:
    assert [(pair.stored, pair.asked) for pair in PAIRS if not pair.same and not pair.refusal] == []


@pytest.mark.parametrize("language", ["en", "de", "fr"])
@pytest.mark.parametrize("parts", ["a", "b", "c", "d"])
def test_gate_lets_most_paraphrases_through(language: str, parts: str) -> None:
    same = [pair for pair in of_parts(PAIRS, parts) if pair.same and pair.language == language]
    assert sum(not pair.refusal for pair in same) >= 0.5 * len(same)


def test_gate_decides_alike_in_both_directions() -> None:
    turned = [replace(pair, stored=pair.asked, asked=pair.stored) for pair in PAIRS if pair.kind != "context"]
    straight = [pair for pair in PAIRS if pair.kind != "context"]
    assert [
        (one.stored, one.asked)
        for one, other in zip(straight, turned, strict=True)
        if bool(one.refusal) != bool(other.refusal)
    ] == []


def test_only_paraphrases_are_taken_for_the_same() -> None:
    """Compares every request with every other one of its language, not only with that of its pair."""
    assert groups_taken_for_the_same(PAIRS) == []


@pytest.mark.parametrize(
    ("failures", "trials", "bound"), [(0, 300, 0.00994), (0, 1, 0.95), (1, 100, 0.0466), (5, 5, 1.0)]
)
def test_upper_bound_of_a_rate(failures: int, trials: int, bound: float) -> None:
    assert upper_bound(failures, trials) == pytest.approx(bound, abs=0.0002)
