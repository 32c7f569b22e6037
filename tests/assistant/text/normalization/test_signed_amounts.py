"""Minus signs, decimal marks of other languages, and equations with units and currencies."""

import pytest
from support.texts.token_boundaries import chunks_of, spoken_results

SIGNED = {
    "en decimal": ("en", "It is -1.5 °C now.", "It is minus one point five degrees Celsius now."),
    "en plus": ("en", "Add +5 or ±5 %.", "Add plus five or plus or minus five percent."),
    "en minus sign": ("en", "It is −5 °C now.", "It is minus five degrees Celsius now."),
    "en dash as minus": ("en", "It is –5 °C now.", "It is minus five degrees Celsius now."),
    "en decimal comma": ("en", "It is -5,5 °C now.", "It is minus five point five degrees Celsius now."),
    "en thousands": ("en", "It is 1,500 km.", "It is one thousand five hundred kilometers."),
    "de decimal point": ("de", "Es sind -1.5 °C.", "Es sind minus eins Komma fünf Grad Celsius."),
    "de decimal comma": ("de", "Es sind −5,5 °C.", "Es sind minus fünf Komma fünf Grad Celsius."),
    "de point with unit": ("de", "Es sind 20.8 °C.", "Es sind zwanzig Komma acht Grad Celsius."),
    "de point with unit word": ("de", "Es sind 20.8 Grad.", "Es sind zwanzig Komma acht Grad."),
    "de length": ("de", "Es sind 3.5 km.", "Es sind drei Komma fünf Kilometer."),
    "de range": ("de", "Es sind 1.5-2.5 km.", "Es sind eins Komma fünf bis zwei Komma fünf Kilometer."),
    "de money": ("de", "Es kostet 3.50 €.", "Es kostet drei Euro fünfzig."),
    "de thousands": ("de", "Es sind 1.500 km.", "Es sind eintausendfünfhundert Kilometer."),
    "de sign alone": ("de", "Der Wert ist -1.5.", "Der Wert ist minus eins Komma fünf."),
    "de version": ("de", "Nutze Version 3.5 bitte.", "Nutze Version drei Punkt fünf bitte."),
    "de day": ("de", "Am 3.5. ist frei.", "Am dritten Mai ist frei."),
    "de time": ("de", "Um 14.30 Uhr.", "Um vierzehn Uhr dreißig."),
    "fr decimal point": ("fr", "Il fait -1.5 °C.", "Il fait moins un virgule cinq degrés Celsius."),
    "fr point with unit": ("fr", "C'est à 3.5 km.", "C'est à trois virgule cinq kilomètres."),
    "fr thousands": ("fr", "C'est à 1 500 km.", "C'est à mille cinq cents kilomètres."),
    "es decimal point": ("es", "Hace -1.5 grados.", "Hace menos uno coma cinco grados."),
    "es point with unit": ("es", "Hace 20.8 °C.", "Hace veinte coma ocho grados Celsius."),
    "es thousands": ("es", "Son 1.500 km.", "Son mil quinientos kilómetros."),
    "es percent": ("es", "Baja un -5,5 %.", "Baja un menos cinco coma cinco por ciento."),
}
SPACED = {
    "after is": ("en", "The low tonight is - 5 °C.", "The low tonight is minus five degrees Celsius."),
    "after a preposition": ("en", "At - 1.2 °C it froze.", "At minus one point two degrees Celsius it froze."),
    "twice": ("en", "Between - 10 and - 5 °C it is.", "Between minus ten and minus five degrees Celsius it is."),
    "minus sign": ("en", "Now it is − 5 °C here.", "Now it is minus five degrees Celsius here."),
    "en dash": ("en", "The result of it is – 5 here.", "The result of it is minus five here."),
    "without unit": ("en", "The answer to it is - 5 here.", "The answer to it is minus five here."),
    "German": ("de", "Heute - 5 °C.", "Heute minus fünf Grad Celsius."),
    "German after ca.": ("de", "Es sind heute ca. - 5 °C.", "Es sind heute circa minus fünf Grad Celsius."),
    "French": ("fr", "Demain il fera environ - 5 °C.", "Demain il fera environ moins cinq degrés Celsius."),
    "Spanish": ("es", "Hoy es un día de - 5 °C.", "Hoy es un día de menos cinco grados Celsius."),
    "name before": ("en", "Paris is Malcolm X - 3 films.", "Paris is Malcolm X - three films."),
    "bullets": ("en", "- 5 apples\n- 3 pears", "five apples three pears"),
}
EQUATIONS = {
    "money": ("en", "$20 - $5 = $15", "twenty dollars minus five dollars equals fifteen dollars"),
    "money without spaces": ("en", "$20-$5=$15", "twenty dollars minus five dollars equals fifteen dollars"),
    "units": ("en", "5 kg - 2 kg = 3 kg", "five kilograms minus two kilograms equals three kilograms"),
    "units in a sentence": (
        "en",
        "So we have 5 kg - 2 kg = 3 kg now.",
        "So we have five kilograms minus two kilograms equals three kilograms now.",
    ),
    "percent": ("en", "20% - 5% = 15%", "twenty percent minus five percent equals fifteen percent"),
    "degrees": (
        "en",
        "20 °C - 5 °C ≈ 15 °C",
        "twenty degrees Celsius minus five degrees Celsius is about fifteen degrees Celsius",
    ),
    "parentheses": ("en", "(5 + 3) - 2 = 6", "(five plus three) minus two equals six"),
    "things": ("en", "5 apples - 2 apples = 3 apples", "five apples minus two apples equals three apples"),
    "result first": ("en", "$15 = $20 - $5", "fifteen dollars equals twenty dollars minus five dollars"),
    "negative": ("en", "7 = -3 + 12 - 2", "seven equals minus three plus twelve minus two"),
    "times": ("en", "3 × $5 = $15", "three times five dollars equals fifteen dollars"),
    "divided": ("en", "$20 ÷ 4 = $5", "twenty dollars divided by four equals five dollars"),
    "about": ("en", "5 kg ≈ 11 lb", "five kilograms is about eleven pounds"),
    "at most": ("en", "5 kg - 1 kg ≤ 6 kg", "five kilograms minus one kilogram is at most six kilograms"),
    "German": ("de", "20 € - 5 € = 15 €", "zwanzig Euro minus fünf Euro gleich fünfzehn Euro"),
    "French": ("fr", "20 € - 5 € = 15 €", "vingt euros moins cinq euros égale quinze euros"),
    "Spanish": ("es", "5 kg - 2 kg = 3 kg", "cinco kilogramos menos dos kilogramos igual a tres kilogramos"),
    "range": ("en", "It costs $5 - $10 here.", "It costs five to ten dollars here."),
}


@pytest.mark.parametrize(("language", "written", "normalized"), SIGNED.values(), ids=SIGNED)
def test_signs_and_decimal_marks_are_spoken(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


@pytest.mark.parametrize(("language", "written", "normalized"), SPACED.values(), ids=SPACED)
def test_spaced_minus_is_spoken_unless_after_amount_or_name(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


@pytest.mark.parametrize(("language", "written", "normalized"), EQUATIONS.values(), ids=EQUATIONS)
def test_hyphen_in_an_equation_is_a_minus(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


def test_dash_before_other_words_ends_the_first_chunk() -> None:
    text = "We have a few options here - 5 apples or 3 pears."
    for tokens in ([text[:28], text[28:]], list(text)):
        assert chunks_of(tokens) == ["We have a few options here -", "5 apples or 3 pears."]
