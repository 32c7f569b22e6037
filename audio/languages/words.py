"""Counts the words of a transcript that are evidence for a language. Pure."""

import re

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")

SHORT_ANSWERS = frozenset(
    # in all languages, or nearly
    "ok okay hm hmm mhm uh um ah oh eh aha ha hey hallo hello hi hola allô ciao bye stop stopp super bravo merci "
    "pardon sorry please bitte danke thanks gracias vale bon bien gut good nice cool wow alright right genau klar "
    "claro exacto exactement voilà d'accord yes yeah yep no nope not nein ja jaja nee doch oui ouais si sí non nada "
    "y and und et".split()
)
"""Words that speakers of any language use as an answer, and that recognizers write for a hum."""

NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "half past null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend "
    "halb zéro un deux trois quatre cinq six sept huit neuf dix onze douze vingt trente cent mille "
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce veinte treinta cien mil".split()
)
"""Words of spelled numbers. Recognizers write most numbers in digits."""

GREETINGS = frozenset({"guten morgen", "guten tag", "guten abend", "gute nacht", "buenos días", "good morning"})
"""Phrases whose words all begin with a capital letter, or may, and that are no names."""

_NUMBER = re.compile(r"\d+")

_SCRIPTS_WITHOUT_BLANKS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
"""Letters of Japanese, Chinese and Thai, whose words are not divided by blanks."""

_LETTERS_OF_A_WORD = 2
"""Letters of these scripts that count as one word."""


def evidence_words(text: str) -> int:
    """Returns how many different words of the text are evidence for the language in which it was recognized.

    Short answers, single letters and names are none, and numbers none by themselves: beside another word they count as
    one. A text whose words all begin with a capital letter, at most three of them, may be a name.
    """
    if unspaced := len(_SCRIPTS_WITHOUT_BLANKS.findall(text)):
        return unspaced // _LETTERS_OF_A_WORD
    written: list[str] = _WORD.findall(text)
    has_number = _NUMBER.search(text) is not None
    if _may_be_name(written) and not has_number:
        return 0
    words = {word.lower().replace("’", "'") for word in written}
    counted = sum(len(word) > 1 for word in words - SHORT_ANSWERS - NUMBERS)
    return counted + (counted > 0 and (has_number or bool(words & NUMBERS)))


def _may_be_name(words: list[str]) -> bool:
    plain = " ".join(words).lower()
    return len(words) <= 3 and all(word[0].isupper() for word in words) and plain not in GREETINGS
