"""Currencies, abbreviations before numbers, ranges, units as typed, ordinals and inflection."""

import pytest
from support.texts.token_boundaries import chunks_of, spoken_results

CURRENCIES = {
    "lakh": ("en", "It is ₹5,00,000.", "It is five lakh rupees."),
    "lakh and more": ("en", "It is 12,34,567.", "It is twelve lakh thirty-four thousand five hundred and sixty-seven."),
    "crore": ("en", "It is ₹1,00,00,000.", "It is one crore rupees."),
    "lakh in words": ("en", "It is ₹5 lakh or ₹2.5 crore.", "It is five lakh rupees or two point five crore rupees."),
    "Rs.": ("en", "It costs Rs. 500 per kilo.", "It costs five hundred rupees per kilo."),
    "Rs. before more": ("en", "It costs Rs. 5,00,000 now.", "It costs five lakh rupees now."),
    "Rs": ("en", "It costs Rs 500 or Rs.500.", "It costs five hundred rupees or five hundred rupees."),
    "Rs. with stroke": ("en", "It costs Rs. 500/- only.", "It costs five hundred rupees only."),
    "INR": ("en", "It costs INR 500 now.", "It costs five hundred rupees now."),
    "Canada": ("en", "It costs C$20 today.", "It costs twenty Canadian dollars today."),
    "Australia": ("en", "It costs A$5.50 today.", "It costs five Australian dollars and fifty cents today."),
    "Hong Kong": ("en", "It costs HK$10 today.", "It costs ten Hong Kong dollars today."),
    "New Zealand": ("en", "It costs NZ$1 today.", "It costs one New Zealand dollar today."),
    "United States": ("en", "It costs US$5 today.", "It costs five US dollars today."),
    "Brazil": ("en", "It costs R$ 20 today.", "It costs twenty reais today."),
    "Switzerland": ("en", "It costs 20 CHF today.", "It costs twenty Swiss francs today."),
    "pounds": ("en", "It costs £1.50 today.", "It costs one pound and fifty pence today."),
    "yen": ("en", "It costs ¥500 today.", "It costs five hundred yen today."),
    "sign apart": ("es", "Cuesta $ 20 hoy.", "Cuesta veinte dólares hoy."),
    "German": ("de", "Es kostet C$20 heute.", "Es kostet zwanzig kanadische Dollar heute."),
    "French": ("fr", "Cela coûte A$5 ici.", "Cela coûte cinq dollars australiens ici."),
    "Spanish": ("es", "Cuesta 20 CHF hoy.", "Cuesta veinte francos suizos hoy."),
}
ABBREVIATIONS = {
    "en": ("en", "We live at No. 5 there.", "We live at number five there."),
    "en about": ("en", "It is now approx. 5 km.", "It is now approximately five kilometers."),
    "en volume": ("en", "See it in vol. 2, p. 3.", "See it in volume two, page three."),
    "en reference": ("en", "See it under Ref. 12 here.", "See it under reference twelve here."),
    "en a.k.a.": ("en", "So Robert, a.k.a. Bob, is here.", "So Robert, also known as Bob, is here."),
    "en a.k.a. The": ("en", "He is now a.k.a. The Rock.", "He is now also known as The Rock."),
    "en p.m.": ("en", "It is at 5 p.m. Monday.", "It is at five PM Monday."),
    "de": ("de", "Es ist Nr. 5 auf S. 12, Art. 5.", "Es ist Nummer fünf auf Seite zwölf, Artikel fünf."),
    "de about": ("de", "Es sind jetzt ca. 10 Leute.", "Es sind jetzt circa zehn Leute."),
    "de more": ("de", "Es steht in Tab. 3, Ziff. 4.", "Es steht in Tabelle drei, Ziffer vier."),
    "de z.B.": ("de", "Es sind z.B. Äpfel, d.h. Obst.", "Es sind zum Beispiel Äpfel, das heißt Obst."),
    "fr": ("fr", "Voir la p. 3 et l'art. 5 du n° 3.", "Voir la page trois et l'article cinq du numéro trois."),
    "fr about": ("fr", "Il y a env. 10 km.", "Il y a environ dix kilomètres."),
    "fr that is": ("fr", "C'est lui, c.-à-d. Paul.", "C'est lui, c'est-à-dire Paul."),
    "es": ("es", "Es el núm. 3 y el n.º 3.", "Es el número tres y el número tres."),
    "es more": ("es", "Está en el nro. 4, pág. 5.", "Está en el número cuatro, página cinco."),
    "es p. ej.": ("es", "Hay alguien, p. ej. Pedro.", "Hay alguien, por ejemplo Pedro."),
}
UNITS = {
    "degrees twice": ("en", "Between 5°-10° today.", "Between five and ten degrees today."),
    "Celsius twice": ("en", "It is 5 °C – 10 °C.", "It is five to ten degrees Celsius."),
    "below zero": ("en", "It is -5° to -1° now.", "It is minus five degrees to minus one degree now."),
    "percent twice": ("en", "It is 5%-10% more.", "It is five to ten percent more."),
    "German degrees": ("de", "Zwischen 5°-10° heute.", "Zwischen fünf und zehn Grad heute."),
    "French degrees": ("fr", "Entre 5°-10° ici.", "Entre cinq et dix degrés ici."),
    "Spanish degrees": ("es", "Entre 5°-10° hoy.", "Entre cinco y diez grados hoy."),
    "m3": ("en", "It is 5 m3 big.", "It is five cubic meters big."),
    "km2 and ft2": ("en", "It is 10 km2 or 20 ft2.", "It is ten square kilometers or twenty square feet."),
    "German m3": ("de", "Es sind 5 m3.", "Es sind fünf Kubikmeter."),
    "French m2": ("fr", "Il y a 3 m2.", "Il y a trois mètres carrés."),
    "Spanish km2": ("es", "Son 10 km2.", "Son diez kilómetros cuadrados."),
}
NOUNS = {
    "club": ("de", "Der 1. FC Köln spielt.", "Der erste FC Köln spielt."),
    "club at the head": (
        "de",
        "1. FC Köln gegen 1. FC Nürnberg",
        "erster FC Köln gegen ersten FC Nürnberg",
    ),
    "league": ("de", "Sie sind in der 3. Liga.", "Sie sind in der dritten Liga."),
    "dalmatians": ("es", "101 dálmatas", "ciento un dálmatas"),
    "houses": ("es", "Hay 101 casas.", "Hay ciento una casas."),
    "books": ("es", "Hay 21 libros.", "Hay veintiún libros."),
    "nights": ("es", "Son 1001 noches.", "Son mil una noches."),
    "policemen": ("es", "Hay 500 policías.", "Hay quinientos policías."),
    "artists": ("es", "Hay 101 artistas y 21 listas.", "Hay ciento un artistas y veintiuna listas."),
}


@pytest.mark.parametrize(("language", "written", "normalized"), CURRENCIES.values(), ids=CURRENCIES)
def test_currency_is_spoken_by_its_name(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


@pytest.mark.parametrize(("language", "written", "normalized"), ABBREVIATIONS.values(), ids=ABBREVIATIONS)
def test_abbreviation_does_not_end_a_sentence_before_its_complement(
    language: str, written: str, normalized: str
) -> None:
    assert spoken_results(written, language) == {normalized}


@pytest.mark.parametrize(("language", "written", "normalized"), UNITS.values(), ids=UNITS)
def test_ranges_and_typed_units_are_spoken(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


@pytest.mark.parametrize(("language", "written", "normalized"), NOUNS.values(), ids=NOUNS)
def test_number_agrees_with_its_noun(language: str, written: str, normalized: str) -> None:
    assert spoken_results(written, language) == {normalized}


def test_club_name_with_ordinal_is_not_cut() -> None:
    text = "Heute spielt 1. FC Köln gegen 1. FC Nürnberg hier."
    for tokens in ([text], list(text)):
        assert chunks_of(tokens) == [text]
