"""Requests to a home are understood in every language, by the names of the home, however a recognizer writes them."""

import json
from dataclasses import replace

import pytest
from support.conversations.loaded_skills import SpokenSkills, with_shared_tables
from support.services.quiet_home import NOW, QuietHome, ask_home, calls_of
from support.services.service_server import recording
from support.texts.sentence_table import Section, sentence_cases
from support.texts.text_cases import text_cases

from assistant.config.home_settings import HomeSection
from assistant.home import Device, HomeFault, HomeState, ServiceCall
from assistant.home.states import home_state
from assistant.skills.answers import HomeAction, SkillAnswer, SkillContext
from assistant.skills.dialog.memory import Memory, Remember
from assistant.skills.home.replies import HomeSkill
from assistant.skills.languages.language import LANGUAGES, read_skill
from assistant.skills.skills import Skills

ALL = HomeSection(allow="lock garage").used_kinds

# entity, name and area in German, French and Spanish; the English home is that of tests/service_recordings
HOMES: dict[str, list[tuple[str, str, str, str]]] = {
    "de": [
        ("light.kitchen", "Küchenlicht", "off", "Küche"),
        ("light.floor", "Stehlampe", "on", "Wohnzimmer"),
        ("light.read", "Leselampe", "off", "Wohnzimmer"),
        ("climate.living", "Heizung", "heat", "Wohnzimmer"),
        ("sensor.bed", "Schlafzimmer Temperatur", "19.4", "Schlafzimmer"),
        ("scene.movie", "Filmabend", "unknown", ""),
        ("media_player.tv", "Fernseher", "playing", "Wohnzimmer"),
        ("switch.coffee", "Kaffeemaschine", "off", "Küche"),
        ("cover.blinds", "Rollladen", "open", "Küche"),
    ],
    "fr": [
        ("light.kitchen", "Plafonnier cuisine", "off", "Cuisine"),
        ("light.floor", "Lampadaire", "on", "Salon"),
        ("light.read", "Lampe de lecture", "off", "Salon"),
        ("climate.living", "Chauffage salon", "heat", "Salon"),
        ("sensor.bed", "Température chambre", "19.4", "Chambre"),
        ("scene.movie", "Soirée film", "unknown", ""),
        ("media_player.tv", "Télévision", "playing", "Salon"),
        ("switch.coffee", "Cafetière", "off", "Cuisine"),
        ("cover.blinds", "Volets", "open", "Cuisine"),
    ],
    "es": [
        ("light.kitchen", "Luz de la cocina", "off", "Cocina"),
        ("light.floor", "Lámpara de pie", "on", "Salón"),
        ("light.read", "Lámpara de lectura", "off", "Salón"),
        ("climate.living", "Calefacción", "heat", "Salón"),
        ("sensor.bed", "Temperatura dormitorio", "19.4", "Dormitorio"),
        ("scene.movie", "Noche de cine", "unknown", ""),
        ("media_player.tv", "Televisor", "playing", "Salón"),
        ("switch.coffee", "Cafetera", "off", "Cocina"),
        ("cover.blinds", "Persiana", "open", "Cocina"),
    ],
}
FLOORS = {
    "de": [("Erdgeschoss", ["Küche", "Wohnzimmer"]), ("Obergeschoss", ["Schlafzimmer"])],
    "fr": [("Rez-de-chaussée", ["Cuisine", "Salon"]), ("Étage", ["Chambre"])],
    "es": [("Planta baja", ["Cocina", "Salón"]), ("Planta alta", ["Dormitorio"])],
}
ATTRIBUTES: dict[str, dict[str, object]] = {
    "climate": {"current_temperature": 20.5, "temperature": 20, "min_temp": 7, "max_temp": 30},
    "sensor": {"device_class": "temperature"},
}


def recorded(kinds: frozenset[str] = HomeSection().used_kinds) -> HomeState:
    found = home_state(json.loads(recording("home_states")), json.loads(recording("home_places")), kinds)
    assert found is not None
    return found


