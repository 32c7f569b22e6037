"""Brings a request into a form in which two requests can be compared. No I/O."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from llm.cache.lexicon import Lexicon

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "–": "-", "—": "-", "\u00a0": " "})
_MARKS = re.compile(r"[^\w\s'.,%-]|(?<!\w)['-]|['-](?!\w)|[.,](?!\d)|(?<!\d)[.,]|_")
_SYMBOL = re.compile(r"""[^\w\s.,?!;:…'’‘`´"“”„«»()%¿¡\u2010-\u2014-]|(?<!\w)[\u2010-\u2014-](?=\d)|(?<!\d)[.,]\d""")
_AND = frozenset("and or und oder et ou".split())
_DO = frozenset("do does did".split())
_ADVERBIAL = frozenset({"how", "why", "when", "where"})
MAX_REQUEST_CHARS = 200
"""Longer requests are not cached: they rarely recur, and comparing them takes longer."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word that carries meaning.

    Attributes:
        base: Its base form.
        plural: Whether an ending or an irregular plural was removed.
        article: "definite", "indefinite" or "".
        article_word: The article itself, which may tell the gender.
    """

    base: str
    plural: bool = False
    article: str = ""
    article_word: str = ""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """A request without what does not change its meaning.

    Attributes:
        question: What is asked for: "who", "how many", "yes or no", ...
        tense: "past", "present" or "future".
        passive: Whether something is done to the subject.
        negations: How often it negates. The negations are among the words, too.
        words: Its other words, in order.
        superlative: Whether it has a superlative or an ordinal.
    """

    question: str
    tense: str
    passive: bool
    negations: int
    words: tuple[Word, ...]
    superlative: bool

    @property
    def key(self) -> str:
        """A key that is equal for requests of the same words, question and tense. The gate compares the rest."""
        return " ".join((self.question, self.tense, *self.bases))

    @property
    def bases(self) -> list[str]:
        """The base forms of the words, in order."""
        return [word.base for word in self.words]


def has_symbols(text: str) -> bool:
    """Returns whether a text has marks that `normalized_words` drops but that have a meaning: "C++", "-4", ".5"."""
    return bool(_SYMBOL.search(text))


def normalized_words(text: str) -> str:
    """Returns the words in lower case, without punctuation. Two requests with equal results are the same request."""
    plain = unicodedata.normalize("NFC", text).translate(_QUOTES).lower()
    return " ".join(_MARKS.sub(" ", plain).split())


def without_frame(words: str, lexicon: Lexicon) -> str:
    """Returns normalized words without contractions and without polite or introducing phrases."""
    for pattern, replacement in lexicon.contractions:
        words = pattern.sub(replacement, words)
    before = ""
    while before != words:
        before = words
        for pattern in lexicon.frames:
            words = pattern.sub("", words, count=1).strip() or words
    return " ".join(words.split())


def rewritten(request: str, lexicon: Lexicon) -> str:
    """Returns a request without its frame in the form of the lexicon's rewrite rules."""
    for pattern, replacement in lexicon.rewrites:
        request = " ".join(pattern.sub(replacement, request).split())
    return request


def form_of(request: str, lexicon: Lexicon) -> RequestForm:
    """Returns the form of a request without its frame, from `without_frame`."""
    question, text = _question(rewritten(request, lexicon), lexicon)
    tokens = text.split()
    words: list[Word] = []
    article, past, auxiliaries = "", False, 0
    for place, token in enumerate(tokens):
        if token in lexicon.articles:
            article = token
            continue
        auxiliaries += token in _DO
        if token in lexicon.negations:
            words.append(Word(lexicon.negations[token]))
        elif token not in lexicon.dropped or (token in _DO and auxiliaries > 1):
            word, is_past = _base(token, lexicon)
            past = past or is_past
            is_verb = place == len(tokens) - 1 and question in _ADVERBIAL  # "how the heart works"
            words.append(Word(word.base, word.plural and not is_verb, lexicon.articles.get(article, ""), article))
        article = ""
    tense = "present"
    if past or not lexicon.past.isdisjoint(tokens):
        tense = "past"
    elif not lexicon.future.isdisjoint(tokens):
        tense = "future"
    return RequestForm(
        question,
        tense,
        past and not lexicon.be.isdisjoint(tokens),
        sum(token in lexicon.negations for token in tokens),
        _coordinated(words),
        bool(lexicon.superlative.search(text)),
    )


def _question(text: str, lexicon: Lexicon) -> tuple[str, str]:
    """Returns what is asked for, and the text without its question word."""
    words = [
        (match.start(), rank, name, match)
        for rank, (pattern, name) in enumerate(lexicon.questions)
        if (match := pattern.search(text))
    ]
    if lexicon.polar.search(text):
        return "yes or no", text
    if not words:
        return "what", text
    _, _, name, match = min(words, key=lambda span: (span[0], span[1]))
    return name, f"{text[: match.start()]} {text[match.end() :]}"


def _base(token: str, lexicon: Lexicon) -> tuple[Word, bool]:
    """Returns the base form of a word, and whether it was a past form."""
    if token in lexicon.past_forms:
        return Word(lexicon.past_forms[token]), True
    if token in lexicon.plurals:
        return Word(lexicon.forms.get(lexicon.plurals[token], lexicon.plurals[token]), plural=True), False
    if token in lexicon.numbers or token in lexicon.kept or any(map(str.isdigit, token)):
        return Word(lexicon.numbers.get(token, token)), False
    if (past := lexicon.past_suffix) and token.endswith(past) and not token.endswith("eed") and len(token) >= 5:
        return Word(token.removesuffix(past)), True
    if token in lexicon.forms:
        return Word(lexicon.forms[token]), False
    base = _without_suffix(token, lexicon)
    return Word(lexicon.forms.get(base, base), plural=base != token), False


def _without_suffix(token: str, lexicon: Lexicon) -> str:
    for suffix, replacement, least in lexicon.suffixes:
        if token.endswith(suffix) and not token.endswith("ss") and len(token) - len(suffix) >= least:
            return token.removesuffix(suffix) + replacement
    return token


def _coordinated(words: Sequence[Word]) -> tuple[Word, ...]:
    """Sorts the words beside "and" and "or": their order has no meaning."""
    ordered = list(words)
    for place in range(1, len(ordered) - 1):
        before, after = ordered[place - 1], ordered[place + 1]
        if ordered[place].base in _AND and after.base < before.base:
            ordered[place - 1], ordered[place + 1] = after, before
    return tuple(ordered)
