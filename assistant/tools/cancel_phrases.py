"""Sentences by which the user cancels what runs in the background. A command counts only as a whole sentence. Pure."""

from collections.abc import Callable
from functools import cache

from assistant.turns.words.backchannel import plain_words

_COMMANDS = {
    "en": (
        "cancel", "cancel that", "cancel it", "cancel this", "cancel the search", "cancel the task",
        "cancel everything", "never mind", "nevermind", "never mind that", "forget it", "forget that",
        "forget about it", "forget about that",
        "stop that", "stop it", "stop the search", "stop searching", "stop looking", "dont bother", "do not bother",
        "no need", "you can stop", "you can stop looking",
    ),
    "de": (
        "abbrechen", "brich das ab", "brich ab", "brich es ab", "brich die suche ab", "vergiss es", "vergiss das",
        "lass es", "lass das", "lass gut sein", "lass es gut sein", "lass mal", "schon gut", "egal", "ist egal",
        "nicht mehr nötig", "das brauche ich nicht mehr", "hör auf zu suchen", "stopp die suche", "stoppe die suche",
    ),
    "fr": (
        "annule", "annule ça", "annule cela", "annule tout", "annule la recherche", "annulez", "annulez ça",
        "laisse tomber", "laissez tomber", "oublie", "oublie ça", "oubliez ça", "tant pis", "peu importe",
        "arrête ça", "arrête la recherche", "arrêtez la recherche", "pas la peine", "ce nest pas la peine",
        "plus besoin",
    ),
    "es": (
        "cancela", "cancélalo", "cancela eso", "cancela la búsqueda", "cancela todo", "cancelar", "cancele eso",
        "olvídalo", "olvida eso", "olvídelo", "déjalo", "déjelo", "da igual", "no importa", "no hace falta",
        "ya no hace falta", "para la búsqueda", "detén la búsqueda", "deja de buscar",
    ),
}  # fmt: skip

_AROUND = {
    "en": ("please", "ok", "okay", "oh", "actually", "no", "well", "just", "thanks", "thank you", "then"),
    "de": ("bitte", "ok", "okay", "ach", "nein", "doch", "also", "danke", "dann"),
    "fr": ("sil te plaît", "sil vous plaît", "ok", "okay", "oh", "non", "bon", "merci", "en fait", "alors"),
    "es": ("por favor", "ok", "vale", "ah", "no", "bueno", "gracias", "mejor", "entonces"),
}
"""Words before and after a command."""


@cache
def cancels_in(language: str) -> Callable[[str], bool]:
    """Returns a function that tells whether a whole sentence cancels what runs; for other languages, none does."""
    known = language.partition("-")[0].partition("_")[0].lower()
    commands = frozenset(plain_words(phrase) for phrase in _COMMANDS.get(known, ()))
    around = tuple(plain_words(phrase) for phrase in _AROUND.get(known, ()))

    def cancels(text: str) -> bool:
        words = plain_words(text)
        if len(words) > 80 or not commands:
            return False
        return _bare(words, commands, around) in commands

    return cancels


def _bare(words: str, commands: frozenset[str], around: tuple[str, ...]) -> str:
    """Returns the words without those around a command."""
    while words not in commands:
        before = next((phrase for phrase in around if words.startswith(f"{phrase} ")), None)
        after = next((phrase for phrase in around if words.endswith(f" {phrase}")), None)
        if before is not None:
            words = words[len(before) + 1 :]
        elif after is not None:
            words = words[: -len(after) - 1]
        else:
            break
    return words
