"""Normalizes a bare "1" before a noun of known gender: "1 Minute" as "eine Minute", "1 hora" as "una hora"."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import is_feminine_noun, is_french_pound, is_masculine_noun
from assistant.text.normalization.rule import STARTS, Rule, word_before

_GERMAN_FEMININE = (
    "minute|stunde|sekunde|woche|nacht|nachricht|person|tasse|dose|flasche|packung|scheibe|portion|prise|zwiebel|"
    "karotte|seite|frage|antwort|aufgabe|meile|tonne|zeile|datei|karte|stelle|sache|e-mail|mail|runde|tüte|"
    "handvoll|zehe|million|milliarde|einheit|lampe|stufe|adresse|gruppe|frau|\\w{2,}(?:ung|heit|keit|schaft|tion|tät)"
)
_GERMAN_MASCULINE = (
    "tag|monat|euro|dollar|cent|löffel|esslöffel|teelöffel|apfel|punkt|schritt|termin|timer|wecker|alarm|eintrag|"
    "becher|artikel|film|teil|stern|platz|fehler|gast|mann|freund|anruf|treffer|zoll|fuß|"
    "\\w{0,12}(?:liter|meter)"
)
_GERMAN_NEUTER = (
    "jahr|ei|glas|stück|\\w{0,5}gramm|kilo|pfund|prozent|mal|wort|bild|buch|kind|zimmer|paket|blatt|ergebnis|gerät|licht|"
    "haus|auto|bier|grad|brötchen|viertel|drittel|jahrhundert|jahrzehnt|wochenende|foto|dokument|ereignis"
)
_GERMAN = re.compile(
    rf"(?:(?P<f>{_GERMAN_FEMININE})|(?P<m>{_GERMAN_MASCULINE})|(?P<n>{_GERMAN_NEUTER}))", re.IGNORECASE
)
_DATIVE = frozenset("in seit mit vor nach bei von aus zu ab innerhalb binnen".split())
_ACCUSATIVE = frozenset(
    "für um über pro ohne gegen dauert dauerte habe hast hat haben hatte nimm nehme nimmst nehmen brauche brauchst"
    " braucht brauchen gibt gab gebe gib kostet kostete warte wartet warten füge stelle kaufe kauf enthält bis".split()
)
_ENDINGS = {"f": ("eine", "eine", "einer"), "m": ("ein", "einen", "einem"), "n": ("ein", "ein", "einem")}
_NUMBERED = frozenset(
    "kapitel schritt nummer nr platz version teil stufe level phase option punkt seite frage aufgabe gruppe kanal"
    " zimmer raum gleis linie runde folge staffel band akt abschnitt absatz artikel tag woche"
    " chapitre étape numéro page option niveau partie groupe chambre salle ligne canal phase tome acte article jour"
    " capítulo paso número opción página nivel parte fase etapa grupo sala planta habitación línea canal tema versión"
    " acto artículo tomo día figura tabla".split()
)
"""Nouns that are followed by their number: "Schritt 1"."""
_NO_NOUN = frozenset(
    "dans sans sous plus moins contre puis pour avec est sont a à et ou reste vaut suffit"
    " contra para hasta era está esta nada cada sea ahora gana cuesta como sobre entre pero o y es son fue vale basta"
    " mezcla añade ya da pasa va dura hace".split()
)


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rule of the language; none for English, whose "one" has no gender."""
    if lexicon.code == "en":
        return ()
    if lexicon.code == "de":
        adjective = r"(?P<adjective> [a-zäöüß]{2,20}e[nmrs]?)?"
        pattern = re.compile(rf"{STARTS}1(?={adjective} (?P<noun>[A-ZÄÖÜ][^\W\d_]{{0,24}}(?:-Mail)?)\b)")
        return (Rule(frozenset("1"), pattern, _german),)

    def romance(match: re.Match[str]) -> str | None:
        noun = match["noun"]
        if noun in _NO_NOUN or word_before(match).rstrip(":") in _NUMBERED:
            return None
        if lexicon.code == "es" and is_masculine_noun(noun, "es"):
            return "un"  # "día"
        if is_feminine_noun(noun, lexicon.code) or (lexicon.code == "fr" and is_french_pound(match)):
            return "une" if lexicon.code == "fr" else "una"
        return "un" if is_masculine_noun(noun, lexicon.code) else None

    return (Rule(frozenset("1"), re.compile(rf"{STARTS}1(?= (?P<noun>[a-zà-öø-ÿœ]{{2,30}})\b)"), romance),)


def _german(match: re.Match[str]) -> str | None:
    gender = _GERMAN.fullmatch(match["noun"])
    words = re.findall(r"[^\W\d_]+", match.string[max(0, match.start() - 48) : match.start()].lower())
    before = word_before(match)
    # "in 1 Stunde und 1 Minute"
    governing = words[-4:-1] if before in ("und", "oder") else [before]
    if gender is None or gender.lastgroup is None or before.rstrip(":.") in _NUMBERED:
        return None
    nominative, accusative, dative = _ENDINGS[gender.lastgroup]
    adjective = match["adjective"] or ""
    if not _DATIVE.isdisjoint(governing):
        return dative
    if not _ACCUSATIVE.isdisjoint(words[-7:]) or (gender.lastgroup == "m" and adjective.endswith("en")):
        return accusative
    return nominative
