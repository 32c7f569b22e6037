"""Tests of the rules about dictation: what is dictated, and whether it is complete."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation, DictationRules
from assistant.end_of_turn.questions import NO_QUESTION, Question

RULES = DictationRules()


def dictated(text: str, question: Question = NO_QUESTION, rules: DictationRules = RULES) -> str:
    """Returns kind and state in one text: "digits incomplete"."""
    found = rules.dictation_of(text, question)
    return f"{found.kind} {found.state}"


@text_cases(
    ("text", "expected"),
    [
        ("five five five", "digits incomplete"),
        ("Five, five, five. One, two, one.", "digits incomplete"),
        ("555-12", "digits incomplete"),
        ("555-", "digits incomplete"),
        ("555 double", "digits incomplete"),
        ("plus one 555 121 2345", "digits complete"),
        ("555-121-2345", "digits complete"),
        ("5 5 5 1 2 1 2 3 4 5.", "digits complete"),
        ("1-555-121-234", "digits unknown"),
        ("1-555-121-2345", "digits complete"),
        ("five double five one two one um two three four five", "digits complete"),
        ("1,0001 9021", "digits incomplete"),
        ("488,508", "digits unknown"),
        ("My number is 555", "phone number incomplete"),
        ("You can call me at 555 121 2345", "phone number complete"),
        ("my card number is 4111 1111", "card number incomplete"),
        ("my card number is 4111 1111 1111 1111", "card number complete"),
        ("the code is 4 1", "code incomplete"),
        ("the code is 4 1 1 2", "code unknown"),
        ("B 4 7", "code unknown"),
        ("7.5", "digits unknown"),
        ("5", "digits unknown"),
    ],
)
def test_digits_are_counted_in_every_written_form(text: str, expected: str) -> None:
    assert dictated(text) == expected


@text_cases(
    "text",
    [
        "",
        "...",
        "twenty five",
        "I need",
        "seven thirty",
        "set a timer for 25 minutes",
        "set a timer for one minute",
        "what is 555 times 12",
        "what time is it",
        "turn on the TV",
        "I work at NASA",
        "I like papa",
        "I have three kids",
        "2 coffees please",
        "7 pm",
        "5 January",
        "tell me three things about Rome",
        "what is the code",
        "what is your name?",
        "first name last name",
        "yes",
        "okay",
        "how long is the wait",
        "two plus two",
        "two thousand and six",
        "nineteen eighty four",
        "three point one four",
        "set a seven a m alarm",
        "wake me up at 6.45",
        "how is necessary spelled",
        "two acres are about eight thousand square meters",
        "seven, eight or nine",
        "set a timer for just a minute",
        "let me check my calendar",
    ],
)
def test_ordinary_speech_is_not_dictation(text: str) -> None:
    assert RULES.dictation_of(text) == NOTHING


@text_cases(
    ("text", "expected"),
    [
        ("J O", "spelling incomplete"),
        ("J O H N", "spelling unknown"),
        ("A-R-J-U-N", "spelling unknown"),
        ("A.R.J.U.N.", "spelling unknown"),
        ("ARJUN", "spelling unknown"),
        ("S as in", "spelling incomplete"),
        ("S as in Sam", "spelling incomplete"),
        ("S as in Sam, M as in Mary, I as in India, T as in", "spelling incomplete"),
        ("S as in Sam, M as in Mary, I as in India, T as in Tom", "spelling unknown"),
        ("J E double", "spelling incomplete"),
        ("Bennett, B E double n E", "spelling incomplete"),
        ("Bennett, B E double n E double t", "spelling complete"),
        ("Arjun, A R J", "spelling incomplete"),
        ("Arjun, A R J U N", "spelling complete"),
        ("John Smith, S M I", "spelling incomplete"),
        ("John Smith, S M I T H", "spelling complete"),
        ("alpha bravo charlie", "spelling unknown"),
        ("A R J are", "spelling unknown"),
    ],
)
def test_letters_are_compared_with_the_name_said_before(text: str, expected: str) -> None:
    assert dictated(text) == expected


@text_cases(
    ("text", "expected"),
    [
        ("29 Summer", "address incomplete"),
        ("29 Summer Breeze Lane", "address unknown"),
        ("29 Summer Breeze Lane 571", "address unknown"),
        ("flat number", "address incomplete"),
        ("flat number 207", "address incomplete"),
        ("Flat number 207 Sneha Vihar", "address unknown"),
        ("5 Main Street, Springfield, Illinois 62701", "address complete"),
        ("5 Main Street, Boston, Massachusetts", "address complete"),
        ("I live at 29", "address incomplete"),
        ("5 Main Street apartment", "address incomplete"),
        ("5 0 harvest lane", "address unknown"),
    ],
)
def test_address_is_complete_with_its_state_or_postcode(text: str, expected: str) -> None:
    assert dictated(text) == expected


@text_cases(
    ("text", "expected"),
    [
        ("john at gmail", "e-mail address incomplete"),
        ("john at gmail dot", "e-mail address incomplete"),
        ("john at gmail dot com", "e-mail address complete"),
        ("john.smith@example.org.", "e-mail address complete"),
        ("john.smith@", "e-mail address incomplete"),
        ("my email is john", "e-mail address incomplete"),
    ],
)
def test_email_address_is_complete_with_its_domain(text: str, expected: str) -> None:
    assert dictated(text) == expected


@text_cases(
    ("text", "expected"),
    [
        ("I have two questions.", "list incomplete"),
        ("I have two questions. First, how far is it? Second", "list incomplete"),
        ("I have two questions. First, how far is it? Second, what does it cost?", "list complete"),
        ("I need three things: milk, eggs", "list incomplete"),
        ("I need three things: milk, eggs and", "list incomplete"),
        ("I need three things: milk, eggs and bread", "list complete"),
        ("First, turn on the light", "list incomplete"),
        ("First, turn on the light, then play some music", "list unknown"),
        ("First of all", "list incomplete"),
    ],
)
def test_announced_number_of_things_is_waited_for(text: str, expected: str) -> None:
    assert dictated(text) == expected


@text_cases(
    "text",
    [
        "let me think",
        "Um, let me see.",
        "Okay, let me look it up",
        "hold on",
        "Hang on a second.",
        "One moment please.",
        "just a second",
        "Give me a second.",
        "wait",
        "No, wait a minute.",
        "it's um",
        "It's...",
        "the number is",
        "My phone number is",
        "my address is um",
        "Yes, my name's",
        "I live at",
        "bear with me",
    ],
)
def test_announcement_of_more_is_incomplete(text: str) -> None:
    assert RULES.dictation_of(text) == Dictation("announcement", "incomplete")


@text_cases(
    ("language", "text", "expected"),
    [
        ("de", "null eins sieben zwei", "digits incomplete"),
        ("de", "0172 1234567", "digits unknown"),
        ("de", "null eins siebenundzwanzig", "digits incomplete"),
        ("de", "Moment bitte", "announcement incomplete"),
        ("de", "Lass mich kurz überlegen.", "announcement incomplete"),
        ("de", "Meine Nummer ist", "announcement incomplete"),
        ("de", "S wie Siegfried, M wie", "spelling incomplete"),
        ("fr", "zéro six douze", "digits incomplete"),
        ("fr", "06 12 34 56 78", "digits complete"),
        ("fr", "06 12 34 56", "digits incomplete"),
        ("fr", "un instant", "announcement incomplete"),
        ("fr", "mon numéro est", "announcement incomplete"),
        ("es", "seis uno dos", "digits incomplete"),
        ("es", "612 345 678", "digits complete"),
        ("es", "espera un momento", "announcement incomplete"),
        ("es", "mi número es", "announcement incomplete"),
        ("ja", "5 5 5", "none unknown"),
    ],
    (0, 1),
)
def test_rules_know_four_languages(language: str, text: str, expected: str) -> None:
    assert dictated(text, rules=DictationRules(language)) == expected


@pytest.mark.parametrize(
    ("region", "expected"), [("", "complete"), ("US", "complete"), ("GB", "incomplete"), ("FR", "unknown")]
)
def test_region_decides_number_of_digits(region: str, expected: str) -> None:
    assert RULES.dictation_of("555 121 2345").state == "complete"
    assert (
        DictationRules("en", region).dictation_of("455 121 2345" if region != "GB" else "0455 1212").state == expected
    )


PHONE, CARD, CODE = Question("a phone number"), Question("a card number"), Question("a code")
SPELLING, ADDRESS, DATE = Question("a spelling"), Question("an address"), Question("a date")


@text_cases(
    ("text", "question", "expected"),
    [
        ("it's 555", PHONE, "phone number incomplete"),
        ("it's 555 121 2345", PHONE, "phone number complete"),
        ("I don't know", PHONE, "none unknown"),
        ("4111 1111 1111 1111", CARD, "card number complete"),
        ("1 2", CODE, "code incomplete"),
        ("1 2 3 4", CODE, "code unknown"),
        ("1 2 3 4", Question("a code", 4), "code complete"),
        ("1 2 3 4", Question("a code", 6), "code incomplete"),
        ("five", Question("a number"), "number complete"),
        ("twenty five", Question("a number"), "number complete"),
        ("five six", Question("a number"), "number unknown"),
        ("Smith", SPELLING, "spelling unknown"),
        ("S", SPELLING, "spelling incomplete"),
        ("S", Question("a phrase"), "none unknown"),
        ("5", Question("a phrase"), "none unknown"),
        ("", SPELLING, "spelling unknown"),
        ("forward", PHONE, "phone number unknown"),
        ("never mind", PHONE, "none unknown"),
        ("29", ADDRESS, "address incomplete"),
        ("29 Elm Street", ADDRESS, "address unknown"),
        ("F L A T N O", ADDRESS, "spelling unknown"),
        ("F L A T N O 2 0 7", ADDRESS, "address unknown"),
        ("the fifth of", DATE, "date incomplete"),
        ("the fifth of March", DATE, "date complete"),
        ("March", DATE, "date incomplete"),
        ("tomorrow", DATE, "date complete"),
        ("the fifth of March", Question("a date", with_year=True), "date incomplete"),
        ("March fifth nineteen ninety", Question("a date", with_year=True), "date complete"),
        ("half past", Question("a time"), "time incomplete"),
        ("seven", Question("a time"), "time unknown"),
        ("seven thirty", Question("a time"), "time complete"),
        ("at 7 pm", Question("a time"), "time complete"),
        ("john dot smith", Question("an e-mail address"), "e-mail address incomplete"),
        ("ham, cheese and", Question("a list"), "list incomplete"),
        ("ham, cheese and olives", Question("a list"), "list complete"),
        ("555", Question("a phrase"), "digits unknown"),
        ("what do you mean", DATE, "none unknown"),
    ],
    (0, 2),
)
def test_question_decides_what_is_complete(text: str, question: Question, expected: str) -> None:
    assert dictated(text, question) == expected


@given(st.text(max_size=200), st.sampled_from(["en", "de", "fr", "es", "xx"]), st.sampled_from([PHONE, ADDRESS, DATE]))
def test_any_text_gives_a_result(text: str, language: str, question: Question) -> None:
    DictationRules(language).dictation_of(text)
    DictationRules(language).dictation_of(text, question)


@given(st.lists(st.sampled_from("0123456789"), min_size=3, max_size=9))
def test_fewer_digits_than_a_phone_number_are_never_complete(digits: list[str]) -> None:
    for separator in (" ", "", "-", ", "):
        assert RULES.dictation_of(separator.join(digits)).state != "complete"


def test_long_hostile_text_takes_little_time() -> None:
    texts = ("5 " * 5000, "a " * 5000, "i have " * 2000 + "two things", "double " * 3000, "first, " * 2000, "1," * 5000)
    for text in texts:
        began = time.process_time()
        RULES.dictation_of(text)
        assert time.process_time() - began < 0.5, text[:20]


def test_value_goes_on_if_recognizer_writes_it_as_words() -> None:
    earlier = RULES.dictation_of("8, 8")
    assert RULES.dictation_of("Eat, eat, eat.", NO_QUESTION, earlier) == Dictation("digits", "unknown")
    assert RULES.dictation_of("hold on", NO_QUESTION, earlier) == Dictation("announcement", "incomplete")
    announced = Dictation("announcement", "incomplete")
    assert RULES.dictation_of("hold on, what time is it", NO_QUESTION, announced) == NOTHING
