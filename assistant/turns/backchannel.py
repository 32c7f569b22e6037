"""Classifies short transcripts: backchannel, echo of the reply, or the same words as before. Pure.

`overlap_policy.py` decides with it whether speech during a reply is an interruption.
"""

BACKCHANNELS_OF = {
    "": "mhm mm mmm mmhm mmhmm hm hmm hmhm uh huh uhhuh um ah aha oh ok okay",
    "en": "yeah yep yup right sure",
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
_SENTENCE_ENDS = ".!?…:"


def is_backchannel(text: str) -> bool:
    """Returns whether the text contains only backchannel words. An empty text counts as a backchannel."""
    return all(_bare(word) in BACKCHANNELS for word in text.split())


def without_hums(text: str, said: str, most: int) -> str:
    """Returns the text without its last hums, such as "mhm" or the word `said`, at most that many of them.

    The assistant has hummed itself, and the microphone may have picked it up. "5 mm" is no hum.
    """
    words, kept = text.split(), list[str]()
    hums = _HUMS | {_bare(said)}
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


def is_echo(text: str, said: str) -> bool:
    """Returns whether the text is a run of consecutive words of `said`: the loudspeaker in the microphone."""
    words = plain_words(text)
    return bool(words) and f" {words} " in f" {plain_words(said)} "


def _bare(word: str) -> str:
    """Returns a word in lower case, without hyphens and punctuation."""
    return word.lower().replace("-", "").replace("’", "'").strip(_MARKS)


def plain_words(text: str) -> str:
    """Returns the words in lower case without punctuation, since recognizers differ in both."""
    words = ("".join(char for char in word if char.isalnum()) for word in text.lower().split())
    return " ".join(word for word in words if word)
