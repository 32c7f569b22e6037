"""Normalizes short dates that could also be fractions: "Tuesday 3/4", "by 11/20"."""

import re

from assistant.text.normalization.dates import say_date
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import DENOMINATORS
from assistant.text.normalization.rule import ENDS, STARTS, Rule

_DAY_NAMES = {
    "en": "(?:Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri|Sat|Sun)\\.?|(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)",
    "de": "(?:Mo|Di|Mi|Do|Fr|Sa|So)\\.?|(?i:(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|sonnabend)",
    "fr": "(?i:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)",
    "es": "(?i:lunes|martes|miércoles|jueves|viernes|sábado|domingo)",
}
# After "Tuesday 3/4", one of these is the thing of which there are three quarters.
_MEASURED = re.compile(
    " (?:of|cups?|tsp|tbsp|teaspoons?|tablespoons?|inch|inches|miles?|hours?|pounds?|lb|liter|litre|Tassen?|Liter|"
    "Stunde|"
    "der|des|tasses?|d['’e]|litres?|heures?|tazas?|litros?|horas?|de)\\b"
)


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules. They apply before fractions."""

    def weekday(match: re.Match[str]) -> str | None:
        if _MEASURED.match(match.string, match.end()):
            return None
        first, second = int(match["first"]), int(match["second"])
        day, month = (first, second) if lexicon.day_first else (second, first)
        if month > 12:
            day, month = month, day
        return say_date(day, month, None, lexicon, "am" if lexicon.code == "de" else "")

    def after_weekday(match: re.Match[str]) -> str | None:
        words = weekday(match)
        return words and match[1] + words

    def due(match: re.Match[str]) -> str | None:
        is_part = int(match["first"]) < int(match["second"]) and int(match["second"]) in DENOMINATORS
        return None if is_part or (int(match["first"]), int(match["second"])) == (9, 11) else weekday(match)

    names, figured = _DAY_NAMES[lexicon.code], rf"(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}}){ENDS}"
    later = {"en": " (?:on|this|next) ", "de": " am ", "fr": " (?:le )?", "es": " (?:el )?"}[lexicon.code]
    rules = [
        Rule(frozenset("/"), re.compile(rf"(\b(?:{names}),? (?:the |le |el |den |dem )?\(?){figured}"), after_weekday),
        Rule(frozenset("/"), re.compile(rf"{STARTS}{figured}(?={later}(?:{names})(?!\w))"), weekday),
    ]
    if lexicon.code == "en":
        before = r"(?<=\bby )|(?<=\bdue )|(?<=\buntil )|(?<=\bsince )|(?<=\bbefore )|(?<=\bfrom )|(?<=\bthrough )"
        rules.append(Rule(frozenset("/"), re.compile(rf"(?:{before}){figured}"), due))
    return tuple(rules)
