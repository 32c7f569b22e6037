"""Text normalization: case tables, the examples in the documentation, invariants, and pronunciation."""

import ctypes
import importlib
import re
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.texts.normalization_cases import ENGLISH, FRENCH, GERMAN, SPANISH
from support.texts.text_cases import plain_text, text_cases

from assistant.text.normalization.reading import spoken

CASES = [
    (language, written, normalized)
    for language, cases in (("en", ENGLISH), ("de", GERMAN), ("fr", FRENCH), ("es", SPANISH))
    for written, normalized in cases
]
LANGUAGES = st.sampled_from(("en", "en-GB", "de", "fr", "es"))
PIECES = st.sampled_from(
    [
        *re.findall(r"\S+", " ".join(written for _language, written, _normalized in CASES)),
        *"- – / : . , ' \" % ° $ € + = # @ & x ( ) ½ ² ~ ± 0 1 2 12 100 1984 007".split(),
        *"− ≈ 1.5 -1.5 km kg °C call number appelez Nummer Rs. R$ C$20 5°-10° 5,00,000 000 1300 555 0199 DE89".split(),
        *"4111 m2 is at ca. $20 $5 = - x₁ 1. FC 21 dálmatas IBAN".split(),
    ]
)
DOCS = Path(__file__).parents[4] / "docs"
GUIDE_ROWS = [
    tuple(cell.strip().strip("`") for cell in line.strip("|").split(" | "))
    for line in (DOCS / "speech.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| language ")
]
EXAMPLES = (DOCS / "data" / "speech-examples.tsv").read_text(encoding="utf-8").splitlines()[1:]
ROWS = [*GUIDE_ROWS, *(tuple(line.split("\t")) for line in EXAMPLES)]


@text_cases(("language", "written", "normalized"), [*CASES, *ROWS], columns=(0, 1))
def test_text_is_normalized_as_expected_and_documented(language: str, written: str, normalized: str) -> None:
    assert spoken(written, language) == normalized
    assert spoken(normalized, language) == normalized


def test_numeric_date_is_day_first_outside_america() -> None:
    assert spoken("on 11/12/2026", "en") == "on November twelfth, twenty twenty-six"
    assert spoken("on 11/12/2026", "en-US") == spoken("on 11/12/2026", "en")
    assert spoken("on 11/12/2026", "en_GB") == "on the eleventh of December, twenty twenty-six"
    assert spoken("am 11.12.2026", "de-AT") == "am elften Dezember zweitausendsechsundzwanzig"


@pytest.mark.parametrize(
    "language", ["", "ja", "pl-PL", "x", "../en"], ids=["empty", "Japanese", "Polish", "unknown", "path"]
)
def test_unsupported_language_is_unchanged(language: str) -> None:
    assert spoken("It is 5 km, Dr. Gray & AWS.", language) == "It is 5 km, Dr. Gray & AWS."


@settings(max_examples=examples(100))
@given(st.text(max_size=80), LANGUAGES)
def test_any_text_is_accepted(text: str, language: str) -> None:
    normalized = spoken(text, language)
    assert bool(normalized.strip()) == bool(text.strip())


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(PIECES, st.sampled_from((" ", " ", " ", ""))), max_size=12), LANGUAGES)
def test_normalization_is_idempotent(pieces: list[tuple[str, str]], language: str) -> None:
    text = "".join(piece + space for piece, space in pieces)
    normalized = spoken(text, language)
    assert spoken(normalized, language) == normalized
    assert any(map(str.isalnum, normalized)) >= any(map(str.isalnum, text))


@settings(max_examples=examples(100))
@given(st.lists(st.from_regex(r"[a-zäöüßéñ]{1,12}[,!?]?", fullmatch=True), max_size=12), LANGUAGES)
def test_plain_words_are_unchanged(words: list[str], language: str) -> None:
    assert spoken(" ".join(words), language) == " ".join(words)


HOSTILE = [
    "1" * 10_000,
    "1," * 5_000,
    "1.2" * 3_300,
    "1-" * 5_000,
    "a." * 5_000,
    "a@a." * 2_500,
    "/a" * 5_000,
    "12:3" * 2_500,
    '1" ' * 3_300,
    "$" * 10_000,
    " " * 10_000,
    "1 " * 5_000,
    "Nov. 2 " * 1_400,
    "$1 - " * 2_000,
    "x = 2-" * 1_600,
    "(1 kg + 2 kg) - " * 600,
    "call 1 " * 1_400,
    "000 " * 2_500,
    "1,00," * 2_000,
    "is - 5 °C " * 1_000,
    "AB12 CD34 " * 1_000,
    "1.5 - 2.5 " * 1_000,
    "order number 1-2 " * 600,
    "It is 5 km to St. Louis by 10:30, $12.50 each on Nov. 20. " * 170,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: plain_text(text[:8]))
@pytest.mark.parametrize("language", ["en", "de"])
def test_cost_of_hostile_text_is_bounded(text: str, language: str) -> None:
    spoken("1", language)

    def cost_s() -> float:
        started = time.process_time()
        spoken(text, language)
        return time.process_time() - started

    # Measured: 0.1 to 55 ms. Quadratic cost would take seconds. The fastest of five runs counts.
    assert any(cost_s() < 0.4 for _ in range(5))


PHONEMES = [
    (spoken("It is 10 AM"), "eɪˈɛm"),
    (spoken("AWS is down"), "ˌeɪdˌʌbəljˌuːˈɛs"),
    (spoken("the LEDs are"), "ˌɛlˈiː dˈiːz"),
    (spoken("Henry VIII"), "ðɪ ˈeɪtθ"),
    (spoken("config.toml"), "kənfˈɪɡ dˈɑːt tˈɑːməl"),
    (spoken("$12.50"), "twˈɛlv dˈɑːlɚz ænd fˈɪfti sˈɛnts"),
    (spoken("-5"), "mˈaɪnəs fˈaɪv"),
    (spoken("Python 3.11"), "θɹˈiː pˈɔɪnt ᵻlˈɛvən"),
    (spoken("the 21st"), "twˈɛntifˈɜːst"),
    (spoken("20°C"), "dᵻɡɹˈiːz sˈɛlsɪəs"),
]


@pytest.mark.slow
@text_cases(("normalized", "phonemes"), PHONEMES)
def test_synthesizer_pronounces_normalized_text(espeak: ctypes.CDLL, normalized: str, phonemes: str) -> None:
    assert re.sub(r"[ˈˌ ]", "", phonemes) in re.sub(r"[ˈˌ ]", "", phonemes_of(espeak, normalized))


@pytest.fixture(scope="module")
def espeak(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Loads a copy of the library, because the original would share its settings with the voices of this process."""
    loader = importlib.import_module("espeakng_loader")
    library = ctypes.CDLL(str(shutil.copy(loader.get_library_path(), tmp_path_factory.mktemp("espeak"))))
    library.espeak_Initialize(2, 60, str(loader.get_data_path()).encode(), 0)
    library.espeak_SetVoiceByName(b"en-us")
    return library


def phonemes_of(library: ctypes.CDLL, text: str) -> str:
    translate = library.espeak_TextToPhonemes
    translate.restype = ctypes.c_char_p
    translate.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int]
    rest, clauses = ctypes.c_char_p(text.encode()), []
    while rest.value is not None:
        clauses.append(translate(ctypes.byref(rest), 1, 2).decode())
    return " ".join(clauses)
