"""Several commands to a home, commands for later, and commands that mean the room of the user."""

from dataclasses import replace
from typing import Any

import pytest
from support.services.furnished_home import done_by, furnished_home
from support.services.quiet_home import NOW, QuietHome, ask_home, home_with
from support.texts.sentence_table import Section, sentence_cases

from assistant.home import Device, HomeState, Kind, names_key
from assistant.skills.answers import AlarmState, CancelAlarms, Running, SetAlarm, SkillAnswer
from assistant.skills.dialog.memory import Memory, Remember
from assistant.skills.languages.language import LANGUAGES


def ask(said: str, code: str = "en", **context: object) -> SkillAnswer | None:
    return ask_home(furnished_home(code), said, code, **context)


@sentence_cases("furnished home")
def test_command_is_understood(section: Section, row: list[str]) -> None:
    expected = section.expected(row)
    answer = ask(row[1], row[0], room=expected["room"].strip("-"))
    text = "-" if answer is None or answer.missing else answer.text
    assert {"text": text, "does": done_by(answer)} == {name: expected[name] for name in ("text", "does")}


@pytest.mark.parametrize(
    "said", ["turn on lamp 99999999999999999999999", "turn on the 1000000000000000000000000 light"]
)
def test_very_long_number_is_a_word(said: str) -> None:
    assert done_by(ask(said)) == "-"


def after(answer: SkillAnswer | None, code: str = "en", **context: object) -> dict[str, Any]:
    """Returns the context of the next turn."""
    assert answer is not None
    remember = Remember(answer.question, answer.question_text, answer.text, answer.subjects, language=code)
    return {"memory": Memory().after(remember, 0.0), "last_reply": answer.text, **context}


@pytest.mark.parametrize(
    ("said", "does"),
    [
        ("the desk lamp", "Fri 22:53 turn_off light.desk"),
        ("the second one", "Fri 22:53 turn_off light.spot"),
        ("the bedroom one", "Fri 22:53 turn_off light.bedroom"),
        ("the one in the office", "Fri 22:53 turn_off light.desk"),
        ("the desk lamp in twenty minutes", "Fri 23:03 turn_off light.desk"),
    ],
)
def test_time_of_a_command_outlasts_the_question_which_device(said: str, does: str) -> None:
    assert done_by(ask(said, **after(ask("turn off the light in ten minutes")))) == does


@pytest.mark.parametrize(
    ("code", "request_", "said", "does"),
    [
        ("en", "turn on the light", "both", "turn_on light.a light.b"),
        ("en", "turn on the light", "the other one", "-"),
        ("en", "turn on the light", "the kitchen lamp", "turn_on light.a"),
        ("en", "turn on the light", "the last one", "turn_on light.b"),
        ("en", "turn on the light", "neither", "-"),
        ("en", "turn on the light", "all of them", "turn_on light.a light.b"),
        ("de", "mach das Licht an", "beide", "turn_on light.a light.b"),
        ("de", "mach das Licht an", "die zweite", "turn_on light.b"),
        ("fr", "allume la lumière", "les deux", "turn_on light.a light.b"),
        ("fr", "allume la lumière", "la deuxième", "turn_on light.b"),
        ("es", "enciende la luz", "las dos", "turn_on light.a light.b"),
        ("es", "enciende la luz", "la segunda", "turn_on light.b"),
    ],
)
def test_short_answer_to_the_question_which_device(code: str, request_: str, said: str, does: str) -> None:
    names = {
        "en": ("Kitchen & Hall lamp", "Desk lamp"),
        "de": ("Küchenlampe", "Schreibtischlampe"),
        "fr": ("Lampe cuisine", "Lampe bureau"),
        "es": ("Lámpara cocina", "Lámpara mesa"),
    }[code]
    home = home_with(*(Device(f"light.{key}", name, "off", "light") for key, name in zip("ab", names, strict=True)))
    asked = ask_home(home, request_, code)
    assert asked is not None
    assert asked.question is not None
    assert done_by(ask_home(home, said, code, **after(asked, code))) == does


CLOSE_NAMES = home_with(
    Device("light.desk", "Desk lamp", "off", "light", "Office"),
    Device("light.night", "Night light", "off", "light", "Bedroom"),
    Device("light.bath", "Bath light", "off", "light", "Bath"),
    Device("lock.front", "Front door", "locked", "lock", "Hall"),
    Device("lock.back", "Back door", "locked", "lock", "Kitchen"),
    Device("cover.gate", "Gate", "closed", "garage"),
    Device("scene.movie", "Movie time", "unknown", "scene"),
    Device("switch.heater", "10 Minute Heater", "off", "switch"),
)
CLOSE_NAMES.kinds |= {"lock", "garage"}


