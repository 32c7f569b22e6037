"""What words are to turn taking: a listener's "mhm" or more, an echo, the same as others or not. Pure."""

BACKCHANNELS_OF = {
    "": "mhm mm mmm mmhm mmhmm hm hmm hmhm uh huh uhhuh um ah aha oh ok okay",
    "en": "yeah yep yup right sure",
    "de": "ja jaja jo genau klar stimmt achso",
    "fr": "oui ouais d'accord voilà",
    "es": "sí vale claro ajá ya",
}
"""By language ("": any): what people say to show that they listen. "no", "stop" and "wait" are none."""

BACKCHANNELS = frozenset(word for words in BACKCHANNELS_OF.values() for word in words.split())
"""Of all languages: a recognizer may hear one's in another's."""

_SENTENCE_ENDS = ".!?…:"


def is_backchannel(text: str) -> bool:
    """Whether it is nothing but what people say to show that they listen."""
    words = text.lower().replace("-", "").replace("’", "'").split()
    return all(word.strip(".,!?…;:¡¿") in BACKCHANNELS for word in words)


def asks(heard: str) -> bool:
    """Whether the last sentence that was heard to its end is a question: "yeah" is an answer to it."""
    ends = [mark for mark in heard if mark in _SENTENCE_ENDS]
    return bool(ends) and ends[-1] == "?"


def is_echo(text: str, said: str) -> bool:
    """Whether it is nothing but words that were `said`, in a row: a loudspeaker's sound in the microphone."""
    words = plain_words(text)
    return bool(words) and f" {words} " in f" {plain_words(said)} "


def plain_words(text: str) -> str:
    """The words alone: case and punctuation are the recognizer's taste."""
    words = ("".join(char for char in word if char.isalnum()) for word in text.lower().split())
    return " ".join(word for word in words if word)
