"""The sentences of a reading besides the summaries, in the language of the conversation. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

from assistant.documents import Part


@dataclass(frozen=True, slots=True)
class Wording:
    """Sentences of one language; {names}, {parts} and the like are filled in.

    Attributes:
        request: What the user asks for; it stands in the history.
        whole, one_part: Said at the beginning, and before each further document.
        part: Said before a part.
        missing: A part, or several, that could not be summarized.
        broken: The summary of a part breaks off.
        left_out: What is beyond the limits.
        number, numbers: One part of a document; several.
        joined: The last word between two things.
    """

    request: str
    whole: str
    one_part: str
    part: str
    missing: str
    broken: str
    left_out: str
    number: str
    numbers: str
    joined: str


_LANGUAGES: Mapping[str, Wording] = MappingProxyType(
    {
        "en": Wording(
            request="Read {names} to me.",
            whole="{name}, in {count} parts.",
            one_part="{name}.",
            part="Part {number}",
            missing="I could not summarize {parts}: {reason}",
            broken="The summary of {parts} breaks off there.",
            left_out="I leave out {parts}, because of the limits in the settings.",
            number="part {first} of {name}",
            numbers="parts {first} to {last} of {name}",
            joined="and",
        ),
        "de": Wording(
            request="Lies mir {names} vor.",
            whole="{name}, in {count} Teilen.",
            one_part="{name}.",
            part="Teil {number}",
            missing="Nicht zusammenfassen konnte ich {parts}: {reason}",
            broken="Die Zusammenfassung bricht dort ab: {parts}.",
            left_out="Wegen der eingestellten Grenzen lasse ich weg: {parts}.",
            number="Teil {first} von {name}",
            numbers="Teil {first} bis {last} von {name}",
            joined="und",
        ),
        "fr": Wording(
            request="Lis-moi {names}.",
            whole="{name}, en {count} parties.",
            one_part="{name}.",
            part="Partie {number}",
            missing="Je n'ai pas pu résumer ceci, {parts}: {reason}",
            broken="Le résumé s'arrête là: {parts}.",
            left_out="À cause des limites réglées, je laisse de côté ceci: {parts}.",
            number="partie {first} de {name}",
            numbers="parties {first} à {last} de {name}",
            joined="et",
        ),
        "es": Wording(
            request="Léeme {names}.",
            whole="{name}, en {count} partes.",
            one_part="{name}.",
            part="Parte {number}",
            missing="No pude resumir esto, {parts}: {reason}",
            broken="El resumen se interrumpe ahí: {parts}.",
            left_out="Por los límites configurados dejo fuera esto: {parts}.",
            number="parte {first} de {name}",
            numbers="partes {first} a {last} de {name}",
            joined="y",
        ),
    }
)


def wording_of(language: str) -> Wording:
    """Returns the sentences of a language code; those of English for other languages."""
    return _LANGUAGES.get(language.partition("-")[0], _LANGUAGES["en"])


def request(names: Sequence[str], words: Wording) -> str:
    """Returns the user's request in the history."""
    return words.request.format(names=listed(names, words))


def document_lead(part: Part, words: Wording) -> str:
    """Returns what is said before a document, given its first part in the reading."""
    lead = words.one_part if part.count == 1 else words.whole
    return lead.format(name=part.name, count=part.count)


def part_lead(part: Part, words: Wording) -> str:
    """Returns what is said before the summary of a part; "" for the only part of a document."""
    if part.count == 1:
        return ""
    number = words.part.format(number=part.number)
    heading = part.heading.rstrip(" .:!?")
    return f"{number}, {heading}." if heading else f"{number}."


def missing(parts: Sequence[Part], reason: str, words: Wording) -> str:
    """Returns the sentence about parts that could not be summarized. `reason`: one spoken sentence."""
    return words.missing.format(parts=named(parts, words), reason=reason)


def broken(part: Part, words: Wording) -> str:
    """Returns the sentence after a summary that breaks off."""
    return words.broken.format(parts=named([part], words))


def left_out(parts: Sequence[Part], words: Wording) -> str:
    """Returns the sentence about parts beyond the limits; "" if there are none."""
    return words.left_out.format(parts=named(parts, words)) if parts else ""


def named(parts: Sequence[Part], words: Wording) -> str:
    """Names parts, in order: "parts 2 to 4 of a.md and b.md"."""
    names = []
    for _, group in groupby(parts, lambda part: part.document):
        of_document = list(group)
        since = 0
        for index, part in enumerate(of_document):
            if index + 1 < len(of_document) and of_document[index + 1].number == part.number + 1:
                continue
            names.append(_range(of_document[since], part, words))
            since = index + 1
    return listed(names, words)


def _range(first: Part, last: Part, words: Wording) -> str:
    if first.number == 1 and last.number == first.count:
        return first.name
    form = words.number if first.number == last.number else words.numbers
    return form.format(first=first.number, last=last.number, name=first.name)


def listed(names: Sequence[str], words: Wording) -> str:
    """Returns "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} {words.joined} {last}" if most else last
