"""Telephone numbers and other identifiers are spoken digit by digit; grouped amounts are not."""

import pytest
from support.texts.token_boundaries import spoken_results

IDENTIFIERS = {
    "1300": ("en", "Call 1300 555 019 now.", "Call one three zero zero, five five five, zero one nine now."),
    "1800": ("en", "Call 1800 123 456.", "Call one eight zero zero, one two three, four five six."),
    "without a word before": ("en", "555 0199", "five five five, zero one nine nine"),
    "in pairs": ("en", "Ring us on 13 12 34 today.", "Ring us on one three, one two, three four today."),
    "mobile": ("en", "Text 0412 345 678 now.", "Text zero four one two, three four five, six seven eight now."),
    "short": ("en", "Dial 112 or call 911.", "Dial one one two or call nine one one."),
    "hyphens": ("en", "Call 020-7946-0958.", "Call zero two zero, seven nine four six, zero nine five eight."),
    "brackets": ("en", "(555) 123-4567", "five five five, one two three, four five six seven"),
    "international": ("en", "+49 30 123456", "plus four nine, three zero, one two three four five six"),
    "order": ("en", "Your order number is 123456.", "Your order number is one two three four five six."),
    "order mark": ("en", "It is order #12345.", "It is order number one two three four five."),
    "card": (
        "en",
        "Card 4111 1111 1111 1234 expired.",
        "Card four one one one, one one one one, one one one one, one two three four expired.",
    ),
    "IBAN": (
        "en",
        "It is DE89 3704 0044 0532 0130 00.",
        "It is D.E eight nine, three seven zero four, zero zero four four, zero five three two, zero one three zero, "
        "zero zero.",
    ),
    "serial number": (
        "en",
        "Serial number 100 200 300.",
        "Serial number one zero zero, two zero zero, three zero zero.",
    ),
    "German call": (
        "de",
        "Rufen Sie 1300 555 019 an.",
        "Rufen Sie eins drei null null, fünf fünf fünf, null eins neun an.",
    ),
    "German emergency": ("de", "Wählen Sie die 112. Ruf an.", "Wählen Sie die eins eins zwei. Ruf an."),
    "German number": ("de", "Die Nummer ist 555 0199.", "Die Nummer ist fünf fünf fünf, null eins neun neun."),
    "German order": ("de", "Die Bestellnummer ist 123456.", "Die Bestellnummer ist eins zwei drei vier fünf sechs."),
    "French call": ("fr", "Appelez le 1300 555 019.", "Appelez le un trois zéro zéro, cinq cinq cinq, zéro un neuf."),
    "French free call": (
        "fr",
        "Appelez le 0 800 123 456.",
        "Appelez le zéro, huit zéro zéro, un deux trois, quatre cinq six.",
    ),
    "French pairs": (
        "fr",
        "Appelez le 01 23 45 67 89.",
        "Appelez le zéro un, vingt-trois, quarante-cinq, soixante-sept, quatre-vingt-neuf.",
    ),
    "French order": ("fr", "Numéro de commande : 12345.", "Numéro de commande : un deux trois quatre cinq."),
    "Spanish call": ("es", "Llame al 1300 555 019.", "Llame al uno tres cero cero, cinco cinco cinco, cero uno nueve."),
    "Spanish emergency": ("es", "Marque el 112.", "Marque el uno uno dos."),
    "Spanish order": ("es", "Su número de pedido es 123456.", "Su número de pedido es uno dos tres cuatro cinco seis."),
}
AMOUNTS = {
    "counted": (
        "en",
        "There are 1 800 123 people.",
        "There are one million eight hundred thousand one hundred and twenty-three people.",
    ),
    "with unit": ("en", "It is 12 000 km.", "It is twelve thousand kilometers."),
    "called": ("en", "We call 100 people.", "We call one hundred people."),
    "made of words": ("en", "He had 300 2000-watt heaters.", "He had three hundred 2000-watt heaters."),
    "German": (
        "de",
        "Es sind 1 800 123 Leute.",
        "Es sind eine Million achthunderttausendeinhundertdreiundzwanzig Leute.",
    ),
    "French": ("fr", "Il y a 12 000 km.", "Il y a douze mille kilomètres."),
    "Spanish": ("es", "Hay 1 800 123 personas.", "Hay un millón ochocientas mil ciento veintitrés personas."),
}


@pytest.mark.parametrize(("language", "written", "normalized"), IDENTIFIERS.values(), ids=IDENTIFIERS)
def test_identifier_is_spoken_digit_by_digit(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


@pytest.mark.parametrize(("language", "written", "normalized"), AMOUNTS.values(), ids=AMOUNTS)
def test_grouped_amount_is_spoken_as_one_number(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}
