"""Understood sentences and their answers, one table for all skills."""

import random
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.skills import Skills

LAST_REPLY = "Seven times eight is fifty-six."
NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))

HELP = (
    "By myself I can tell the time and the date, count days, do arithmetic, convert units, set timers, alarms and "
    "reminders, keep lists and notes, spell words, and roll dice. For everything else I ask a language model, "
    "when one is connected."
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
        "what is 5-3+2",
        "what is 5-3 plus 2",
        "what is 4/2 times 2",
        "what is ten reduced by six",
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
        "What is 10 / 4?",
        "How much is 10/4?",
        "what is 2.5/1",
        "10/4 =",
        "what is ten over four",
    ),
    ("arithmetic", "That's ninety-nine."): (
        "what's one hundred and six minus seven",
        "what is a hundred minus one",
    ),
    ("arithmetic", "That's two."): (
        "Calculate 5-3.",
        "What's 5 -3?",
        "5 - 3",
    ),
    ("arithmetic", "That's minus two."): ("what is minus five plus three",),
    ("arithmetic", "That's eight."): ("what is five minus minus three", "what is 5 - -3", "5 - minus 3"),
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
        "stop",
        "Stop it.",
        "be quiet",
        "that's enough",
        "shut up",
    ),
    (
        "lights",
        "No home is connected to me.",
    ): (
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
    (
        "devices",
        "No home is connected to me.",
    ): (
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
    ("voice", "The volume is at zero percent."): (
        "mute",
        "Mute yourself, please.",
        "mute the sound",
        "turn the sound off",
        "switch off your voice",
        "volume off",
    ),
    ("voice", "The volume is at fifty percent."): ("unmute", "turn the volume back on"),
    ("date", "That is Friday, November twenty-seventh, twenty twenty-six."): (
        "a week from today",
        "What's the date a week from today?",
        "what day will it be in a week",
    ),
    ("date", "That is Saturday, December fifth, twenty twenty-six."): (
        "two weeks from tomorrow",
        "What day is a fortnight from tomorrow?",
    ),
    ("snooze", "Nothing has rung in the last ten minutes."): (
        "snooze",
        "snooze the alarm",
        "snooze for ten minutes",
        "five more minutes",
        "Five more minutes, please.",
        "another ten minutes",
        "just five minutes more",
        "a few more minutes",
        "remind me again in five minutes",
    ),
    ("voice", "Louder."): (
        "louder",
        "speak louder",
        "Could you speak a bit louder, please?",
        "speak up",
        "turn up the volume",
        "turn it up",
        "volume up",
        "make it louder",
        "you are too quiet",
    ),
    ("voice", "Quieter."): (
        "quieter please",
        "turn the volume down",
        "talk more softly",
        "lower your volume",
        "be quieter",
        "turn yourself down a little",
    ),
    ("voice", "Faster."): (
        "faster",
        "speak faster",
        "can you talk a little faster",
        "speed up",
    ),
    ("voice", "Slower."): (
        "slower",
        "speak more slowly please",
        "slow down",
        "you're talking too fast",
        "not so fast",
    ),
    ("timers", "For how long?"): ("set a timer", "start a countdown"),
    ("timers", "Your ten minute timer is set."): (
        "set a timer for ten minutes",
        "set timer for ten minutes",
        "Set a timer for 10 minutes.",
        "set a ten-minute timer",
        "timer for ten minutes",
        "ten minute timer please",
        "can you start a timer for ten minutes",
        "give me a ten minute timer",
        "count down from ten minutes",
        "set another timer for ten minutes",
        "set a timer for six hundred seconds",
        "set a timer for 10 mins",
    ),
    ("timers", "Your five minute timer is set."): ("set a timer for five minutes", "Set a five minute timer."),
    ("timers", "Your one minute timer is set."): ("set a timer for a minute", "set a one minute timer"),
    ("timers", "Your one hour timer is set."): ("set a timer for an hour", "start a sixty minute timer"),
    ("timers", "Your twenty-four hour timer is set."): ("set a timer for a day",),
    ("timers", "Your thirty minute timer is set."): (
        "start a timer for half an hour",
        "set a half hour timer",
    ),
    ("timers", "Your fifteen minute timer is set."): ("set a timer for a quarter of an hour",),
    ("timers", "Your forty-five minute timer is set."): ("set a timer for three quarters of an hour",),
    ("timers", "Your timer for one minute and thirty seconds is set."): (
        "set a ninety second timer",
        "set a timer for one and a half minutes",
        "set a timer for a minute and a half",
        "set a timer for one minute thirty seconds",
    ),
    ("timers", "Your timer for one hour and thirty minutes is set."): (
        "set a timer for 1 hour and 30 minutes",
        "set a timer for an hour and a half",
        "set a timer for one point five hours",
        "set a timer for an hour and thirty minutes",
    ),
    ("timers", "Your timer for two hours, three minutes, and four seconds is set."): (
        "set a timer for two hours three minutes and four seconds",
    ),
    ("timers", "Your five minute timer for eggs is set."): (
        "set a five minute timer for the eggs",
        "set a timer for five minutes for the eggs",
        "set a timer for the eggs for five minutes",
        "set a five minute timer called eggs",
        "set an eggs timer for five minutes",
    ),
    ("timers", "Your twenty minute timer for pizza is set."): (
        "set a pizza timer for twenty minutes",
        "set a twenty minute pizza timer",
    ),
    ("timers", "Your thirty minute timer for green bean stew is set."): (
        "set a timer for the green bean stew for half an hour",
    ),
    ("timers", "That is too long: a timer runs for twenty-four hours at most."): (
        "set a timer for thirty hours",
        "set a timer for two days",
    ),
    ("timers", "That is too short: a timer runs for one second at least."): (
        "set a timer for zero seconds",
        "set a timer for zero point five seconds",
        "set a timer for minus five minutes",
    ),
    ("timers", "There is no timer."): (
        "cancel the timer",
        "stop the timer",
        "turn off the timer",
        "cancel all timers",
        "cancel both timers",
        "cancel the pasta timer",
        "stop my ten minute timer",
        "cancel the timer for the eggs",
        "pause the timer",
        "resume the timer",
        "how much time is left",
        "how much time is left on the timer",
        "How much time do I have left?",
        "how long is left on my timer",
        "how much longer on the pasta timer",
        "how many minutes are left",
        "when is the timer done",
        "check the timer",
        "what timers do i have",
        "are there any timers",
        "is a timer running",
    ),
    ("alarms", "At what time?"): (
        "set an alarm",
        "wake me up tomorrow",
        "set an alarm for tomorrow morning",
    ),
    ("alarms", "Your alarm is set for seven AM tomorrow."): (
        "set an alarm for seven a.m.",
        "set an alarm for seven",
        "set an alarm for seven o'clock",
        "set an alarm for tomorrow at seven",
        "wake me at seven",
        "wake me up tomorrow at seven in the morning",
        "set a seven a m alarm",
    ),
    ("alarms", "Your alarm is set for seven thirty AM tomorrow."): (
        "Set an alarm for 7:30.",
        "set an alarm for seven thirty",
        "set an alarm for 730",
        "wake me up at half past seven",
        "wake me up at seven thirty tomorrow morning",
    ),
    ("alarms", "Your alarm is set for six thirty AM tomorrow."): ("wake me up at six thirty",),
    ("alarms", "Your alarm is set for six forty-five AM tomorrow."): ("wake me up at a quarter to seven",),
    ("alarms", "Your alarm is set for six oh five AM tomorrow."): (
        "wake me up at six oh five",
        "wake me up at five past six",
    ),
    ("alarms", "Your alarm is set for six thirty PM tomorrow."): (
        "set an alarm for six thirty pm",
        "set an alarm for 18:30",
        "set an alarm for tomorrow evening at six thirty",
    ),
    ("alarms", "Your alarm is set for eleven PM."): ("set an alarm for eleven", "wake me up at eleven tonight"),
    ("alarms", "Your alarm is set for noon tomorrow."): ("wake me up at noon",),
    ("alarms", "Your alarm is set for midnight tomorrow."): ("set an alarm for midnight",),
    ("alarms", "Your alarm is set for eleven oh three PM."): (
        "wake me up in twenty minutes",
        "set an alarm for twenty minutes from now",
    ),
    ("alarms", "That is no time of day."): ("set an alarm for twenty five o'clock", "set an alarm for seven ninety"),
    ("alarms", "That time has passed already. Do you mean tomorrow?"): ("set an alarm for nine am today",),
    ("alarms", "There is no alarm."): (
        "cancel my alarm",
        "cancel all alarms",
        "turn off the seven thirty alarm",
        "cancel the alarm for seven",
        "don't wake me up",
        "what alarms do i have",
        "when is my next alarm",
        "is my alarm set",
    ),
    ("spelling", "N, E, C, E, S, S, A, R, Y."): (
        "spell necessary",
        "How do you spell necessary?",
        "can you spell the word necessary please",
        "what's the spelling of necessary",
        "how is necessary spelled",
        "how is necessary spelt",
        "how is the word necessary written",
        "tell me how to spell necessary",
    ),
    ("spelling", "M, I, S, S, I, S, S, I, P, P, I."): ("how do you spell Mississippi",),
    ("spelling", "L, I, T, R, E."): ("spell litre",),
    ("spelling", "E, I, G, H, T."): ("spell eight",),
    ("spelling", "N, E, W. Y, O, R, K."): ("how do you spell New York",),
    ("spelling", "D, O, N, T."): ("spell don't",),
    ("days", "Thirty-five days until Christmas."): (
        "how many days until christmas",
        "How many days are there till Christmas?",
        "how many days is it to christmas",
        "how long until christmas",
    ),
    ("days", "Thirty-five days until December twenty-fifth."): (
        "how many days are left until december twenty fifth",
        "how many days until the twenty fifth of december",
        "how many days until December 25th",
        "how many days until december 25",
    ),
    ("days", "Five weeks until Christmas."): ("how many weeks until christmas",),
    ("days", "Three days until Monday."): ("how many days until monday",),
    ("days", "Friday is today."): ("how many days until friday",),
    ("days", "Saturday is tomorrow."): ("how long is it until saturday",),
    ("days", "Forty-one days until New Year's Eve."): ("how many days until new year's eve",),
    ("days", "Nineteen days since November first."): ("how many days since november first",),
    ("days", "There are ninety days between March third and June first."): (
        "how many days between march third and june first",
        "How many days are there between March 3rd and June 1st?",
        "how many days from the third of march to the first of june",
    ),
    ("days", "There is one day between December thirty-first and January first."): (
        "how many days between december thirty first and january first",
    ),
    ("days", "July fourth, twenty twenty-seven is a Sunday."): (
        "what day of the week is july fourth",
        "what day is the fourth of july",
        "what weekday is July 4, 2027",
        "what day of the week is july fourth twenty twenty seven",
        "on what day does july fourth fall",
    ),
    ("days", "July fourth, seventeen seventy-six was a Thursday."): ("what day was july fourth seventeen seventy six",),
    ("days", "Christmas is on Friday, December twenty-fifth."): (
        "when is christmas",
        "what day is christmas",
        "what date is christmas this year",
    ),
    ("days", "There is no February thirtieth."): ("what day is february thirtieth", "how many days until february 30"),
    ("chance", "It's heads."): ("flip a coin", "toss a coin please", "heads or tails"),
    ("chance", "It's two."): ("roll a die", "roll the dice", "throw a dice"),
    ("chance", "Two and five: seven."): ("roll two dice", "throw two dice"),
    ("chance", "It's five."): ("roll a twenty sided die", "roll a d20"),
    ("chance", "Three."): ("pick a number between one and ten", "give me a random number from one to ten"),
    ("chance", "I can roll one to six dice."): ("roll a hundred dice",),
    ("chance", "A die of mine has two to one thousand sides."): ("roll a one sided die",),
    ("reminders", "What should I remind you of?"): ("remind me tomorrow", "set a reminder"),
    ("reminders", "When should I remind you?"): ("remind me to call Anna", "remind me tomorrow to call Anna"),
    ("reminders", "I'll remind you at ten fifty-three PM: call Anna."): (
        "remind me to call Anna in ten minutes",
        "Remind me in 10 minutes to call Anna.",
        "can you remind me in ten minutes to call Anna, please?",
        "set a reminder in ten minutes to call Anna",
        "remind me to call Anna at 10:53 pm",
        "remind me at seven minutes to eleven to call Anna",
    ),
    ("reminders", "I'll remind you at five PM tomorrow: call Anna."): (
        "remind me to call Anna at five",
        "remind me at five to call Anna",
        "remind me tomorrow at five to call Anna",
        "remind me to call Anna tomorrow at five",
        "remind me tomorrow to call Anna at five",
        "set a reminder to call Anna at five pm",
    ),
    ("reminders", "I'll remind you at five AM tomorrow: call Anna."): (
        "remind me to call Anna at five in the morning",
    ),
    ("reminders", "I'll remind you at four PM tomorrow: meet Bob at five."): ("remind me to meet Bob at five at four",),
    ("reminders", "I'll remind you at noon tomorrow: buy two apples."): ("remind me at noon to buy two apples",),
    ("reminders", "I'll remind you at ten forty-eight PM: the pasta."): ("remind me about the pasta in five minutes",),
    ("reminders", "I can remind you between one second and six days from now."): (
        "remind me in ten days to call Anna",
    ),
    ("reminders", "That is no time of day."): ("remind me at thirty to call Anna",),
    ("reminders", "There is no reminder."): (
        "what reminders do I have",
        "what are my reminders",
        "do I have any reminders",
        "cancel the reminder",
        "cancel the reminder to call Anna",
        "delete all my reminders",
    ),
    ("calendar", "I can't read a calendar: none is connected to me."): (
        "what's on my calendar today",
        "do I have any appointments today",
    ),
    (
        "weather",
        "No weather service is connected to me.",
    ): (
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
    return loaded_skills()


@text_cases(("said", "skill", "text"), CASES)
def test_sentence_is_understood_and_answered(skills: Skills, said: str, skill: str, text: str) -> None:
    answer = skills.answer(said, SkillContext(NOW, LAST_REPLY, rng=random.Random(1)))
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)


def test_table_is_large_enough() -> None:
    assert len({said for said, _skill, _text in CASES}) >= 300


def test_repeat_without_a_previous_reply(skills: Skills) -> None:
    answer = skills.answer("say that again", SkillContext(NOW))
    assert answer is not None
    assert answer.text == "I haven't said anything yet."


def test_unsupported_language_is_not_understood(skills: Skills) -> None:
    assert skills.answer("what time is it", SkillContext(NOW, language="it")) is None
    assert skills.answer("what time is it", SkillContext(NOW, language="en-GB")) is not None


def test_context_without_time_zone_raises() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        SkillContext(NOW.replace(tzinfo=None))


def test_match_before_load_raises() -> None:
    with pytest.raises(RuntimeError, match="load"):
        Skills().match("what time is it")
