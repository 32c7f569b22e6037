"""Says what a speaker dictates and whether it is complete: a phone number, a name letter by letter, an address. Pure.

The rules read the recognizer's transcript so far, the assistant's last question and the region. They have no weights.
The text of dictation is often wrong in form ("1,0001 90210"), so they count digits and letters and rely on few words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assistant.end_of_turn.completeness import is_request, is_short_answer, words_of
from assistant.end_of_turn.dictation_words import FILLERS, SEPARATORS, DictatedKind, DictationWords, dictation_words
from assistant.end_of_turn.phone_numbers import REGION_OF_LANGUAGE, ValueState, phone_completeness, plan_of
from assistant.end_of_turn.questions import NO_QUESTION, Expected, Question
from assistant.end_of_turn.spoken_tokens import Token, tokens_of

Kind = Literal["none", "announcement"] | DictatedKind


KINDS: tuple[Kind, ...] = ("none", "announcement", *get_args(DictatedKind))
STATES: tuple[ValueState, ...] = get_args(ValueState)


@dataclass(frozen=True, slots=True)
class Dictation:
    """What the speaker dictates.

    Attributes:
        kind: What it is. "announcement": the speaker said that more follows ("let me think"). "none": no dictation.
        state: Whether it is complete. "unknown": it may be complete, and may go on.
    """

    kind: Kind = "none"
    state: ValueState = "unknown"

    @property
    def described(self) -> str:
        """A phrase for the trace: "dictates a phone number: incomplete"."""
        return "announces more" if self.kind == "announcement" else f"dictates {self.kind}: {self.state}"


NOTHING = Dictation()


@dataclass(frozen=True, slots=True)
class DictationRules:
    """The rules of one conversation.

    Attributes:
        language: Its language code.
        region: Two-letter code of the region whose phone numbers are expected; "": the main region of the language.
    """

    language: str = "en"
    region: str = ""

    def dictation_of(self, text: str, question: Question = NO_QUESTION) -> Dictation:
        """Says what is dictated.

        Args:
            text: The transcript of the turn so far.
            question: What the assistant's last words asked for.
        """
        words = dictation_words(self.language)
        asked = _ASKED.get(question.expected)
        if words is None:
            return NOTHING
        if not text.strip():
            return Dictation(asked) if asked is not None else NOTHING
        if _announces(text, words):
            return Dictation("announcement", "incomplete")
        region = self.region or REGION_OF_LANGUAGE.get(self.language.partition("-")[0], "")
        said = _Said(text, _plain(text), tokens_of(text, words), words, question, region)
        kind = said.kind
        return NOTHING if kind is None else Dictation(kind, _STATES[kind](said))


# ---- what is dictated ----

_ASKED: dict[Expected, DictatedKind] = {
    "a phone number": "phone number",
    "a card number": "card number",
    "a code": "code",
    "a number": "number",
    "a spelling": "spelling",
    "an address": "address",
    "a date": "date",
    "a time": "time",
    "an e-mail address": "e-mail address",
    "a list": "list",
}
_MAIL = re.compile(
    r"\w@|@\w|\bat \S+ ?(?:dot|\.)|\b(?:at|arroba) (?:gmail|g mail|hotmail|yahoo|outlook|icloud|gmx|web)\b"
)
_UNIT_WORDS = re.compile(
    r"(?:a\.?m|p\.?m|o'clock|percent|dollars?|euros?|pounds?|cents?|minutes?|hours?|seconds?|days?|weeks?|months?|years?"
    r"|degrees?|kilometers?|miles?|meters?|times|plus|minus|of|and|is|people|persons?|january|february|march|april|may"
    r"|june|july|august|september|october|november|december|uhr|prozent|minuten|stunden|heures|horas)"
)
_UNIT_OF_BUILDING = frozenset("flat apartment apt unit suite plot house building block floor room".split())
_NUMBER_SIGN = frozenset("number no nummer numéro número".split())
_ONE_NUMBER = re.compile(r"\W*(?:\d+\.\d+|\d{1,3}(?:,\d{3})+)\W*")
"""A decimal or thousands with commas: one number, or groups of digits that the recognizer has joined."""

_SHORTEST_DICTATED = 3
"""Fewer digits are an ordinary number, unless a value was asked for or introduced."""
_SHORTEST_SPELT = 2
_MISHEARD_WORDS = 2
_NAME_WORDS = 4
_SINGLE_CHARACTERS, _SINGLE_SHARE = 4, 0.6
"""A text with so many single characters, and this share of them, is spelt, even if some were written as words."""

_STREETS = frozenset("street avenue road lane boulevard straße strasse rue calle avenida".split())
_SENTENCE_WORDS = frozenset(
    "the a an to in on at of my your is are was i you we it this that what where which and der die das le la el".split()
)
_STREET_WORDS = 6


@dataclass(frozen=True, slots=True)
class _Said:
    """A transcript, as the rules see it.

    Attributes:
        text: As the recognizer wrote it.
        plain: In lower case without fillers and final punctuation.
        tokens: Its tokens.
        words: The words of the language.
        question: What was asked.
        region: The region of phone numbers.
    """

    text: str
    plain: str
    tokens: tuple[Token, ...]
    words: DictationWords
    question: Question
    region: str

    @property
    def value(self) -> tuple[Token, ...]:
        """The tokens after the phrase that introduces the value; all tokens without one."""
        return self._introduced()[1]

    @property
    def kind(self) -> DictatedKind | None:
        """What is dictated; None if nothing is."""
        asked = _ASKED.get(self.question.expected)
        introduced = self._introduced()[0]
        if _MAIL.search(self.plain) and asked in (None, "e-mail address"):
            return "e-mail address"
        if _announced_count(self.plain) or (asked is None and _FIRST.match(self.plain)):
            return "list"
        if introduced is not None and (asked is None or asked == "number"):
            return introduced
        if asked is not None:
            return asked if self._fits(asked) or self._has_hardly_begun() else None
        return self._by_shape()

    def _introduced(self) -> tuple[DictatedKind | None, tuple[Token, ...]]:
        """Returns the kind and the tokens of a value that a phrase introduces, if it has begun: "my number is 555"."""
        found = [
            (match.end(), kind)
            for kind, pattern in self.words.introductions.items()
            for match in pattern.finditer(self.plain)
        ]
        if not found or is_request(words_of(self.text)):
            return None, self.tokens
        end, kind = max(found)
        rest = tokens_of(self.plain[end:], self.words)
        if kind == "spelling":
            has_begun = bool(rest) and rest[-1].kind == "letter"
        else:
            any_token = kind in ("address", "date", "e-mail address")
            has_begun = any(any_token or token.kind == "digits" for token in rest)
        return (kind, rest) if has_begun else (None, self.tokens)

    def _has_hardly_begun(self) -> bool:
        """Returns whether the text is so short that it may be the misheard beginning of the value."""
        words = words_of(self.text)
        return len(words) <= _MISHEARD_WORDS and not is_short_answer(words) and not is_request(words)

    def _fits(self, asked: DictatedKind) -> bool:
        """Returns whether the text can be the value that was asked for, and not "I don't know" or a question."""
        kinds = {token.kind for token in self.tokens}
        if asked in ("phone number", "card number", "number"):
            return "digits" in kinds
        if asked == "code":
            return bool({"digits", "letter"} & kinds)
        if asked == "spelling":
            return len(self.tokens) == 1 or "letter" in kinds
        if asked == "address":
            return "digits" in kinds or any(self.words.suffixes.fullmatch(token.text) for token in self.tokens)
        return not is_request(words_of(self.text))

    def _by_shape(self) -> DictatedKind | None:
        """Returns what the form of the whole text shows, where nothing was asked for or introduced."""
        tokens = self.tokens
        if not tokens:
            return None
        again = self.words.repeats
        if all(_separates(token) or token.kind == "digits" or token.text in again for token in tokens):
            begins = len(tokens) == 1 and len(tokens[0].text) == 1 and self.question.expected == "anything"
            return "digits" if begins or _is_dictated(tokens) else None
        if _looks_like_address(tokens, self.words):
            return "address"
        if self._spells():
            return "spelling"
        single = [token for token in tokens if len(token.text) == 1 and token.kind != "sign" and not token.capital]
        if len(single) >= max(_SINGLE_CHARACTERS, _SINGLE_SHARE * len(tokens)):
            return "spelling"
        mixed = all(token.kind in ("digits", "letter") or _separates(token) for token in tokens)
        return "code" if mixed and len(tokens) > 1 else None

    def _spells(self) -> bool:
        """Returns whether the text ends with letters, after a name at most: "Sam S A M", but not "turn on the T V"."""
        tokens, asks_for_letter = self.tokens, False
        for example in (*self.words.as_in, *((word,) for word in self.words.repeats)):
            if _ends_with(tokens, example):
                tokens, asks_for_letter = tokens[: -len(example)], True
        letters = _trailing(tokens, "letter")
        before = tokens[: len(tokens) - len(letters)]
        if len(before) > _NAME_WORDS or any(token.kind != "word" for token in before):
            return False
        count = sum(token.kind == "letter" for token in letters)
        alone = self.question.expected == "anything"  # after a question, one letter may be the answer
        if len(before) > 1 and all(token.capital for token in letters):
            return False  # "I work at NASA"
        return not is_request([token.text for token in before]) and (
            count >= _SHORTEST_SPELT or (count == 1 and (asks_for_letter or (alone and not before)))
        )


def _is_dictated(tokens: Sequence[Token]) -> bool:
    """Returns whether digits are dictated, and are not "five", "twenty five" or the time "seven thirty"."""
    digits = [token.text for token in tokens if token.kind == "digits"]
    if len(digits) == len(("seven", "thirty")) and len("".join(digits)) < len("12") + len("30"):
        return all(len(each) == 1 for each in digits)
    return len(digits) > 1 or any(len(each) >= _SHORTEST_DICTATED for each in digits)


def _announces(text: str, words: DictationWords) -> bool:
    """Returns whether the text ends with words that announce more, or with a value that is named and not begun."""
    lower = " ".join(text.lower().replace("’", "'").replace("…", " ").split())
    plain = _plain(text)
    ended = lower.rstrip(" .!?,;:-–—")
    if words.announced.search(plain) or words.announced.search(ended):
        return True
    return not lower.endswith("?") and bool(words.unsaid.search(plain))


def _plain(text: str) -> str:
    """Returns the text in lower case, without fillers, and without punctuation at its end."""
    kept = [
        word for word in text.lower().replace("’", "'").replace("…", " ").split() if word.strip(".,!?-") not in FILLERS
    ]
    return " ".join(kept).rstrip(" .!?,;:-–—")


def _separates(token: Token) -> bool:
    return (token.kind == "word" and token.text in SEPARATORS) or (token.kind == "sign" and token.text == "+")


def _trailing(tokens: Sequence[Token], kind: Literal["digits", "letter"]) -> Sequence[Token]:
    """Returns the tokens of a kind at the end, with separators between them."""
    start = len(tokens)
    while start and (tokens[start - 1].kind == kind or _separates(tokens[start - 1])):
        start -= 1
    while start < len(tokens) and _separates(tokens[start]) and tokens[start].kind != "sign":
        start += 1
    return tokens[start:]


def _ends_with(tokens: Sequence[Token], words: tuple[str, ...]) -> bool:
    return tuple(token.text for token in tokens[-len(words) :]) == words


def _digits(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens if token.kind == "digits")


def _looks_like_address(tokens: Sequence[Token], words: DictationWords) -> bool:
    """Returns whether the text begins as an address: "29 Summer Breeze", "flat number 207", "12 rue"."""
    first, *rest = tokens
    if first.kind == "word" and first.text in _UNIT_OF_BUILDING:
        skipped = [token for token in rest if token.text not in _NUMBER_SIGN]
        return not skipped or skipped[0].kind == "digits"
    names = [token for token in rest if token.kind == "word"]
    if first.kind != "digits":
        texts = {token.text for token in tokens}
        return bool(texts & _STREETS) and not texts & _SENTENCE_WORDS and len(tokens) <= _STREET_WORDS
    if not names or _UNIT_WORDS.fullmatch(names[0].text):
        return False
    has_street = any(words.suffixes.fullmatch(token.text) for token in names)
    digit_by_digit = len(first.text) == 1 and rest[0].kind == "digits" and len(rest[0].text) == 1
    return has_street or digit_by_digit or all(token.capital for token in names[:2])


# ---- whether it is complete ----


def _digits_state(said: _Said) -> ValueState:
    state = _phone_state(said)
    # After a question for something else, a few digits may be the whole answer.
    return "unknown" if state == "incomplete" and said.question.expected != "anything" else state


def _phone_state(said: _Said) -> ValueState:
    digits = _digits(said.tokens) if said.question.expected == "a phone number" else _digits(_tail(said))
    if _goes_on(said):
        return "incomplete"
    if not digits or (said.question.expected != "a phone number" and _ONE_NUMBER.fullmatch(said.text)):
        return "unknown"
    international = any(token.text in ("+", "plus") for token in said.tokens)
    return phone_completeness(digits, plan_of(said.region), international=international)


def _card_state(said: _Said) -> ValueState:
    digits, wanted = _digits(_tail(said)), said.question.count
    if not digits:
        return "unknown"
    length = wanted or (15 if digits.startswith(("34", "37")) else 16)
    return _counted(len(digits), length) if not _goes_on(said) else "incomplete"


def _code_state(said: _Said) -> ValueState:
    if _goes_on(said):
        return "incomplete"
    marks = "".join(token.text for token in said.tokens if token.kind in ("digits", "letter"))
    if said.question.count and marks:
        return _counted(len(marks), said.question.count)
    return "incomplete" if 0 < len(marks) < _SHORTEST_DICTATED else "unknown"


def _number_state(said: _Said) -> ValueState:
    if _goes_on(said):
        return "incomplete"
    digits = [token.text for token in said.tokens if token.kind == "digits"]
    if said.question.count and digits:
        return _counted(len("".join(digits)), said.question.count)
    return "complete" if len(digits) == 1 and len(digits[0]) <= _SHORTEST_DICTATED else "unknown"


def _spelling_state(said: _Said) -> ValueState:
    if _goes_on(said):
        return "incomplete"
    letters = "".join(token.text for token in said.value if token.kind == "letter")
    names = [token.text for token in said.value if token.kind == "word" and len(token.text) > 1]
    if letters and names:
        wholes = {"".join(names[start:]) for start in range(len(names))} | set(names)
        if letters in {names[-1], "".join(names), "".join(names[-2:])}:
            return "complete"
        if any(whole.startswith(letters) for whole in wholes):
            return "incomplete"
    return "incomplete" if letters and len(letters) <= _SHORTEST_SPELT and not names else "unknown"


_POSTCODE = re.compile(r"\b[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}$|(?:^|\D)\d{5}(?:-\d{4})?$")
_STATE = re.compile(
    r"\b(?:alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|georgia|hawaii|idaho|illinois"
    r"|indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri"
    r"|montana|nebraska|nevada|new (?:hampshire|jersey|mexico|york)|(?:north|south) (?:carolina|dakota)|ohio|oklahoma"
    r"|oregon|pennsylvania|rhode island|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin|wyoming)$"
)


def _address_state(said: _Said) -> ValueState:
    if _goes_on(said) or said.tokens[-1].text in _UNIT_OF_BUILDING | _NUMBER_SIGN:
        return "incomplete"
    named = [
        token for token in said.value if token.kind == "word" and token.text not in _UNIT_OF_BUILDING | _NUMBER_SIGN
    ]
    if not named:
        return "incomplete"  # only the number of the house so far
    has_unit = any(token.text in _UNIT_OF_BUILDING for token in said.tokens)  # no street need follow a flat's number
    has_street = has_unit or any(said.words.suffixes.fullmatch(token.text) for token in named)
    if has_street and (_POSTCODE.search(said.plain) or _STATE.search(said.plain)):
        return "complete"
    begins = said.value[0].kind == "digits" and said.tokens[-1].kind != "digits"
    return "incomplete" if begins and not has_street else "unknown"


_MONTH = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai"
    r"|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|enero"
    r"|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
)
_DAY = re.compile(
    r"\b(?:(?:to(?:day|morrow|night)|monday|tuesday|wednesday|thursday|friday|saturday|sunday|heute|morgen|montag|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag|aujourd'hui|demain|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|hoy|mañana|lunes|martes|miércoles|jueves|viernes|sábado|domingo)|(?:next|this) (?:week|month|weekend))$"
)
_ORDINAL = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth)\b"
)
_YEAR_DIGITS = 4


def _date_state(said: _Said) -> ValueState:
    if _DAY.search(said.plain) and not said.question.with_year:
        return "complete"
    if said.plain.endswith((" of", " the", " on", " de", " le", " el", " der", " am")) or _goes_on(said):
        return "incomplete"
    digits = [token.text for token in said.tokens if token.kind == "digits"]
    has_month, has_day = bool(_MONTH.search(said.plain)), bool(_ORDINAL.search(said.plain) or digits)
    year = "".join(digits[-2:]) if digits else ""
    has_year = (
        len(digits[-1]) == _YEAR_DIGITS or (len(year) == _YEAR_DIGITS and year[:2] in ("19", "20")) if digits else False
    )
    if has_month and has_year:
        return "complete" if has_day else "unknown"
    if has_month:
        return "incomplete" if not has_day or said.question.with_year else "complete"
    return "complete" if has_year and len(digits) > 1 else "unknown"


_TIME_OPEN = re.compile(r"\b(?:half|quarter|quarter to|quarter past|half past|past|to|at|viertel|halb|nach|vor|et|y)$")
_TIME_WHOLE = re.compile(
    r"(?:\d[:.]\d\d|\ba\.?m\.?|\bp\.?m\.?|o'clock|noon|midnight|\buhr(?: \w+)?|heures?(?: \w+)?|\d h(?: ?\d+)?)$"
)


def _time_state(said: _Said) -> ValueState:
    if _TIME_OPEN.search(said.plain):
        return "incomplete"
    digits = [token for token in said.tokens if token.kind == "digits"]
    return "complete" if _TIME_WHOLE.search(said.plain) or len(digits) > 1 else "unknown"


_MAIL_WHOLE = re.compile(
    r"(?:@\S+\.|\b(?:dot|punkt|point|punto) ?|\.)(?:com|org|net|edu|gov|de|fr|es|co\.uk|co dot uk|uk|eu|io|info|at|ch|in|us|ca|au|ie|biz)$"
)


def _mail_state(said: _Said) -> ValueState:
    return "complete" if _MAIL_WHOLE.search(said.plain) and not said.plain.endswith("dot") else "incomplete"


_THINGS = r"(?:things?|items?|questions?|points?|reasons?|options?|requests?|tasks?|ideas?|names?|steps?|problems?|orders?|parts?)"
_COUNTED = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6}
_ANNOUNCED_COUNT = re.compile(
    rf"\b(?:i|we|i've|i'd|there are|here are)\b[^.?!]*?\b({'|'.join(_COUNTED)}) (?:\w+ )?{_THINGS}\b"
)
_FIRST = re.compile(r"(?:\w+,? )?(?:first,|firstly|first of all)\b|(?:first,)")
_PLACES = (
    ("first", "firstly", "number one"),
    ("second", "secondly", "number two"),
    ("third", "thirdly", "number three"),
    ("fourth", "fourthly", "number four"),
    ("fifth", "fifthly", "number five"),
    ("sixth", "number six"),
)
_LAST = re.compile(r"\b(?:finally|lastly|last)\b")
_NEXT = re.compile(r"\b(?:second|secondly|then|next|finally|lastly|also|after that)\b")
_MIN_ITEM_WORDS = 2


def _announced_count(plain: str) -> re.Match[str] | None:
    """Finds the number of things that the speaker announces: "I have two questions"."""
    return None if is_request(words_of(plain)) else _ANNOUNCED_COUNT.search(plain)


def _list_state(said: _Said) -> ValueState:
    plain, counted = said.plain, _announced_count(said.plain)
    wanted = _COUNTED[counted[1]] if counted else said.question.count
    body = plain[counted.end() :] if counted else plain
    if re.search(r"\b(?:and|or|und|et|y|first|second|third|then|next|also|finally)$", body) or _goes_on(said):
        return "incomplete"
    place, rest = _last_place(body)
    if place and len(rest.split()) < _MIN_ITEM_WORDS - 1:
        return "incomplete"
    if place:
        done = place >= wanted if wanted else bool(_NEXT.search(body))
        return ("complete" if wanted else "unknown") if done or _LAST.search(body) else "incomplete"
    items = [item for item in re.split(r",(?: and)?|\band\b|\bund\b|\bet\b|\by\b|[.;]", body) if words_of(item)]
    if wanted:
        return "complete" if len(items) >= wanted else "incomplete"
    return "complete" if re.search(r",.*\b(?:and|und|et|y)\b \S", body) else "unknown"


def _last_place(body: str) -> tuple[int, str]:
    """Returns the highest place that was named, and the text after it."""
    found = (0, "")
    for place, names in enumerate(_PLACES, 1):
        for name in names:
            at = body.rfind(name)
            if at >= 0:
                found = (place, body[at + len(name) :].strip(" ,.:"))
    return found


def _counted(said: int, wanted: int) -> ValueState:
    if said == wanted:
        return "complete"
    return "incomplete" if said < wanted else "unknown"


def _tail(said: _Said) -> Sequence[Token]:
    """Returns the digits that end the text; all digits if it ends with words."""
    return _trailing(said.tokens, "digits") or said.value


def _goes_on(said: _Said) -> bool:
    """Returns whether the last word of a value shows that more follows: "double", "dash", "as in"."""
    last = said.tokens[-1] if said.tokens else None
    open_ended = said.text.rstrip().endswith(("-", "–", "—", "+"))
    if last is None or open_ended or _separates(last) or last.text in said.words.repeats:
        return True
    return any(_ends_with(said.tokens, example) for example in said.words.as_in)


_STATES: Mapping[DictatedKind, Callable[[_Said], ValueState]] = {
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
    "list": _list_state,
}
