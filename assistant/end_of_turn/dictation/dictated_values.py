"""Says whether a dictated value has all its parts, for each kind of value. Pure."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from assistant.end_of_turn.completeness import words_of
from assistant.end_of_turn.dictation.announced_lists import list_state
from assistant.end_of_turn.dictation.dictated_text import DictatedText, digits_of
from assistant.end_of_turn.dictation.dictation_words import DictatedKind
from assistant.end_of_turn.dictation.phone_numbers import ValueState, phone_completeness, plan_of

UNITS_OF_BUILDINGS = frozenset("flat apartment apt unit suite plot house building block floor room".split())
NUMBER_SIGNS = frozenset("number no nummer numéro número".split())
_ONE_NUMBER = re.compile(r"\W*(?:\d+\.\d+|\d{1,3}(?:,\d{3})+)\W*")
"""A decimal or thousands with commas: one number, or groups of digits that the recognizer has joined."""

SHORTEST_DICTATED = 3
"""Fewer digits are an ordinary number, unless a value was asked for or introduced."""

SHORTEST_SPELT = 2
"""Fewer letters are no name."""


def value_state(kind: DictatedKind, speech: DictatedText) -> ValueState:
    """Says whether the value of this kind is complete."""
    return _STATES[kind](speech)


def _digits_state(speech: DictatedText) -> ValueState:
    state = _phone_state(speech)
    if (
        state == "incomplete"
        and not speech.goes_on
        and (len(speech.last_digits) == 1 or speech.question.expected != "anything")
    ):
        return "unknown"  # one digit, and a few after a question for something else, may be all that is said
    return state


def _phone_state(speech: DictatedText) -> ValueState:
    digits = digits_of(speech.tokens) if speech.question.expected == "a phone number" else speech.last_digits
    if speech.goes_on:
        return "incomplete"
    if not digits or (speech.question.expected != "a phone number" and _ONE_NUMBER.fullmatch(speech.text)):
        return "unknown"
    international = any(token.text in ("+", "plus") for token in speech.tokens)
    return phone_completeness(digits, plan_of(speech.region), international=international)


def _card_state(speech: DictatedText) -> ValueState:
    digits, count = speech.last_digits, speech.question.count
    if not digits:
        return "unknown"
    length = count or (15 if digits.startswith(("34", "37")) else 16)
    return _counted(len(digits), length) if not speech.goes_on else "incomplete"


def _code_state(speech: DictatedText) -> ValueState:
    if speech.goes_on:
        return "incomplete"
    marks = "".join(token.text for token in speech.tokens if token.kind in ("digits", "letter"))
    if speech.question.count and marks:
        return _counted(len(marks), speech.question.count)
    return "incomplete" if 0 < len(marks) < SHORTEST_DICTATED else "unknown"


def _number_state(speech: DictatedText) -> ValueState:
    if speech.goes_on:
        return "incomplete"
    digits = [token.text for token in speech.tokens if token.kind == "digits"]
    if speech.question.count and digits:
        return _counted(len("".join(digits)), speech.question.count)
    return "complete" if len(digits) == 1 and len(digits[0]) <= SHORTEST_DICTATED else "unknown"


def _spelling_state(speech: DictatedText) -> ValueState:
    if speech.goes_on:
        return "incomplete"
    letters = "".join(token.text for token in speech.value if token.kind == "letter")
    names = [token.text for token in speech.value if token.kind == "word" and len(token.text) > 1]
    if letters and names:
        wholes = {"".join(names[start:]) for start in range(len(names))} | set(names)
        if letters in {names[-1], "".join(names), "".join(names[-2:])}:
            return "complete"
        if any(whole.startswith(letters) for whole in wholes):
            return "incomplete"
    if (
        len(letters) == 1
        and len(speech.tokens) == len(words_of(speech.text)) == 1
        and speech.question.expected != "a spelling"
    ):
        return "unknown"  # one letter may be all that is said
    return "incomplete" if letters and len(letters) <= SHORTEST_SPELT and not names else "unknown"


_POSTCODE = re.compile(r"\b[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}$|(?:^|\D)\d{5}(?:-\d{4})?$")
_STATE = re.compile(
    r"\b(?:alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|georgia|hawaii|idaho"
    r"|illinois"
    r"|indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri"
    r"|montana|nebraska|nevada|new (?:hampshire|jersey|mexico|york)|(?:north|south) (?:carolina|dakota)|ohio|oklahoma"
    r"|oregon|pennsylvania|rhode island|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin"
    r"|wyoming)$"
)


def _address_state(speech: DictatedText) -> ValueState:
    if speech.goes_on or speech.tokens[-1].text in UNITS_OF_BUILDINGS | NUMBER_SIGNS:
        return "incomplete"
    named = [
        token for token in speech.value if token.kind == "word" and token.text not in UNITS_OF_BUILDINGS | NUMBER_SIGNS
    ]
    letters = sum(token.kind == "letter" for token in speech.value)
    if not named and letters > SHORTEST_SPELT:
        return "unknown"  # an address that is spelt
    if not named:
        return "incomplete"  # only the number of the house so far
    has_unit = any(token.text in UNITS_OF_BUILDINGS for token in speech.tokens)  # no street need follow a flat's number
    has_street = has_unit or any(speech.words.suffixes.fullmatch(token.text) for token in named)
    if has_street and (_POSTCODE.search(speech.plain) or _STATE.search(speech.plain)):
        return "complete"
    begins = speech.value[0].kind == "digits" and speech.tokens[-1].kind != "digits"
    return "incomplete" if begins and not has_street else "unknown"


_MONTH = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|februar"
    r"|märz|mai"
    r"|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero"
    r"|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
)
_DAY = re.compile(
    r"\b(?:(?:to(?:day|morrow|night)|monday|tuesday|wednesday|thursday|friday|saturday|sunday|heute|morgen|montag"
    r"|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag|aujourd'hui|demain|lundi|mardi|mercredi|jeudi|vendredi|samedi"
    r"|dimanche"
    r"|hoy|mañana|lunes|martes|miércoles|jueves|viernes|sábado|domingo)|(?:next|this) (?:week|month|weekend))$"
)
_ORDINAL = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth)\b"
)
_YEAR_DIGITS = 4


def _date_state(speech: DictatedText) -> ValueState:
    if _DAY.search(speech.plain) and not speech.question.with_year:
        return "complete"
    if speech.plain.endswith((" of", " the", " on", " de", " le", " el", " der", " am")) or speech.goes_on:
        return "incomplete"
    digits = [token.text for token in speech.tokens if token.kind == "digits"]
    has_month, has_day = bool(_MONTH.search(speech.plain)), bool(_ORDINAL.search(speech.plain) or digits)
    year = "".join(digits[-2:]) if digits else ""
    has_year = (
        len(digits[-1]) == _YEAR_DIGITS or (len(year) == _YEAR_DIGITS and year[:2] in ("19", "20")) if digits else False
    )
    if has_month and has_year:
        return "complete" if has_day else "unknown"
    if has_month:
        return "incomplete" if not has_day or speech.question.with_year else "complete"
    return "complete" if has_year and len(digits) > 1 else "unknown"


_TIME_OPEN = re.compile(
    r"\b(?:half|quarter|quarter to|quarter past|half past|past|to|at|viertel|halb|nach|vor|et"
    r"|y)$"
)
_TIME_WHOLE = re.compile(
    r"(?:\d[:.]\d\d|\ba\.?m\.?|\bp\.?m\.?|o'clock|noon|midnight|\buhr(?: \w+)?|heures?(?: \w+)?|\d h(?: ?\d+)?)$"
)


def _time_state(speech: DictatedText) -> ValueState:
    if _TIME_OPEN.search(speech.plain):
        return "incomplete"
    digits = [token for token in speech.tokens if token.kind == "digits"]
    return "complete" if _TIME_WHOLE.search(speech.plain) or len(digits) > 1 else "unknown"


_MAIL_WHOLE = re.compile(
    r"(?:@\S+\.|\b(?:dot|punkt|point|punto) ?|\.)(?:com|org|net|edu|gov|de|fr|es|co\.uk|co dot uk|uk|eu|io|info|at"
    r"|ch|in|us|ca|au|ie|biz)$"
)


def _mail_state(speech: DictatedText) -> ValueState:
    return "complete" if _MAIL_WHOLE.search(speech.plain) and not speech.plain.endswith("dot") else "incomplete"


def _counted(count: int, expected: int) -> ValueState:
    if count == expected:
        return "complete"
    return "incomplete" if count < expected else "unknown"


_STATES: Mapping[DictatedKind, Callable[[DictatedText], ValueState]] = MappingProxyType(
    {
        "digits": _digits_state,
        "phone number": _phone_state,
        "card number": _card_state,
        "code": _code_state,
        "number": _number_state,
        "spelling": _spelling_state,
        "address": _address_state,
        "date": _date_state,
        "time": _time_state,
        "e-mail address": _mail_state,
        "list": list_state,
    }
)
