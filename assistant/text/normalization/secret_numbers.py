"""Normalizes codes, passwords and endings of accounts digit by digit: "Your OTP is 482913"."""

import re

from assistant.text.normalization.identifiers import DATE, END, GROUPS
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import digits
from assistant.text.normalization.rule import DIGITS, STARTS, Rule

_LABELS = {
    "en": (
        r"(?:otp|pin|tan|cvv|cvc|zip|ext\.?|extension|id|combination|(?:confirmation|tracking)(?=:)|passcode|"
        r"pass ?word|"
        r"one-time pass ?word|code|reference|booking|"
        r"(?:order|ticket|case|invoice|reservation|receipt|policy|claim)(?= \d{5})|flight(?= \d{3})|"
        r"order id|"
        r"(?:account|card|number|phone|visa|mastercard|amex|iban|one|device)s? (?:that |which )?(?:ending|ends|"
        r"ended|end)"
        r"|last (?:two|three|four|five|six|\d) digits(?: of (?:[\w'’]{1,12} ){0,3}[\w'’]{1,12})?|digits)"
        r"(?: (?:code|number|no\.?))?(?: (?:is|are|was|of|in|with|on))?:?"
    ),
    "de": (
        r"(?:otp|pin|tan|\w{0,20}code|\w{0,12}passwort|kennwort|losung|referenz|aktenzeichen|\w{0,12}kennung|"
        r"(?:bestellung|buchung|konto|ticket|auftrag|vorgang|rechnung|karte|kunde|vertrag|bestell|konto)[ -]"
        r"(?:nummer|nr\.)|mit (?:der )?endung|endet auf|endend auf|endziffern|id|(?:bestellung|buchung|ticket|"
        r"rechnung|auftrag|vorgang|konto)(?= \d{5})|"
        r"letzten (?:zwei|drei|vier|fünf|sechs|\d) (?:ziffern|"
        r"stellen)(?: (?:[\wäöüß]{1,14} ){0,3}[\wäöüß]{1,14})??|ziffern)"
        r"(?: (?:ist|sind|war|lautet|lauten))?(?: (?:die|der))?:?"
    ),
    "fr": (
        r"(?:otp|pin|code(?: (?:pin|postal|secret|unique|d[’'e] ?\w{1,16}))?|mot de passe(?: unique)?|"
        r"référence(?: d[’'e] ?\w{1,16})?|réf\.|"
        r"(?:commande|compte|dossier|réservation|billet|facture|client|contrat|carte) (?:numéro|n°|nº|no\.?)|"
        r"identifiant|(?:commande|dossier|réservation|billet|facture|compte)(?= \d{5})|"
        r"(?:se )?termin(?:ant|e|é|ée|ent) (?:par|en)|finissant par|"
        r"(?:deux|trois|quatre|cinq|six|\d) derniers chiffres(?: d[eu]s? (?:\w{1,12} ){0,2}\w{1,12})?|chiffres)"
        r"(?: (?:est|sont|était))?(?: (?:le|la|les))?(?: ?:)?"
    ),
    "es": (
        r"(?:otp|pin|código(?: (?:pin|postal|secreto|de \w{1,16}))?|clave|contraseña|referencia(?: de \w{1,16})?|ref\.|"
        r"(?:pedido|cuenta|reserva|factura|cliente|contrato|billete|ticket|tarjeta) (?:número|n\.º|nº|núm\.)|"
        r"identificador|(?:pedido|reserva|factura|billete|ticket|cuenta)(?= \d{5})|"
        r"termin(?:ada|ado|a|an) en|acaba(?:da|do)? en|"
        r"últimos (?:dos|tres|cuatro|cinco|seis|\d) (?:dígitos|números)(?: de (?:\w{1,12} ){0,2}\w{1,12})?|"
        r"últimas (?:dos|tres|cuatro|cinco|seis|\d) cifras|dígitos|cifras)"
        r"(?: (?:es|son|era))?(?: (?:el|la|los))?:?"
    ),
}
"""Words before a number that is read digit by digit. A short number before a counted noun is an amount instead."""
_ENDINGS = {
    "en": (
        r"(?:(?:account|acct\.?|card)s?(?: number)?|ending|ends|ended|last (?:four|4)(?: digits)?)"
        r"(?: (?:in|with|is|are))?:?"
    ),
    "de": r"(?:konto|karte|kontonummer|kartennummer|endziffern|mit (?:der )?endung|endet auf|endend auf|endend mit):?",
    "fr": r"(?:compte|carte|termin(?:ant|e|é|ée|ent) (?:par|en)|finissant par)(?: ?:)?",
    "es": r"(?:cuenta|tarjeta|termin(?:ada|ado|a|an) en|acaba(?:da|do)? en):?",
}
"""Words before the last four digits of an account that stand behind a mask: "Account ending -4821", "card ••••4821"."""
_TYPED = {
    "en": r"(?:enter|type(?: in)?|key in|input)(?: the)?(?: (?:code|pin|number|digits))?:?",
    "de": r"(?:gib|geben sie|gebe|tippe|tippen sie)(?: bitte)?(?: (?:die|den))?(?: (?:code|pin|nummer|zahl))?:?",
    "fr": r"(?:saisi(?:ssez|s|r)|entre[zr]?|tape[zr]?)(?: le)?(?: code| numéro)?(?: ?:)?",
    "es": r"(?:introdu(?:ce|zca|cir)|ingres[ae]r?|tecle[ae]r?|escrib[ae])(?: el)?(?: código| número)?:?",
}
_AFTER_SECRET = {
    "en": (
        r" is (?:your|the) (?:[\w-]{1,16} ){0,3}(?:code|otp|pin|passcode|password|number)\b"
        r"|(?<=\d) (?:as (?:your|the) (?:[\w-]{1,16} ){0,2}(?:code|pin|otp|passcode|password)"
        r"|to (?:log|sign|verify|confirm|unlock|enter|open)\b)"
    ),
    "de": r" (?:ist|lautet) (?:ihre?|deine?|der|die|das) (?:\w{1,16} )?(?:\w{0,20}code|pin|tan|otp|"
    r"\w{0,10}passwort|kennwort)\b",
    "fr": r" est (?:votre|ton|le) (?:code|mot de passe|pin)\b",
    "es": r" es (?:tu|su|el|la) (?:código|pin|clave|contraseña)\b",
}
_COUNTED_BY_CODE = re.compile(
    r" (?:lines?|people|characters?|words?|bytes|rows|pages?|digits|users|items|tokens|times|euros?|dollars?|zeilen|"
    r"menschen|personen|zeichen|wörter|seiten|stellen|mal|lignes|personnes|caractères|mots|pages|chiffres|fois|líneas|"
    r"personas|caracteres|palabras|páginas|dígitos|veces)\b",
    re.IGNORECASE,
)
_WITHOUT_CARD = re.compile(
    r"(?i)\A(?:code|password|reference|booking|order|código|clave|referencia|digits)\b.* (?:in|on|of|en) ?\Z"
)
"""Words after which a number may be a year: "the code in 2024"."""


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules. They apply before dates, times and amounts."""
    code = lexicon.code

    def secret(match: re.Match[str]) -> str | None:
        if sum(map(str.isdigit, match["figures"])) < 3:
            return None  # "the digits 0-9"
        if _COUNTED_BY_CODE.match(match.string, match.end()) or DATE.fullmatch(match["figures"]):
            return None
        is_year = re.fullmatch(r"(?:1[5-9]|20)\d\d", match["figures"]) and _WITHOUT_CARD.search(match["word"])
        return None if is_year else match["word"] + digits(match["figures"], code)

    def before_word(match: re.Match[str]) -> str:
        return digits(match[0], code)

    figures = rf"(?P<figures>{GROUPS}|\d{{3,15}}){END}"
    mask = r"(?:[-−–]|[*•·xX.…]{1,12}[ -]?)"
    return (
        Rule(
            DIGITS,
            re.compile(
                rf"\b(?P<word>(?i:{_ENDINGS[code]}) ){mask}(?P<figures>\d{{4}})(?![\d%°€$£]|[.,]\d| ?[€$£%°]){END}"
            ),
            secret,
        ),
        Rule(DIGITS, re.compile(rf"\b(?P<word>(?i:{_LABELS[code]}) ?)(?<![\d]){figures}"), secret),
        Rule(
            DIGITS,
            re.compile(rf"\b(?P<word>(?i:{_TYPED[code]}) )(?P<figures>\d{{4,8}}|\d{{3}}[ -]\d{{3}}){END}"),
            secret,
        ),
        Rule(DIGITS, re.compile(rf"{STARTS}\d{{4,8}}(?=(?i:{_AFTER_SECRET[code]}))"), before_word),
    )