@pytest.mark.parametrize(
    ("said", "asked", "does"),
    [
        ("unlock the black door", "Do you mean Back door?", "unlock lock.back"),
        ("unlock the rock door", "Do you mean Back door?", "unlock lock.back"),
        ("lock the front dor", "Do you mean Front door?", "lock lock.front"),
        ("open the date", "Do you mean Gate?", "open_cover cover.gate"),
        ("turn on the deck lamp", "Do you mean Desk lamp?", "turn_on light.desk"),
        ("turn on the path light", "Do you mean Bath light?", "turn_on light.bath"),
        ("turn on the right light", "Do you mean Night light?", "turn_on light.night"),
        ("turn on the deck lamp in ten minutes", "Do you mean Desk lamp?", "Fri 22:53 turn_on light.desk"),
    ],
)
def test_similar_word_is_asked_for(said: str, asked: str, does: str) -> None:
    answer = ask_home(CLOSE_NAMES, said)
    assert answer is not None
    assert (answer.text, done_by(answer)) == (asked, "-")
    assert done_by(ask_home(CLOSE_NAMES, "yes", **after(answer))) == does
    assert done_by(ask_home(CLOSE_NAMES, "no", **after(answer))) == "-"


@pytest.mark.parametrize(
    ("said", "does"),
    [
        ("turn on a dime", "-"),
        ("start the mode time", "-"),
        ("open date", "-"),
        ("run for ten minutes", "-"),
        ("run ten minutes", "-"),
        ("run the ten minute heater", "turn_on switch.heater"),
        ("unlock the back door", "unlock lock.back"),
        ("open the gates", "open_cover cover.gate"),
        ("unlock everything", "-"),
        ("unlock the house", "-"),
        ("lock everything", "lock lock.front lock.back"),
        ("unlock all locks", "unlock lock.front lock.back"),
    ],
)
def test_similar_words_and_everything_open_nothing(said: str, does: str) -> None:
    assert done_by(ask_home(CLOSE_NAMES, said)) == does


@pytest.mark.parametrize(
    ("code", "order", "kind", "name"),
    [
        ("en", "unlock the {}", "lock", "Front door"),
        ("en", "open the {}", "garage", "Garage door"),
        ("de", "entriegle die {}", "lock", "Hintertür"),
        ("de", "öffne das {}", "garage", "Garagentor"),
        ("fr", "déverrouille la {}", "lock", "Porte d'entrée"),
        ("fr", "ouvre le {}", "garage", "Portail"),
        ("es", "desbloquea la {}", "lock", "Puerta principal"),
        ("es", "abre el {}", "garage", "Portón"),
    ],
)
def test_other_letter_opens_nothing(code: str, order: str, kind: Kind, name: str) -> None:
    home = home_with(Device(f"{'cover' if kind == 'garage' else 'lock'}.it", name, "closed", kind))
    home.kinds |= {kind}
    assert done_by(ask_home(home, order.format(name), code)) != "-"
    for index, letter in enumerate(name[:-1]):
        if letter.isalpha():
            said = f"{name[:index]}{'m' if letter != 'm' else 'k'}{name[index + 1 :]}".lower()
            assert done_by(ask_home(home, order.format(said), code)) == "-", said


@pytest.mark.parametrize(
    ("code", "words", "does"),
    [
        ("fr", "ouvre le portable", "-"),
        ("fr", "ouvre le portail", "open_cover cover.gate"),
        ("fr", "allume le jour", "-"),
        ("de", "öffne das Gatter", "-"),
        ("de", "öffne das Gitter", "open_cover cover.gate"),
        ("de", "schalte den Hof ein", "-"),
        ("es", "abre el portal", "-"),
        ("es", "abre el portón", "open_cover cover.gate"),
        ("es", "enciende el horro", "-"),
    ],
)
def test_similar_word_of_another_language_does_nothing(code: str, words: str, does: str) -> None:
    gate, oven = {"de": ("Gitter", "Ofen"), "fr": ("Portail", "Four"), "es": ("Portón", "Horno")}[code]
    home = home_with(Device("cover.gate", gate, "closed", "garage"), Device("switch.oven", oven, "off", "switch"))
    home.kinds |= {"garage"}
    assert done_by(ask_home(home, words, code)) == does


