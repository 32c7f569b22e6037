"""Sentences that must be left to a language model. A partly understood sentence is not understood."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import slowness
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.skills import no_model_answer

CONTEXT = SkillContext(datetime(2026, 11, 20, 22, 43, tzinfo=UTC), "Hello.")

NOT_UNDERSTOOD = (
    "what time is the meeting",
    "what time is it going to rain",
    "what time does the store close",
    "what time is dinner",
    "what time is it on mars",
    "what time was it when you called",
    "what time is it in springfield",
    "time flies",
    "what's the time of flight",
    "what is the time complexity of merge sort",
    "what's the date of the french revolution",
    "what date was the moon landing",
    "what day is independence day",
    "what day were you born",
    "what day is the best day for a picnic",
    "what year is the car from",
    "what year was the french revolution",
    "what month is ramadan",
    "which year did the war end",
    "turn on the lamp in five minutes",
    "turn on the lamp when I come home",
    "turn off the lights at midnight",
    "don't turn on the lights",
    "turn on the charm",
    "turn the page",
    "why are the lights on",
    "are the lights on",
    "did you turn off the lights",
    "what is a lamp",
    "what is one",
    "what is five",
    "five",
    "twenty five",
    "one two three four",
    "what's two plus",
    "two plus two plus",
    "what is plus two",
    "what is love plus hate",
    "what is the square root of evil",
    "what's the square root",
    "what is nine eleven",
    "555-1234",
    "What's 5-3?",
    "What is 10/4?",
    "what is 24/7",
    "24/7",
    "9/11",
    "what is 7/11",
    "20/20",
    "what's 10/4/2026",
    "calculate 10/4/2026",
    "what's 1-800-555",
    "calculate 10-5-2",
    "what is 3--2",
    "what is -√9",
    "what is (two plus two) times three",
    "what is x plus two",
    "what is five plus three apples",
    "what is two plus two in binary",
    "times square",
    "five times",
    "what is ten percent",
    "what is ten percent interest on my loan",
    "how many feet does a dog have",
    "how many people live in london",
    "how many miles to go before I sleep",
    "how many miles is it to boston",
    "how many calories are in a cup of rice",
    "how many euros are in a dollar",
    "convert five dollars to euros",
    "convert the pdf to text",
    "what is five miles",
    "convert five miles",
    "how many ounces",
    "how far is a mile from here",
    "five min feet",
    "repeat after me",
    "repeat that in french",
    "say that again in german",
    "say hello to my little friend",
    "say that ten more times",
    "what did you say to my mother",
    "pardon my french",
    "can you do my homework",
    "what can you do about climate change",
    "help me write an email",
    "help my friend",
    "who are you voting for",
    "what is your favorite color",
    "what are you doing",
    "are you a robot that can clean",
    "what's your name in spanish",
    "hello world program in python",
    "good morning america",
    "how are you different from other assistants",
    "thank you letter template",
    "thanks for nothing",
    "goodbye yellow brick road",
    "never mind the gap",
    "forget it was me",
    "play chess with me",
    "play the beatles",
    "play a game",
    "what is music",
    "how do timers work",
    "what is a timer",
    "what is the best alarm clock",
    "set a record for five minutes of silence",
    "set a timer and turn on the lights",
    "remind me why we are here",
    "what's the weather like on jupiter",
    "do you like the weather",
    "is it hot in hell",
    "why is the weather so bad",
    "news about football",
    "what's new pussycat",
    "tell me a story",
    "tell me a joke about time",
    "write a poem about the date",
    "explain the theory of relativity",
    "the",
    "a",
    "please",
    "um",
    "what",
    "hey can you",
    "why",
    "and",
    "what is the",
    "tell me",
    "what is the sum of one hundred and six",
    "what is the meaning of life",
    "what is the time difference between london and tokyo",
    "how late is the train",
    "is it late for dinner",
    "i think two plus two is five",
    "he said what time is it",
    "what time is it? I need to leave.",
    "what's $5 plus $3",
    "what is 5€ in feet",
    "3:40",
    "2026-11-20",
    "10.11.12",
    "what is 1234567890123456789012345 plus 1",
    "convert half",
    "lock the front door of the castle",
    "what is the sum of one thousand and one",
    "turn on the kitchen",
    "set the lights to music",
    "what time is it in",
    "what time is it in london and paris",
    "open the pod bay doors",
    "good",
    "wake me up before you go go",
    "thank you for the music",
    "how many seconds",
    "is it going to be fun",
    "play it again sam",
    "call my mother",
    "what year",
    "set a timer for the",
    "set a timer for when I get home",
    "set a timer for five minutes for you and me",
    "set a timer for five minutes and turn on the lights",
    "set a timer for five apples",
    "set a timer to five minutes before the meeting",
    "set a please timer for five minutes",
    "set a timer for five minutes for the very long dinner party",
    "set the stove timer to off",
    "cancel the meeting",
    "cancel my subscription",
    "cancel all other timers",
    "cancel all my other alarms",
    "cancel the other timer",
    "cancel the timer in five minutes",
    "pause the movie",
    "resume my application",
    "my resume",
    "how much time do I have before the train leaves",
    "how much time is left in the game",
    "how long is the movie",
    "how much longer until we arrive",
    "is the timer a good invention",
    "stop the car",
    "stop it right there mister",
    "stop the presses",
    "set an alarm for my flight",
    "set an alarm on my car",
    "set an alarm for seven people",
    "set an alarm every other day at seven",
    "wake me up when september ends",
    "wake me up at dawn",
    "wake up",
    "what is an alarm",
    "when is my appointment",
    "spell it",
    "spell that for me",
    "spell check this text",
    "cast a spell on my enemies now",
    "how is the spelling",
    "how is a candle made",
    "how is music written",
    "how is good software written",
    "how is poetry written",
    "how do you write a letter",
    "flip the table",
    "flip a house",
    "who invented the coin",
    "roll the credits",
    "roll over beethoven",
    "roll with it",
    "pick a card",
    "pick a number",
    "how many days are in february",
    "how many days until my birthday",
    "how many days between us",
    "how many days between monday",
    "how long until the train leaves",
    "how long since we last spoke",
    "what day is fifth",
    "what day is march",
    "what day is march forty fifth",
    "what day was pearl harbor",
    "when is the meeting",
    "when is thanksgiving",
    "when is dinner",
    "louder than bombs",
    "turn up the heat in the argument",
    "slow down the video",
    "faster than light",
    "speak french",
    "speak slower than a turtle",
    "speed up my computer",
    "quiet place",
    "how far is christmas island",
)


SKILLS = loaded_skills()


@text_cases("said", NOT_UNDERSTOOD)
def test_no_skill_answers_sentence(said: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is None


def test_table_is_large_enough() -> None:
    assert len(set(NOT_UNDERSTOOD)) >= 60


@pytest.mark.parametrize(
    "said", ["what time is it", "turn on the lights", "two plus two", "set a timer for five minutes"]
)
@pytest.mark.parametrize("more", ["on mars", "and then tell me a joke", "if you were me", "because"])
def test_additional_words_prevent_a_match(said: str, more: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is not None
    assert SKILLS.answer(f"{said} {more}", CONTEXT) is None


@pytest.mark.parametrize(
    "said",
    ["", "   ", "?!", "👍", "what time is it " * 50, "two plus " * 100],
    ids=["empty", "blank", "punctuation", "emoji", "repeated question", "long sum"],
)
def test_empty_and_overlong_text_is_not_understood(said: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is None


@given(st.text(max_size=500))
def test_any_text_never_raises(said: str) -> None:
    answer = SKILLS.answer(said, CONTEXT)
    assert answer is None or answer.text


RANDOM_WORDS = (
    "what is the time in london two hundred and point five minus plus divided by zero percent of square root "
    "convert miles feet to how many a half million thousand 7 3.5 1,000 - / ^ % degrees celsius the power"
)


@given(st.lists(st.sampled_from(RANDOM_WORDS.split()), max_size=14).map(" ".join))
def test_random_words_never_raise(said: str) -> None:
    answer = SKILLS.answer(said, CONTEXT)
    assert answer is None or answer.text


def test_answer_without_a_model_names_the_remedy() -> None:
    assert no_model_answer("tell me a story") == "I can't do that yet: no language model is connected."
    assert no_model_answer(" ") == "I didn't hear any words."


def test_long_text_is_no_request_and_costs_nothing() -> None:
    text = "word 12 " * 100_000
    began_s = time.thread_time()
    assert SKILLS.match(text) is None
    assert SKILLS.answer(text, CONTEXT) is None
    SKILLS.refusal(text, CONTEXT)
    assert time.thread_time() - began_s < 0.05 * max(1.0, slowness())
