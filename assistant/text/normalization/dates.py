"""Normalizes dates, ordinals and decades."""

import re

from assistant.text.normalization import german_ordinals
from assistant.text.normalization.german_ordinals import german_ordinal
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import DENOMINATORS, cardinal, ordinal, year
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule, sentence_continues, word_before

_WEEKDAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday",
    "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_GERMAN_WEEKDAYS = {
    "Mo": "Montag", "Di": "Dienstag", "Mi": "Mittwoch", "Do": "Donnerstag", "Fr": "Freitag", "Sa": "Samstag",
    "So": "Sonntag",
}  # fmt: skip
_GERMAN_WEEKDAY = re.compile("(?:(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend),?")
_BEFORE_SUBJECT = frozenset("ist war wäre wird der ein".split())
# After "on 3/4", any other word is the thing of which there are three quarters.
_PART_OF = re.compile(
    " (?!(?:at|and|or|in|from|to|until|through|for|with|by|before|after|as|because|but|when|if|is|was|will|the|a|an|"
    "this|there|we|you|it|he|she|they|my|your|his|her|our|their)\\b)[a-z]"
)
_BEFORE_PART = frozenset(
    "kapitel abschnitt punkt version ziffer absatz aufgabe abbildung tabelle note teil nr.".split()
)
_BEFORE_DECADE = frozenset("the his her their my your our in early late mid low high upper lower".split())
_DECADES = {
    10: "tens", 20: "twenties", 30: "thirties", 40: "forties", 50: "fifties", 60: "sixties", 70: "seventies",
    80: "eighties", 90: "nineties",
}  # fmt: skip


def say_date(day: int, month: int, year_of: int | None, lexicon: Lexicon, before: str = "") -> str | None:
    """Returns a date in words, inflected for the preceding word `before`; None if there is no such day."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    code, name = lexicon.code, lexicon.months[month - 1]
    if code == "en":
        words = _english(day, name, lexicon, before)
    elif code == "de":
        words = f"{german_ordinal(day, before)} {name}"
    elif code == "fr":
        words = f"{'premier' if day == 1 else cardinal(day, code)} {name}"
    else:
        words = f"{'primero' if day == 1 else cardinal(day, code)} de {name}"
    if year_of is None:
        return words
    joint = {"en": ", ", "es": " de "}.get(code, " ")
    return words + joint + year(year_of, code)


def _english(day: int, month: str, lexicon: Lexicon, before: str) -> str:
    if not lexicon.day_first:
        return f"{month} {ordinal(day, 'en')}"
    return f"{'' if before == 'the' else 'the '}{ordinal(day, 'en')} of {month}"


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules for numeric dates, dates with month names, ordinals and decades."""
    return (*_weekdays(lexicon), *_in_figures(lexicon), *_with_name(lexicon), *_ordinals(lexicon))


def _weekdays(lexicon: Lexicon) -> list[Rule]:
    """Returns rules for "Mon-Fri" and, in German before hours and dates, "Sa. 10-14 Uhr"."""
    days = {"en": _WEEKDAYS, "de": _GERMAN_WEEKDAYS}.get(lexicon.code)
    if days is None:
        return []
    names = "|".join(sorted(days, key=len, reverse=True))

    def span(match: re.Match[str]) -> str:
        return f"{days[match[1]]} {lexicon.to} {days[match[2]]}" + (
            "" if sentence_continues(match, numbered=True) else match[3]
        )

    def single(match: re.Match[str]) -> str:
        return days[match[1]]

    rules = [Rule(frozenset("-–"), re.compile(rf"\b({names})\.?[-–]({names})\b(\.?)(?!\w)"), span)]
    if lexicon.code == "de":
        dated = rf"\d{{1,2}}\. ?(?:\d|{'|'.join(lexicon.short_months)})"
        rules.append(Rule(DIGITS, re.compile(rf"\b({names})(?:\.(?=,? \d)|(?=,? {dated}))"), single))
    return rules


