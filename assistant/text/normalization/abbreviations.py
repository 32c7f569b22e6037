"""Normalizes abbreviations, spelled letters and Roman numerals."""

import re
from collections.abc import Mapping

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import cardinal, ordinal
from assistant.text.normalization.rule import DIGITS, Rule, sentence_continues

# espeak-ng, also within Piper, reads these as words (checked in its phonemes). It spells "A.W.S", but not "A W S".
_SPELLED = "AWS LED LEDs IDE IDEs UX CLI CLIs VAT FAQ FAQs".split()

ROMAN = "(?=L?[IVX])X?L?X{0,3}(?:IX|IV|V?I{0,3})"  # up to 89; "C", "D" and "L" often name parts or sizes
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50}
_AFTER_ROMAN = "(?!\\w|-|['’](?!s\\b))"
_INITIALS = re.compile(r"(?:[A-ZÄÖÜ]\. ?)+")
_HOUR_ENDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|teen|ty"
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
    """Returns the rules in order: abbreviations of the language, Roman numerals, street names and spelled letters."""
    rules = [*_abbreviations(lexicon), *_romans(lexicon)]
    if lexicon.code == "en":
        rules += _english()
    if lexicon.code == "de":
        rules.append(Rule(frozenset("."), re.compile(r"str\.(?<=[a-zäöüß]{2}str\.)(?!\w)"), _street))
    return tuple(rules)


def _street(match: re.Match[str]) -> str | None:
    if not re.split("[\\s(]", match.string[max(0, match.start() - 40) : match.start()])[-1][:1].isupper():
        return None  # "illustr."
    return "straße" if sentence_continues(match, numbered=True) else "straße."


def _abbreviations(lexicon: Lexicon) -> list[Rule]:
    inner, closing, numbered = (
        _with_compact_keys(lexicon.abbreviations),
        _with_compact_keys(lexicon.closing),
        lexicon.numbered,
    )

    def any_of(names: list[str]) -> str:
        return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))

    def inside(match: re.Match[str]) -> str | None:
        counted = (
            match.string[: match.start()].rstrip()[-1:].isdigit() and match[0].rstrip(".").lower() in lexicon.units
        )
        return None if counted else _written_out(match, inner)  # "10 min." is not a minimum

    def at_end(match: re.Match[str]) -> str | None:
        words = _written_out(match, closing)
        ends = match[0].endswith(".") and not sentence_continues(match, numbered=match[0] == "Str.")
        return words and words + ("." if ends else "")

    def before_number(match: re.Match[str]) -> str:
        return f"{numbered[match[1]]} "

    start = r"(?<![\w.@/-])"
    return [
        Rule(
            frozenset("."),
            re.compile(rf"{start}(?:{any_of([*inner, *map(_capital, inner)])})(?= ?\w)(?!\w\.\w)"),
            inside,
        ),
        Rule(frozenset("."), re.compile(rf"{start}(?:{any_of([*closing, *map(_capital, closing)])})(?!\w)"), at_end),
        Rule(DIGITS, re.compile(rf"{start}({any_of(list(numbered))}) ?(?=\d)"), before_number),
    ]


def _with_compact_keys(table: Mapping[str, str]) -> dict[str, str]:
    """Returns `table` with additional keys without the spaces in the abbreviations."""
    return {name.replace(". ", "."): words for name, words in table.items()} | dict(table)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _written_out(match: re.Match[str], table: Mapping[str, str]) -> str | None:
    """Returns the words of an abbreviation; None if it is not one here.

    Capitals mark an abbreviation only at the start of a sentence; "saw Max. 5 men" contains a name. Initials are not
    abbreviations ("M. E. Gray", "D. C.").
    """
    name, text = match[0], match.string
    if name in table:
        return table[name]
    inside = text[: match.start()].rstrip()[-1:]
    if inside.isalnum() or inside == "," or (_INITIALS.fullmatch(name) and not sentence_continues(match)):
        return None
    return _capital(table[name[0].lower() + name[1:]])


def roman(figures: str) -> int:
    """Returns the value of a Roman numeral that matches `ROMAN`."""
    values = [_ROMAN_DIGITS[figure] for figure in figures]
    return sum(value if value >= after else -value for value, after in zip(values, [*values[1:], 0], strict=True))


def _romans(lexicon: Lexicon) -> list[Rule]:
    code = lexicon.code

    def ruler(match: re.Match[str]) -> str | None:
        value = roman(match[2])
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
        return f"{match[1]} {cardinal(roman(match[2]), code)}"

    def century(match: re.Match[str]) -> str:
        value = roman(match[2])
        if code == "fr":
            return ("premier" if value == 1 else ordinal(value, code)) + match[3]
        return f"{match[1]} {ordinal(value, code) if value < 10 else cardinal(value, code)}"

    tail = {"de": r"(\.)", "fr": "(er)?"}.get(code, "()")
    rules = [
        Rule(frozenset("IVX"), re.compile(rf"\b({_RULERS}) ({ROMAN}){tail}{_AFTER_ROMAN}"), ruler),
        Rule(frozenset("IVX"), re.compile(rf"\b({_NUMBERED}) ({ROMAN}){_AFTER_ROMAN}"), numbered),
    ]
    if code == "fr":
        rules.append(Rule(frozenset("IVX"), re.compile(rf"\b()({ROMAN})(?:er|ème|e)( siècles?)"), century))
    if code == "es":
        rules.append(Rule(frozenset("IVX"), re.compile(rf"\b([sS]iglo) ({ROMAN})()(?!\w)"), century))
    return rules


def _english() -> list[Rule]:
    def title(match: re.Match[str]) -> str:
        return "Doctor" if match[1] else "Saint"

    def street(match: re.Match[str]) -> str:
        name = {"St": "Street", "Dr": "Drive", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Ln": "Lane"}[
            match[2]
        ]
        return f"{match[1]} {name}" + ("" if not match[3] or sentence_continues(match) else ".")

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
        Rule(frozenset("."), re.compile(r"(?<![\w.])(?:(Dr)\.(?= ?[A-Z])|(St)\.(?= [A-Z]))"), title),
        Rule(frozenset("LIUCVFA"), re.compile(rf"(?<![\w.-])(?:{'|'.join(_SPELLED)})(?![\w-]|\.\w)"), spelled),
        Rule(frozenset("W"), re.compile(r"\b([tT]he) WHO\b(?!\.\w)"), who),
        Rule(frozenset("M"), re.compile(rf"({_HOUR_ENDS}) AM\b"), morning),
        Rule(frozenset("&"), re.compile(r"(?<=[\w.,)]) & (?=\w)"), ampersand),
        Rule(frozenset("&"), re.compile(r"(?<=\b[A-Z])&(?=[A-Z]\b)"), ampersand),
    ]
