"""Says what the assistant's last sentence asks for. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from assistant.end_of_turn.completeness import words_of

Expected = Literal[
    "anything",
    "yes or no",
    "a phrase",
    "a number",
    "a phone number",
    "a card number",
    "a code",
    "a name",
    "a spelling",
    "an address",
    "a date",
    "a time",
    "an e-mail address",
    "a list",
    "an open answer",
]
"""The kind of answer that the assistant's last words ask for."""


@dataclass(frozen=True, slots=True)
class Question:
    """The kind of answer that the assistant's last sentence asks for.

    Attributes:
        expected: The kind of answer.
        count: How many digits or things it asks for; 0: not said.
        with_year: Whether a date needs its year: a date of birth.
    """

    expected: Expected = "anything"
    count: int = 0
    with_year: bool = False


NO_QUESTION = Question()

_LONGEST_SENTENCE = 400
"""Characters at the end of the text that are searched; this bounds the cost of hostile text."""

_QUESTION = re.compile(r"[^.!?…]*\?\W*$")
_LAST_SENTENCE = re.compile(r"[^.!?…]+[.!?…]*\W*$")
_REQUEST = re.compile(
    r"^(?:(?:okay|ok|great|sure|thanks|thank you|good|now|then|and|so|alright|all right|gut|danke|also|und|merci|bien"
    r"|gracias|vale|bitte|please|por favor|s'il vous plaît),? )*(?:please |kindly |just )?"
    r"(?:tell|give|say|spell|name|list|describe|explain|enter|read|provide|dictate|repeat|start with|i need|i'll need"
    r"|i will need|may i have|nennen|nenn|sagen|sag|geben|gib|buchstabier|beschreib|erzähl|ich brauche|ich benötige"
    r"|dites|dis|donnez|donne|épelez|épelle|décri|racont|indiquez|veuillez|j'ai besoin"
    r"|diga|dígame|dime|deme|dame|deletre|describ|cuént|indique|necesito)"
)
_YES_NO = frozenset(
    "is are was were am do does did has have had can could will would shall should may might anything something"
    " isn't aren't don't doesn't didn't won't wouldn't shouldn't can't couldn't ready right okay ok want sure"
    " really".split()
)
_WORDS_BEFORE = frozenset("so and or but okay ok well then great sure please".split())

