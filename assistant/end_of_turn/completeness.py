"""Scores how complete an interim transcript sounds, as evidence about the end of the turn.

Works on English text from a recognizer, with or without punctuation. The last words decide first: a final "the" means
that the turn continues. Then the structure of the whole text counts.
"""

import re
from typing import Literal

_WORD = re.compile(r"[a-z0-9]+(?:[.:][0-9]+)?(?:['’][a-z]+)?(?:-[a-z]+)*|o'clock")

LastWord = Literal["none", "filler", "dangling", "preposition", "particle", "number", "open verb", "other"]
"""The kind of the last word of a transcript."""

# Scores of the rules below, set by hand: 0 is incomplete, 1 complete.
NO_EVIDENCE = 0.5
_FILLER = 0.05
_DANGLING = 0.1
_UNFINISHED_NUMBER = 0.3
_PREPOSITION = 0.15
_OPEN_VERB = 0.2
_PARTICLE = 0.6
_SHORT_ANSWER = 0.9
_STRUCTURED = 0.8
_UNSTRUCTURED = 0.4

_FILLERS = frozenset("um uh uhm er erm hmm hm mm ah eh like well so anyway basically actually y'know".split())
_DANGLING_WORDS = frozenset(
    "and or but because cause although though unless whereas while if when that which than as nor"
    " the a an my your his its our their these those every each some any another no-one's very really quite too"
    " more most much many such i'm you're we're they're he's she's it's that's there's what's where's who's how's"
    " i'll you'll we'll they'll i'd you'd we'd i've we've let's don't doesn't didn't can't couldn't won't wouldn't"
    " shouldn't isn't aren't wasn't i we he they who whose what's gonna wanna gotta".split()
)
_PREPOSITIONS = frozenset(
    "of to with for from at by into onto about between among during without within under above through towards"
    " toward against around until till since per via near behind beside like".split()
)
_PARTICLES = frozenset("on off up down in out over away back along".split())
_OPEN_VERBS = frozenset(
    "is are was were am be been being do does did has have had can could will would shall should may might must"
    " want wants need needs wanted needed think thought mean means said says tell give bring put make get set find"
    " show buy send know wonder wondering going".split()
)
_OPERATORS = frozenset("plus minus times divided multiplied".split())
_WHOLE_WITH_MORE = frozenset("me us some any once bit little few no".split())
_TENS = frozenset("twenty thirty forty fifty sixty seventy eighty ninety".split())
_UNITS = frozenset("zero one two three four five six seven eight nine ten hundred thousand million oh".split())
_SHORT_ANSWERS = frozenset(
    "yes yeah yep no nope ok okay sure thanks thank-you stop hello hi hey bye goodbye cancel continue right exactly"
    " correct please nothing quiet pause resume help never-mind".split()
)
_SHORT_PHRASES = frozenset(
    (
        "thank you",
        "never mind",
        "good morning",
        "good night",
        "good evening",
        "of course",
        "go on",
        "go ahead",
        "that's all",
        "that's it",
        "i don't know",
        "i think so",
        "not really",
        "shut up",
        "be quiet",
        "see you",
        "how are you",
        "who are you",
    )
)
_ASKING = frozenset("what what's where where's when when's who who's why how how's which whose".split())
_AUXILIARIES = frozenset(
    "is are was were am do does did has have can could will would shall should may might isn't aren't don't".split()
)
_COMMANDS = frozenset(
    "turn switch set start stop play pause open close show tell give call send make add remove delete remind read"
    " find search put bring cancel resume skip dim increase decrease raise lower mute unmute repeat explain write"
    " wake take let help check create book order translate describe sing count".split()
)
_POLITE = frozenset("please hey okay ok now then so and just".split())
_PRONOUNS = frozenset("i you he she it we they there that this".split())


def completeness(text: str) -> float:
    """Returns how complete an interim transcript sounds, in [0, 1]. 0.5: no evidence; 0.0: an empty transcript."""
    lower = text.lower().rstrip(" \"'”’)")
    words = words_of(lower)
    if not words:
        return 0.0
    mark = lower[-1:]
    if lower.endswith(("...", "…", "-", "—", "–")):
        return _DANGLING
    score = _by_words(words)
    if mark in (",", ":", ";"):
        return min(score, 0.3)
    if score < NO_EVIDENCE - 0.05 and not (score == _UNSTRUCTURED and mark in ".!?"):
        # Recognizers often add a full stop to unfinished text, so it counts little after a dangling word.
        return score + (0.05 if mark in ".!?" else 0.0)
    if mark == "?":
        return max(score, 0.9)
    return min(0.95, score + 0.15) if mark in ".!" else score


def words_of(text: str) -> list[str]:
    """Returns the words of a transcript in lower case, without punctuation."""
    return _WORD.findall(text.lower().replace("’", "'"))


