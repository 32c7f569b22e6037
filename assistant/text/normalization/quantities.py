"""Normalizes amounts with units, ranges and money."""

import re
from collections.abc import Iterable

from assistant.text.normalization.lexicon import Currency, Lexicon
from assistant.text.normalization.numbers import VULGAR, cardinal, counted, number_pattern, say, year
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule, sentence_continues, word_before

_UNITS_ONLY_AFTER_SPACE = frozenset("s t h N".split())  # "1990s", "5h": units only after a space
_ALSO_WORDS = frozenset(("in", "pt"))  # "5 in the box", "12 pt type": units only with a dot inside a sentence
_PARTICIPLE = re.compile(r" [a-záéíóúñ]{1,20}(?:d[oa]s?|sto|cho|lto|erto)\b")  # "ha salido" is no hectare
_ARTICLES = frozenset(("a", "an"))
_BETWEEN = frozenset(("between", "zwischen", "entre"))
_ONE_OF = {
    "tausend": "eintausend", "Millionen": "eine Million", "Milliarden": "eine Milliarde", "millions": "un million",
    "milliards": "un milliard", "millones": "un millón",
}  # fmt: skip
_PARTS = {
    **dict.fromkeys(("h", "hr", "hrs"), "mins?"), **dict.fromkeys(("min", "mins"), "s|secs?"), "ft": "in",
    **dict.fromkeys(("lb", "lbs"), "oz"),
}  # fmt: skip
_SHORT_EACH = {"mo": "month", "yr": "year", "wk": "week"}
_EACH = {
    "en": "second|minute|hour|day|night|week|month|year|person|user|item|seat|head|mile|pound|gallon",
    "de": "Sekunde|Minute|Stunde|Tag|Nacht|Woche|Monat|Jahr|Person|Stück",
    "fr": "seconde|minute|heure|jour|nuit|semaine|mois|an|personne",
    "es": "segundo|minuto|hora|día|noche|semana|mes|año|persona",
}


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules: money first, then units, then plain ranges."""
    return (
        _per_unit(lexicon),
        _paired_amounts(lexicon),
        _unit_twice(lexicon),
        _scaled_ranges(lexicon),
        *_money(lexicon),
        *_scaled_count(lexicon),
        _fraction_of_unit(lexicon),
        *_units(lexicon),
        _unit_alone(lexicon),
        *_ranges(lexicon),
    )


def _per_unit(lexicon: Lexicon) -> Rule:
    """ "$1.99/lb", "4 g/day", "5.5 l/100 km": reads the part after the slash. Later rules read the part before it."""
    words = {word: word for word in _EACH[lexicon.code].split("|")} | (_SHORT_EACH if lexicon.code == "en" else {})
    symbols = {symbol: one.split(" ", 1)[1] for symbol, (one, _many) in lexicon.units.items() if symbol[0].isalpha()}
    number, units, scales = number_pattern(lexicon), _alternatives(lexicon.units), _alternatives(lexicon.scales)
    names = _alternatives(lexicon.currencies)

    def read(match: re.Match[str]) -> str | None:
        amount, unit, each = match[1], match["unit"], match["each"]
        if f"{unit}/{each}" in lexicon.units or (amount.isdigit() and each not in words):
            return None
        return f"{amount} {lexicon.per} {words.get(each) or symbols.get(each, each)}"

    amount = rf"(?:{names}) ?{number}(?: ?(?:{scales}))?|{number}(?: ?(?:{names}|{scales}|(?P<unit>{units})))?"
    each = rf"{_alternatives(words)}|{_alternatives(symbols)}|100 ?(?:km|kg|g|ml|mL)"
    return Rule(frozenset("/"), re.compile(rf"(?<![\w.,$€£¥₹])({amount})/(?P<each>{each})(?![\w/²³])"), read)


def _paired_amounts(lexicon: Lexicon) -> Rule:
    """ "72°F / 22°C", "5 ft/1.5 m": the same amount twice, or two amounts. A quotient has its value after it."""
    amount = rf"{number_pattern(lexicon)} ?(?:{_alternatives(lexicon.units)})"

    def read(match: re.Match[str]) -> str | None:
        return None if "=" in match.string[match.end() : match.end() + 20] else f"{match[1]}, "

    return Rule(frozenset("/"), re.compile(rf"{STARTS}({amount}) ?/ ?(?=[-−]?{amount}(?![\w²³]))"), read)


def _unit_twice(lexicon: Lexicon) -> Rule:
    """ "5°-10°", "5 km – 10 km": a range that names its unit twice is rewritten to name it once."""
    number = number_pattern(lexicon)

    def read(match: re.Match[str]) -> str:
        low, gap, unit, sign, high = (match[index] for index in range(1, 6))
        return f"{low} {lexicon.to} {sign}{high}{gap}{unit}" if sign else f"{low}–{high}{gap}{unit}"

    pattern = (
        rf"{STARTS}((?:[-−])?{number})( ?)({_alternatives(lexicon.units)})\s?[–—-]\s?([-−]?)({number}) ?\3(?![\w/²³])"
    )
    return Rule(frozenset("-–—"), re.compile(pattern), read)


def _unit_alone(lexicon: Lexicon) -> Rule:
    """ "the speed in km/s": a unit with a slash is clear without a number."""

    def read(match: re.Match[str]) -> str:
        return lexicon.units[match[0]][1]

    symbols = _alternatives(symbol for symbol in lexicon.units if "/" in symbol)
    return Rule(frozenset("/"), re.compile(rf"(?<![\w./-])(?<!\d )(?:{symbols})(?![\w/²³])"), read)


def _fraction_of_unit(lexicon: Lexicon) -> Rule:
    """ "3/4 lb", "2½ km": reads the unit. Later rules read the fraction."""

    def read(match: re.Match[str]) -> str | None:
        symbol = match["symbol"]
        apart = symbol in _UNITS_ONLY_AFTER_SPACE and match["gap"] != " "
        if apart or (symbol in _ALSO_WORDS and not (match["dot"] and sentence_continues(match))):
            return None
        one, many = lexicon.units[symbol]
        dot = "." if match["dot"] and not sentence_continues(match) else ""
        return f"{match['fraction']} {many if match['whole'] else one.split(' ', 1)[1]}{dot}"

    fraction = rf"(?:(?P<whole>\d{{1,3}})[ -]?)?(?:(?<!\d)\d{{1,2}}/\d{{1,2}}|[{''.join(VULGAR)}])"
    unit = rf"(?P<gap>[ -]?)(?P<symbol>{_alternatives(lexicon.units)})(?![\w/²³])(?P<dot>\.)?(?!\w)"
    return Rule(frozenset("/") | frozenset(VULGAR), re.compile(rf"{STARTS}(?P<fraction>{fraction}){unit}"), read)


def _money(lexicon: Lexicon) -> tuple[Rule, ...]:
    number = number_pattern(lexicon)
    scales = _alternatives(lexicon.scales)
    names = _alternatives(lexicon.currencies)
    behind_names = _alternatives(name for name in lexicon.currencies if not name.endswith("."))
    amount = rf"({number})(?:(?:\s?[–—-]\s?|\s{lexicon.to}\s)(?:{names})?({number}))?(?: ?({scales})(?![^\W\d_]))?"

    def read(match: re.Match[str]) -> str:
        sign, name, low, high, scale = match[1], match["name"], match[3], match[4], match[5]
        currency = lexicon.currencies[name]
        one = word_before(match) in _ARTICLES or match.string[match.end() :].startswith((" bill", " note", " coin"))
        words = _amount(lexicon, currency, low, high, scale, one=one and lexicon.code == "en")
        return (f"{lexicon.minus} " if sign else "") + words

    before = rf"(?<![\w.,$€£¥₹])([-−])?(?P<name>{names}) ?{amount}(?:/-(?!\w)|{ENDS})"
    rest = rf"(?:\s?[–—-]\s?({number})|,[-–—])?(?: ?({scales})(?![^\W\d_]))? ?(?P<name>{behind_names})(?!\w)"  # "5,- €"
    after = rf"{STARTS}([-−])?()({number}){rest}"
    return (Rule(DIGITS, re.compile(before), read), Rule(DIGITS, re.compile(after), read))


def _amount(lexicon: Lexicon, currency: Currency, low: str, high: str | None, scale: str | None, *, one: bool) -> str:
    many = currency.one.split(" ", 1)[1] if one else currency.many
    if high:
        last = _scaled(lexicon, high, scale, many) if scale else f"{say(high, lexicon)} {many}"
        return f"{say(low, lexicon)} {lexicon.to} {last}"
    if scale:
        return _scaled(lexicon, low, scale, many)
    whole, _, cents = low.partition(lexicon.decimal.replace("\\", ""))
    figures = re.sub(r"\D", "", whole)
    if len(cents) != 2 or not currency.many_cents:
        return (
            currency.one
            if figures == "1" and not cents and not one
            else f"{counted(low, currency.one, lexicon)} {many}"
        )
    minor = cardinal(int(cents), lexicon.code)
    major = currency.one if figures == "1" else f"{counted(whole, currency.one, lexicon)} {many}"
    if int(cents) == 0:
        return major
    if int(figures) == 0:
        return currency.one_cent if int(cents) == 1 else f"{minor} {currency.many_cents}"
    cent_name = currency.one_cent.split(" ", 1)[1] if int(cents) == 1 else currency.many_cents
    return lexicon.money.format(major=major, minor=minor, cents=cent_name)


def _scaled_ranges(lexicon: Lexicon) -> Rule:
    """ "$1.5M-$2M", "$3k-5k", "€2–3k", "2–3 k€", "2-3k users": a range whose second amount has a multiplier."""
    number, names, scales = number_pattern(lexicon), _alternatives(lexicon.currencies), _alternatives(lexicon.scales)

    mark = lexicon.decimal[-1]
    wrong = "." if mark == "," else ","
    number = rf"(?:\d{{1,6}}{re.escape(wrong)}\d{{1,2}}(?!\d)|{number})"

    def read(match: re.Match[str]) -> str | None:
        low, scale, high, high_scale = match["low"], match["scale"], match["high"], match["high_scale"]
        name = match["name"] or match["behind"]
        if name is None and len(high_scale) == 1 and high_scale not in "kK":
            return None
        low, high = (_with_mark(figures, wrong, mark) for figures in (low, high))
        many = lexicon.currencies[name].many if name else ""
        first = say(low, lexicon)
        if scale and lexicon.scales[scale] != lexicon.scales[high_scale]:
            first = _in_thousands(lexicon, low, scale) or f"{first} {lexicon.scales[scale]}"
        thousands = _in_thousands(lexicon, high, high_scale)
        if thousands or not many:
            last = f"{thousands or f'{say(high, lexicon)} {lexicon.scales[high_scale]}'} {many}".rstrip()
        else:
            last = _scaled(lexicon, high, high_scale, many)
        return f"{first} {lexicon.to} {last}"

    pattern = (
        rf"(?<![\w.,$€£¥₹-])(?P<name>{names})? ?(?P<low>{number})(?: ?(?P<scale>{scales})(?![^\W\d_]))?\s?[–—-]\s?"
        rf"(?:{names})? ?(?P<high>{number}) ?(?P<high_scale>{scales})(?: ?(?P<behind>{names}))?(?![\w€$£])"
    )
    return Rule(DIGITS, re.compile(pattern), read)


def _in_thousands(lexicon: Lexicon, figures: str, scale: str) -> str | None:
    """Returns "zweitausend", which German writes as one word; None for other amounts."""
    one_word = lexicon.scales[scale] == "tausend" and figures.isdigit()
    return cardinal(1000 * int(figures), lexicon.code) if one_word else None


def _with_mark(figures: str, wrong: str, mark: str) -> str:
    """Returns figures with the decimal mark of the language: "1.5" as "1,5" in German."""
    decimals = re.fullmatch(rf"(\d{{1,6}}){re.escape(wrong)}(\d{{1,2}})", figures)
    return f"{decimals[1]}{mark}{decimals[2]}" if decimals else figures


def _scaled(lexicon: Lexicon, low: str, scale: str, many: str) -> str:
    of = " de" if lexicon.code in ("fr", "es") and lexicon.scales[scale] not in ("mille", "mil") else ""
    words = f"{_scaled_words(lexicon, low, scale)}{of} {many}"
    return words.replace(" de euros", " d'euros") if lexicon.code == "fr" else words


def _scaled_words(lexicon: Lexicon, low: str, scale: str) -> str:
    one = _ONE_OF.get(lexicon.scales[scale]) if low == "1" else None
    return one or f"{counted(low, 'un', lexicon)} {lexicon.scales[scale]}"


def _scaled_count(lexicon: Lexicon) -> tuple[Rule, ...]:
    """ "3,5 Mio. Einwohner": an abbreviated number of millions that is not money."""
    scales = [scale for scale, words in lexicon.scales.items() if scale != words and len(scale) > 1]
    number = number_pattern(lexicon)

    def read(match: re.Match[str]) -> str:
        low, high, scale = match[1], match[2], match[3]
        words = _scaled_words(lexicon, high or low, scale)
        dot = "." if scale.endswith(".") and not match.string[match.end() :].strip() else ""
        return (f"{say(low, lexicon)} {lexicon.to} " if high else "") + words + dot

    pattern = rf"{STARTS}({number})(?:[–-]({number}))? ?({_alternatives(scales)})(?!\w)"
    return (Rule(DIGITS, re.compile(pattern), read),) if scales else ()


def _units(lexicon: Lexicon) -> tuple[Rule, ...]:
    number = number_pattern(lexicon)
    units = _alternatives(lexicon.units)
    scales = _alternatives(name for name in lexicon.scales if len(name) > 3)

    def parts(match: re.Match[str], symbol: str) -> bool:
        """Returns whether a smaller part follows: "1 hr. 15 min.", but not "It is 5 km. 3 people came."."""
        part = _PARTS.get(symbol)
        return part is not None and re.match(rf" {number} (?:{part})\b", match.string[match.end() :]) is not None

    def read(match: re.Match[str]) -> str | None:
        sign, low, high, scale, gap, symbol = (match[index] for index in range(1, 7))
        dotted = match[7] and sentence_continues(match)
        is_verb = symbol == "ha" and _PARTICIPLE.match(match.string, match.end())
        if is_verb or (symbol in _UNITS_ONLY_AFTER_SPACE and gap != " "):
            return None
        if symbol in _ALSO_WORDS and (gap or symbol == "pt") and not dotted:
            return None
        one, many = lexicon.units[symbol]
        minus = f"{lexicon.minus} " if sign else ""
        if gap == "-":
            joined = lexicon.code == "en" and match.string[match.end() : match.end() + 1] == " "
            return f"{say(low, lexicon)} {one.split(' ', 1)[1]}" if joined and not high else None
        dot = "." if match[7] and not (sentence_continues(match) or parts(match, symbol)) else ""
        if high:
            joint = lexicon.conjunction if word_before(match) in _BETWEEN else lexicon.to
            return f"{minus}{say(low, lexicon)} {joint} {counted(high, one, lexicon)} {many}{dot}"
        if low == "1" and not scale:
            return f"{minus}{one}{dot}"
        amount = say(low, lexicon) if scale else counted(low, one, lexicon)
        return " ".join(filter(None, (minus.strip(), amount, scale, many))) + dot

    range_mark = rf"(?:\s?[–—-]\s?|\s{lexicon.to}\s|\sto\s)"
    pattern = (
        rf"{STARTS}([-−])?({number})(?:{range_mark}({number}))?(?: ({scales}))?"
        rf"([ -]?)({units})(?![\w/²³])(\.)?(?!\w)"
    )
    return (Rule(DIGITS, re.compile(pattern), read),)


def _ranges(lexicon: Lexicon) -> tuple[Rule, ...]:
    code = lexicon.code

    def read(match: re.Match[str]) -> str | None:
        low, high = match[1], match[2]
        if low == high == "50" and code == "en":
            return "fifty-fifty"
        if (len(low) > 1 and low[0] == "0") or (len(high) > 1 and high[0] == "0"):
            return None
        years = len(low) == 4 and low.isdigit() and 1100 <= int(low) <= 2099
        first = year(int(low), code) if years else say(low, lexicon)
        if years and len(high) == 2:
            return f"{first} {lexicon.to} {cardinal(int(high), code)}"
        joint = lexicon.conjunction if word_before(match) in _BETWEEN else lexicon.to
        last = year(int(high), code) if years and len(high) == 4 and high.isdigit() else say(high, lexicon)
        return f"{first} {joint} {last}"

    # A spaced hyphen is as often a subtraction or a dash as a range. Only one without spaces is a range.
    number = rf"\d{{1,3}}(?:[{lexicon.thousands}]\d{{3}}){{1,3}}|\d{{1,4}}"
    tight = rf"{STARTS}({number})(?:[-–—]| – )({number}){ENDS}(?! ?=)"
    return (Rule(frozenset("-–—"), re.compile(tight), read),)
