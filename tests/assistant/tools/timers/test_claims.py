"""Sentences that claim a timer, alarm or reminder, and those that do not."""

from pathlib import Path

import pytest

from assistant.tools.timers.claims import claims_timer, is_about_timers, may_claim

CLAIMS = """
I've set an alarm for 7 AM.
Sure! I have set a timer for ten minutes.
Okay, I've just set your alarm for seven.
Your alarm is set for 7 AM tomorrow.
Done! Your ten minute timer has been started.
Alarm set for 7 AM.
I'll remind you at five to call Anna.
I’ll wake you up at six.
I will set a reminder for tomorrow.
Got it. Timer started.
I've gone ahead and cancelled your pasta timer.
The timer is now running.
Ich habe dir einen Wecker auf sieben Uhr gestellt.
Klar, ich habe den Timer auf zehn Minuten gestellt.
Dein Wecker ist auf sieben Uhr gestellt.
Der Timer läuft jetzt.
Ich erinnere dich um fünf daran.
Der Wecker klingelt um sieben.
Ich stelle dir einen Wecker für morgen.
Der Wecker wurde auf acht verschoben.
J'ai mis une alarme à sept heures.
D'accord, j'ai réglé votre réveil pour sept heures.
Votre alarme est programmée pour 7 heures.
Je vous rappellerai à cinq heures.
L'alarme sonnera à sept heures.
C'est fait, j'ai programmé un minuteur de dix minutes.
Le minuteur a été lancé.
He puesto una alarma para las siete.
Claro, he configurado un temporizador de diez minutos.
Tu alarma está programada para las 7.
Te recordaré llamar a Anna a las cinco.
La alarma sonará a las siete.
Listo, la alarma está puesta.
""".strip().splitlines()

NO_CLAIMS = """
I can't set alarms.
I have not set an alarm.
If I set an alarm, will you wake up?
You have set an alarm.
Should I set an alarm?
The timer is set by turning the dial.
An alarm clock is a device that wakes you.
I like my alarm clock.
I've always liked timers.
I will tell you about alarms.
I made a cake.
The story is set in Paris.
All timers can be cancelled in the settings.
Timers are useful in the kitchen.
The first alarm clock was made in 1787.
Ich habe keinen Wecker gestellt.
Ich kann keinen Wecker stellen.
Ein Wecker ist ein Gerät.
Der Wecker steht neben dem Bett.
Je ne peux pas régler d'alarme.
Je n'ai pas mis d'alarme.
Une alarme est un appareil qui sonne.
No puedo poner alarmas.
No he puesto ninguna alarma.
Una alarma es un aparato.
I cannot set timers, alarms or reminders here.
I did not set, change or cancel anything. Please say it like this: set an alarm for seven.
Ich habe nichts gestellt oder geändert. Bitte sag es so: stell den Wecker auf sieben.
Je n'ai rien réglé ni modifié. Dites par exemple : mets une alarme à sept heures.
No he puesto ni cambiado nada. Dilo así: pon una alarma a las siete.
""".strip().splitlines()


@pytest.mark.parametrize("text", CLAIMS)
def test_claim_is_detected(text: str) -> None:
    sentences = [part for part in text.replace("! ", "!|").replace(". ", ".|").split("|") if part]
    claim = next(sentence for sentence in sentences if claims_timer(sentence, about_timers=True))
    assert all(may_claim(claim[:end], about_timers=True) for end in range(1, len(claim)))
    if claims_timer(claim):
        assert all(may_claim(claim[:end]) for end in range(1, len(claim)))


@pytest.mark.parametrize("text", CLAIMS)
def test_claim_that_tells_of_the_user_needs_no_question(text: str) -> None:
    of_thing = ("alarm set", "got it", "the timer", "der ", "l'alarme", "le minuteur", "la alarma", "listo")
    parts = text.replace("! ", "!|").replace(". ", ".|").split("|")
    assert any(claims_timer(part) for part in parts) is not text.lower().startswith(of_thing)


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_other_sentence_is_no_claim(text: str) -> None:
    assert not any(claims_timer(sentence, about_timers=True) for sentence in text.replace(". ", ".|").split("|"))


ORDINARY = (Path(__file__).parent / "ordinary_sentences.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sentence_is_no_claim(text: str) -> None:
    assert not claims_timer(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sentence_is_none_when_asked_for_a_timer(text: str) -> None:
    assert not claims_timer(text, about_timers=True)


@pytest.mark.parametrize("text", ["I've set it for seven.", "It's all set!", "Ich habe ihn gestellt.", "Lo he puesto."])
def test_it_is_a_claim_only_if_the_user_spoke_of_a_timer(text: str) -> None:
    assert claims_timer(text, about_timers=True)
    assert not claims_timer(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Can you wake me at seven?", True),
        ("Erinnerst du mich daran?", True),
        ("Mets un réveil", True),
        ("Ponme una alarma", True),
        ("What time is my alarm?", True),
        ("Um wie viel Uhr klingelt mein Wecker?", True),
        ("Who invented the alarm clock?", False),
        ("How does a smoke alarm work?", False),
        ("Wer hat den Wecker erfunden?", False),
        ("Qui a inventé le réveil ?", False),
        ("¿Quién inventó el despertador?", False),
        ("What is the capital of France?", False),
        ("Wie hoch ist der Eiffelturm?", False),
    ],
)
def test_words_about_timers_are_found(text: str, expected: bool) -> None:
    assert is_about_timers(text) is expected


@pytest.mark.parametrize(
    "text",
    ["Paris is ", "It is ", "There are ", "The capital of France is ", "I think that this idea is ", "You could "],
)
def test_ordinary_beginning_is_soon_decided(text: str) -> None:
    assert not may_claim(text)


@pytest.mark.parametrize(
    "text",
    ["Paris ", "You ", "There ", "Remember ", "Maybe ", "The capital of France is a ", "The weather will be nice and "],
)
def test_beginning_is_decided_when_asked_for_a_timer(text: str) -> None:
    assert not may_claim(text, about_timers=True)
