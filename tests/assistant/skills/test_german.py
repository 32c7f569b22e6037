"""German: understood sentences with slots and answers, and sentences left to a model."""

import random
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.languages.language import load_language
from assistant.skills.languages.sentences import SentenceTemplates
from assistant.skills.skills import Skills

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))
LAST_REPLY = "Sieben mal acht ist sechsundfünfzig."

# Sentence, skill, slots, and the answer on Friday, 20 November 2026, 22:43 in Berlin.
UNDERSTOOD: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("Wie spät ist es?", "time", {}, "Es ist zweiundzwanzig Uhr dreiundvierzig."),
    ("Kannst du mir sagen, wie spät es ist?", "time", {}, "Es ist zweiundzwanzig Uhr dreiundvierzig."),
    (
        "Wie viel Uhr ist es in Tokio?",
        "time",
        {"city": "Asia/Tokyo"},
        "Es ist sechs Uhr dreiundvierzig am Samstag in Tokio.",
    ),
    (
        "Wie spät ist es in der Schweiz?",
        "time",
        {"city": "Europe/Zurich"},
        "Es ist zweiundzwanzig Uhr dreiundvierzig in der Schweiz.",
    ),
    ("Welcher Tag ist heute?", "date", {}, "Heute ist Freitag, der zwanzigste November zweitausendsechsundzwanzig."),
    (
        "Was ist heute für ein Tag?",
        "date",
        {"one": "1"},
        "Heute ist Freitag, der zwanzigste November zweitausendsechsundzwanzig.",
    ),
    (
        "Was ist morgen für ein Tag?",
        "date",
        {"one": "1", "other_day": "1"},
        "Morgen ist Samstag, der einundzwanzigste November.",
    ),
    (
        "Welches Datum hatten wir gestern?",
        "date",
        {"other_day": "-1"},
        "Gestern war Donnerstag, der neunzehnte November.",
    ),
    ("Welches Jahr haben wir?", "date", {}, "Es ist das Jahr zweitausendsechsundzwanzig."),
    ("Welcher Monat ist es?", "date", {}, "Es ist November."),
    (
        "Wie viele Tage sind es noch bis Weihnachten?",
        "days",
        {"span": "days", "holiday": "12-25"},
        "Bis Weihnachten sind es noch fünfunddreißig Tage.",
    ),
    (
        "Wie viele Wochen sind es bis zum ersten März?",
        "days",
        {"span": "weeks", "o": "1", "m": "3"},
        "Bis zum ersten März sind es noch vierzehn Wochen und drei Tage.",
    ),
    (
        "Wie viele Tage sind es bis zum 24. Dezember?",
        "days",
        {"d": "24", "span": "days", "m": "12"},
        "Bis zum vierundzwanzigsten Dezember sind es noch vierunddreißig Tage.",
    ),
    (
        "Wie viele Tage sind es bis zum Valentinstag?",
        "days",
        {"span": "days", "holiday": "2-14"},
        "Bis zum Valentinstag sind es noch sechsundachtzig Tage.",
    ),
    ("Wie lange noch bis Montag?", "days", {"weekday": "0"}, "Bis Montag sind es noch drei Tage."),
    (
        "Wie viele Tage sind seit dem ersten Januar vergangen?",
        "days",
        {"span": "days", "o": "1", "m": "1"},
        "Seit dem ersten Januar sind dreihundertdreiundzwanzig Tage vergangen.",
    ),
    (
        "Wie viele Tage liegen zwischen dem dritten März und dem ersten Juni?",
        "days",
        {"span": "days", "o": "3", "m": "3", "oo": "1", "om": "6"},
        "Zwischen dem dritten März und dem ersten Juni liegen neunzig Tage.",
    ),
    (
        "Wie viele Tage liegen zwischen dem 31. Dezember und dem 1. Januar?",
        "days",
        {"d": "31", "od": "1", "span": "days", "m": "12", "om": "1"},
        "Zwischen dem einunddreißigsten Dezember und dem ersten Januar liegt ein Tag.",
    ),
    (
        "Welcher Wochentag ist der vierte Juli?",
        "days",
        {"o": "4", "m": "7", "tense": "ist"},
        "Der vierte Juli zweitausendsiebenundzwanzig ist ein Sonntag.",
    ),
    (
        "Auf welchen Tag fiel der 4. Juli 1776?",
        "days",
        {"d": "4", "y": "1776", "m": "7", "tense": "past"},
        "Der vierte Juli siebzehnhundertsechsundsiebzig war ein Donnerstag.",
    ),
    (
        "Wann ist Weihnachten?",
        "days",
        {"holiday": "12-25"},
        "Weihnachten fällt auf Freitag, den fünfundzwanzigsten Dezember.",
    ),
    (
        "Welcher Tag ist der dreißigste Februar?",
        "days",
        {"o": "30", "m": "2", "tense": "ist"},
        "Den dreißigsten Februar gibt es nicht.",
    ),
    ("Stelle einen Timer auf zehn Minuten", "timers", {"a": "10", "ua": "60"}, "Der Timer über zehn Minuten läuft."),
    ("Stell einen Timer auf eine Minute.", "timers", {"a": "1", "ua": "60"}, "Der Timer über eine Minute läuft."),
    (
        "Timer auf anderthalb Stunden",
        "timers",
        {"a": "3/2", "ua": "3600"},
        "Der Timer über eine Stunde und dreißig Minuten läuft.",
    ),
    ("Zehn-Minuten-Timer", "timers", {"a": "10", "ua": "60"}, "Der Timer über zehn Minuten läuft."),
    (
        "Stelle einen Timer für die Eier auf fünf Minuten",
        "timers",
        {"a": "5", "name": "eier", "ua": "60"},
        "Der Timer für Eier über fünf Minuten läuft.",
    ),
    (
        "Stelle einen Pizza-Timer auf 20 Minuten",
        "timers",
        {"a": "20", "name": "pizza", "ua": "60"},
        "Der Timer für Pizza über zwanzig Minuten läuft.",
    ),
    ("Starte einen Timer für eine halbe Stunde", "timers", {"part": "1800"}, "Der Timer über dreißig Minuten läuft."),
    (
        "Stelle einen Timer auf dreißig Stunden",
        "timers",
        {"a": "30", "ua": "3600"},
        "Das ist zu lang: ein Timer läuft höchstens vierundzwanzig Stunden.",
    ),
    ("Stell einen Timer", "timers", {}, "Wie lange?"),
    ("Wie lange läuft der Timer noch?", "timers", {}, "Es läuft kein Timer."),
    ("Lösche den Timer", "timers", {}, "Es läuft kein Timer."),
    ("Halte den Timer an", "timers", {}, "Es läuft kein Timer."),
    ("Setze den Timer fort", "timers", {}, "Es läuft kein Timer."),
    (
        "Stell den Wecker auf halb acht",
        "alarms",
        {"h": "8", "from_hour": "-30"},
        "Der Wecker klingelt morgen um sieben Uhr dreißig.",
    ),
    (
        "Weck mich um Viertel vor sieben",
        "alarms",
        {"h": "7", "from_hour": "-15"},
        "Der Wecker klingelt morgen um sechs Uhr fünfundvierzig.",
    ),
    ("Weck mich morgen früh um sechs", "alarms", {"h": "6", "day": "1 am"}, "Der Wecker klingelt morgen um sechs Uhr."),
    (
        "Weck mich um zehn vor halb sieben",
        "alarms",
        {"m": "10", "h": "7", "side": "to", "from_hour": "-30"},
        "Der Wecker klingelt morgen um sechs Uhr zwanzig.",
    ),
    (
        "Weck mich in zwanzig Minuten",
        "alarms",
        {"a": "20", "ua": "60"},
        "Der Wecker klingelt heute um dreiundzwanzig Uhr drei.",
    ),
    (
        "Stelle den Wecker auf ein Uhr nachts",
        "alarms",
        {"h": "1", "half_day": "night"},
        "Der Wecker klingelt morgen um ein Uhr.",
    ),
    (
        "Stelle einen Wecker auf 7:30 Uhr",
        "alarms",
        {"h": "7", "m": "30"},
        "Der Wecker klingelt morgen um sieben Uhr dreißig.",
    ),
    ("Stelle den Wecker auf fünfundzwanzig Uhr", "alarms", {"h": "25"}, "Das ist keine Uhrzeit."),
    ("Wann klingelt mein Wecker?", "alarms", {}, "Es ist kein Wecker gestellt."),
    ("Lösche alle Wecker", "alarms", {"all": "alle"}, "Es ist kein Wecker gestellt."),
    (
        "Was ist fünfundzwanzig plus drei Komma fünf?",
        "arithmetic",
        {"a": "25", "b": "7/2", "f": "plus"},
        "Das ergibt achtundzwanzig Komma fünf.",
    ),
    ("Was ist 15% von 80?", "arithmetic", {"a": "15", "b": "80"}, "Das ergibt zwölf."),
    ("Wurzel aus zwei", "arithmetic", {"a": "2"}, "Das ergibt etwa eins Komma vier eins vier zwei."),
    ("Zwei hoch zehn", "arithmetic", {"a": "2", "b": "10"}, "Das ergibt eintausendvierundzwanzig."),
    (
        "Was ist 2 plus 3 mal 4?",
        "arithmetic",
        {"a": "2", "b": "3", "c": "4", "f": "plus", "g": "times"},
        "Das ergibt vierzehn.",
    ),
    (
        "Was ist 1.000,5 plus 1?",
        "arithmetic",
        {"a": "2001/2", "b": "1", "f": "plus"},
        "Das ergibt eintausendeins Komma fünf.",
    ),
    ("Die Hälfte von achtzig", "arithmetic", {"a": "80", "share": "1/2"}, "Das ergibt vierzig."),
    ("Was ist 10 - -3?", "arithmetic", {"a": "10", "b": "-3", "f": "minus"}, "Das ergibt dreizehn."),
    ("Wie viel ist 24/6?", "arithmetic", {"a": "24", "b": "6", "f": "divided"}, "Das ergibt vier."),
    ("Teile fünf durch null", "arithmetic", {"a": "5", "b": "0"}, "Durch null kann ich nicht teilen."),
    (
        "Wie viele Zentimeter sind ein Meter?",
        "conversion",
        {"number": "1", "to": "zentimeter", "from": "meter"},
        "Ein Meter sind einhundert Zentimeter.",
    ),
    (
        "Wie viele Kilometer hat eine Meile?",
        "conversion",
        {"number": "1", "to": "kilometer", "from": "meile"},
        "Eine Meile sind etwa eins Komma sechs null neun Kilometer.",
    ),
    (
        "Rechne fünf Kilometer in Meilen um",
        "conversion",
        {"number": "5", "from": "kilometer", "to": "meilen"},
        "Fünf Kilometer sind etwa drei Komma eins null sieben Meilen.",
    ),
    (
        "Was sind zwanzig Grad Celsius in Fahrenheit?",
        "conversion",
        {"number": "20", "from": "grad celsius", "to": "fahrenheit"},
        "Zwanzig Grad Celsius sind achtundsechzig Grad Fahrenheit.",
    ),
    (
        "Wie viele Minuten sind eine halbe Stunde?",
        "conversion",
        {"to": "minuten", "from": "stunde"},
        "Eine halbe Stunde sind dreißig Minuten.",
    ),
    (
        "Wie viele Liter sind ein Kilometer?",
        "conversion",
        {"number": "1", "to": "liter", "from": "kilometer"},
        "Kilometer kann ich nicht in Liter umrechnen: das eine ist eine Länge, das andere ein Volumen.",
    ),
    (
        "Sechs Fuß zwei Zoll in Zentimeter",
        "conversion",
        {"number": "6", "more": "2", "from": "fuß", "finer": "zoll", "to": "zentimeter"},
        "Sechs Fuß und zwei Zoll sind etwa einhundertachtundachtzig Zentimeter.",
    ),
    ("Wie buchstabiert man Straße?", "spelling", {}, "S, T, R, A, Eszett, E."),
    ("Wie wird das Wort Straße geschrieben?", "spelling", {}, "S, T, R, A, Eszett, E."),
    ("Wie wird Straße buchstabiert?", "spelling", {}, "S, T, R, A, Eszett, E."),
    ("Wie schreibt sich Straße?", "spelling", {}, "S, T, R, A, Eszett, E."),
    ("Buchstabiere Rhythmus", "spelling", {}, "R, H, Y, T, H, M, U, S."),
    ("Wie schreibt man Philosophie", "spelling", {}, "P, H, I, L, O, S, O, P, H, I, E."),
    ("Wirf eine Münze", "chance", {}, "Kopf."),
    ("Würfle", "chance", {}, "Gewürfelt: zwei."),
    ("Wirf zwei Würfel", "chance", {"count": "2"}, "Zwei und fünf: zusammen sieben."),
    ("Würfle mit einem zwanzigseitigen Würfel", "chance", {"sides": "20"}, "Gewürfelt: fünf."),
    ("Nenne eine Zahl zwischen eins und zehn", "chance", {"low": "1", "high": "10"}, "Drei."),
    ("Lauter", "voice", {}, "Lauter."),
    ("Sprich etwas leiser, bitte", "voice", {"how_much": "little"}, "Leiser."),
    ("Sprich langsamer", "voice", {}, "Langsamer."),
    ("Viel schneller", "voice", {"how_much": "much"}, "Schneller."),
    ("Sag das noch einmal", "repeat", {}, "Sieben mal acht ist sechsundfünfzig."),
    ("Stopp", "never_mind", {}, "In Ordnung."),
    ("Vergiss es", "never_mind", {}, "In Ordnung."),
    ("Danke", "thanks", {}, "Gern geschehen."),
    (
        "Mach das Licht an",
        "lights",
        {},
        "Es ist kein Zuhause angeschlossen.",
    ),
    ("Spiel Musik", "music", {}, "Musik kann ich noch nicht spielen."),
    (
        "Wie wird das Wetter morgen?",
        "weather",
        {},
        "Es ist kein Wetterdienst angeschlossen.",
    ),
    ("Drei zum Quadrat", "arithmetic", {"a": "3"}, "Das ergibt neun."),
    ("Die dritte Wurzel aus siebenundzwanzig", "arithmetic", {"a": "27"}, "Das ergibt drei."),
    ("Die Summe von drei und vier", "arithmetic", {"a": "3", "b": "4"}, "Das ergibt sieben."),
    ("Die Differenz zwischen drei und zehn", "arithmetic", {"a": "3", "b": "10"}, "Das ergibt sieben."),
    ("Ziehe drei von zehn ab", "arithmetic", {"b": "3", "a": "10"}, "Das ergibt sieben."),
    ("Multipliziere sechs mit sieben", "arithmetic", {"a": "6", "b": "7"}, "Das ergibt zweiundvierzig."),
    (
        "Heute in einer Woche",
        "date",
        {"start": "0", "ahead": "1", "span": "weeks"},
        "Das ist Freitag, der siebenundzwanzigste November zweitausendsechsundzwanzig.",
    ),
    ("Schalte den Ton aus", "voice", {"level": "0"}, "Die Lautstärke ist null Prozent."),
    ("Stumm", "voice", {"level": "0"}, "Die Lautstärke ist null Prozent."),
    ("Ton wieder an", "voice", {"level": "50"}, "Die Lautstärke ist fünfzig Prozent."),
    ("Snooze", "snooze", {}, "In den letzten zehn Minuten hat nichts geklingelt."),
    (
        "Erinnere mich morgen",
        "reminders",
        {"day": "1"},
        "Woran soll ich dich erinnern?",
    ),
    (
        "Was sind die Nachrichten?",
        "news",
        {},
        "Nachrichten kann ich nicht vorlesen: es ist kein Nachrichtendienst angeschlossen.",
    ),
    (
        "Mach die Rollläden zu",
        "devices",
        {"cover": "rollläden"},
        "Es ist kein Zuhause angeschlossen.",
    ),
    ("Wer bist du?", "identity", {}, "Ich bin Repartee, ein Sprachassistent. Ich bin ein Programm und kein Mensch."),
    ("Hallo", "greeting", {}, "Hallo. Ich höre zu."),
    ("Wie geht es dir?", "well_being", {}, "Ich bin bereit. Wie kann ich helfen?"),
    ("Tschüss", "goodbye", {}, "Auf Wiedersehen."),
    ("Nicht so schnell", "voice", {}, "Langsamer."),
    (
        "Stelle einen Timer auf einundzwanzig Minuten",
        "timers",
        {"a": "21", "ua": "60"},
        "Der Timer über einundzwanzig Minuten läuft.",
    ),
    ("Wie spät ist es auf Hawaii?", "time", {"city": "Pacific/Honolulu"}, "Es ist elf Uhr dreiundvierzig auf Hawaii."),
    ("Was ist minus fünf plus drei?", "arithmetic", {"a": "-5", "b": "3", "f": "plus"}, "Das ergibt minus zwei."),
    (
        "Wie viele Pfund sind zwei Kilo?",
        "conversion",
        {"number": "2", "to": "pfund", "from": "kilo"},
        "Zwei Kilogramm sind etwa vier Komma vier null neun Pfund.",
    ),
    (
        "Setz einen Timer auf eine Stunde dreißig Minuten",
        "timers",
        {"a": "1", "b": "30", "ua": "3600", "ub": "60"},
        "Der Timer über eine Stunde und dreißig Minuten läuft.",
    ),
    (
        "Stelle einen Timer auf 2 Stunden, 3 Minuten und 4 Sekunden",
        "timers",
        {"a": "2", "b": "3", "c": "4", "ua": "3600", "ub": "60", "uc": "1"},
        "Der Timer über zwei Stunden, drei Minuten und vier Sekunden läuft.",
    ),
    (
        "Wie viele Wochen sind es bis Silvester?",
        "days",
        {"span": "weeks", "holiday": "12-31"},
        "Bis Silvester sind es noch fünf Wochen und sechs Tage.",
    ),
    (
        "Welches Datum ist übermorgen?",
        "date",
        {"other_day": "2"},
        "Übermorgen ist Sonntag, der zweiundzwanzigste November.",
    ),
    (
        "Wurzel aus minus vier",
        "arithmetic",
        {"a": "-4"},
        "Eine negative Zahl hat keine Quadratwurzel unter den reellen Zahlen.",
    ),
    (
        "Weck mich übermorgen um acht Uhr abends",
        "alarms",
        {"h": "8", "day": "2", "half_day": "pm"},
        "Der Wecker klingelt übermorgen um zwanzig Uhr.",
    ),
    (
        "Wie viele Sekunden hat ein Jahr?",
        "conversion",
        {"number": "1", "to": "sekunden", "from": "jahr"},
        "Ein Jahr sind einunddreißig Millionen fünfhundertsechsunddreißigtausend Sekunden.",
    ),
)

