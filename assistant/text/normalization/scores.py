"""Normalizes scores that could also be times of day: "The score was 21:17"."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import cardinal
from assistant.text.normalization.rule import STARTS, Rule

_BEFORE = re.compile(
    r"\b(?:scor(?:e|es|ed|ing)|w[io]n|wins|lost|lose|loses|beat|beats|defeat(?:s|ed)?|drew|tied|leading|trail(?:s|ed|ing)?|"
    r"final result|half-?time|full-?time|(?:match|game|set) (?:ended|finished|was decided)|"
    r"gewinn(?:t|en)|gewann(?:en)?|gewonnen|verl(?:iert|ieren|or|oren)|siegt(?:e|en)?|führt(?:e|en)? mit|"
    r"spiel(?:stand|te|ten)|ergebnis|(?:end|halbzeit|zwischen)stand|steht es|stand es|unentschieden|"
    r"(?:spiel|partie|match|finale) (?:endete|ging|ist|war)|schl(?:ug|ägt)|besiegte?|"
    r"résultat|gagn\w{1,5}|perd\w{0,3}|battu\w{0,3}|bat|mènent?|menait|victoire|défaite|"
    r"(?:match|partie|finale) (?:s['’]est|est|était|a)|"
    r"marcador|resultado|gan(?:a|an|ó|aron|amos|ado)|perd(?:ió|ieron|imos|ido)|venci(?:ó|eron)|empat\w{1,4}|"
    r"partido (?:terminó|acabó|quedó|finalizó)|derrot\w{1,4})\b"
    r"[^.!?;]{0,32}\Z",
    re.IGNORECASE,
)
_CLOCK_BEFORE = re.compile(
    r"\b(?:at|by|until|till|from|after|before|since|around|um|ab|bis|gegen|seit|nach|vor|[àÀ]|vers|dès|jusqu['’]à|avant|après|las|la|desde|hasta)"
    r" (?:about |etwa |environ |las |la )?\Z",
    re.IGNORECASE,
)
_CLOCK_AFTER = re.compile(r" ?(?:[ap]\.?m\b|Uhr\b|h\b|heures\b|horas\b|o'clock|UTC|GMT|[ECP][SD]?T\b)", re.IGNORECASE)
_AFTER = re.compile(
    r" (?:win|victory|loss|defeat|lead|draw|gewonnen|verloren|besiegt|geschlagen|Sieg|Niederlage|gegen|für|"
    r"against|contra|contre)\b"
)
_TO = {"en": "to", "de": "zu", "fr": "à", "es": "a"}


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rule. It comes before times."""

    def read(match: re.Match[str]) -> str | None:
        before = match.string[max(0, match.start() - 56) : match.start()]
        if _CLOCK_BEFORE.search(before) or _CLOCK_AFTER.match(match.string, match.end()):
            return None
        if not (_BEFORE.search(before) or _AFTER.match(match.string, match.end())):
            return None
        return f"{cardinal(int(match[1]), lexicon.code)} {_TO[lexicon.code]} {cardinal(int(match[2]), lexicon.code)}"

    return (Rule(frozenset(":"), re.compile(rf"{STARTS}(\d{{1,3}}):(\d{{1,3}})(?!\w|[:.-]\d)"), read),)