@pytest.mark.parametrize(
    ("code", "request_", "asked", "said", "does"),
    [
        (
            *("en", "turn off the lights in here", "Which room do you mean: Kitchen, Bedroom or Office?"),
            *("the kitchen", "turn_off light.kitchen light.spot"),
        ),
        (
            *("en", "turn off the light in here", "Which room do you mean: Kitchen, Bedroom or Office?"),
            *("the third one", "turn_off light.desk"),
        ),
        (
            *("en", "close the blinds in here in ten minutes", "Which room do you mean: Kitchen or Bedroom?"),
            *("the bedroom", "Fri 22:53 close_cover cover.bedroom"),
        ),
        (
            *("de", "mach hier alles aus", "Welchen Raum meinst du: Küche, Schlafzimmer oder Büro?"),
            *("im Büro", "turn_off light.desk; turn_off fan.office"),
        ),
        (
            *("fr", "éteins tout ici", "Quelle pièce voulez-vous dire : Cuisine, Chambre ou Bureau ?"),
            *("le bureau", "turn_off light.desk; turn_off fan.office"),
        ),
        (
            *("es", "apaga todo aquí", "¿A qué habitación te refieres: Cocina, Dormitorio o Despacho?"),
            *("el despacho", "turn_off light.desk; turn_off fan.office"),
        ),
    ],
)
def test_unknown_room_of_here_is_asked_for(code: str, request_: str, asked: str, said: str, does: str) -> None:
    question = ask(request_, code)
    assert question is not None
    assert (question.text, done_by(question)) == (asked, "-")
    assert done_by(ask(said, code, **after(question, code))) == does
    assert done_by(ask("tell me a story", code, **after(question, code))) == "-"


@pytest.mark.parametrize(
    ("said", "does"),
    [
        ("all of them", "turn_on light.kitchen light.spot light.bedroom light.desk"),
        ("all four", "-"),
        ("both", "-"),
    ],
)
def test_all_of_those_asked_for_are_meant(said: str, does: str) -> None:
    assert done_by(ask(said, **after(ask("turn on the light")))) == does


@pytest.mark.parametrize(
    ("said", "does"),
    [
        ("turn on the deck lamp and the night light", "turn_on light.desk light.night"),
        ("turn on the night light and the deck lamp", "turn_on light.night light.desk"),
        ("turn on the deck lamp and the night light in ten minutes", "Fri 22:53 turn_on light.desk light.night"),
    ],
)
def test_answer_about_one_device_keeps_the_others(said: str, does: str) -> None:
    answer = ask_home(CLOSE_NAMES, said)
    assert answer is not None
    assert (answer.text, done_by(answer)) == ("Do you mean Desk lamp?", "-")
    assert done_by(ask_home(CLOSE_NAMES, "yes", **after(answer))) == does


def test_pronoun_of_a_later_turn_is_planned() -> None:
    first = ask("turn on the desk lamp")
    assert done_by(ask("turn it off in ten minutes", **after(first))) == "Fri 22:53 turn_off light.desk"


def test_room_is_found_by_an_alias_of_its_area() -> None:
    home = furnished_home()
    state = home.state
    assert state is not None
    aliases = {"Kitchen": ("Galley",)}
    key = names_key(state.devices, state.areas, state.floors, aliases)
    named = QuietHome(HomeState(state.devices, state.areas, state.floors, key, aliases))
    assert done_by(ask_home(named, "turn on the light", room="Galley")) == "turn_on light.kitchen light.spot"


@pytest.mark.parametrize(
    ("room", "does"),
    [
        ("kitchen", "turn_on light.kitchen light.spot"),
        ("KITCHEN", "turn_on light.kitchen light.spot"),
        ("Kitchens shelf", "-"),
        ("Kitchenette", "-"),
        ("Chicken", "-"),
    ],
)
def test_room_that_is_no_area_changes_nothing(room: str, does: str) -> None:
    assert done_by(ask("turn on the light", room=room)) == does


def planned(number: int, minutes: int, about: str, *targets: str) -> AlarmState:
    local_time = NOW.replace(tzinfo=None, hour=23, minute=minutes)
    services = frozenset({"turn_on" if about.endswith("on") else "turn_off"})
    return AlarmState(number, local_time, about, targets=frozenset(targets), services=services)


LAMP, FAN = planned(3, 0, "Desk lamp off", "light.desk"), planned(5, 30, "Fan on", "fan.office")
PLANNED = Running(planned=(LAMP, FAN))


