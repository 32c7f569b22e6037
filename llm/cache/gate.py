"""Decides from the words whether two similar requests ask for the same. No I/O.

Embeddings place "is it safe" beside "is it not safe", and "from Rome to Naples" beside "from Naples to Rome". So every
word that carries meaning must correspond: what differs is vetoed, with the reason.
"""

import re

from llm.cache.form import RequestForm
from llm.cache.lexicon import Lexicon

SHORT = 1
"""Words of a request in which a definite article decides what is meant: "what is the office"."""

SHORT_CASE = 3
"""Most words of a request in which a capital letter decides. In longer ones, the other words tell what is meant."""

_WORD = re.compile(r"\w+")
_NAMING = frozenset({"what", "who", "about"})


def veto(stored: RequestForm, asked: RequestForm, lexicon: Lexicon) -> str:
    """Returns why the answer to `stored` may not be given to `asked`; "" if it may."""
    checks = (
        ("no words", not stored.words),
        ("negation", stored.negations != asked.negations),
        ("question", stored.question != asked.question),
        ("tense", stored.tense != asked.tense),
        ("roles", stored.passive != asked.passive),
    )
    for reason, applies in checks:
        if applies:
            return reason
    if sorted(stored.bases) != sorted(asked.bases):
        return _mismatch(stored, asked, lexicon)
    return "roles" if stored.bases != asked.bases else _nouns_differ(stored, asked, lexicon)


def case_differs(stored: str, asked: str, form: RequestForm) -> bool:
    """Returns whether a capital letter may decide what is meant: "What is Polish?" and "What is polish?".

    That is so in short requests, as a recognizer writes them: with a capital letter at the beginning.
    """
    if len(form.words) > SHORT_CASE or not (stored[:1].isupper() and asked[:1].isupper()):
        return False
    first, other = ({word.lower(): word[0].isupper() for word in _WORD.findall(text)[1:]} for text in (stored, asked))
    return any(first[word] != other[word] for word in first.keys() & other.keys())


def _nouns_differ(stored: RequestForm, asked: RequestForm, lexicon: Lexicon) -> str:
    """Returns why the same words may mean other things: "the largest moons", "the matrix" and "a matrix"."""
    pairs = list(zip(stored.words, asked.words, strict=True))
    one_thing = stored.superlative or asked.superlative
    if lexicon.genders and sum(word.article_word != other.article_word for word, other in pairs) > 1:
        return "roles"  # "der Arzt dem Lehrer" and "dem Arzt der Lehrer"
    for word, other in pairs:
        articles = {word.article, other.article}
        if articles == {"definite", "indefinite"}:
            return "article"
        words = {word.article_word, other.article_word} - {""}
        if len(words) > 1 and not one_thing and not _may_be_one_gender(words, lexicon):
            return "article"
        if word.plural != other.plural and (one_thing or "definite" in articles):
            return "number"
        if articles == {"definite", ""} and len(pairs) <= SHORT and stored.question in _NAMING and not one_thing:
            return "article"
    return ""


def _may_be_one_gender(articles: set[str], lexicon: Lexicon) -> bool:
    return not lexicon.genders or any(articles <= gender for gender in lexicon.genders)


def _mismatch(stored: RequestForm, asked: RequestForm, lexicon: Lexicon) -> str:
    """Returns the kind of the words that only one request has."""
    differing = set(stored.bases) ^ set(asked.bases)
    if any(any(map(str.isdigit, word)) for word in differing):
        return "number"
    for name, words in lexicon.classes.items():
        if differing & words:
            return name
    return "words"
