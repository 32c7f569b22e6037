"""Pronounces single words by the user's own table: as another spelling, or as phonemes. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_TOKEN = re.compile(r"\S+")
_OPENING = "\"'([{\u201c\u2018\u00ab*_"
_ENDING = re.compile(r"(['\u2019]s)?(\W*)$")
_PHONEMES = re.compile(r"/(?P<phonemes>[^/]+)/")
_WORD = re.compile(r"\w(\S*\w)?")
_HISSING = "szʃʒ"
_VOICELESS = "ptkfθ"

HUMS: Mapping[str, str] = MappingProxyType(dict.fromkeys(("mhm", "mm-hmm"), "/mmˈhmm/"))
"""Phonemes of hums, which engines would spell. They are not part of a user's table, which may have others."""

_SIGNS = frozenset("bdfhijklmnprstvwxzaeouɡθðʃʒŋɹɾʔçɲʎʁχβɣɫɪɛæɑɒɔʊʌəɐɜɚᵻyøœˈˌː\u0329\u0303g")
"""Signs of the phonetic alphabet that an entry may have. Each voice has its own names for them."""


@dataclass(frozen=True, slots=True)
class PronouncedWord:
    """A word with phonemes: its place in the text, including an English 's, and its phonemes, one sign each."""

    text_start: int
    text_end: int
    phonemes: str


class Pronunciations:
    """The user's table of words.

    A word in lower case stands for its spellings with capitals, too; any other word only for itself. Punctuation around
    a word does not matter, and an English 's may follow it.
    """

    def __init__(self, entries: Mapping[str, str] = MappingProxyType({})) -> None:
        """`entries`: words with another spelling, or with phonemes as in /niːv/. See `problem`."""
        self._respellings: dict[str, str] = {}
        self._phonemes: dict[str, str] = {}
        for word, entry in entries.items():
            if match := _PHONEMES.fullmatch(entry):
                self._phonemes[word] = match["phonemes"].replace("g", "ɡ")
            else:
                self._respellings[word] = entry

    def respelled(self, text: str) -> str:
        """Returns the text with the other spelling of each word that has one."""
        parts, done = [], 0
        for start, end, entry, _ in _entries_in(text, self._respellings):
            parts += [text[done:start], entry]
            done = end
        return "".join((*parts, text[done:]))

    def pronounced(self, text: str) -> list[PronouncedWord]:
        """Returns the words of a text that have phonemes, in order."""
        return [
            PronouncedWord(start, end + len(possessive), entry + (_s_after(entry) if possessive else ""))
            for start, end, entry, possessive in _entries_in(text, self._phonemes)
        ]


def problem(word: str, entry: object) -> str:
    """Returns what is wrong with an entry, to follow its name; "" if nothing is."""
    if not _WORD.fullmatch(word):
        return "must be one word"
    if isinstance(entry, str) and entry.startswith("/"):
        match = _PHONEMES.fullmatch(entry)
        if match is None:
            return "must have phonemes between two slashes, as in /niːv/"
        unknown = next((sign for sign in match["phonemes"] if sign not in _SIGNS), "")
        return f'has "{unknown}", which is not a known phoneme' if unknown else ""
    if not isinstance(entry, str) or not any(map(str.isalnum, entry)) or any(sign in entry for sign in "\n\r[]/"):
        return 'must be a spelling to read aloud, as in "Neev", or phonemes, as in "/niːv/"'
    return ""


def _entries_in(text: str, entries: Mapping[str, str]) -> Iterator[tuple[int, int, str, str]]:
    """Yields start, end and entry of each word that has one, and the 's after it."""
    if not entries:
        return
    for token in _TOKEN.finditer(text):
        body = token[0].lstrip(_OPENING)
        ending = _ENDING.search(body)
        assert ending is not None, "it can be empty"
        word = body[: ending.start()]
        entry = entries.get(word) or entries.get(word.lower())
        if entry:
            start = token.end() - len(body)
            yield start, start + len(word), entry, ending[1] or ""


def _s_after(phonemes: str) -> str:
    last = phonemes[-1]
    return "ᵻz" if last in _HISSING else "s" if last in _VOICELESS else "z"