@pytest.mark.parametrize(
    ("code", "said", "numbers"),
    [
        ("en", "cancel the desk lamp", (3,)),
        ("en", "cancel the light in ten minutes", (3,)),
        ("en", "cancel everything that is scheduled", (3, 5)),
        ("en", "cancel all scheduled commands", (3, 5)),
        ("en", "cancel everything", (3, 5)),
        ("de", "storniere den Ventilator", (5,)),
        ("de", "sag die Schreibtischlampe ab", (3,)),
        ("fr", "annule la lampe de bureau", (3,)),
        ("es", "cancela el ventilador", (5,)),
    ],
)
def test_planned_command_is_cancelled(code: str, said: str, numbers: tuple[int, ...]) -> None:
    answer = ask(said, code, running=PLANNED)
    assert answer is not None
    assert answer.effect == CancelAlarms(numbers)


def test_last_planned_command_is_cancelled_by_that() -> None:
    first = ask("turn off the desk lamp in ten minutes")
    assert first is not None
    assert isinstance(first.effect, SetAlarm)
    command = AlarmState(7, first.effect.local_time, first.effect.about, targets=frozenset({"light.desk"}))
    running = Running(planned=(LAMP, command))
    cancelled = ask("cancel that", **after(first, running=running))
    assert cancelled is not None
    assert (cancelled.text, cancelled.effect) == ("Cancelled: Desk lamp off.", CancelAlarms((7,)))


def test_planned_command_is_not_moved_as_a_reminder() -> None:
    first = ask("turn off the desk lamp in ten minutes")
    assert first is not None
    assert isinstance(first.effect, SetAlarm)
    command = AlarmState(7, first.effect.local_time, first.effect.about)
    assert ask("make it eight", **after(first, running=Running(planned=(command,)))) is None


def test_several_planned_commands_are_asked_for() -> None:
    other = planned(9, 50, "Desk lamp on", "light.desk")
    running = Running(planned=(LAMP, other))
    asked = ask("cancel the desk lamp", running=running)
    assert asked is not None
    assert asked.effect is None
    chosen = ask("the second one", **after(asked, running=running))
    assert chosen is not None
    assert chosen.effect == CancelAlarms((9,))


def test_planned_commands_are_listed() -> None:
    answer = ask("what is scheduled", running=PLANNED)
    assert answer is not None
    assert answer.text == "Planned: at eleven PM: Desk lamp off and at eleven thirty PM: Fan on."


def test_too_many_planned_commands_are_refused() -> None:
    many = Running(planned=tuple(replace(LAMP, number=number) for number in range(20)))
    answer = ask("turn off the fan in ten minutes", running=many)
    assert answer is not None
    assert (answer.effect, "twenty planned commands" in answer.text) == (None, True)


def test_lock_is_never_opened_after_a_while() -> None:
    home = home_with(Device("lock.door", "Front door", "unlocked", "lock"))
    home.kinds = frozenset({"lock"})
    assert (
        done_by(ask_home(home, "unlock the front door for ten minutes")) == "unlock lock.door; Fri 22:53 lock lock.door"
    )
    assert done_by(ask_home(home, "lock the front door for ten minutes")) == "-"


TOGETHER = {"en": "everything", "de": "alles", "fr": "tout", "es": "todo"}
FOR_AN_HOUR = {
    "en": "turn off {} for an hour",
    "de": "mach {} für eine Stunde aus",
    "fr": "éteins {} pendant une heure",
    "es": "apaga {} durante una hora",
}


def kettle_and_oven() -> QuietHome:
    return home_with(
        Device("switch.oven", "Oven", "off", "switch"),
        Device("switch.plug", "Plug", "unknown", "switch"),
        Device("switch.kettle", "Kettle", "on", "switch"),
        Device("light.desk", "Desk", "on", "light"),
    )


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_was_off_before_stays_off_after_a_while(code: str) -> None:
    off, later = "turn_off switch.oven switch.plug switch.kettle; turn_off light.desk", "Fri 23:43"
    said = FOR_AN_HOUR[code].format(TOGETHER[code])
    answer = ask_home(kettle_and_oven(), said, code)
    assert done_by(answer) == f"{off}; {later} turn_on switch.kettle, turn_on light.desk"
    assert answer is not None
    assert "Kettle" in answer.text
    assert "Oven" not in answer.text
    assert done_by(ask_home(kettle_and_oven(), FOR_AN_HOUR[code].format("Oven"), code)) == "turn_off switch.oven"