def home_of(code: str) -> HomeState:
    if code == "en":
        return recorded()
    states = [
        {
            "entity_id": entity,
            "state": state,
            "attributes": {"friendly_name": name, **ATTRIBUTES.get(entity.partition(".")[0], {})},
        }
        for entity, name, state, _area in HOMES[code]
    ]
    areas = dict.fromkeys(area for *_, area in HOMES[code] if area)
    places = {
        "areas": [{"name": area, "entities": [one[0] for one in HOMES[code] if one[3] == area]} for area in areas],
        "floors": [{"name": floor, "areas": on_it} for floor, on_it in FLOORS[code]],
    }
    found = home_state(states, places, HomeSection().used_kinds)
    assert found is not None
    return found


LOADED: dict[str, tuple[Skills, QuietHome]] = {}


def ask(code: str, said: str, **context: object) -> SkillAnswer | None:
    if code not in LOADED:
        home = QuietHome(home_of(code))
        LOADED[code] = with_shared_tables(SpokenSkills([HomeSkill(home)]), code), home
    return LOADED[code][0].answer(said, SkillContext(NOW, language=code, **context))  # type: ignore[arg-type]


@sentence_cases("home")
def test_request_is_understood(section: Section, row: list[str]) -> None:
    answer = ask(row[0], row[1])
    assert answer is not None
    assert {"text": answer.text, "calls": "; ".join(calls_of(answer)) or "-"} == section.expected(row)
    assert (answer.skill, answer.missing, answer.failed) == ("home", False, "not reachable" in answer.text)


@pytest.mark.parametrize(
    "said",
    [
        "turn it off",
        "what is the temperature in paris",
        "play despacito",
        "is it possible",
        "is the earth round",
        "tell me a story about a dragon",
        "start a conversation about lights",
        "the party is on",
        "what's going on",
        "open a bottle of wine",
    ],
)
def test_other_sentence_is_not_for_the_home(said: str) -> None:
    answer = ask("en", said)
    assert answer is None or answer.missing or answer.skill != "home"
    assert calls_of(answer) == []


def test_unknown_device_is_left_to_a_language_model() -> None:
    answer = ask("en", "turn on the flux capacitor")
    assert answer is not None
    assert (answer.text, answer.missing) == ("I don't find flux capacitor in your home.", True)


def test_unknown_device_does_not_count_as_a_complete_sentence() -> None:
    ask("en", "hello")
    skills, _ = LOADED["en"]
    unknown, known = skills.match("turn on the sofa"), skills.match("turn on the kitchen light")
    assert unknown is not None
    assert known is not None
    assert (unknown.open_ended, known.open_ended) == (True, False)


def test_allowed_lock_and_garage_are_used() -> None:
    home = QuietHome(recorded(ALL), kinds=ALL)
    assert calls_of(ask_home(home, "unlock the front door")) == ["unlock lock.front_door"]
    assert calls_of(ask_home(home, "open the garage door")) == ["open_cover cover.garage"]
    answer = ask_home(home, "is the front door locked")
    assert answer is not None
    assert answer.text == "Yes."


def test_everything_off_never_means_locks_heating_or_garage() -> None:
    home = QuietHome(recorded(ALL), kinds=ALL)
    called = " ".join(calls_of(ask_home(home, "turn everything off")))
    assert "light.floor_lamp" in called
    assert not any(domain in called for domain in ("lock.", "climate.", "cover.", "scene."))


def test_only_what_changes_is_undone() -> None:
    answer = ask("en", "turn on the living room lights")
    assert answer is not None
    assert isinstance(answer.effect, HomeAction)
    assert answer.effect.undo == (ServiceCall("light", "turn_off", ("light.living_room_reading",)),)


