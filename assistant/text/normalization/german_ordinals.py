"""Normalizes German ordinals ("der 2. Versuch"), inflected for the preceding article and the following noun."""

import re

from assistant.text.abbreviations import COUNTED_IN_ORDINALS, GERMAN_STARTERS
from assistant.text.normalization.numbers import ordinal
from assistant.text.normalization.rule import DIGITS, STARTS, Rule, word_before

_MASCULINE = (
    "platz|rang|stock|tag|monat|versuch|teil|schritt|punkt|satz|akt|band|weltkrieg|kreuzzug|gang|lauf|präsident|grad|"
    "advent|fc|sc|sv|tsv|vfb|vfl|fsv|ffc|bürgermeister|vorsitzender|titel|artikel|absatz|abschnitt|advent|film|roman|sieg|mann|stern|preis|fall|buchstabe"
)
_FEMININE = (
    "klasse|mannschaft|vorsitzende|runde|woche|stunde|minute|sekunde|etage|liga|auflage|staffel|folge|etappe|generation|stelle|person|reihe|"
    "stufe|seite|frage|phase|dynastie|armee|sinfonie|symphonie|halbzeit|hälfte|ebene|amtszeit|zeile|spalte|ausgabe|"
    "aufgabe|regel|version|nacht|tür|straße|frau|ableitung|potenz|wahl|republik"
)
_NEUTER = (
    "jahrhundert|jahrtausend|jahrzehnt|jahr|jh|mal|kapitel|quartal|semester|stockwerk|geschoss|buch|kind|tor|spiel|"
    "viertel|drittel|finale|bild|gebot|element|bein|wort|zeichen"
)
_GENDER = re.compile(rf"\w*(?:(?P<m>{_MASCULINE})|(?P<f>{_FEMININE})|(?P<n>{_NEUTER}))(?:e?s|e?n)?\.?", re.IGNORECASE)
_STRONG = {"m": "r", "f": "", "n": "s"}
_TAKES_N = re.compile(
    r"am|vom|zum|zur|dem|den|des|im|beim|bis|ab|seit|vor|nach|(?:dies|jed|(?:[mdsk]?ein|ihr|unser))e[mn]|"
    r"(?:[mdsk]?ein|ihr|unser)e[rs]"
)
_TAKES_E = re.compile(r"die|das|ins|ans|aufs|diese|dieses|jede|jedes|der|dieser|jeder|(?:[mdsk]?ein|ihr|unser)e")
_NEEDS_GENDER = re.compile("[mdsk]?ein|ihr|unser")
_BEFORE_NAME = frozenset("gegen für durch ohne um mit von bei zu nach aus seit vor".split())
_DATIVE = frozenset("in aus mit von zu auf an nach seit bei unter vor ab".split())


def german_ordinal(value: int, before: str, gender: str = "m", *, dative: bool = False) -> str:
    """Returns the ordinal inflected for the article `before` and a noun of `gender` ("m", "f", "n")."""
    words = ordinal(value, "de")
    if _TAKES_E.fullmatch(before):
        return words + ("n" if before.endswith("er") and (dative or gender == "f") else "")
    return words + ("n" if _TAKES_N.fullmatch(before) else _STRONG[gender])


def rules() -> tuple[Rule, ...]:
    """Returns the rules: after an article, before nouns that take ordinals, and for a day at the end of a sentence."""
    article = (
        "d(?:er|ie|as|e[mns])|[ai]m|zu[mr]|vom|beim|[ia]ns|aufs|jede[mnrs]?|diese[mnrs]?|"
        "(?:[mdsk]?ein|ihr|unser)(?:e[mnrs]?)?"
    )
    number = r"(?P<low>\d{1,3})\.(?:(?P<joint> (?:und|oder|bis|bis zum) )(?P<high>\d{1,3})\.)?"
    day = r"am|vom|zum|beim|im|den|dem|(?<=\bist )der|(?<=\bwar )der|(?<=\bheute )der"
    after_article = re.compile(
        rf"(?<!\w)(?:(?P<preposition>\w{{1,6}}) )?\b(?P<article>(?i:{article})) {number}(?= (?P<next>[^\W\d_]{{1,40}}))"
    )
    return (
        Rule(DIGITS, after_article, _after_article),
        Rule(DIGITS, re.compile(rf"{STARTS}{number}(?= (?P<next>[A-ZÄÖÜ]\w{{1,40}}))"), _alone),
        Rule(DIGITS, re.compile(rf"\b(?i:(?P<article>{day})) (?P<low>\d{{1,2}})\.(?=[\"”“»)]*\Z)"), _at_end),
    )


def _after_article(match: re.Match[str]) -> str | None:
    article, following = match["article"].lower(), match["next"]
    gender = _GENDER.fullmatch(following)
    if gender is None and _NEEDS_GENDER.fullmatch(article):
        return None  # ambiguous: "ein zweiter" or "ein zweites"
    preposition = match["preposition"] or ""
    words = _ordinals(match, article, gender, dative=preposition.lower() in _DATIVE)
    ends = following[0].isupper() and following.lower() in GERMAN_STARTERS
    return f"{preposition} {match['article']} {words}".lstrip() + ("." if ends else "")


def _alone(match: re.Match[str]) -> str | None:
    counted = match["next"].lower() in COUNTED_IN_ORDINALS
    gender = _GENDER.fullmatch(match["next"])
    behind_preposition = word_before(match) in _BEFORE_NAME and gender and gender.lastgroup == "m"
    return _ordinals(match, "den" if behind_preposition else "", gender, dative=False) if counted else None


def _ordinals(match: re.Match[str], article: str, gender: re.Match[str] | None, *, dative: bool) -> str:
    """Returns one ordinal or two joined ordinals."""
    known = (gender and gender.lastgroup) or "m"
    words = german_ordinal(int(match["low"]), article, known, dative=dative)
    if match["high"]:
        words += match["joint"] + german_ordinal(int(match["high"]), article, known, dative=dative)
    return words


def _at_end(match: re.Match[str]) -> str:
    return f"{match['article']} {german_ordinal(int(match['low']), match['article'].lower())}."
