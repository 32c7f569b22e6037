"""Devices are found by their names, however these are written: digits, signs, short forms, aliases."""

import random
from dataclasses import replace

import pytest
from support.services.quiet_home import QuietHome, ask_home, calls_of, home_with

from assistant.home import Device, HomeState, names_key
from assistant.skills.languages.language import LANGUAGES
from assistant.text.normalization.reading import spoken

NAMES: list[tuple[str, str, str]] = [
    ("en", "A/C", "turn on the AC"),
    ("en", "A/C", "turn on the air conditioner"),
    ("en", "Air Conditioner", "turn on the A.C."),
    ("en", "Light & Fan", "turn on light and fan"),
    ("en", "Light + Fan", "turn on light and fan"),
    ("en", "2nd Bedroom Lamp", "turn on the second bedroom lamp"),
    ("en", "Third Hall Lamp", "turn on the 3rd hall lamp"),
    ("en", "Mr. Coffee", "turn on mister coffee"),
    ("en", "TV #2", "turn on TV number two"),
    ("en", "St. James Lamp", "turn on the saint james lamp"),
    ("en", "Main St. Lamp", "turn on the main street lamp"),
    ("en", "Dr. Who Lamp", "turn on the doctor who lamp"),
    ("en", "Bob's Lamp", "turn on bobs lamp"),
    ("en", "Lamp II", "turn on lamp two"),
    ("en", "Night-Light", "turn on the night light"),
    ("en", "Bookshelves", "turn on the bookshelve"),
    ("de", "Licht & Lüfter", "schalte Licht und Lüfter ein"),
    ("de", "Steckdose #2", "schalte Steckdose Nummer zwei ein"),
    ("de", "Dr. Müllers Lampe", "schalte Doktor Mullers Lampe ein"),
    ("fr", "Lampe & Ventilo", "allume lampe et ventilo"),
    ("fr", "Prise n° 2", "allume la prise numéro deux"),
    ("es", "Lámpara & Ventilador", "enciende lámpara y ventilador"),
    ("es", "Enchufe #2", "enciende el enchufe número dos"),
]


@pytest.mark.parametrize(("code", "name", "said"), NAMES)
def test_names_are_found_however_they_are_written(code: str, name: str, said: str) -> None:
    devices = (Device("switch.it", name, "off", "switch"), Device("light.other", "Xylophone", "off", "light"))
    assert calls_of(ask_home(QuietHome(HomeState(devices, (), (), 3)), said, code)) == ["turn_on switch.it"]


@pytest.mark.parametrize("said", ["turn on the three", "turn on the", "turn on three", "turn on number three"])
def test_number_alone_switches_nothing(said: str) -> None:
    devices = (Device("switch.it", "3D Printer", "off", "switch"), Device("light.a", "Lamp", "off", "light"))
    home = QuietHome(HomeState(devices, (), (), 3))
    assert calls_of(ask_home(home, said)) == []
    asked = ask_home(home, "turn on the three")
    assert asked is not None
    assert asked.text == "Do you mean 3D Printer?"
    assert calls_of(ask_home(home, "turn on the printer")) == ["turn_on switch.it"]


def test_same_names_in_two_areas_are_asked_with_the_area() -> None:
    devices = [Device(f"light.{area}", "Lamp", "off", "light", area) for area in ("Hall", "Office")]
    home = QuietHome(HomeState(tuple(devices), ("Hall", "Office"), (), 2))
    answer = ask_home(home, "turn on the lamp")
    assert answer is not None
    assert answer.text == "Which one do you mean: Lamp (Hall) or Lamp (Office)?"
    assert calls_of(ask_home(home, "turn on the lamp in the office")) == ["turn_on light.Office"]


def test_names_with_numbers_and_braces_are_found() -> None:
    devices = (Device("light.one", "Lamp 1", "off", "light"), Device("light.two", "Lamp 2 {x}", "off", "light"))
    home = QuietHome(HomeState(devices, (), (), 3))
    assert calls_of(ask_home(home, "turn on lamp one")) == ["turn_on light.one"]
    answer = ask_home(home, "turn on lamp two x")
    assert calls_of(answer) == ["turn_on light.two"]
    assert answer is not None
    assert answer.text == "Lamp two {x} on."


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("turn on the telly", ["turn_on switch.a"]),
        ("turn on the goggle box", ["turn_on switch.a"]),
        ("turn on the tv in the den", ["turn_on switch.a"]),
        ("turn off the den", ["turn_off light.b"]),
        ("turn off the light in the lounge", ["turn_off light.b"]),
        ("turn everything off on the lower deck", ["turn_off light.b; turn_off switch.a"]),
    ],
)
def test_alias_of_device_area_or_floor_is_a_name(said: str, calls: list[str]) -> None:
    devices = (
        Device("light.b", "Moon", "on", "light", "Living Room", "Ground floor"),
        Device("switch.a", "TV", "on", "switch", "Living Room", "Ground floor", aliases=("Telly", "Goggle box")),
        Device("switch.c", "Box", "on", "switch", "Kitchen"),
    )
    areas, floors = ("Living Room", "Kitchen"), ("Ground floor",)
    aliases = {"Living Room": ("Den", "Lounge"), "Ground floor": ("Lower deck",)}
    home = QuietHome(HomeState(devices, areas, floors, names_key(devices, areas, floors, aliases), aliases))
    assert "; ".join(calls_of(ask_home(home, said))) == "; ".join(calls)


def test_names_key_changes_with_aliases() -> None:
    device = Device("light.a", "Lamp", "off", "light", "Hall")
    keys = {
        names_key((device,), ("Hall",), ()),
        names_key((replace(device, state="on"),), ("Hall",), ()),
        names_key((replace(device, aliases=("Sun",)),), ("Hall",), ()),
        names_key((device,), ("Hall",), (), {"Hall": ("Foyer",)}),
    }
    assert len(keys) == 3


