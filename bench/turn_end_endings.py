"""Writes assistant/end_of_turn/sentence_ends.json: how likely a sentence ends after a word or two.

python -m bench.turn_end_endings
"""

import json
import math
import re
import statistics
from pathlib import Path

import pocketsphinx

WORDS, PAIRED_WORDS, PAIRS = 4000, 600, 6000
_TARGET = Path(__file__).parent.parent / "assistant" / "turn_end" / "sentence_ends.json"
_WORD = re.compile(r"[a-z']+(-[a-z]+)*")
_MIN_DIFFERENCE = 0.25
_SOURCE = (
    "The chance that a sentence ends after a word, or after two words, as -100 times its logarithm to base 10. "
    "Computed from the US English language model in the package pocketsphinx (en-us.lm.bin) "
    "by bench/turn_end_endings.py."
)
_LICENCE = "BSD-2-Clause, Copyright (c) 1999-2016 Carnegie Mellon University"


def main() -> None:
    """Computes and writes the file."""
    folder = Path(pocketsphinx.get_model_path()) / "en-us"
    model = pocketsphinx.NGramModel(pocketsphinx.Config(), pocketsphinx.LogMath(), str(folder / "en-us.lm.bin"))

    def log10(*words: str) -> float:
        """Returns the log10 probability of the first word after the others, the nearest first."""
        return float(model.prob(list(words))) * math.log10(1.0001)

    # The dictionary's first field. Words that the model lacks have its lowest probability and come last.
    lines = (folder / "cmudict-en-us.dict").read_text().splitlines()
    names = {name for line in lines if _WORD.fullmatch(name := line.partition(" ")[0])}
    ranked = sorted(names, key=lambda word: (-log10(word), word))
    words = ranked[:WORDS]
    ends = {word: log10("</s>", word) for word in words}
    pairs: dict[tuple[str, str], tuple[float, float]] = {}
    for first in ranked[:PAIRED_WORDS]:
        for second in ranked[:PAIRED_WORDS]:
            ended = log10("</s>", second, first)
            if abs(ended - ends[second]) > _MIN_DIFFERENCE:
                pairs[first, second] = (log10(first) + log10(second, first), ended)
    chosen = sorted(sorted(pairs, key=lambda pair: -pairs[pair][0])[:PAIRS])
    found = {
        "source": _SOURCE,
        "licence": _LICENCE,
        "other": _packed(statistics.median(log10("</s>", word) for word in ranked[WORDS : 4 * WORDS])),
        "words": {word: _packed(ends[word]) for word in sorted(words)},
        "pairs": {" ".join(pair): _packed(pairs[pair][1]) for pair in chosen},
    }
    _TARGET.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    print(f"{_TARGET.name}: {len(words)} words, {len(chosen)} pairs, {_TARGET.stat().st_size} bytes")


def _packed(log10: float) -> int:
    return round(-100 * log10)


if __name__ == "__main__":
    main()