def last_word(words: list[str]) -> LastWord:
    """Returns the kind of the last word, regardless of the words before it."""
    if not words:
        return "none"
    last = words[-1]
    kinds: tuple[tuple[LastWord, frozenset[str]], ...] = (
        ("filler", _FILLERS),
        ("dangling", _DANGLING_WORDS),
        ("preposition", _PREPOSITIONS),
        ("particle", _PARTICLES),
        ("number", _TENS | _UNITS),
        ("open verb", _OPEN_VERBS),
    )
    return next((kind for kind, members in kinds if last in members), "other")


def is_short_answer(words: list[str]) -> bool:
    """Returns whether the words are one of the known short but complete phrases: "yes please", "never mind"."""
    return bool(words) and len(words) <= 3 and (" ".join(words) in _SHORT_PHRASES or set(words) <= _SHORT_ANSWERS)


def is_request(words: list[str]) -> bool:
    """Returns whether the words begin as a question or a command."""
    core = _core(words)
    return bool(core) and core[0] in _ASKING | _AUXILIARIES | _COMMANDS


def _by_words(words: list[str]) -> float:
    last = words[-1]
    if is_short_answer(words):
        return _SHORT_ANSWER
    if words[-2:] == ["thank", "you"] or last == "please":
        return _SHORT_ANSWER
    if len(words) > 1 and last in ("like", "so", "well") and words[-2] in ("think", "very", "as", "hope", "really"):
        return NO_EVIDENCE
    if last == "more" and len(words) > 1 and (words[-2] in _WHOLE_WITH_MORE or _is_number(words[-2])):
        return _by_structure(words)
    if _lacks_number(words):
        return _DANGLING
    unfinished = _by_last_word(words, last)
    return _by_structure(words) if unfinished is None else unfinished


def _lacks_number(words: list[str]) -> bool:
    """Returns whether a number is missing: "five plus", "ten divided by". "Three times" is complete, unless it is part
    of a question."""
    before, operator = ["", "", *(words[:-1] if words[-1] == "by" else words)][-2:]
    sums = operator in _OPERATORS and _is_number(before)
    return sums and (operator != "times" or _core(words)[0] in _ASKING)


def _is_number(word: str) -> bool:
    return word in _UNITS | _TENS or word.isdigit()


def _by_last_word(words: list[str], last: str) -> float | None:
    """Returns the score if the last word decides it: more must follow, or a particle may end the sentence; else
    None."""
    core = _core(words)
    asks = bool(core) and core[0] in _ASKING
    before = words[-2] if len(words) > 1 else ""
    score: float | None = None
    if last in _FILLERS and not (asks and last == "like"):
        score = _FILLER
    elif last in _DANGLING_WORDS or (last == "point" and _is_number(before)):
        score = _DANGLING
    elif last in _PREPOSITIONS:
        score = _PARTICLE if asks and len(core) >= 4 else _PREPOSITION
    elif last in _PARTICLES:
        commands = bool(core) and core[0] in _COMMANDS and len(core) >= 3
        score = _STRUCTURED if commands else (_PARTICLE if asks else 0.35)
    elif last in _TENS or (last in ("hundred", "thousand", "oh") and len(words) > 1):
        score = _UNFINISHED_NUMBER
    elif last in _OPEN_VERBS:
        score = _after_open_verb(core, before)
    elif last == "you" and before in _AUXILIARIES and core[0] in _AUXILIARIES | _ASKING:
        score = _DANGLING
    return score


def _after_open_verb(core: list[str], before: str) -> float:
    """Returns the score after an open verb: "yes i do" and "what time it is" are complete, "what is" is not."""
    if core and core[0] in ("yes", "no", "yeah") and before in _PRONOUNS:
        return _STRUCTURED
    if core and core[0] in _ASKING | _AUXILIARIES | _COMMANDS and len(core) >= 4 and before in _PRONOUNS:
        return _PARTICLE
    return _OPEN_VERB


def _by_structure(words: list[str]) -> float:
    """Returns the score of the whole text: a question or a command with all its parts is complete."""
    core = _core(words)
    first = core[0] if core else ""
    if first in ("can", "could", "would", "will") and core[1:2] == ["you"]:
        return _by_command(_core(core[2:]))
    if first in _ASKING:
        # "what is" and one more word may be complete ("what is love"); "what time" is not.
        return _STRUCTURED if len(core) >= 4 else (0.65 if len(core) == 3 else 0.25)
    if first in _AUXILIARIES:
        return _STRUCTURED if len(core) >= 4 else (_PARTICLE if len(core) == 3 else 0.25)
    if first in _COMMANDS:
        return _by_command(core)
    return _UNSTRUCTURED if len(words) <= 2 else (0.55 if len(words) >= 5 else NO_EVIDENCE)


def _by_command(core: list[str]) -> float:
    if len(core) <= 1:
        return 0.3
    if core[-1] in ("me", "us") and len(core) == 2:
        return 0.3
    return _STRUCTURED if len(core) >= 3 else 0.65


def _core(words: list[str]) -> list[str]:
    """Returns the words without the polite ones at the beginning."""
    start = 0
    while start < len(words) and words[start] in _POLITE:
        start += 1
    return words[start:]