def test_what_is_on_already_ends_after_a_while() -> None:
    answer = ask_home(kettle_and_oven(), "turn on the kettle for ten minutes")
    assert done_by(answer) == "turn_on switch.kettle; Fri 22:53 turn_off switch.kettle"


def test_time_may_be_a_part_of_the_answer_which_device() -> None:
    asked = ask("turn off the light")
    assert done_by(ask("the bedroom lamp in ten minutes", **after(asked))) == "Fri 22:53 turn_off light.bedroom"
    assert done_by(ask("at 11 pm the one in the office", **after(asked))) == "Fri 23:00 turn_off light.desk"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "turn on the oven and in ten minutes the kettle"),
        ("en", "turn on the oven, in ten minutes the kettle"),
        ("fr", "allume le Oven et dans dix minutes le Kettle"),
        ("es", "enciende el Oven y en diez minutos el Kettle"),
    ],
)
def test_time_behind_a_joint_belongs_to_what_follows(code: str, said: str) -> None:
    assert done_by(ask_home(kettle_and_oven(), said, code)) == "turn_on switch.oven; Fri 22:53 turn_on switch.kettle"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        *[("en", f"turn on the oven {time}") for time in ("on Monday", "tonight", "when I come home", "until ten")],
        *[("en", f"turn on the {rest}") for rest in ("kettle at 8 and off at 10", "oven at 8 for ten minutes")],
        *[("de", f"mach den Oven {time} an") for time in ("am Montag", "heute Abend", "zehn Minuten", "bis zehn")],
        *[("fr", f"allume le Oven {time}") for time in ("lundi", "ce soir", "quand je rentre", "jusqu'à dix heures")],
        *[("es", f"enciende el Oven {time}") for time in ("el lunes", "esta noche", "cuando llegue", "hasta las diez")],
    ],
)
def test_time_that_cannot_be_planned_is_left_to_the_model(code: str, said: str) -> None:
    assert ask_home(kettle_and_oven(), said, code) is None


@pytest.mark.parametrize(
    ("code", "said", "numbers"),
    [
        ("en", "cancel the desk lamp at 11", (3,)),
        ("en", "cancel the desk lamp at half past eleven", (9,)),
        ("en", "cancel the desk lamp at 11:30 am", (9,)),
        ("en", "cancel desk lamp off", (3,)),
        ("en", "cancel turning on the desk lamp", (9,)),
        ("en", "cancel the fan off", ()),
        ("de", "storniere die Schreibtischlampe um 23:30 Uhr", (9,)),
        ("de", "storniere Schreibtischlampe aus", (3,)),
        ("de", "storniere das Einschalten der Schreibtischlampe", (9,)),
        ("fr", "annule la lampe de bureau à 23h30", (9,)),
        ("fr", "annule l'extinction de la lampe de bureau", (3,)),
        ("es", "cancela la lámpara de mesa a las 23:30", (9,)),
        ("es", "cancela el apagado de la lámpara de mesa", (3,)),
    ],
)
def test_planned_command_is_cancelled_by_its_time_or_deed(code: str, said: str, numbers: tuple[int, ...]) -> None:
    running = Running(planned=(LAMP, FAN, planned(9, 30, "Desk lamp on", "light.desk")))
    answer = ask(said, code, running=running)
    assert answer is not None
    assert answer.effect == (CancelAlarms(numbers) if numbers else None)
    assert answer.question is None


@pytest.mark.parametrize(
    ("code", "said"),
    [
        *[("en", said) for said in ("open the door", "make it warmer", "set the temperature to 20", "lock the house")],
        *[("de", said) for said in ("schließe die Haustür", "mach es wärmer")],
        ("es", "sube la persiana"),
    ],
)
def test_home_that_lacks_a_device_is_a_home(code: str, said: str) -> None:
    answer = ask_home(kettle_and_oven(), said, code)
    assert answer is None or answer.skill == "home"


@pytest.mark.parametrize(
    ("said", "after_s"),
    [("in ten minutes", 600.0), ("in two hours", 7200.0), ("in two days", None), ("at eight", None)],
)
def test_command_after_hours_and_minutes_is_no_matter_of_the_clock(said: str, after_s: float | None) -> None:
    answer = ask(f"turn on the fan {said}")
    assert answer is not None
    assert isinstance(answer.effect, SetAlarm)
    assert answer.effect.after_s == after_s
