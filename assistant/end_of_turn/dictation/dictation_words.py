"""Word tables of the rules about dictation, by language: numbers, introductions and announcements. Data only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

DictatedKind = Literal[
    "digits",
    "number",
    "phone number",
    "card number",
    "code",
    "spelling",
    "address",
    "date",
    "time",
    "e-mail address",
    "list",
]
"""Kinds of dictated values. "digits": digits of an unknown kind; they are counted like those of a phone number."""

FILLERS = frozenset("um uh uhm er erm hmm hm mm ah eh äh ähm öh euh heu eee".split())
"""Hesitation sounds. They are no part of what is dictated."""

JOINING_WORDS = frozenset({"y", "et"})
"""Words between tens and units: "treinta y cinco"."""

GROUP_SEPARATORS = frozenset(
    "dash hyphen space blank then dot slash bindestrich strich leerzeichen tiret espace puis"
    " guion guión espacio".split()
)
"""Words between groups of digits or letters."""

DECIMAL_POINTS = frozenset("point punkt komma virgule coma".split())

SEPARATORS = GROUP_SEPARATORS | DECIMAL_POINTS | frozenset("minus and plus comma und et y".split())
"""Words after which more digits or letters follow."""

NATO: Mapping[str, str] = MappingProxyType(
    {
        word: word[0]
        for word in (
            "alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november"
            " oscar"
            " papa quebec romeo sierra tango uniform victor whiskey whisky xray yankee zulu"
        ).split()
    }
)
"""The NATO alphabet."""


@dataclass(frozen=True, slots=True)
class DictationWords:
    """The words of one language.

    Attributes:
        digits: "five" → "5".
        teens: "eleven" → "11".
        tens: "twenty" → "2".
        hundreds: "hundred" → its number of zeros.
        zero_if_near: Words that mean zero beside another digit.
        like_digits: Words that recognizers write for a digit, between two digits: "for" → "4".
        repeats: "double" → 2.
        as_in: What introduces the example of a letter, as words.
        introductions: Patterns of phrases that introduce a value, searched anywhere before it.
        announced: A text that ends so announces more: "let me think".
        unsaid: A text that ends so has announced a value and not begun it: "my number is".
        suffixes: Kinds of streets, as a pattern for a word.
    """

    digits: Mapping[str, str]
    teens: Mapping[str, str]
    tens: Mapping[str, str]
    hundreds: Mapping[str, int]
    zero_if_near: frozenset[str]
    like_digits: Mapping[str, str]
    repeats: Mapping[str, int]
    as_in: tuple[tuple[str, ...], ...]
    introductions: Mapping[DictatedKind, re.Pattern[str]]
    announced: re.Pattern[str]
    unsaid: re.Pattern[str]
    suffixes: re.Pattern[str]


def _numbered(text: str, first: int) -> Mapping[str, str]:
    """Returns the words with consecutive numbers. A "/" separates words for the same number."""
    return MappingProxyType(
        {word: str(first + place) for place, words in enumerate(text.split()) for word in words.split("/")}
    )


def _clause(*phrases: str) -> re.Pattern[str]:
    """Returns a pattern for texts that end with one of the phrases, as a clause of its own."""
    begins = r"(?:^|[,.!?;:…] |\b(?:um|uh|oh|no|so|okay|ok|and|but|er|well|now|ja|also|alors|bon|pues|bueno) )"
    return re.compile(f"{begins}(?:{'|'.join(phrases)})$")


def _kinds(**patterns: str) -> Mapping[DictatedKind, re.Pattern[str]]:
    names: dict[str, DictatedKind] = {
        "mail": "e-mail address",
        "phone": "phone number",
        "card": "card number",
        "code": "code",
        "address": "address",
        "spelling": "spelling",
        "date": "date",
    }
    return MappingProxyType({names[name]: re.compile(rf"\b(?:{text})") for name, text in patterns.items()})


_ENGLISH = DictationWords(
    digits=_numbered("zero one two three four five six seven eight nine", 0),
    teens=_numbered("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10),
    tens=_numbered("twenty thirty forty/fourty fifty sixty seventy eighty ninety", 2),
    hundreds=MappingProxyType({"hundred": 2, "thousand": 3}),
    zero_if_near=frozenset({"oh", "o", "nought", "nil"}),
    like_digits=MappingProxyType(
        {"for": "4", "fore": "4", "to": "2", "too": "2", "do": "2", "ate": "8", "eat": "8", "won": "1", "tree": "3"}
    ),
    repeats=MappingProxyType({"double": 2, "triple": 3, "treble": 3}),
    as_in=(("as", "in"), ("as", "for"), ("like", "in")),
    introductions=_kinds(
        mail=r"e-?mail\b",
        phone=r"(?:phone|telephone|cell|mobile|contact|fax)(?: number)?(?: is|'s|:)|(?:phone|mobile|cell) number"
        r"|call (?:me|us|him|her)(?: back)? (?:at|on)\b|reach (?:me|us) (?:at|on)\b|my number(?: is|'s)\b",
        card=r"(?:credit|debit|bank)? ?card(?: number)?(?: is|'s|:)|card number",
        code=r"(?:code|pin|password|passcode|zip|(?:account|order|reference|tracking|confirmation|serial|booking"
        r"|policy"
        r"|passport|flight|ticket|customer|member(?:ship)?|case) number|postcode|i\.?d\.?)(?: number)?(?: is|'s|:)"
        r"|(?:account|order|reference|tracking|confirmation|serial|booking|policy|passport|case) number",
        address=r"address(?: is|'s|:)|(?:i|we|he|she|they) lives? (?:at|on)\b|located at|(?:ship|deliver"
        r"|send) (?:it|them"
        r"|this|that) to\b",
        spelling=r"spell(?:ed|ing|s|t)?\b|(?:last|first|sur|family|middle) ?name(?: is|'s|:)",
        date=r"birthday(?: is|'s)|born (?:on|in)\b|date of birth",
    ),
    announced=_clause(
        r"(?:let me|lemme|let's) (?:just )?(?:think|see|check|look|find|get|grab|remember|recall)"
        r"(?: (?:it|that|this|them|up|here|first|again|about (?:it|that)|for a (?:second|moment|minute)|what i have))*",
        r"(?:hold|hang) on(?: (?:a|one|just a) (?:second|sec|minute|moment))?(?: please)?",
        r"(?:one|a|just a|just one) (?:moment|second|sec|minute)(?: please)?",
        r"(?:please )?(?:give me|i need) (?:a|one|just a) (?:second|sec|minute|moment)(?: please)?",
        r"(?:please )?wait(?: (?:a|one|just a) (?:second|sec|minute|moment))?(?: please)?",
        r"bear with me(?: please)?",
        r"where (?:is|was|did i put) (?:it|that)",
        r"how do i (?:say|put) (?:this|it|that)",
        r"what(?:'s| is| was) (?:it|that|the word) ?(?:called|again)",
        r"i'm thinking",
        r"i have (?:it|that) (?:right )?here(?: somewhere)?",
    ),
    unsaid=re.compile(
        r"(?:^|[,.;:!?] |\b(?:and|so|um|uh|yes|yeah|okay|well|sure|then) )(?:my|our|his|her|the|your)(?: \S+){0,3}"
        r" (?:number|address|e-?mail|name|code|pin|password|zip|birthday|birth|answer)(?:'s| is| would be|:)$"
        r"|\b(?:as follows|the following|spelled|spelt|(?:i|we) live (?:at|on|in)|(?:call|reach) me (?:at|on))$"
        r"|^(?:it's|it is|that's|that is|that would be)$"
    ),
    suffixes=re.compile(
        r"(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|place|pl|square|terrace|circle|way"
        r"|parkway|highway|hwy|crescent|close|alley|plaza|trail|row|colony|nagar|mews)"
    ),
)

_GERMAN = DictationWords(
    digits=_numbered("null ein/eins zwei/zwo drei vier fünf sechs sieben acht neun", 0),
    teens=_numbered("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", 10),
    tens=_numbered("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 2),
    hundreds=MappingProxyType({"hundert": 2, "tausend": 3}),
    zero_if_near=frozenset(),
    like_digits=MappingProxyType({}),
    repeats=MappingProxyType({"doppel": 2}),
    as_in=(("wie",), ("wie", "in")),
    introductions=_kinds(
        mail=r"e-?mail",
        phone=r"(?:telefon|handy|mobil|ruf)?nummer(?: ist| lautet|:)|(?:telefon|handy|mobil|ruf)nummer"
        r"|(?:zu erreichen|erreichbar) unter\b",
        card=r"kartennummer",
        code=r"(?:code|pin|passwort|postleitzahl|(?:kunden|bestell|vertrags|konto|rechnungs)nummer)\b",
        address=r"(?:adresse|anschrift)(?: ist| lautet|:)|(?:ich|wir) wohnen?\b",
        spelling=r"buchstabier\w*|geschrieben\b",
        date=r"geboren am|geburtstag(?: ist)?|geburtsdatum",
    ),
    announced=_clause(
        r"(?:lass|lassen sie) mich (?:mal |kurz )*(?:überlegen|nachdenken|schauen|nachsehen|sehen|gucken)",
        r"(?:einen|ein|nen|kleinen) ?(?:moment|augenblick|sekunde)(?: bitte| mal)?",
        r"(?:moment|augenblick|sekunde|warte|warten sie|wart)(?: mal| kurz| bitte| eben)*",
        r"ich (?:überlege|schaue|gucke)(?: mal| kurz| gerade| eben| nach)*",
        r"mal (?:sehen|schauen|überlegen)",
    ),
    unsaid=re.compile(
        r"(?:nummer|adresse|anschrift|name|code|pin|passwort|postleitzahl|geburtsdatum|geburtstag|mail)"
        r"(?: ist| lautet| wäre|:)$|\bich (?:heiße|wohne(?: in)?)$"
    ),
    suffixes=re.compile(r"\w*(?:straße|strasse|str|weg|platz|allee|gasse|ring|ufer|damm|chaussee)"),
)

_FRENCH = DictationWords(
    digits=_numbered("zéro un/une deux trois quatre cinq six sept huit neuf", 0),
    teens=_numbered("dix onze douze treize quatorze quinze seize", 10),
    tens=_numbered("vingt trente quarante cinquante soixante septante huitante/octante nonante", 2),
    hundreds=MappingProxyType({"cent": 2, "cents": 2, "mille": 3}),
    zero_if_near=frozenset({"zero"}),
    like_digits=MappingProxyType({"cette": "7", "cet": "7"}),
    repeats=MappingProxyType({"double": 2, "triple": 3}),
    as_in=(("comme",), ("comme", "dans")),
    introductions=_kinds(
        mail=r"e-?mail|adresse électronique|courriel",
        phone=r"(?:mon|le) numéro(?: de (?:téléphone|portable))?(?: est| c'est|:)|numéro de (?:téléphone|portable)"
        r"|(?:joindre|rappeler) au\b",
        card=r"numéro de (?:ma |la )?carte",
        code=r"(?:code|mot de passe|numéro de (?:client|commande|dossier|compte))\b",
        address=r"adresse(?: est| c'est|:)|j'habite\b|nous habitons\b",
        spelling=r"(?:s'écrit|épelle|épelé)\b",
        date=r"née? le\b|date de naissance|anniversaire",
    ),
    announced=_clause(
        r"(?:attends|attendez|minute|(?:un|une) (?:instant|moment|seconde|minute))(?: s'il (?:vous|te) plaît)?",
        r"(?:laisse|laissez)-?(?:moi| moi) (?:réfléchir|voir|regarder|vérifier)",
        r"je (?:réfléchis|regarde|vérifie|cherche)",
        r"voyons(?: voir)?",
        r"(?:ne )?(?:quitte|quittez) pas",
    ),
    unsaid=re.compile(
        r"(?:numéro(?: de \w+)?|adresse|nom|code|mot de passe|mail|anniversaire)(?: est| c'est|:)$"
        r"|\bje m'appelle$|\bj'habite(?: au| à)?$"
    ),
    suffixes=re.compile(r"(?:rue|avenue|boulevard|place|chemin|allée|impasse|quai|cours|route|square)"),
)

_SPANISH = DictationWords(
    digits=_numbered("cero un/uno/una dos tres cuatro cinco seis siete ocho nueve", 0),
    teens=_numbered(
        "diez once doce trece catorce quince dieciséis/dieciseis diecisiete dieciocho diecinueve veinte"
        " veintiuno/veintiún veintidós/veintidos veintitrés/veintitres veinticuatro veinticinco veintiséis/veintiseis"
        " veintisiete veintiocho veintinueve",
        10,
    ),
    tens=_numbered("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 3),
    hundreds=MappingProxyType({"cien": 2, "ciento": 2, "mil": 3}),
    zero_if_near=frozenset(),
    like_digits=MappingProxyType({}),
    repeats=MappingProxyType({"doble": 2, "triple": 3}),
    as_in=(("de",), ("como",), ("como", "en")),
    introductions=_kinds(
        mail=r"e-?mail|correo",
        phone=r"(?:mi|el) (?:número|teléfono|móvil)(?: de \w+)?(?: es|:)|número de (?:teléfono|móvil)",
        card=r"número de (?:mi |la )?tarjeta",
        code=r"(?:código|clave|contraseña|pin|número de (?:cliente|pedido|cuenta|reserva))\b",
        address=r"(?:dirección|domicilio)(?: es|:)|vivo en\b|vivimos en\b",
        spelling=r"(?:se escribe|deletre\w+)\b",
        date=r"nac(?:í|ido|ida) el\b|fecha de nacimiento|cumpleaños",
    ),
    announced=_clause(
        r"(?:espera|espere|un (?:momento|segundo|minuto|momentito))(?: por favor)?",
        r"(?:espera|espere) un (?:momento|segundo|minuto)",
        r"(?:déjame|déjeme|a) (?:pensar|ver|mirar|buscar)",
        r"(?:vamos )?a ver",
        r"(?:estoy pensando|dame un (?:segundo|momento)|deme un (?:segundo|momento))",
    ),
    unsaid=re.compile(
        r"(?:número(?: de \w+)?|teléfono|móvil|dirección|domicilio|nombre|código|clave|contraseña|pin|correo"
        r"|cumpleaños)"
        r"(?: es|:)$|\bme llamo$|\bvivo en$"
    ),
    suffixes=re.compile(r"(?:calle|avenida|plaza|paseo|camino|carretera|ronda|glorieta|travesía)"),
)

_WORDS: Mapping[str, DictationWords] = MappingProxyType({"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH})


def dictation_words(language: str) -> DictationWords | None:
    """Returns the words of a language code such as "en" or "de-AT"; None for a language without rules."""
    return _WORDS.get(language.partition("-")[0])