# In order: the first pattern found decides. English, German, French, Spanish.
_PATTERNS: tuple[tuple[Expected, str], ...] = (
    (
        "a spelling",
        r"\bspell|buchstabier|schreibt man|épel|s'écrit|deletre|se escribe",
    ),
    (
        "an e-mail address",
        r"\be-?mail|courriel|adresse électronique|correo",
    ),
    (
        "a card number",
        r"card number|kartennummer|numéro de (?:votre |ta |la )?carte|número de (?:su |tu |la )?tarjeta",
    ),
    (
        "a phone number",
        r"(?:phone|mobile|cell|callback|contact|call you(?: back)?|reach you)\b.*\b(?:number|on|at)\b"
        r"|number.*\b(?:call"
        r"|reach) you|(?:phone|telephone|mobile|cell) ?(?:number)?\?|telefonnummer|handynummer|rufnummer"
        r"|mobilnummer"
        r"|numéro de (?:téléphone|portable)|numéro.*(?:joindre|rappeler)|número de (?:teléfono|móvil)|(?:su"
        r"|tu) teléfono",
    ),
    (
        "a code",
        r"\b(?:code|pin|password|passcode|zip|postcode)\b|(?:account|order|reference|tracking|confirmation|serial"
        r"|booking|policy|passport|flight|customer|member(?:ship)?|case|ticket|invoice) number|last \w+ digits"
        r"|\w+.digit"
        r"|postleitzahl|passwort|(?:kunden|bestell|vertrags|konto|rechnungs)nummer|code postal|mot de passe"
        r"|numéro de (?:client|commande|dossier|compte)|código|contraseña|número de (?:cliente|pedido|cuenta"
        r"|reserva)",
    ),
    (
        "an address",
        r"\baddress|where (?:do you live|(?:should|shall|do|can) (?:we|i) (?:deliver|send|ship))|which street"
        r"|adresse"
        r"|anschrift|wo wohn|où habit|dirección|domicilio|dónde vive",
    ),
    (
        "a date",
        r"\bdate\b|birthday|\bborn\b|(?:what|which) day|datum|geburtstag|geboren|welche[nrm]? tag|quel jour"
        r"|anniversaire"
        r"|née?\b|fecha|qué día|cumpleaños|naci",
    ),
    (
        "a time",
        r"what time|which time|\btime (?:works|suits|would)|uhrzeit|wie viel uhr|um wie viel|quelle heure"
        r"|qué hora",
    ),
    (
        "an open answer",
        r"tell me (?:more|about|what happened|a (?:bit|little))|describ|explain|what happened|how was|how did"
        r"|how have you"
        r"|\bwhy\b|erzähl|beschreib|erklär|was ist passiert|\bwarum\b|racont|décri|expliqu|pourquoi|cuént"
        r"|explíqu|por qué"
        r"|what(?:'s| is) (?:on your mind|going on|the (?:problem|issue|matter))",
    ),
    (
        "a list",
        r"(?:which|what) (?:items|things|toppings|ingredients|symptoms|products|topics)|\blist\b|everything you"
        r"|(?:name|list|give|tell|what are).*\b(?:two|three|four|five|six|seven|eight|nine|ten|[2-9]|10) \w+s\b"
        r"|was alles|welche (?:zutaten|dinge|sachen)"
        r"|quels (?:ingrédients|articles)|qué (?:ingredientes|cosas)",
    ),
    (
        "a number",
        r"how (?:many|much|old|long|far|tall|big)|(?:what|which|the) number|wie ?viele?|wie alt|welche nummer"
        r"|combien|quel âge"
        r"|quel numéro|cuánt|qué número|qué edad",
    ),
    (
        "a name",
        r"\bname\b|who (?:am i|is this|is calling)|wie heiß|\bnom\b|appelez-vous|t'appelles|nombre|se llama"
        r"|te llamas",
    ),
)
_KINDS = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_COUNTS: Mapping[str, int] = MappingProxyType(
    {
        word: count
        for count, words in enumerate(
            (
                "two zwei deux dos 2", "three drei trois tres 3", "four vier quatre cuatro 4", "five fünf cinq cinco 5",
                "six sechs seis 6", "seven sieben sept siete 7", "eight acht huit ocho 8", "nine neun neuf nueve 9",
                "ten zehn dix diez 10",
            ),
            2,
        )
        for word in words.split()
    }
)  # fmt: skip
_COUNT = re.compile(rf"\b({'|'.join(_COUNTS)})[ -]?(?:\w+ )?(?:digits?|ziffern|stellige?\w*|chiffres|dígitos|\w+s\b)")
_WITH_YEAR = re.compile(r"birth(?!day)|\bborn\b|geburtsdatum|geboren|naissance|\bnée?\b|nacimiento|naci")


def question_of(assistant_said: str) -> Question:
    """Returns what the assistant's last sentence asks for.

    "Shall I?" asks for yes or no, "Which room?" for a phrase, "Please tell me your phone number." for a phone number.
    Kinds of values are known in English, German, French and Spanish, the first two kinds in English.
    """
    text = assistant_said[-_LONGEST_SENTENCE:].strip().replace("’", "'")
    match = _QUESTION.search(text)
    last = match or _LAST_SENTENCE.search(text)
    sentence = last.group().strip().lower() if last else ""
    if not match and not _REQUEST.match(sentence):
        return NO_QUESTION
    kind: Expected | None = next((kind for kind, pattern in _KINDS if pattern.search(sentence)), None)
    if kind is not None and not _only_confirms(sentence):
        counted = _COUNT.search(sentence) if kind in ("a code", "a list", "a number", "a card number") else None
        count = _COUNTS[counted[1]] if counted else 0
        return Question(kind, count, kind == "a date" and bool(_WITH_YEAR.search(sentence)))
    if not match:
        return NO_QUESTION
    words = words_of(sentence)
    while words and words[0] in _WORDS_BEFORE:
        words = words[1:]
    return Question("yes or no" if words and words[0] in _YES_NO else "a phrase")


_CONFIRMS = re.compile(
    r"^(?:\w+, )*(?:is|are|was|were|does|did|has|do|shall|should|would you like|want me)\b|\b(?:right|correct|okay"
    r"|ok)\?|^(?:\w+, )*(?:ist|sind"
    r"|stimmt|soll|est-ce|es)\b"
)


def _only_confirms(sentence: str) -> bool:
    """Returns whether a question asks to confirm a value: "Is your number 555 1234?"."""
    return bool(_CONFIRMS.search(sentence))
