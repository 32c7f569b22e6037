"""Decides which requests and answers may be cached. No I/O.

What depends on time, place, person or on what was said before is always asked anew.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from llm.answer_values import DONE_REASON
from llm.cache.english import ENGLISH
from llm.cache.form import MAX_REQUEST_CHARS, has_symbols, normalized_words, rewritten, without_frame
from llm.cache.french import FRENCH
from llm.cache.german import GERMAN
from llm.cache.lexicon import Lexicon

LEXICONS: Mapping[str, Lexicon] = MappingProxyType({"en": ENGLISH, "de": GERMAN, "fr": FRENCH})
"""Languages whose requests can be compared. In others, nothing is cached: no words tell what depends on time."""

MAX_ANSWER_CHARS = 2000
"""Longer answers are not stored. A spoken answer has a few sentences."""

FINISHED = frozenset({"stop", "end_turn", "eos_token", "stop_sequence", "eos", "finished"})
"""Finish reasons of a complete answer, as the services call them."""

_SENTENCE_ENDS = (".", "!", "…", '."', ".”", ".»")
"""Ends of an answer that is complete although the service gives no finish reason."""

_MIN_LATER_WORDS = 4
"""A request after the first turn needs so many words, or a question word and a verb, to stand alone."""

_LEAVES_OPEN = re.compile(
    r"\b(?:now|today|tonight|tomorrow|yesterday|currently|current|at the moment|as of|latest|recent(?:ly)?|this year|"
    r"sorry|i cannot|i can't|i could not|i couldn't|i do not know|i don't know|i'm not (?:sure|able)|unable|earlier|"
    r"you (?:said|mentioned|told|asked)|as i said|as mentioned|my (?:knowledge|training)|"
    r"heute|jetzt|gestern|morgen|derzeit|aktuell\w*|zurzeit|momentan|tut mir leid|leider|weiß (?:ich )?nicht|"
    r"ich kann (?:das |dir |ihnen )?nicht|wie gesagt|wie (?:bereits )?erwähnt|du hast (?:gesagt|gefragt)|"
    r"aujourd'hui|maintenant|hier|demain|actuel\w*|en ce moment|désolée?|je ne sais pas|je ne peux pas|"
    r"comme je l'ai dit|vous avez (?:dit|demandé)|tu as (?:dit|demandé))\b"
)


def lexicon_of(language: str) -> Lexicon | None:
    """Returns the lexicon of a BCP 47 language tag; None if there is none."""
    return LEXICONS.get(language.partition("-")[0].lower())


def exclusion(request: str, earlier: Sequence[str], lexicon: Lexicon, *, is_first: bool | None = None) -> str:
    """Returns why a request may not be looked up or stored; "" if it may.

    Args:
        request: What the user said.
        earlier: What the user said before in this conversation.
        lexicon: The language of the conversation.
        is_first: Whether nothing was said before, not even a greeting; None: if there is nothing in `earlier`.
    """
    if len(request) > MAX_REQUEST_CHARS:
        return "long"
    is_first = not earlier if is_first is None else is_first
    words = without_frame(normalized_words(request), lexicon)
    text = rewritten(words, lexicon)
    reasons = (
        ("no words", not words),
        ("symbols", has_symbols(request)),
        ("time or place", bool(lexicon.timely.search(text) or lexicon.timely.search(words))),
        ("time or place", _asks_about_state(request, words, lexicon)),
        ("personal", bool(lexicon.personal.search(text))),
        ("varied", bool(lexicon.varied.search(text) or lexicon.varied.search(words))),
        # A command, such as "turn on the lamp".
        ("no question", not (_asks(text, lexicon) or _is_question(request, lexicon))),
        ("another language", _is_another_language(request, lexicon)),
        ("refers back", not is_first and _refers_back(request, words, text, lexicon)),
        ("conversation has context", any(_sets_context(before, lexicon) for before in earlier)),
    )
    return next((reason for reason, applies in reasons if applies), "")


def _is_another_language(request: str, lexicon: Lexicon) -> bool:
    """Returns whether more words of the request belong to another language, whose rules would be needed."""
    tokens = normalized_words(request).replace("'", " ").replace("-", " ").split()
    known_words = {name: sum(map(other.knows, tokens)) for name, other in LEXICONS.items()}
    return max(known_words.values()) > max(count for name, count in known_words.items() if LEXICONS[name] is lexicon)


def _asks_about_state(request: str, words: str, lexicon: Lexicon) -> bool:
    """Returns whether the request asks for the state of something that is there: "is the pharmacy open"."""
    if not lexicon.state.search(words) or lexicon.superlative.search(words) or _names(request, lexicon):
        return False
    if any(lexicon.articles.get(word) == "indefinite" for word in words.split()):
        return False  # "is the tomato a fruit"
    return not lexicon.complement.search(words)


def _has_bare_definite(words: str, names: frozenset[str], lexicon: Lexicon) -> bool:
    """Returns whether something is "the" without a name and without a complement."""
    return any(
        words[match.end() :].partition(" ")[0] not in names and not lexicon.complement.search(words, match.end())
        for match in lexicon.definite.finditer(words)
    )


def _names(request: str, lexicon: Lexicon) -> frozenset[str]:
    """Returns the names of the request, by their capital letters, in lower case."""
    return frozenset(match[1].lower() for match in lexicon.name.finditer(request)) - lexicon.no_names


def _refers_back(request: str, words: str, text: str, lexicon: Lexicon) -> bool:
    """Returns whether a later request may depend on what was said before it.

    Many such requests have no word that tells: "what languages do people speak?" So a later request needs a name, or
    something that there is only once, or it asks what something is.
    """
    names = _names(request, lexicon)
    if lexicon.referring.search(words) or _has_bare_definite(words, names, lexicon):
        return True
    if not _asks(text, lexicon) and len(words.split()) < _MIN_LATER_WORDS:
        return True
    if len(words.split()) < _MIN_LATER_WORDS - 1:
        return True
    if match := lexicon.relational.search(text):
        return not (names and lexicon.complement.search(text, match.end()))
    return not (names or lexicon.unique.search(words) or lexicon.definition.search(text))


@lru_cache(maxsize=256)  # each turn looks at all earlier ones, on the event loop
def _sets_context(earlier: str, lexicon: Lexicon) -> bool:
    """Returns whether something said before may change the answers to later requests."""
    if len(earlier) > MAX_REQUEST_CHARS:
        return True
    words = normalized_words(earlier)
    text = rewritten(without_frame(words, lexicon), lexicon)
    if lexicon.personal.search(text):
        return True
    asks_for_something = lexicon.asks.search(words) and not lexicon.timely.search(words)
    return not (_asks(text, lexicon) or asks_for_something)


def _is_question(request: str, lexicon: Lexicon) -> bool:
    """Returns whether a request without a question word asks for information, also by its question mark."""
    return request.rstrip().endswith(("?", "？")) or bool(lexicon.asks.search(normalized_words(request)))


def _asks(text: str, lexicon: Lexicon) -> bool:
    """Returns whether the text is a question rather than a statement or a command."""
    return bool(lexicon.polar.search(text)) or any(pattern.search(text) for pattern, _ in lexicon.questions)


def answer_exclusion(answer: str, reason: str) -> str:
    """Returns why an answer may not be stored; "" if it may. `reason`: the service's finish reason."""
    text = answer.strip()
    if reason not in FINISHED and not (reason == DONE_REASON and text.endswith(_SENTENCE_ENDS)):
        return "incomplete"
    if not text or len(text) > MAX_ANSWER_CHARS:
        return "length"
    if text.endswith(("?", "？")):
        return "asks back"
    if _LEAVES_OPEN.search(text.lower().replace("’", "'")):
        return "time or person"
    return ""
