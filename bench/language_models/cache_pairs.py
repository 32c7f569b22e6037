"""Pairs of requests (cache_pairs.tsv) with the decision whether the answer to the first fits the second."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from llm.cache.eligibility import exclusion, lexicon_of
from llm.cache.form import form_of, normalized_words, without_frame
from llm.cache.gate import case_differs, veto

FILE = Path(__file__).with_suffix(".tsv")

EARLIER = {
    "en": "What is the capital of Italy?",
    "de": "Was ist die Hauptstadt von Italien?",
    "fr": "Quelle est la capitale de l'Italie ?",
}
"""The request before a request of the kind "context", by language."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One line of the file.

    Attributes:
        part: "a": the rules were adjusted on it; "b": they were measured on it; "c": written after them; "d": held
            out, written by someone else; the rules were adjusted later. "e": held out, written after that.
            "f": held out, written after the last change of the rules.
        kind: "same": the answer fits; otherwise why it does not.
        language: "en", "de" or "fr".
        stored: The request that was answered.
        asked: The later request.
    """

    part: str
    kind: str
    language: str
    stored: str
    asked: str

    @property
    def same(self) -> bool:
        """Whether the answer fits the later request."""
        return self.kind == "same"

    @property
    def refusal(self) -> str:
        """The reason for which the answer is not given, without regard to embeddings; "" if it is."""
        lexicon = lexicon_of(self.language)
        assert lexicon is not None
        earlier = [EARLIER[self.language]] if self.kind == "context" else []
        if why := exclusion(self.stored, [], lexicon) or exclusion(self.asked, earlier, lexicon):
            return why
        stored, asked = (
            form_of(without_frame(normalized_words(text), lexicon), lexicon) for text in (self.stored, self.asked)
        )
        return "case" if case_differs(self.stored, self.asked, asked) else veto(stored, asked, lexicon)

    @property
    def words(self) -> tuple[str, str]:
        """The embedded words of both requests."""
        lexicon = lexicon_of(self.language)
        assert lexicon is not None
        stored, asked = (without_frame(normalized_words(text), lexicon) for text in (self.stored, self.asked))
        return stored, asked


def read() -> list[Pair]:
    """Returns all pairs. Raises ValueError for a line of another form."""
    pairs = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            part, kind, language, stored, asked = line.split("\t")
            if part not in set("abcdef") or language not in EARLIER:
                raise ValueError(line)
            pairs.append(Pair(part, kind, language, stored, asked))
    return pairs


def upper_bound(failures: int, trials: int, confidence: float = 0.95) -> float:
    """Returns the one-sided upper bound of a rate (Clopper-Pearson)."""
    if failures >= trials:
        return 1.0
    low, high = failures / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(failures, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(failures: int, trials: int, rate: float) -> float:
    """Returns the probability of at most so many failures."""
    term = total = (1 - rate) ** trials
    for number in range(failures):
        term *= (trials - number) / (number + 1) * rate / (1 - rate)
        total += term
    return total


def of_parts(pairs: Iterable[Pair], parts: str) -> list[Pair]:
    """Returns the pairs of these parts, such as "bc"."""
    return [pair for pair in pairs if pair.part in parts]


def groups_taken_for_the_same(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    """Returns pairs of requests that the gate takes for the same although no line of the file says that they are.

    Lines of the kind "same" are taken as an equivalence: two paraphrases of one request are paraphrases.
    """
    pairs = list(pairs)
    root: dict[tuple[str, str], tuple[str, str]] = {}

    def find(item: tuple[str, str]) -> tuple[str, str]:
        while root.setdefault(item, item) != item:
            item = root[item]
        return item

    for pair in pairs:
        for text in (pair.stored, pair.asked):
            find((pair.language, text))
        if pair.same:
            root[find((pair.language, pair.asked))] = find((pair.language, pair.stored))
    by_form: dict[tuple[str, str], list[str]] = {}
    for language, text in root:
        lexicon = lexicon_of(language)
        assert lexicon is not None
        if not exclusion(text, [], lexicon):
            key = form_of(without_frame(normalized_words(text), lexicon), lexicon).key
            by_form.setdefault((language, key), []).append(text)
    wrong = []
    for (language, _), texts in by_form.items():
        for first in texts:
            for second in texts:
                mixed = Pair("a", "", language, first, second)
                if first < second and find((language, first)) != find((language, second)) and not mixed.refusal:
                    wrong.append((first, second))
    return wrong