ORDERS = {"en": "turn on {}", "de": "schalte {} ein", "fr": "allume {}", "es": "enciende {}"}
WORDS = {
    "en": "Lamp Porch Fan Garden Heater Sonos Desk Freezer Bob's Café".split(),
    "de": "Lampe Küche Lüfter Garten Werkstatt Sonos Öfchen Tiefkühler Omas Gäste".split(),
    "fr": "Lampe Entrée Ventilo Jardin Bureau Sonos Grenier Four Anna Café".split(),
    "es": "Lámpara Baño Ventilador Jardín Taller Sonos Piso Horno Ana Café".split(),
}
FORMS = (
    *("{a} & {b}", "{a} + {b}", "{a}/{b}", "{a}-{b}", "{a} ({b})", "{a}_{b}", "{a}: {b}", "{a}, {b}", "{a} – {b}"),
    *(
        "{a} #{n}",
        "{a} {n}",
        "{a}{n}",
        "{a}-{n}",
        "{a} {n}.",
        "{a} no. {n}",
        "{a} n° {n}",
        "{a} {n}/{m}",
        "{n}x{m} {a}",
    ),
    *("{a} {r}", "{a} {r} {b}", "{a} 0{n}", "{a} {n}D", "{n}D-{a}", "{a} {n}W", "{a} {n} %", "Wi-Fi {a}", "A/C {a}"),
    *("{a} T.V.", "{a} ½", "{o} {a}", "{a} {o} {b}", "L'{a}", "{a} 💡", "{a} @ {b}"),
    *("R2-D{n} {a}", "Dr. {a}", "{a} *"),
)
"""Names with signs: two words, two numbers, a Roman numeral and an ordinal."""
ROMAN = {2: "II", 3: "III", 4: "IV", 6: "VI", 7: "VII", 8: "VIII", 9: "IX"}
ORDINAL = {
    "en": ("2nd", "3rd", "4th"),
    "de": ("2.", "3.", "4."),
    "fr": ("2e", "3ème", "4e"),
    "es": ("2.ª", "3ª", "4.ª"),
}


def made_name(form: str, code: str, rng: random.Random) -> str:
    a, b = rng.sample(WORDS[code], 2)
    n, m = rng.sample(sorted(ROMAN), 2)
    return form.format(a=a, b=b, n=n, m=m, r=ROMAN[n], o=rng.choice(ORDINAL[code]))


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("form", FORMS)
def test_spoken_form_of_a_name_finds_its_device(code: str, form: str) -> None:
    rng = random.Random(form)
    for _ in range(3):
        name = made_name(form, code, rng)
        other = Device("light.other", "Xylophone 44", "off", "light")
        home = home_with(Device("switch.it", name, "off", "switch"), other)
        said = spoken(name, code).strip(" .")
        for way in (said, said.lower(), said.replace("-", " "), name):
            assert calls_of(ask_home(home, ORDERS[code].format(way), code)) == ["turn_on switch.it"], way


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("en", "Wi-Fi Router", "the wifi"),
        ("en", "Bed-room Lamp", "the bedroom lamp"),
        ("en", "WiFi Plug", "the wi fi plug"),
        ("en", "Rm. 12", "room twelve"),
        ("en", "21st Lamp", "the twenty first lamp"),
        ("en", "Lamp V", "lamp five"),
        ("en", "Lamp V", "lamp v"),
        ("en", "Louis XIV", "louis fourteen"),
        ("en", "50W Bulb", "the fifty watt bulb"),
        ("en", "TV/Radio", "the tv and radio"),
        ("en", "Lamp 1a", "lamp one a"),
        ("de", "Küche 1.OG", "Küche erstes Obergeschoss"),
        ("de", "Küche 1. OG", "die Küche im ersten OG"),
        ("de", "WZ Strahler", "den Wohnzimmer Strahler"),
        ("de", "Küchenspot", "den Kuechenspot"),
        ("de", "Gäste-WC", "das Gaste WC"),
        ("fr", "Télé RDC", "la télé du rez de chaussée"),
        ("fr", "1re prise", "la première prise"),
        ("es", "4.º piso", "el cuarto piso"),
        ("es", "Enchufe izq.", "el enchufe de la izquierda"),
    ],
)  # fmt: skip
def test_name_is_found_by_other_words_for_it(code: str, name: str, said: str) -> None:
    home = home_with(Device("switch.it", name, "off", "switch"), Device("light.other", "Xylophone", "off", "light"))
    assert calls_of(ask_home(home, ORDERS[code].format(said), code)) == ["turn_on switch.it"]


@pytest.mark.parametrize("said", ["the second lamp", "lamp number two", "lamp two", "the 2nd lamp"])
def test_number_tells_devices_apart(said: str) -> None:
    home = home_with(*(Device(f"light.{number}", f"Lamp {number}", "off", "light") for number in (1, 2, 12, 22)))
    assert calls_of(ask_home(home, f"turn on {said}")) == ["turn_on light.2"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "turn on the third"),
        ("de", "schalte drei ein"),
        ("de", "mach die dritte an"),
        ("fr", "allume le trois"),
        ("es", "enciende el tres"),
        ("es", "enciende la tercera"),
    ],
)
def test_number_alone_asks_in_every_language(code: str, said: str) -> None:
    answer = ask_home(home_with(Device("switch.it", "3D-X", "off", "switch")), said, code)
    assert answer is not None
    assert (answer.question is not None, calls_of(answer)) == (True, [])
