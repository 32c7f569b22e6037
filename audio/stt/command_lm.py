"""The command language model, and when to believe what was heard with it.

A recognizer that knows only commands turns every sound into one. So a command is taken only if it is a whole known
sentence and sounds like what a second recognizer, with a general language model, made of the same sound.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

SENTENCE_MAX_DISTANCE = 0.7
"""Of a sentence of two words or more: the agreement found by measurement (docs/stt.md)."""

SINGLE_WORD_MAX_DISTANCE = 0.4
"""Of a single word: chance agreements are common among few phones ("six" and "thanks" are 0.6 apart)."""

_DISCOUNT = 0.5
"""Share of the probability kept for continuations not in the list; cmusphinx's own small-model tools use the same."""


_NUMBER_WORDS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million".split()
)
_WITHIN_NUMBERS = frozenset({"and", "point"})
_ANY_NUMBER = "#"


def shape(sentence: str) -> str:
    """The sentence with every number replaced by one mark: whoever knows one sum knows them all."""
    shaped: list[str] = []
    words = sentence.split()
    for at, word in enumerate(words):
        inside = shaped[-1:] == [_ANY_NUMBER] and word in _WITHIN_NUMBERS and words[at + 1 : at + 2]
        if word in _NUMBER_WORDS or (inside and words[at + 1] in _NUMBER_WORDS):
            if shaped[-1:] != [_ANY_NUMBER]:
                shaped.append(_ANY_NUMBER)
        else:
            shaped.append(word)
    return " ".join(shaped)


def known_words(sentences: Iterable[str]) -> frozenset[str]:
    """Every word of the sentences."""
    return frozenset(word for sentence in sentences for word in sentence.split())


def arpa(sentences: Iterable[str]) -> str:
    """A trigram model of the sentences, as ARPA text.

    Each distinct continuation counts once, however many sentences share it: a generated list holds thousands of
    sums and one "what time is it", and people do not ask in these proportions (docs/stt.md has the comparison).

    Raises ValueError if there is no sentence.
    """
    trigrams: set[tuple[str, str, str]] = set()
    bigrams: set[tuple[str, str]] = set()
    for sentence in sentences:
        words = ("<s>", *sentence.split(), "</s>")
        if len(words) > 2:
            bigrams.update(pairwise(words))
            trigrams.update(zip(words, words[1:], words[2:], strict=False))
    if not bigrams:
        raise ValueError("a command language model needs at least one sentence")
    vocabulary = {word for pair in bigrams for word in pair}
    unigram = (1 - _DISCOUNT) / len(vocabulary)
    after_word = Counter(first for first, _ in bigrams)
    after_pair = Counter((first, second) for first, second, _ in trigrams)
    bigram = {pair: (1 - _DISCOUNT) / after_word[pair[0]] for pair in bigrams}
    covered: defaultdict[tuple[str, str], float] = defaultdict(float)
    for first, second, third in trigrams:
        covered[first, second] += bigram[second, third]
    lines = ["\\data\\", f"ngram 1={len(vocabulary)}", f"ngram 2={len(bigrams)}", f"ngram 3={len(trigrams)}"]
    lines += ["", "\\1-grams:"]
    lines += [f"{_log(unigram)} {word} {_backoff(after_word[word] * unigram)}" for word in sorted(vocabulary)]
    lines += ["", "\\2-grams:"]
    lines += [f"{_log(bigram[pair])} {' '.join(pair)} {_backoff(covered[pair])}" for pair in sorted(bigrams)]
    lines += ["", "\\3-grams:"]
    lines += [f"{_log((1 - _DISCOUNT) / after_pair[triple[:2]])} {' '.join(triple)}" for triple in sorted(trigrams)]
    return "\n".join([*lines, "", "\\end\\", ""])


def phone_distance(command: Sequence[str], generic: Sequence[str]) -> float:
    """Phones to insert, delete or replace to get from one to the other, per phone of the command (0 = the same).

    An empty command is infinitely far from anything.
    """
    if not command:
        return math.inf
    row = list(range(len(generic) + 1))
    for i, phone in enumerate(command, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(generic, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (phone != other))
    return row[-1] / len(command)


def agrees(command_words: int, distance: float) -> bool:
    """Whether a known sentence of so many words, so far in phones from the general hypothesis, is believed."""
    limit = SINGLE_WORD_MAX_DISTANCE if command_words == 1 else SENTENCE_MAX_DISTANCE
    return distance <= limit


def possessive(phones: Sequence[str]) -> tuple[str, ...]:
    """The phones of "word's", from those of "word" (English: /ɪz/ after a hiss, /s/ after a voiceless stop)."""
    if phones[-1] in {"S", "Z", "SH", "ZH", "CH", "JH"}:
        return (*phones, "IH", "Z")
    return (*phones, "S" if phones[-1] in {"P", "T", "K", "F", "TH"} else "Z")


def _log(probability: float) -> str:
    return f"{math.log10(probability):.4f}"


def _backoff(covered: float) -> str:
    """The weight of the shorter history: the kept share over what the shorter history gives to unseen words.

    `covered` is what it gives to the seen ones: at most half, for every model here keeps the other half back.
    """
    return _log(_DISCOUNT / (1 - covered))
