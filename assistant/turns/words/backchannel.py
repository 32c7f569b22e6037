"""Classifies short transcripts: backchannel, echo of the reply, or the same words as before. Pure.

`overlap_policy.py` decides with it whether speech during a reply is an interruption.
"""

import re
from functools import cache

from audio.stt import FirstWord

BACKCHANNELS_OF = {
    "": "um ok okay",
    "en": "yeah yep yup right sure wow cool nice great exactly alright really absolutely totally interesting true",
    "de": "ja jaja jo genau klar stimmt achso",
    "fr": "oui ouais d'accord voilà",
    "es": "sí vale claro ajá ya",
}
"""Backchannel words by language code; "" holds the words of all languages.

"no", "stop" and "wait" are not backchannels: they ask the assistant to stop.
"""

BACKCHANNELS = frozenset(word for words in BACKCHANNELS_OF.values() for word in words.split())
"""The backchannel words of all languages: a recognizer may report a word in the wrong language."""

_HUMS = frozenset("mhm mm mmm mmhm mmhmm hm hmm hmhm".split())
"""Words that a recognizer writes for a hum."""

_MARKS = ".,!?…;:¡¿"

PHRASES = frozenset(
    {
        "i see", "i know", "got it", "all right", "of course", "makes sense", "that makes sense", "oh my", "my god",
        "oh my god", "i understand", "fair enough", "ach so", "alles klar", "je vois", "ya veo",
    }
)  # fmt: skip
"""Backchannels of several words, of which not each is one alone."""

_LONGEST_PHRASE = max(len(phrase.split()) for phrase in PHRASES)

_WORDLESS = re.compile(
    r"m+|m+h+m*|h+m+(?:h*m+)?|u+h+(?:u*h+)?|h+u+h+|a+h+(?:a+h*)?|o+h+(?:o+h*)?|e+h+|o{2,}h*|a+w+|e+w+|u+g+h+|ph+e+w+|"
    r"(?:h[aeio])+h?|(?:[aeio]h)+|wh?o+a+h?|ou?ch|oops|a+"
)
"""Sounds that recognizers spell: "mmm", "mhm", "uh-huh", "ah", "oh", "aww", "haha"."""

_SENTENCE_ENDS = ".!?…:"


def is_wordless(text: str) -> bool:
    """Returns whether the text contains only hums and other sounds that recognizers spell, or nothing."""
    return all(word in _HUMS or _WORDLESS.fullmatch(word) for word in _words_of(text))


def is_backchannel(text: str) -> bool:
    """Returns whether the text contains only backchannel words. An empty text counts as a backchannel."""
    words, place = _words_of(text), 0
    while place < len(words):
        taken = _length_of_backchannel(words, place)
        if not taken:
            return False
        place += taken
    return True


def may_become_backchannel(text: str) -> bool:
    """Returns whether the text, of speech that continues, may be the beginning of a backchannel but is none yet."""
    words, place = _words_of(text), 0
    while place < len(words):
        taken = _length_of_backchannel(words, place)
        if not taken:
            return any(_begins(words[place:], known) for known in _BEGINNINGS)
        place += taken
    return False


def _words_of(text: str) -> list[str]:
    words = text.lower().replace("-", "").replace("’", "'").split()
    return [plain for word in words if (plain := word.strip(".,!?…;:¡¿"))]


def _length_of_backchannel(words: list[str], place: int) -> int:
    """Returns of how many words the backchannel consists that begins at this place; 0 if there is none."""
    for length in range(_LONGEST_PHRASE, 1, -1):
        if " ".join(words[place : place + length]) in PHRASES:
            return length
    return int(words[place] in BACKCHANNELS or bool(_WORDLESS.fullmatch(words[place])))


_BEGINNINGS = (*BACKCHANNELS, *PHRASES, *_HUMS, "uhhuh", "huh", "aha", "haha", "whoa", "ugh", "aww")
"""Words and phrases whose beginnings count as the beginning of a backchannel."""


def _begins(words: list[str], known: str) -> bool:
    """Returns whether these words may be the beginning of a known backchannel, of which the last word is incomplete."""
    return known.startswith(" ".join(words)) and " ".join(words) != known


def ignorable_probability(first: FirstWord, text: str, *, after_question: bool = False) -> float:
    """Returns the probability that the first word begins a backchannel or an echo, or is no word.

    Args:
        first: What the first word may be.
        text: What the assistant has just said. The microphone may have picked it up.
        after_question: It has asked a question, so that "yeah" is an answer.
    """
    echoes = plain_words(text).split()
    return sum(
        probability
        for beginning, probability in first.beginnings
        if not (word := plain_words(beginning))
        or any(echo.startswith(word) for echo in echoes)
        or (not after_question and begins_backchannel(word))
    )


@cache
def begins_backchannel(word: str) -> bool:
    """Returns whether plain letters may be the beginning of a backchannel. No letters may be."""
    return bool(_WORDLESS.fullmatch(word)) or any(known.startswith(word) for known in _BEGINNINGS)


def without_hums(text: str, text_words: str, most: int) -> str:
    """Returns the text without its last hums, such as "mhm" or the word `text_words`, at most that many of them.

    The assistant has hummed itself, and the microphone may have picked it up. "5 mm" is no hum.
    """
    words, kept = text.split(), list[str]()
    hums = _HUMS | {_bare(text_words)}
    for number in reversed(range(len(words))):
        after_number = number > 0 and words[number - 1][-1:].isdigit()
        if most > 0 and not after_number and _bare(words[number]) in hums:
            most -= 1
        else:
            kept.append(words[number])
    return " ".join(reversed(kept)) if len(kept) < len(words) else text


def ends_with_question(heard: str) -> bool:
    """Returns whether the last complete sentence is a question. "Yeah" after a question is an answer.

    Args:
        heard: The part of the reply that was heard.
    """
    ends = [mark for mark in heard if mark in _SENTENCE_ENDS]
    return bool(ends) and ends[-1] == "?"


def is_echo(text: str, transcript: str) -> bool:
    """Returns whether the text is a run of consecutive words of `transcript`: the loudspeaker in the microphone."""
    words = plain_words(text)
    return bool(words) and f" {words} " in f" {plain_words(transcript)} "


def _bare(word: str) -> str:
    """Returns a word in lower case, without hyphens and punctuation."""
    return word.lower().replace("-", "").replace("’", "'").strip(_MARKS)


def plain_words(text: str) -> str:
    """Returns the words in lower case without punctuation, since recognizers differ in both."""
    words = ("".join(char for char in word if char.isalnum()) for word in text.lower().split())
    return " ".join(word for word in words if word)
