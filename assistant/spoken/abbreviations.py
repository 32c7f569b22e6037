"""Abbreviations, letters to spell, Roman numerals."""

import re

from assistant.spoken.lexicon import Lexicon
from assistant.spoken.numbers import cardinal, ordinal
from assistant.spoken.rule import DIGITS, Rule, goes_on

# What espeak-ng, and Piper through it, reads as a word (checked by phonemes); "A.W.S" it spells, "A W S" it does not.
_SPELLED = "AWS LED LEDs IDE IDEs UX CLI CLIs VAT FAQ FAQs".split()

_ROMAN = "XX|XIX|XVIII|XVII|XVI|XV|XIV|XIII|XII|XI|X|IX|VIII|VII|VI|V|IV|III|II|I"
_ROMAN_VALUES = {name: 20 - index for index, name in enumerate(_ROMAN.split("|"))}
_HOUR_ENDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|teen|ty"
_CENTURIES = "XXI|" + _ROMAN
_RULERS = (
    "Henry|Louis|Charles|George|Elizabeth|Edward|Richard|James|William|John|Paul|Benedict|Pius|Napoleon|Philip|"
    "Frederick|Catherine|Nicholas|Alexander|Leo|Francis|Ramses|Mary|Peter|Otto|Wilhelm|Friedrich|Ludwig|Karl|Heinrich|"
    "Ramesses|Innocent|Gregory|Felipe|Carlos|Juan|Alfonso|Fernando|Luis|Isabel|Henri|François|Charles|Guillaume|"
    "Johannes|Papst|Benedikt|Xerxes|Darius|Ptolemy|Gustav|Harald|Margrethe"
)
_NUMBERED = (
    "World War|Weltkrieg|Part|Chapter|Act|Phase|Volume|Title|Section|Book|Class|Level|Stage|Super Bowl|Episode|"
    "Appendix|Type|Final Fantasy|Rocky|Article|Kapitel|Teil|Band|Akt|Artikel|chapitre|tome|acte|article|capítulo|"
    "tomo|acto"
)


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Abbreviations of the language, then Roman numerals, then letters."""
    found = [*_known(lexicon), *_romans(lexicon)]
    if lexicon.code == "en":
        found += _english()
    return tuple(found)


def _known(lexicon: Lexicon) -> list[Rule]:
    inner, closing, numbered = lexicon.abbreviations, lexicon.closing, lexicon.numbered

    def any_of(names: list[str]) -> str:
        return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))

    def inside(match: re.Match[str]) -> str:
        return inner[match[0]]

    def at_end(match: re.Match[str]) -> str:
        ends = match[0].endswith(".") and not goes_on(match)
        return closing[match[0]] + ("." if ends else "")

    def before_number(match: re.Match[str]) -> str:
        return f"{numbered[match[1]]} "

    start = r"(?<![\w.@/-])"
    return [
        Rule(frozenset("."), re.compile(rf"{start}(?:{any_of(list(inner))})(?= ?\w)(?!\w\.\w)"), inside),
        Rule(frozenset("."), re.compile(rf"{start}(?:{any_of(list(closing))})(?!\w)"), at_end),
        Rule(DIGITS, re.compile(rf"{start}({any_of(list(numbered))}) ?(?=\d)"), before_number),
    ]


def _romans(lexicon: Lexicon) -> list[Rule]:
    code = lexicon.code

    def ruler(match: re.Match[str]) -> str | None:
        value = _ROMAN_VALUES[match[2]]
        if match[2] == "I" and (code != "de") and re.match(r" [a-z]", match.string[match.end() :]):
            return None  # "Henry I think"
        if code == "en":
            return f"{match[1]} the {ordinal(value, code)}"
        if code == "de":
            return f"{match[1]} der {ordinal(value, code).capitalize()}" if match[3] else None
        if code == "fr":
            return f"{match[1]} {'premier' if value == 1 else cardinal(value, code)}"
        return f"{match[1]} {ordinal(value, code) if value <= 10 else cardinal(value, code)}"

    def numbered(match: re.Match[str]) -> str | None:
        if match[2] == "I" and re.match(r" [a-z]", match.string[match.end() :]):
            return None
        return f"{match[1]} {cardinal(_ROMAN_VALUES[match[2]], code)}"

    def century(match: re.Match[str]) -> str:
        value = 21 if match[2] == "XXI" else _ROMAN_VALUES[match[2]]
        if code == "fr":
            return ("premier" if value == 1 else ordinal(value, code)) + match[3]
        return f"{match[1]} {ordinal(value, code) if value < 10 else cardinal(value, code)}"

    tail = {"de": r"(\.)", "fr": "(er)?"}.get(code, "()")
    found = [
        Rule(frozenset("IVX"), re.compile(rf"\b({_RULERS}) ({_ROMAN}){tail}(?![\w'’-])"), ruler),
        Rule(frozenset("IVX"), re.compile(rf"\b({_NUMBERED}) ({_ROMAN})(?![\w'’-])"), numbered),
    ]
    if code == "fr":
        found.append(Rule(frozenset("IVX"), re.compile(rf"\b()({_CENTURIES})(?:er|ème|e)( siècles?)"), century))
    if code == "es":
        found.append(Rule(frozenset("IVX"), re.compile(rf"\b([sS]iglo) ({_CENTURIES})()(?!\w)"), century))
    return found


def _english() -> list[Rule]:
    def doctor(match: re.Match[str]) -> str:
        return "Doctor"

    def saint(match: re.Match[str]) -> str:
        return "Saint"

    def street(match: re.Match[str]) -> str:
        name = {"St": "Street", "Dr": "Drive", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Ln": "Lane"}[
            match[2]
        ]
        return f"{match[1]} {name}" + ("" if not match[3] or goes_on(match) else ".")

    def spelled(match: re.Match[str]) -> str:
        plural = match[0].endswith("s")
        letters = match[0].removesuffix("s")
        return ".".join(letters) + ("'s" if plural else "")

    def who(match: re.Match[str]) -> str:
        return f"{match[1]} W.H.O"

    def morning(match: re.Match[str]) -> str:
        return f"{match[1]} A.M"

    def ampersand(match: re.Match[str]) -> str:
        return " and "

    name = r"\b([A-Z][a-z]{2,20}|\d{1,3}(?:st|nd|rd|th))"
    return [
        Rule(frozenset("."), re.compile(rf"{name} (St|Dr|Ave|Blvd|Rd|Ln)\b(\.)(?! ?[A-Z][a-z])"), street),
        Rule(frozenset("."), re.compile(r"(?<![\w.])Dr\.(?= ?[A-Z])"), doctor),
        Rule(frozenset("."), re.compile(r"(?<![\w.])St\.(?= [A-Z])"), saint),
        Rule(frozenset("A"), re.compile(r"(?<![\w.-])AWS(?![\w-]|\.\w)"), spelled),
        Rule(frozenset("LIUCVF"), re.compile(rf"(?<![\w.-])(?:{'|'.join(_SPELLED)})(?![\w-]|\.\w)"), spelled),
        Rule(frozenset("W"), re.compile(r"\b([tT]he) WHO\b(?!\.\w)"), who),
        Rule(frozenset("M"), re.compile(rf"({_HOUR_ENDS}) AM\b"), morning),
        Rule(frozenset("&"), re.compile(r"(?<=[\w.,)]) & (?=\w)"), ampersand),
        Rule(frozenset("&"), re.compile(r"(?<=\b[A-Z])&(?=[A-Z]\b)"), ampersand),
    ]
