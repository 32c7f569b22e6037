"""Normalizes feet, inches, minutes and seconds that are written with prime marks: 5'11", 27", 12" x 8", 3'20"."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import cardinal, number_pattern, say
from assistant.text.normalization.rule import Rule, word_before

_NAMES = {
    "en": (("foot", "feet"), ("inch", "inches"), ("minute", "minutes"), ("second", "seconds")),
    "de": (("Fuß", "Fuß"), ("Zoll", "Zoll"), ("Minute", "Minuten"), ("Sekunde", "Sekunden")),
    "fr": (("pied", "pieds"), ("pouce", "pouces"), ("minute", "minutes"), ("seconde", "secondes")),
    "es": (("pie", "pies"), ("pulgada", "pulgadas"), ("minuto", "minutos"), ("segundo", "segundos")),
}
_ONE = {"en": "one", "de": "ein", "fr": "un", "es": "un"}
_ONE_FEMININE = {"de": "eine", "fr": "une", "es": "una"}
_FEMININE = frozenset(("Minute", "Sekunde", "minute", "seconde", "pulgada"))
_BY = {"en": "by", "de": "mal", "fr": "sur", "es": "por"}
_ARTICLES = frozenset(("a", "an", "the"))
_FEET, _INCHES = "['’′]", "(?:[\"”″]|''|’’|′′)"
_INCHES_IN_A_FOOT = 12
_MAX_QUOTED_CHARS = 100
_LAST_QUOTE = re.compile(
    r"(?:(?P<opening>(?<![^\s(\[{:;/=—–*_-])\"|[“„])|(?<!\d)\"|”)[^\"“”„]*(?:(?<=\d)[\"”][^\"“”„]*){0,9}\Z"
)
_OPEN_SINGLE_QUOTE = re.compile(
    r"(?<!\w)['‘](?=\S)(?!(?:\d\ds|tis|twas|em|til|cause)\b)(?:[^'‘’]|(?<=\w)['’](?=\w))*\Z", re.IGNORECASE
)


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules: products of lengths first, then two marks, then one."""
    code = lexicon.code
    foot, inch, minute, second = _NAMES[code]
    needs = frozenset("'’′\"”″")
    number = number_pattern(lexicon)

    def counted(figures: str, names: tuple[str, str]) -> str:
        if figures != "1":
            return f"{say(figures, lexicon)} {names[1]}"
        one = _ONE_FEMININE.get(code, _ONE[code]) if names[0] in _FEMININE and code != "en" else _ONE[code]
        return f"{one} {names[0]}"

    def side(match: re.Match[str]) -> str:
        names = foot if re.fullmatch(_FEET, match["mark"]) else inch
        return f"{counted(match['figures'], names)} {_BY[code]} "

    def both(match: re.Match[str]) -> str:
        large, small = match["large"], match["small"]
        if (len(small) > 1 and small[0] == "0") or float(small.replace(",", ".")) >= _INCHES_IN_A_FOOT:
            return f"{counted(large, minute)} {counted(small.lstrip('0') or '0', second)}"
        if code == "en":
            return f"{cardinal(int(large), code)} foot {say(small, lexicon)}"
        return f"{counted(large, foot)} {counted(small, inch)}"

    def inches(match: re.Match[str]) -> str | None:
        quoted = _LAST_QUOTE.search(match.string, max(0, match.start() - _MAX_QUOTED_CHARS), match.start())
        if quoted and quoted["opening"]:
            return None  # a closing quotation mark
        before_noun = code == "en" and match.string[match.end() : match.end() + 2].strip(" ").isalpha()
        return f"{say(match['figures'], lexicon)} inch" if before_noun else counted(match["figures"], inch)

    def feet(match: re.Match[str]) -> str | None:
        if _OPEN_SINGLE_QUOTE.search(match.string, max(0, match.start() - _MAX_QUOTED_CHARS), match.start()):
            return None  # a closing quotation mark
        names = (foot[0], foot[0]) if word_before(match) in _ARTICLES else foot
        return counted(match["figures"], names)

    start = r"(?<![\w.,:/'’′\"″”$€£])"
    rules = [
        Rule(
            needs,
            re.compile(
                rf"{start}(?P<figures>{number})(?P<mark>{_INCHES}|{_FEET}) ?[x×] ?(?=\d{{1,4}}(?:{_INCHES}|{_FEET}))"
            ),
            side,
        ),
        Rule(
            needs,
            re.compile(
                rf"{start}(?P<large>\d{{1,2}}){_FEET} ?(?P<small>\d{{1,2}}(?:[.,]\d)?)"
                rf"(?:{_INCHES}|(?=[\s.,;:!?)]|\Z){'' if code == 'en' else '(?!)'})(?![\w'’])"
            ),
            both,
        ),
        Rule(frozenset('"”″'), re.compile(rf"{start}(?P<figures>\d{{1,3}}(?:[.,]\d{{1,2}})?)[\"”″](?!\w)"), inches),
    ]
    if code == "en":
        rules.append(Rule(frozenset("'’′"), re.compile(rf"{start}(?P<figures>\d{{1,3}}){_FEET}(?![\w'’])"), feet))
    return tuple(rules)