def _in_figures(lexicon: Lexicon) -> tuple[Rule, ...]:
    def iso(match: re.Match[str]) -> str | None:
        words = say_date(int(match[4]), int(match[3]), int(match[1]), lexicon, _inflecting_word(match))
        return words + (" at " if lexicon.code == "en" else ", ") if words and match[5] else words

    def figures(match: re.Match[str]) -> str | None:
        first, second, whole_year = int(match[1]), int(match[3]), int(match[4])
        if len(match[4]) == 2:
            whole_year += 2000 if whole_year < 70 else 1900
        day, month = (first, second) if lexicon.day_first or match[2] == "." else (second, first)
        if month > 12:
            day, month = month, day
        return say_date(day, month, whole_year, lexicon, _inflecting_word(match))

    def on_day(match: re.Match[str]) -> str | None:
        is_part = int(match[1]) < int(match[2]) and int(match[2]) in DENOMINATORS
        if is_part and _PART_OF.match(match.string, match.end()):
            return None
        month, day = (int(match[2]), int(match[1])) if lexicon.day_first else (int(match[1]), int(match[2]))
        return say_date(day, month, None, lexicon)

    def german(match: re.Match[str]) -> str | None:
        if word_before(match) in _BEFORE_PART:
            return None
        return say_date(int(match[1]), int(match[2]), None, lexicon, _inflecting_word(match))

    rules = [
        Rule(frozenset("-/"), re.compile(rf"{STARTS}(\d{{4}})([-/])(\d\d)\2(\d\d)(?:(T)(?=\d\d:)|{ENDS})"), iso),
        Rule(
            frozenset("/.-"),
            re.compile(rf"{STARTS}(\d{{1,2}})([/.-])(\d{{1,2}})\2(\d{{4}}|(?<=/)\d\d){ENDS}"),
            figures,
        ),
    ]
    if lexicon.code == "de":
        weekday = "|".join(f"(?<={end}{mark} )" for end in ("[nsi]tag", "ttwoch", "nabend") for mark in ("", ","))
        short = rf"(?:(?<=[mrn] )|{weekday}|{STARTS}(?=[\d.]{{4,6}}(?:[,)]| [a-zäöü])))(\d{{1,2}})\.(\d{{1,2}})\.(?!\d)"
        rules.append(Rule(DIGITS, re.compile(short), german))
    if lexicon.code == "en":
        rules.append(Rule(frozenset("/"), re.compile(rf"(?<=\b[oO]n )(?!9/11)(\d{{1,2}})/(\d{{1,2}}){ENDS}"), on_day))
    return tuple(rules)


def _inflecting_word(match: re.Match[str]) -> str:
    """Returns the word that decides the ending of the ordinal. Behind a weekday it is weak: "am Freitag, 3. Mai"."""
    before = word_before(match)
    if _GERMAN_WEEKDAY.fullmatch(before):
        named = re.search(r"(\w+)\W+\w+\W+\Z", match.string[max(0, match.start() - 40) : match.start()])
        return "" if named and named[1].lower() in _BEFORE_SUBJECT else "am"
    shared = re.search(
        r"\b(\w+) \d{1,2}\. (?:und|oder|bis) \Z", match.string[max(0, match.start() - 30) : match.start()]
    )
    return shared[1].lower() if shared else before


def _with_name(lexicon: Lexicon) -> tuple[Rule, ...]:
    names = "|".join(sorted(lexicon.short_months, key=len, reverse=True))
    weekdays = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
    suffix = {"en": "(?:st|nd|rd|th)?", "de": r"\.", "fr": "(?:er)?", "es": "[.º°]{0,2}"}[lexicon.code]
    joint = {"es": " de ", "en": "(?: of)? "}.get(lexicon.code, " ")
    then_year = {"es": r"(?: (?:de|del) (\d{4}))?", "en": r"(?:,? (\d{4}))?"}.get(lexicon.code, r"(?: (\d{4}))?")

    def day_first(match: re.Match[str]) -> str | None:
        weekday, low, high, month, whole_year = (match[index] for index in range(1, 6))
        number = lexicon.short_months[month]
        whole = int(whole_year) if whole_year else None
        before = "the" if lexicon.code == "en" and word_before(match) == "the" else _inflecting_word(match)
        if lexicon.code == "en":
            words = _english_day_first(int(low), number, whole, lexicon, before)
        else:
            words = say_date(int(low), number, whole, lexicon, before)
        if words is None:
            return None
        if high:
            say = cardinal if lexicon.code in ("fr", "es") else ordinal
            later = german_ordinal(int(high), before) if lexicon.code == "de" else say(int(high), lexicon.code)
            first = words.split({"es": " de ", "en": " of "}.get(lexicon.code, " "))[0]
            return f"{first} {lexicon.to} {later}{words[len(first) :]}"
        end = "." if match[0].endswith(".") and not sentence_continues(match) else ""
        return (f"{_WEEKDAYS[weekday]}, " if weekday else "") + words + end

    rules = [
        Rule(
            DIGITS,
            re.compile(
                rf"(?=[\dMTWFS])(?:\b({weekdays})\.?,? (?=\d))?{STARTS}(\d{{1,2}}){suffix}"
                rf"(?: ?[–-] ?(\d{{1,2}}){suffix})?{joint}"
                rf"({names})\b\.?{then_year}(?![\w/]|:\d)"
            ),
            day_first,
        )
    ]
    if lexicon.code == "en":
        rules += _month_first(lexicon, names, weekdays)
    return tuple(rules)


