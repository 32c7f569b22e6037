"""Normalizes times of day, their ranges and time zones."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import before_noun, cardinal
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule, sentence_continues

_ZONES = {
    "ET": "Eastern", "PT": "Pacific", "CT": "Central", "MT": "Mountain", "EST": "Eastern Standard Time",
    "EDT": "Eastern Daylight Time", "PST": "Pacific Standard Time", "PDT": "Pacific Daylight Time",
}  # fmt: skip
# espeak-ng, also within Piper, reads the "AM" of "ten AM" as a form of "be". With a dot between, it spells the letters.
_HALVES = {"a": "A.M", "p": "PM"}

_RATIO_BEFORE = re.compile(
    r"\b(?:(?:ratio|scale|odds)(?: of| is)?|(?:Verhältnis|Maßstab)(?: von| ist)?|échelle(?: de)?|"
    r"dans un rapport(?: de)?|escala(?: es)?(?: de)?|ratio de):? \Z",
    re.IGNORECASE,
)
_RATIO_AFTER = re.compile("[ -](?:ratio|scale|odds)\\b")
_WEEKDAY = re.compile(" (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day")


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules for times as written in the language."""
    return _english() if lexicon.code == "en" else _continental(lexicon)


def _clock(hour: int, minute: int, half: str | None) -> str:
    """ "ten thirty A.M", "two oh five P.M" for 14:05, "ten o'clock"."""
    if half is None and (hour, minute) == (24, 0):
        return "midnight"
    if half is None and (hour > 12 or hour == 0):
        half = "p" if 12 < hour < 24 else "a"
    words = cardinal(hour % 12 or 12, "en")
    if minute:
        words += f" oh {cardinal(minute, 'en')}" if minute < 10 else f" {cardinal(minute, 'en')}"
    elif half is None:
        words += " o'clock"
    return f"{words} {_HALVES[half.lower()]}" if half else words


def _is_ratio(match: re.Match[str]) -> bool:
    """Returns whether the match is a ratio: "a 1:10 ratio", "im Verhältnis von 1:10"."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return (_RATIO_BEFORE.search(before) or _RATIO_AFTER.match(match.string, match.end())) is not None


def _is_valid_time(hour: str, minute: str | None) -> bool:
    return int(hour) <= 24 and (minute is None or int(minute) < 60)


def _english() -> tuple[Rule, ...]:
    def single(match: re.Match[str]) -> str | None:
        if not _is_valid_time(match["hour"], match["minute"]) or _is_ratio(match):
            return None
        words = _clock(int(match["hour"]), int(match["minute"]), match["half"])
        if match["second"]:
            words += f" and {cardinal(int(match['second']), 'en')} second{'' if match['second'] == '01' else 's'}"
        if match["offset"]:
            sign = "minus" if match["offset"][0] in "-−" else "plus"
            words += f" UTC {sign} {cardinal(int(match['offset'][1:3]), 'en')}"
        return words + _tail(match)

    def with_half(match: re.Match[str]) -> str | None:
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        return _clock(hour, minute, match["half"]) + _tail(match) if 0 < hour <= 12 else None

    def span(match: re.Match[str]) -> str | None:
        hour, minute, half = match["from_hour"], match["from_minute"], match["from_half"]
        if not (_is_valid_time(hour, minute) and _is_valid_time(match["hour"], match["minute"])):
            return None
        if match["half"] is None and (minute is None or match["minute"] is None):
            return None
        first = _clock(int(hour), int(minute or 0), half)
        if match["half"]:
            first = first.removesuffix(" o'clock")
        return f"{first} to {_clock(int(match['hour']), int(match['minute'] or 0), match['half'])}{_tail(match)}"

    half = r"(?: ?(?P<half>[aApP])(?:m|M|\.? ?[mM]\b(?P<dot>\.)?)(?!\w))"
    zones = rf"(?: ?(?P<zone>Z|UTC|GMT|CET|CEST|BST|{'|'.join(_ZONES)})\b)?"
    start_half = r"(?: ?(?P<from_half>[aApP])\.?[mM]\.?)?"
    start = rf"(?P<from_hour>\d{{1,2}})(?::(?P<from_minute>\d\d))?{start_half} ?[–—-] ?"
    hour = r"(?P<hour>\d{1,2})"
    seconds = r"(?::(?P<second>\d\d)(?:\.\d{1,6})?)?"
    return (
        Rule(DIGITS, re.compile(rf"{STARTS}{start}{hour}(?::(?P<minute>\d\d))?{half}?{zones}(?![\w:/-])"), span),
        Rule(
            frozenset(":"),
            re.compile(
                rf"{STARTS}{hour}:(?P<minute>\d\d){seconds}{half}?(?: ?(?P<offset>[+−-]\d\d)(?::?00)?)?{zones}"
                r"(?![\w:]|[.-]\d)"
            ),
            single,
        ),
        Rule(DIGITS, re.compile(rf"{STARTS}{hour}(?:\.(?P<minute>[0-5]\d))?{half}{zones}(?!\w)"), with_half),
    )


def _tail(match: re.Match[str]) -> str:
    """Returns the time zone, or the dot of "p.m." if it also ended the sentence."""
    if match["zone"]:
        return " " + _ZONES.get(match["zone"], "UTC" if match["zone"] == "Z" else match["zone"])
    return "." if match["dot"] and not sentence_continues(match) and _ends_here(match) else ""


def _ends_here(match: re.Match[str]) -> bool:
    rest = match.string[match.end() : match.end() + 10]
    if _WEEKDAY.match(rest):
        return False
    return not rest.strip() or (rest[:1] == " " and rest[1:2].isupper())


def _continental(lexicon: Lexicon) -> tuple[Rule, ...]:
    code = lexicon.code

    def hours(hour: int) -> str:
        words = cardinal(hour, code)
        if code == "de":
            return ("ein" if hour == 1 else words) + " Uhr"
        if code == "fr" and hour == 0:
            return "minuit"
        words = before_noun(words, code, feminine=True)
        return words + (" heure" if hour < 2 else " heures") if code == "fr" else words

    def read(match: re.Match[str]) -> str | None:
        hour, minute = match[1], match[2]
        if not _is_valid_time(hour, minute) or _is_ratio(match):
            return None
        words = hours(int(hour))
        if minute and int(minute):
            minutes = cardinal(int(minute), code)
            if code == "fr":
                minutes = before_noun(minutes, code, feminine=True)
            return f"{words} {'y ' if code == 'es' else ''}{minutes}"
        if code == "es" and match[2] and int(hour) > 12:
            return f"{words} horas"
        return words

    def begin(match: re.Match[str]) -> str | None:
        words = read(match)
        return (
            f"{words if match[2] and int(match[2]) else cardinal(int(match[1]), code)} {lexicon.to} " if words else None
        )

    after = r"(?!\w|:\w|[.-]\d)"
    then = r" ?[-–—] ?(?=\d{1,2}:\d\d(?!\d)" + (r"|\d{1,2}(?:\.\d\d)? Uhr\b)" if code == "de" else ")")
    rules = [
        Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,2}})(?:[.:](\d\d))?{then}"), begin),
        Rule(frozenset(":"), re.compile(rf"{STARTS}(\d{{1,2}}):(\d\d)(?: (?:Uhr|h|heures|horas)\b)?{after}"), read),
    ]
    if code == "de":
        rules.append(Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,2}})(?:\.(\d\d))? (?:Uhr|(?<=\.\d\d )h)\b"), read))
    if code == "fr":
        rules.append(Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,2}}) ?h(?: ?(\d\d))?{ENDS}"), read))
    return tuple(rules)
