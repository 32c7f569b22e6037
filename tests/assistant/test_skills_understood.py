"""What is understood and what is said to it, one table for all skills."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from assistant.skills import SkillContext
from assistant.skills.skills import Skills

LAST_REPLY = "Seven times eight is fifty-six."
NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))

HELP = (
    "By myself I can tell the time and the date, do arithmetic, convert units, and repeat what I said. "
    "For everything else I ask a language model, when one is connected."
)

UNDERSTOOD: dict[tuple[str, str], tuple[str, ...]] = {
    ("time", "It's ten forty-three PM."): (
        "what time is it",
        "What time is it?",
        "what's the time",
        "Whats the time?",
        "what is the time please",
        "do you know what time it is",
        "Do you know what time it is?",
        "Can you tell me the time, please?",
        "could you tell me what time it is",
        "hey what time is it right now",
        "um what time is it",
        "tell me the time",
        "tell me what time it is",
        "do you have the time",
        "what is the current time",
        "Please give me the time.",
        "what time do you have",
        "Excuse me, what time is it now?",
        "how late is it",
    ),
    ("time", "It's six forty-three AM on Saturday in Tokyo."): ("What time is it in Tokyo?",),
    ("time", "It's nine forty-three PM in London."): ("what's the time in london",),
    ("time", "It's four forty-three PM in New York."): ("what is the time in new york right now",),
    ("time", "It's eight forty-three AM on Saturday in Sydney."): ("do you know what time it is in sydney",),
    ("time", "It's five forty-three AM on Saturday in Hong Kong."): ("the time in hong kong",),
    ("time", "It's one forty-three PM in San Francisco."): ("what time is it now in san francisco",),
    ("time", "It's three thirteen AM on Saturday in Mumbai."): ("Can you tell me what time it is in Mumbai?",),
    ("time", "It's six forty-three PM in Rio De Janeiro."): ("what is the local time in rio de janeiro",),
    ("time", "It's ten forty-three PM in Berlin."): ("what is berlin time",),
    ("date", "It's Friday, November twentieth, twenty twenty-six."): (
        "what's the date",
        "What's the date today?",
        "what is today's date",
        "What is todays date?",
        "what day is it",
        "what day is it today",
        "what day of the week is it",
        "which day is it",
        "Tell me the date, please.",
        "can you tell me what day it is",
        "could you tell me today's date",
        "what date is it today",
        "what's today",
    ),
    ("date", "Tomorrow is Saturday, November twenty-first."): (
        "what day is tomorrow",
        "what's tomorrow's date",
        "what is the date tomorrow",
    ),
    ("date", "Yesterday was Thursday, November nineteenth."): (
        "what day was yesterday",
        "what was yesterday's date",
        "what was the date yesterday",
    ),
    ("date", "The day after tomorrow is Sunday, November twenty-second."): ("what day is the day after tomorrow",),
    ("date", "It's twenty twenty-six."): (
        "what year is it",
        "What's the year?",
        "which year are we in",
        "do you know what year it is",
    ),
    ("date", "It's November."): (
        "what month is it",
        "what is the current month",
        "tell me what month it is",
    ),
    ("arithmetic", "That's four."): (
        "what's two plus two",
        "What is 2 + 2?",
        "two plus two",
        "what is the square root of sixteen",
    ),
    ("arithmetic", "That's one hundred and forty-four."): (
        "what is twelve times twelve",
        "12 x 12",
    ),
    ("arithmetic", "That's forty-two."): (
        "twelve multiplied by three point five",
        "what does six times seven make",
        "multiply six by seven",
        "add two to forty",
        "double twenty one",
        "hey um please what is twenty-five plus seventeen",
    ),
    ("arithmetic", "That's two point five."): (
        "what's ten divided by four",
        "What is 10/4?",
        "what is ten over four",
    ),
    ("arithmetic", "That's ninety-nine."): (
        "what's one hundred and six minus seven",
        "what is a hundred minus one",
    ),
    ("arithmetic", "That's two."): (
        "What's 5-3?",
        "5 - 3",
    ),
    ("arithmetic", "That's minus two."): ("what is minus five plus three",),
    ("arithmetic", "That's eight."): ("what is five minus minus three",),
    ("arithmetic", "That's fourteen."): (
        "what is two plus three times four",
        "twice seven",
    ),
    ("arithmetic", "That's twenty-six."): ("what's two times three plus four times five",),
    ("arithmetic", "That's fifty-six."): ("calculate seven times eight",),
    ("arithmetic", "That's nineteen."): ("how much is nine plus ten",),
    ("arithmetic", "That's twelve."): (
        "what is fifteen percent of eighty",
        "What's 15% of 80?",
        "the product of three and four",
    ),
    ("arithmetic", "That's about one point four one four two."): ("what's the square root of two",),
    ("arithmetic", "A negative number has no square root among the real numbers."): ("square root of minus four",),
    ("arithmetic", "That's eighty-one."): ("what is nine squared",),
    ("arithmetic", "That's twenty-seven."): ("what is three cubed",),
    ("arithmetic", "That's one thousand and twenty-four."): (
        "what is two to the power of ten",
        "What is 2^10?",
    ),
    ("arithmetic", "That's zero point five."): ("what is two to the power of minus one",),
    ("arithmetic", "That's ten to the power of thirty."): ("what is ten to the power of thirty",),
    ("arithmetic", "I can't divide by zero."): ("what is five divided by zero",),
    ("arithmetic", "That's about three point three three three three."): (
        "divide ten by three",
        "what's a third of ten",
    ),
    ("arithmetic", "That's eleven."): ("add five and six",),
    ("arithmetic", "That's seven."): (
        "subtract five from twelve",
        "take three away from ten",
        "take away three from ten",
        "what's the difference between three and ten",
    ),
    ("arithmetic", "That's forty."): ("what is half of eighty",),
    ("arithmetic", "That's three."): ("what is the cube root of twenty seven",),
    ("arithmetic", "That's one trillion."): ("what is one million times one million",),
    ("arithmetic", "That's one thousand and one."): ("what is 1,000 plus 1",),
    ("arithmetic", "That's zero point one two five."): ("could you calculate one divided by eight for me",),
    ("arithmetic", "That's zero point three."): ("what is zero point one plus zero point two",),
    ("arithmetic", "That's six point two eight."): ("solve three point one four times two",),
    ("arithmetic", "That's about zero point three three three three."): ("what is one divided by three",),
    ("conversion", "One mile is five thousand two hundred and eighty feet."): (
        "how many feet in a mile",
        "how many feet are there in a mile",
    ),
    ("conversion", "One foot is twelve inches."): ("How many inches are in a foot?",),
    ("conversion", "One inch is two point five four centimeters."): ("how many centimeters are in an inch",),
    ("conversion", "Five kilometers are about three point one zero seven miles."): (
        "convert five kilometers to miles",
        "Convert 5 km to miles, please.",
    ),
    ("conversion", "Ten miles are about sixteen point zero nine kilometers."): ("what is ten miles in kilometers",),
    ("conversion", "One hundred kilograms are about two hundred and twenty point five pounds."): (
        "what's 100 kilograms in pounds",
    ),
    ("conversion", "One stone is fourteen pounds."): ("how much is one stone in pounds",),
    ("conversion", "Two ounces are about fifty-six point seven grams."): ("how many grams is two ounces",),
    ("conversion", "One cup is eight fluid ounces."): ("how many ounces are in a cup",),
    ("conversion", "One pound is sixteen ounces."): ("how many ounces are in a pound",),
    ("conversion", "Twenty degrees Celsius is sixty-eight degrees Fahrenheit."): (
        "what is twenty degrees celsius in fahrenheit",
        "what is 20°C in fahrenheit",
    ),
    ("conversion", "Ninety-eight point six degrees Fahrenheit is thirty-seven degrees Celsius."): (
        "What's 98.6 degrees Fahrenheit in Celsius?",
    ),
    ("conversion", "Minus forty degrees Fahrenheit is minus forty degrees Celsius."): (
        "convert minus forty fahrenheit to celsius",
    ),
    ("conversion", "Zero kelvin is about minus two hundred and seventy-three point two degrees Celsius."): (
        "what is zero kelvin in celsius",
    ),
    ("conversion", "One hundred miles per hour are about one hundred and sixty point nine kilometers per hour."): (
        "what's a hundred miles per hour in kilometers per hour",
    ),
    ("conversion", "Fifty miles per hour are about eighty point four seven kilometers per hour."): (
        "convert 50 mph to kph",
    ),
    ("conversion", "One day is eighty-six thousand four hundred seconds."): ("how many seconds are in a day",),
    ("conversion", "One year is thirty-one million five hundred and thirty-six thousand seconds."): (
        "how many seconds are there in a year",
    ),
    ("conversion", "Half an hour is thirty minutes."): ("how many minutes are in half an hour",),
    ("conversion", "Ninety minutes are one point five hours."): ("how many hours is ninety minutes",),
    ("conversion", "Two weeks are fourteen days."): ("how many days are in two weeks",),
    ("conversion", "One gallon is sixteen cups."): ("how many cups in a gallon",),
    ("conversion", "One cup is sixteen tablespoons."): ("how many tablespoons are in a cup",),
    ("conversion", "One gallon is about three point seven eight five liters."): ("how many litres are in a gallon",),
    ("conversion", "Two acres are about eight thousand and ninety-four square meters."): (
        "convert two acres to square meters",
    ),
    ("conversion", "Three hundred square feet are about twenty-seven point eight seven square meters."): (
        "what is three hundred square feet in square metres",
    ),
    ("conversion", "One hectare is ten thousand square meters."): ("how many square meters are in a hectare",),
    ("conversion", "Six feet and two inches are about one hundred and eighty-eight centimeters."): (
        "six feet two inches in centimeters",
    ),
    ("conversion", "Five feet and six inches are about one hundred and sixty-seven point six centimeters."): (
        "What is five foot six inches in centimeters?",
    ),
    ("conversion", "Two pounds and three ounces are about nine hundred and ninety-two point two grams."): (
        "convert two pounds and three ounces to grams",
    ),
    ("conversion", "I can't turn kilometers into liters: one is a length, the other a volume."): (
        "how many liters are in a kilometer",
    ),
    ("conversion", "I can't turn pounds into miles: one is a weight, the other a length."): (
        "convert five pounds to miles",
    ),
    ("conversion", "One year is three hundred and sixty-five days."): ("how many days does a year have",),
    ("conversion", "There is no negative number of kilometers."): ("minus five kilometers in miles",),
    ("conversion", "Nothing is that cold: it's below absolute zero."): (
        "minus three hundred degrees celsius in fahrenheit",
    ),
    ("arithmetic", "That's twenty-five."): ("twelve point five percent of two hundred",),
    ("conversion", "One mile per hour is about zero point eight six nine knots."): (
        "how many knots are in one mile per hour",
    ),
    ("repeat", "Seven times eight is fifty-six."): (
        "repeat that",
        "can you repeat that please",
        "Say that again.",
        "say it again",
        "pardon",
        "Pardon?",
        "Pardon me?",
        "come again",
        "what did you say",
        "what was that",
        "I didn't hear that",
        "sorry what did you say",
        "one more time",
        "say that one more time please",
        "could you say that again",
    ),
    (
        "help",
        HELP,
    ): (
        "what can you do",
        "What can you do for me?",
        "help",
        "how can you help me",
        "what can I ask you",
    ),
    ("identity", "I'm Repartee, a voice assistant. I'm a program, not a person."): (
        "who are you",
        "what's your name",
        "What are you called?",
    ),
    ("greeting", "Hello. I'm listening."): (
        "hello",
        "Hi there!",
        "good morning",
        "hey",
        "can you hear me",
    ),
    ("well_being", "I'm ready. How can I help?"): (
        "how are you",
        "how are you doing today",
    ),
    ("thanks", "You're welcome."): (
        "thanks",
        "Thank you very much.",
        "thank you so much",
        "great thanks",
    ),
    ("goodbye", "Goodbye."): (
        "goodbye",
        "bye bye",
        "good night",
        "see you later",
    ),
    ("never_mind", "All right."): (
        "never mind",
        "Nevermind.",
        "forget it",
        "cancel that",
    ),
    ("lights", "I can't switch lights: no home is connected to me."): (
        "turn on the lights",
        "turn the lights off",
        "Turn on the lamp.",
        "switch off the kitchen light",
        "please turn off all the lights in the living room",
        "can you turn on the bedroom lamp",
        "dim the lights",
        "set the lights to fifty percent",
        "make the lights blue",
        "lights off",
    ),
    ("devices", "I can't control devices: no home is connected to me."): (
        "turn on the tv",
        "turn off the heating",
        "close the blinds",
        "open the garage door",
        "set the temperature to twenty one degrees",
    ),
    ("music", "I can't play music yet."): (
        "play music",
        "play some music please",
        "play some jazz",
        "put on some music",
        "stop the music",
        "pause the music",
        "next song",
        "skip this song",
    ),
    ("volume", "I can't change the volume. Please use the control of your speaker."): (
        "turn up the volume",
        "turn the volume down",
        "speak louder",
    ),
    ("timers", "I can't set timers yet."): (
        "set a timer",
        "set a timer for five minutes",
        "Set a five minute timer.",
        "set a timer for 1 hour and 30 minutes",
        "start a timer for half an hour",
        "cancel the timer",
    ),
    ("alarms", "I can't set alarms yet."): (
        "set an alarm",
        "set an alarm for seven a.m.",
        "Set an alarm for 7:30.",
        "wake me up at six thirty",
        "wake me up tomorrow",
    ),
    ("reminders", "I can't keep reminders or read a calendar: none is connected to me."): (
        "remind me tomorrow",
        "set a reminder",
        "what's on my calendar today",
    ),
    ("weather", "I can't tell the weather: no weather service is connected to me."): (
        "what's the weather",
        "What's the weather like today?",
        "how is the weather",
        "what's the weather like in paris",
        "will it rain tomorrow",
        "is it raining",
        "do i need an umbrella today",
        "what's the temperature outside",
        "what's the weather forecast for tomorrow",
    ),
    ("news", "I can't read the news: no news service is connected to me."): (
        "what's the news",
        "tell me the news",
        "read me the headlines",
        "what are today's headlines",
    ),
}
CASES = [(said, skill, text) for (skill, text), sentences in UNDERSTOOD.items() for said in sentences]


@pytest.fixture(scope="module")
def skills() -> Skills:
    loaded = Skills()
    loaded.load()
    return loaded


@pytest.mark.parametrize(("said", "skill", "text"), CASES)
def test_it_is_understood(skills: Skills, said: str, skill: str, text: str) -> None:
    answer = skills.answer(said, SkillContext(NOW, LAST_REPLY))
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)


def test_the_table_is_large_enough() -> None:
    assert len({said for said, _skill, _text in CASES}) >= 150


def test_nothing_to_repeat(skills: Skills) -> None:
    answer = skills.answer("say that again", SkillContext(NOW))
    assert answer is not None
    assert answer.text == "I haven't said anything yet."


def test_another_language_is_not_understood(skills: Skills) -> None:
    assert skills.answer("what time is it", SkillContext(NOW, language="de")) is None
    assert skills.answer("what time is it", SkillContext(NOW, language="en-GB")) is not None


def test_a_moment_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        SkillContext(NOW.replace(tzinfo=None))


def test_before_load_there_are_no_tables() -> None:
    with pytest.raises(RuntimeError, match="load"):
        Skills().match("what time is it")