def _english_day_first(day: int, month: int, whole_year: int | None, lexicon: Lexicon, before: str) -> str | None:
    if not 1 <= day <= 31:
        return None
    words = f"{'' if before == 'the' else 'the '}{ordinal(day, 'en')} of {lexicon.months[month - 1]}"
    return words if whole_year is None else f"{words}, {year(whole_year, 'en')}"


def _month_first(lexicon: Lexicon, names: str, weekdays: str) -> list[Rule]:
    def read(match: re.Match[str]) -> str | None:
        weekday, month, low, high, whole_year = (match[index] for index in range(1, 6))
        if not 1 <= int(low) <= 31:
            return None
        words = f"{lexicon.months[lexicon.short_months[month] - 1]} {ordinal(int(low), 'en')}"
        if high:
            words += f" to {ordinal(int(high), 'en')}"
        if whole_year:
            words += f", {year(int(whole_year), 'en')}"
        return (f"{_WEEKDAYS[weekday]}, " if weekday else "") + words

    def month_year(match: re.Match[str]) -> str:
        return f"{lexicon.months[lexicon.short_months[match[1]] - 1]}{match[2] or ''} {year(int(match[3]), 'en')}"

    day = r"(\d{1,2})(?:st|nd|rd|th)?"
    return [
        Rule(
            DIGITS,
            re.compile(
                rf"(?=[A-Z])\b(?:({weekdays})\.?,? )?\b({names})\.? {day}(?: ?[–-] ?{day})?(?:,? (\d{{4}}))?"
                r"(?![\w/%°]|[.:,-]\d| (?:km|kg|m|miles|percent|people)\b)"
            ),
            read,
        ),
        Rule(DIGITS, re.compile(rf"\b({names})\b\.?(,)? (\d{{4}}){ENDS}"), month_year),
    ]


def _ordinals(lexicon: Lexicon) -> tuple[Rule, ...]:
    if lexicon.code == "de":
        tens = Rule(DIGITS, re.compile(rf"{STARTS}(\d0|[12]\d\d0)er(?!\w)"), _german_decade)
        return (*german_ordinals.rules(), tens)
    if lexicon.code == "fr":
        return (Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,4}})(ers?|re|ère|ème|e)s?{ENDS}"), _french_ordinal),)
    if lexicon.code == "es":
        return (Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,2}})\.?([ºª]){ENDS}"), _spanish_ordinal),)
    return (
        Rule(
            DIGITS,
            re.compile(rf"{STARTS}(\d{{1,3}}(?:,\d{{3}})?|\d{{4,6}})(?:st|nd|rd|th){ENDS}"),
            _english_ordinal,
        ),
        Rule(DIGITS, re.compile(r"(?<![\w.,])['’]?((?<!['’])\d\d)?(\d0)(?:['’])?s(?!\w)"), _decade),
    )


def _english_ordinal(match: re.Match[str]) -> str:
    return ordinal(int(match[1].replace(",", "")), "en")


def _decade(match: re.Match[str]) -> str | None:
    century, tens = (int(match[1]) if match[1] else None), int(match[2])
    if tens and century is None and match[0][0].isdigit() and word_before(match) not in _BEFORE_DECADE:
        return f"{cardinal(tens, 'en')} seconds"
    if tens:
        return (f"{cardinal(century, 'en')} " if century else "") + _DECADES[tens]
    if century is None:
        return None
    return "two thousands" if century == 20 else f"{cardinal(century, 'en')} hundreds"


def _german_decade(match: re.Match[str]) -> str:
    return (cardinal if len(match[1]) < 3 else year)(int(match[1]), "de") + "er"


def _french_ordinal(match: re.Match[str]) -> str:
    if match[1] == "1" and match[2] in ("er", "ers"):
        return "premier" + match[2][2:]
    return "première" if match[1] == "1" and match[2] in ("re", "ère") else ordinal(int(match[1]), "fr")


def _spanish_ordinal(match: re.Match[str]) -> str:
    words = ordinal(int(match[1]), "es")
    if match[2] == "ª":
        return re.sub(r"o\b", "a", words)
    noun = re.match(r" (?!de\b|en\b|y\b)[^\W\d_]", match.string[match.end() :])
    return words[:-1] if noun and words in ("primero", "tercero") else words