def test_telephone_caller_has_no_home() -> None:
    answer = ask("en", "turn on the kitchen light", at_home=False)
    assert answer is not None
    assert answer.missing
    assert answer.effect is None


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("unreachable", "I can't reach your home."),
        ("unauthorized", "Your home does not accept my token. Please check it."),
        ("not_found", "Your home refuses that."),
        (None, "Your home does not answer."),
    ],
)
def test_home_that_was_never_read_is_a_failure(fault: HomeFault | None, text: str) -> None:
    home = QuietHome(None, fault)
    answer = ask_home(home, "turn on the kitchen light")
    assert answer is not None
    assert (answer.text, answer.failed) == (text, True)
    assert ask_home(home, "turn it off") is None


def test_names_are_read_again_after_a_change() -> None:
    home = QuietHome(recorded())
    skills = with_shared_tables(SpokenSkills([HomeSkill(home)]))
    context = SkillContext(NOW)
    said = "turn on the sofa light"
    first = skills.answer(said, context)
    assert first is not None
    assert first.missing
    assert home.state is not None
    added = Device("light.sofa", "Sofa light", "off", "light")
    home.state = replace(home.state, devices=(*home.state.devices, added), names_key=1)
    assert calls_of(skills.answer(said, context)) == ["turn_on light.sofa"]


def test_home_is_among_the_abilities() -> None:
    skills = Skills([HomeSkill(QuietHome(recorded()))])
    skills.load("en")
    answer = skills.answer("what can you do", SkillContext(NOW))
    assert answer is not None
    assert "switch the devices in your home" in answer.text


@pytest.mark.parametrize("code", LANGUAGES)
def test_languages_have_the_same_home_and_weather_intents(code: str) -> None:
    for package in ("assistant.skills.home", "assistant.skills.weather"):
        own, english = read_skill(package, code), read_skill(package, "en")
        for part in ("intents", "answers", *(("words",) if "words" in english else ())):
            assert set(own[part]) == set(english[part])


def test_home_is_read_again_when_the_user_begins_to_speak() -> None:
    home = QuietHome(recorded())
    SpokenSkills([HomeSkill(home)]).refresh()
    assert home.refreshed == 1


@text_cases(
    ("code", "request_", "said", "calls"),
    [
        ("en", "turn on the light", "the floor lamp", ["turn_on light.floor_lamp"]),
        ("en", "dim the lamp to 20 percent", "the bedroom one", ["turn_on light.bedroom_reading brightness_pct=20"]),
        ("en", "turn on the light", "the second one", ["turn_on light.floor_lamp"]),
        ("en", "turn on the light", "Kitchen light, please.", ["turn_on light.kitchen"]),
        ("en", "turn on the light", "tell me a story", []),
        ("de", "Mach das Licht an", "Die Leselampe", ["turn_on light.read"]),
        ("fr", "Allume la lumière", "le lampadaire", ["turn_on light.floor"]),
        ("es", "Enciende la luz", "la lámpara de lectura", ["turn_on light.read"]),
    ],
    columns=(0, 2),
)
def test_answer_to_the_question_which_device_is_understood(
    code: str, request_: str, said: str, calls: list[str]
) -> None:
    question = ask(code, request_)
    assert question is not None
    memory = Memory().after(Remember(question.question, question.question_text, language=code), 0.0)
    assert calls_of(ask(code, said, last_reply=question.text, memory=memory)) == calls
    assert calls_of(ask(code, said, last_reply="Hello.", memory=memory)) == []


@pytest.mark.parametrize(("state", "text"), [("1.0", "One degree."), ("-1", "Minus one degree."), ("?", None)])
def test_one_degree_is_singular(state: str, text: str | None) -> None:
    shed = Device("sensor.shed", "Shed", state, "sensor", attributes={"device_class": "temperature"})
    answer = ask_home(QuietHome(HomeState((shed,), (), (), 5)), "how cold is it in the shed")
    assert answer is not None
    assert answer.text == (text or "Shed has no thermometer.")
