"""Recognizes requests to remember, to forget and to tell, whose facts are free words, by patterns. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from assistant.skills.languages.language import read_skill, read_yaml
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.languages.words import wording_of

_SLOT = re.compile(r"\{([a-z_]+)\}")
_FREE = {"fact": r"(?P<fact>\S.*)", "items": r"(?P<items>\S.*)"}
_MAX_CHARS = 500
_TELLING = frozenset({"memory_add", "memory_open"})
"""Intents that no plain question is."""


@dataclass(frozen=True, slots=True)
class MemoryWords:
    """The words of one language about remembering.

    Attributes:
        keyword: Matches a word that every request has, so that other sentences cost nothing.
        asking: Matches the beginning of a request in the form of a question: "can you remember that ...?"
        frame: Matches polite words around a request.
        requests: Patterns by intent.
    """

    keyword: re.Pattern[str]
    asking: re.Pattern[str]
    frame: tuple[re.Pattern[str], re.Pattern[str]]
    requests: Mapping[str, tuple[re.Pattern[str], ...]]

    def find(self, text: str) -> TemplateMatch | None:
        """Returns the request that all of `text` is; None if it is none."""
        if len(text) > _MAX_CHARS or self.keyword.search(text) is None:
            return None
        plain = " ".join(text.replace("’", "'").split()).strip(" .!?…,¿¡")
        opening, closing = self.frame
        bare = opening.sub("", closing.sub("", plain)).strip(" ,.:¿¡")
        for words in dict.fromkeys((plain, bare)):
            for intent, patterns in self.requests.items():
                if intent in _TELLING and text.rstrip().endswith("?") and self.asking.match(words) is None:
                    continue
                match = next((match for pattern in patterns if (match := pattern.fullmatch(words))), None)
                if match is not None:
                    values = {slot: value.strip(" .,;:!?") for slot, value in match.groupdict().items() if value}
                    open_ended = any(match.end(slot) == len(words) for slot in values)
                    return TemplateMatch(intent, values, dict(values), {}, None, missing=False, open_ended=open_ended)
        return None


@cache
def memory_words(code: str) -> MemoryWords:
    """Reads the words of a language. Raises OSError or yaml.YAMLError if the installation is broken."""
    data = read_skill("assistant.skills.memories", code)
    wording = wording_of(read_yaml(code, "wording"))
    openings = _phrases([*(" ".join(opening) for opening in wording.openings), *wording.hesitations])
    closings = _phrases([" ".join(closing) for closing in wording.closings])
    rules = {**data["rules"], **_FREE}

    def compiled(pattern: str) -> re.Pattern[str]:
        while _SLOT.search(pattern):
            pattern = _SLOT.sub(lambda match: rules[match[1]], pattern)
        return re.compile(pattern, re.IGNORECASE)

    return MemoryWords(
        re.compile(data["keyword"], re.IGNORECASE),
        compiled(data["asking"]),
        (
            re.compile(rf"^(?:(?:{openings})(?:[,.!]? |$))+", re.IGNORECASE),
            re.compile(rf"(?:,? (?:{closings}))+$", re.IGNORECASE),
        ),
        {intent: tuple(map(compiled, patterns)) for intent, patterns in data["requests"].items()},
    )


def _phrases(phrases: list[str]) -> str:
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
