"""Orders to a home in any combination: with a time before or behind, and two in one sentence."""

import itertools
import random

import pytest
from support.services.furnished_home import furnished_home
from support.services.quiet_home import QuietHome, ask_home

from assistant.home import ServiceCall
from assistant.skills.answers import HomeAction, SetAlarm, SkillAnswer, each_effect
from assistant.skills.languages.language import LANGUAGES

ORDERS = {
    "en": (
        "turn on the coffee machine",
        "switch the fan off",
        "close the blinds",
        "open the kitchen blinds",
        "set the desk lamp to 40 percent",
        "make the desk lamp brighter",
        "dim the kitchen light",
        "make the desk lamp red",
        "lock the front door",
        "pause the radio",
        "turn off everything in the bedroom",
        "set the heating to 21 degrees",
        "turn up the heating",
    ),
    "de": (
        "mach die Kaffeemaschine an",
        "schalte den Ventilator aus",
        "Schreibtischlampe an",
        "schließe die Rollläden",
        "fahr den Rollladen Küche hoch",
        "stell die Schreibtischlampe auf 40 Prozent",
        "mach die Schreibtischlampe heller",
        "mach die Schreibtischlampe rot",
        "verriegle die Haustür",
        "pausiere das Radio",
        "mach im Schlafzimmer alles aus",
        "stell die Heizung auf 21 Grad",
    ),
    "fr": (
        "allume la cafetière",
        "éteins le ventilateur",
        "ferme les volets",
        "ouvre le volet cuisine",
        "règle la lampe de bureau à 40 pour cent",
        "mets la lampe de bureau en rouge",
        "verrouille la porte d'entrée",
        "mets la radio en pause",
        "éteins tout dans la chambre",
        "mets le chauffage à 21 degrés",
    ),
    "es": (
        "enciende la cafetera",
        "apaga el ventilador",
        "cierra las persianas",
        "abre la persiana de la cocina",
        "pon la lámpara de mesa al 40 por ciento",
        "pon la lámpara de mesa en rojo",
        "bloquea la puerta principal",
        "pausa la radio",
        "apaga todo en el dormitorio",
        "pon la calefacción a 21 grados",
    ),
}
TIMES = {
    "en": (
        "in ten minutes",
        "in an hour",
        "at half past seven",
        "at 7:30",
        "tomorrow at seven",
        "on Friday at six pm",
        "after 90 seconds",
        "in 2 hours and 15 minutes",
        "every day at noon",
    ),
    "de": (
        "in zehn Minuten",
        "in einer Stunde",
        "um halb acht",
        "um 7:30 Uhr",
        "morgen um sieben",
        "am Freitag um 18 Uhr",
        "nach 90 Sekunden",
        "in 2 Stunden und 15 Minuten",
        "jeden Tag um zwölf",
    ),
    "fr": (
        "dans dix minutes",
        "dans une heure",
        "à sept heures et demie",
        "à 7h30",
        "demain à sept heures",
        "vendredi à 18 heures",
        "après 90 secondes",
        "dans 2 heures et 15 minutes",
        "tous les jours à midi",
    ),
    "es": (
        "en diez minutos",
        "en una hora",
        "a las siete y media",
        "a las 7:30",
        "mañana a las siete",
        "el viernes a las seis de la tarde",
        "después de 90 segundos",
        "en 2 horas y 15 minutos",
        "todos los días a las doce",
    ),
}
JOINTS = {
    "en": (" and ", " and then "),
    "de": (" und ", " und dann "),
    "fr": (" et ", " puis "),
    "es": (" y ", " y luego "),
}


def home(code: str) -> QuietHome:
    kinds = furnished_home(code).kinds | {"lock"}
    return QuietHome(furnished_home(code).state, kinds=kinds)


def calls_of(answer: SkillAnswer | None) -> list[ServiceCall]:
    calls: list[ServiceCall] = []
    for effect in each_effect(None if answer is None else answer.effect):
        if isinstance(effect, HomeAction):
            calls += effect.calls
        elif isinstance(effect, SetAlarm) and effect.planned is not None:
            calls += effect.planned.calls
    return calls


@pytest.mark.parametrize("code", LANGUAGES)
def test_order_with_a_time_is_planned_as_it_is_done_now(code: str) -> None:
    here, rng = home(code), random.Random(code)
    for order in ORDERS[code]:
        now = calls_of(ask_home(here, order, code))
        assert now, order
        for time in rng.sample(TIMES[code], 4):
            moments = set()
            for said in (f"{time} {order}", f"{order}, {time}."):
                answer = ask_home(here, said, code)
                assert calls_of(answer) == now, said
                assert answer is not None
                assert isinstance(answer.effect, SetAlarm), said
                moments.add((answer.effect.local_time, answer.effect.weekdays))
            assert len(moments) == 1, (order, time)


@pytest.mark.parametrize("code", LANGUAGES)
def test_two_orders_in_a_sentence_are_both_done(code: str) -> None:
    here = home(code)
    single = {order: calls_of(ask_home(here, order, code)) for order in ORDERS[code]}
    rng = random.Random(code)
    for first, second in rng.sample(list(itertools.permutations(ORDERS[code], 2)), 40):
        joint = rng.choice(JOINTS[code])
        said = f"{first}{joint}{second}"
        expected = sorted(map(str, single[first] + single[second]))
        assert sorted(map(str, calls_of(ask_home(here, said, code)))) == expected, said
