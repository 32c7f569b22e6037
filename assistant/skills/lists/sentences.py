"""Recognizes sentences about lists and notes, whose items are free words, by patterns. Pure.

Free words keep their capitals and commas, which the other templates drop.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from assistant.skills.languages.language import read_skill, read_yaml
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.languages.words import wording_of
from assistant.skills.lists.items import MAX_ITEM_CHARS
from assistant.skills.lists.splitting import ItemWords

_SLOT = re.compile(r"\{([a-z_]+)\}")
_FREE = {"items": r"(?P<items>\S(?:.*?\S)??)", "note": r"(?P<note>\S.*)"}
_SENTENCE_END = re.compile(r"[?!;:]|\.\s")
_MAX_CHARS = 500
_QUESTIONS = frozenset({"dialog_list_has", "dialog_list_read"})
_MAX_FOLLOWING_WORDS = 12
"""A longer sentence that begins with "and" is no item."""


@dataclass(frozen=True, slots=True)
class ListWords:
    """The words of one language about lists.

    Attributes:
        keyword: Matches a word that every request has, so that other sentences cost nothing.
        frame: Matches polite words around a request.
        requests: Patterns by intent.
        follow_ups: Patterns of sentences that refer to the list named last, by intent.
        known: The list that a name means; "" for the one named last.
        owned: Words that say that a list is the user's own: "my".
        listing: Matches the word "list".
        positions: The number of an item, by its name: "second"; -1 for the last.
        unlike_items: First words of what is no item: "what".
        items: Words around items.
    """

    keyword: re.Pattern[str]
    frame: tuple[re.Pattern[str], re.Pattern[str]]
    requests: Mapping[str, tuple[re.Pattern[str], ...]]
    follow_ups: Mapping[str, tuple[re.Pattern[str], ...]]
    known: Mapping[str, str]
    owned: frozenset[str]
    listing: re.Pattern[str]
    positions: Mapping[str, int]
    unlike_items: frozenset[str]
    items: ItemWords

    def find(self, text: str) -> TemplateMatch | None:
        """Returns the request about a list or note that all of `text` is; None if it is none."""
        if len(text) > _MAX_CHARS or self.keyword.search(text) is None:
            return None
        match = next(self._matches(self.bare(text), self.requests), None)
        return None if match is not None and "note" in match.values and text.rstrip().endswith("?") else match

    def find_follow_ups(self, text: str) -> Iterator[TemplateMatch]:
        """Yields the ways in which all of `text` may refer to the list named last."""
        bare = self.bare(text)
        whole = " ".join(text.replace("’", "'").split()).strip(" .!?…,¿¡")
        if len(whole.split()) <= _MAX_FOLLOWING_WORDS:
            for words in dict.fromkeys((whole, bare)):  # "and" is also a polite opening
                matches = self._matches(words, self.follow_ups)
                asks = text.rstrip().endswith("?")
                yield from (match for match in matches if not asks or match.intent in _QUESTIONS)

    def bare(self, text: str) -> str:
        """Returns the text without politeness and the punctuation at its end."""
        bare = " ".join(text.replace("’", "'").split()).strip(" .!?…,¿¡")
        opening, closing = self.frame
        return opening.sub("", closing.sub("", bare)).strip(" ,.:¿¡") or bare

    def _matches(self, text: str, patterns: Mapping[str, tuple[re.Pattern[str], ...]]) -> Iterator[TemplateMatch]:
        for intent, alternatives in patterns.items():
            for pattern in alternatives:
                match = pattern.fullmatch(text)
                values = None if match is None else self._values(match)
                if values is not None:
                    yield TemplateMatch(
                        intent, values, dict(values), {}, None, missing=False, open_ended="note" in values
                    )

    def _values(self, match: re.Match[str]) -> dict[str, str] | None:
        """Returns the values of a match; None if its words cannot be a list or items."""
        slots = {slot: value for slot, value in match.groupdict().items() if value is not None}
        values: dict[str, str] = {}
        if "list" in slots:
            name = " ".join(slots["list"].split())
            known = self.known.get(name.lower().replace("-", " "))
            if known is None and slots.get("owner", "").lower() not in self.owned:
                return None
            if known != "":
                values["list"] = known or name
        if "items" in slots:
            items = slots["items"].strip(" ,")
            first = items.lower().split()[:1]
            if not first or self.listing.search(items) or _SENTENCE_END.search(items):
                return None
            with_article = self.items.articles.match(items) is not None
            if items.lower() in self.unlike_items or (first[0] in self.unlike_items and not with_article):
                return None
            values["items"] = items[:MAX_ITEM_CHARS]
        if "note" in slots:
            values["note"] = slots["note"].strip(" .,;:!?")[:MAX_ITEM_CHARS]
        if "nth" in slots:
            nth = slots["nth"].lower()
            values["nth"] = str(self.positions[nth] if nth in self.positions else int(re.sub(r"\D", "", nth)))
        return values


def _phrases(phrases: Iterable[str]) -> str:
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))


@cache
def list_words(code: str) -> ListWords:
    """Reads the words of a language. Raises OSError or yaml.YAMLError if the installation is broken."""
    data = read_skill("assistant.skills.lists", code)
    wording = wording_of(read_yaml(code, "wording"))
    openings = _phrases([*(" ".join(opening) for opening in wording.openings), *wording.hesitations, *data["openings"]])
    closings = _phrases([*(" ".join(closing) for closing in wording.closings), *data["closings"]])
    positions = {str(word): int(number) for number, words in data["positions"].items() for word in words.split()}
    rules: dict[str, str] = {
        **data["rules"],
        **_FREE,
        "nth": rf"(?P<nth>{_phrases(positions)}|{data['nth_in_digits']})",
    }
    joints = _phrases(data["joints"])
    together = data["together"]
    return ListWords(
        re.compile(data["keyword"], re.IGNORECASE),
        (
            re.compile(rf"^(?:(?:{openings})(?:[,.!]? |$))+", re.IGNORECASE),
            re.compile(rf"(?:,? (?:{closings}))+$", re.IGNORECASE),
        ),
        _compiled(data["requests"], rules),
        _compiled(data["follow_ups"], rules),
        _known(data),
        frozenset(data["owned"].split()),
        re.compile(data["listing"], re.IGNORECASE),
        positions,
        frozenset(data["unlike_items"].split()),
        ItemWords(
            re.compile(rf"\s+(?:{joints})\s+", re.IGNORECASE),
            re.compile(rf"^(?:{data['articles']})", re.IGNORECASE),
            re.compile(rf"\b(?:{_phrases(together)})\b", re.IGNORECASE) if together else None,
        ),
    )


def _known(data: Mapping[str, Any]) -> dict[str, str]:
    known = {str(name): str(list_name) for list_name, names in data["known"].items() for name in names}
    return known | {str(name): str(name) for name in data["common"]} | {str(name): "" for name in data["unnamed"]}


def _compiled(patterns: Mapping[str, list[str]], rules: Mapping[str, str]) -> dict[str, tuple[re.Pattern[str], ...]]:
    def compiled(pattern: str) -> re.Pattern[str]:
        while _SLOT.search(pattern):
            pattern = _SLOT.sub(lambda match: rules[match[1]], pattern)
        return re.compile(pattern, re.IGNORECASE)

    return {intent: tuple(map(compiled, alternatives)) for intent, alternatives in patterns.items()}