NOT_UNDERSTOOD = (
    "wie spät ist der zug",
    "wie spät ist es auf dem mars",
    "um wie viel uhr ist das treffen",
    "welcher tag ist der beste",
    "welches jahr war die revolution",
    "was ist ein timer",
    "stelle einen timer auf fünf äpfel",
    "stelle einen timer und mach das licht an",
    "stelle einen timer auf fünf minuten für dich und mich",
    "lösche das abo",
    "weck mich wenn es hell wird",
    "stelle den wecker auf sieben leute",
    "was ist zwei plus",
    "was ist liebe plus hass",
    "zwei und zwei",
    "wie viele einwohner hat berlin",
    "wie viele kilometer sind es bis berlin",
    "wie viele beine hat ein hund",
    "rechne fünf euro in dollar um",
    "wie viele tage sind es bis zu meinem geburtstag",
    "welcher tag ist der fünfundvierzigste märz",
    "wann ist das treffen",
    "buchstabiere das",
    "wie schreibt man einen brief",
    "wirf den ball",
    "wähle eine karte",
    "lauter als ein flugzeug",
    "sprich französisch",
    "fahr langsamer als der zug",
    "mach das licht an wenn ich komme",
    "erzähl mir einen witz",
    "wer hat den krieg gewonnen",
    "stopp den wagen",
    "vergiss es nicht",
    "spiel schach mit mir",
    "hallo welt programm",
    "danke für nichts",
    "ein",
    "eine",
    "bitte",
    "wie",
    "der",
    "was ist fünf euro plus drei euro",
    "wie wird musik geschrieben",
    "wie wird morgen",
    "lösche alle anderen timer",
    "lösche alle anderen wecker",
    "was ist 24/7",
    "24/7",
    "ist das licht an",
)


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


@pytest.fixture(scope="module")
def sentences() -> SentenceTemplates:
    return SentenceTemplates(load_language("de"))


def context() -> SkillContext:
    return SkillContext(NOW, LAST_REPLY, language="de", rng=random.Random(1))


@text_cases(("said", "skill", "slots", "text"), UNDERSTOOD)
def test_sentence_is_understood_and_answered(
    skills: Skills, sentences: SentenceTemplates, said: str, skill: str, slots: dict[str, str], text: str
) -> None:
    answer = skills.answer(said, context())
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)
    found = sentences.find(said)  # no template contains a word to spell
    heard = {**{slot: str(number) for slot, number in found.numbers.items()}, **found.values} if found else {}
    assert heard == slots


@text_cases("said", NOT_UNDERSTOOD)
def test_sentence_is_left_to_a_model(skills: Skills, said: str) -> None:
    assert skills.answer(said, context()) is None


def test_tables_are_large_enough() -> None:
    assert len({said for said, *_rest in UNDERSTOOD}) >= 90
    assert len(set(NOT_UNDERSTOOD)) >= 35
