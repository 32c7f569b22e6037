"""Normalizes identifiers digit by digit: telephone, card, account and order numbers; distinguishes grouped amounts."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import digits
from assistant.text.normalization.rule import DIGITS, Rule

_CALL_WORDS = {
    "en": (
        r"(?:call|dial|ring|phone|text|fax|telephone)(?: (?:me|us|him|her|them|back|toll-free|now))?(?P<at> (?:on|at))?"
        r"|reach (?:me|us|him|her|them)(?P<at_too> (?:on|at))"
        r"|(?:tel|telephone|phone|mobile|cell|fax|hotline|helpline)(?:\.| number| no\.)?(?: is|:)?"
    ),
    "de": (
        r"(?:ruf(?:e|en|t)?|wähl(?:e|en|t)?|erreich(?:e|en|t)?|tel\.|telefon|telefonnummer|handy|fax|hotline|notruf)"
        r"(?: sie| mich| uns| ihn| bitte| einfach| jetzt){0,3}(?: (?:die|unter der|unter))?(?: nummer)?(?: ist|:)?"
    ),
    "fr": (
        r"(?:appel(?:ez|le|er)|compos(?:ez|e|er)|téléphon(?:ez|e|er)|tél\.|téléphone|fax|mobile|portable)"
        r"(?:-(?:moi|nous))?(?: (?:le|au))?(?: numéro)?(?: est(?: le)?| ?:)?"
    ),
    "es": (
        r"(?:ll[aá]m(?:e|a|ar|en|ad)(?:nos|me)?|mar(?:que|car)|marca(?= el)|teléfono|tel\.|móvil|celular|fax)"
        r"(?: (?:al|el))?(?: número)?(?: es(?: el)?|:)?"
    ),
}
"""Words before a telephone number. A short number after "at" or before a counted noun is an amount instead."""

_LABELS = {
    "en": (
        r"(?:order|account|reference|ref|serial|tracking|ticket|case|invoice|customer|client|member|membership|booking|"
        r"confirmation|reservation|card|policy|passport|licen[cs]e|routing|part|model|registration|employee|student|"
        r"patient|user|transaction|receipt|flight|sort|verification|security|access|product|item|contract|claim)"
        r"(?: (?:number|no\.|id|code)(?: is|:)?| ?#)"
    ),
    "de": (
        r"(?!haus|zimmer|seiten|gleis|raum)\w{2,20}nummer(?: ist(?: die)?| lautet|:)?"
        r"|(?:postleitzahl|bankleitzahl|blz|plz)(?: ist| lautet|:)?"
    ),
    "fr": (
        r"numéro d(?:e|u) (?:commande|compte|client|série|dossier|suivi|carte|référence|facture|passeport|"
        r"réservation|confirmation|ticket|billet|"
        r"vol|contrat|téléphone|portable)(?: est(?: le)?| ?:)?"
    ),
    "es": (
        r"número de (?:pedido|cuenta|cliente|serie|referencia|seguimiento|tarjeta|factura|pasaporte|reserva|"
        r"confirmación|billete|vuelo|"
        r"contrato|expediente|póliza|teléfono|móvil)(?: es(?: el)?|:)?"
    ),
}
_NUMBER_WORDS = {"en": "number(?: is|:)?", "de": "nummer(?: ist(?: die)?|:)?", "fr": "numéro(?: est(?: le)?| ?:)?",
                 "es": "número(?: es(?: el)?|:)?"}  # fmt: skip
GROUPS = r"\(?\d{1,8}\)?(?:[ -]\(?\d{1,8}\)?){1,7}"
END = r"(?![\w@]|[-/]\w|[.,:]\d| ?[%€$£°])"
_START = r"(?<![\w.,:/@#$€£¥₹=^&?+\\-])"
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d-\d\d-\d{4}")
_FRENCH_PAIRS = re.compile(r"0\d(?: \d\d){4}")
_COUNTED = {
    "en": r" (?!(?:was|is|has|as|this|its|does|always|perhaps|yes|us)\b)(?:[a-z]+s|people|men|women|children)\b",
    "de": r" [A-ZÄÖÜ][a-zäöüß]+\b",
    "fr": r" (?!(?:pas|alors|plus|vous|nous|dans|dès|puis|sans|très)\b)[^\W\d_]+s\b",
    "es": r" (?!(?:es|más|antes|después|las|los|entonces|pues)\b)[^\W\d_]+s\b",
}
_PIECES = re.compile(r"[A-Z]+|\d+")


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules. They apply before dates, times and amounts, because some groups look like those."""
    return (_international(lexicon), *_labeled_numbers(lexicon), *_grouped_numbers(lexicon), *_amounts(lexicon))


def _international(lexicon: Lexicon) -> Rule:
    def read(match: re.Match[str]) -> str:
        return f"{lexicon.signs['+']} {digits(match[1], lexicon.code)}"

    pattern = r"(?<![\w+])\+(\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,5})(?![\w]|[-/]\d|[.,]\d)"
    return Rule(frozenset("+"), re.compile(pattern), read)


def _labeled_numbers(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns rules for numbers after a word that says what the number is."""
    code = lexicon.code
    counted = re.compile(_COUNTED[code])
    thousands = re.compile(rf"\d{{1,3}}(?:[ {lexicon.thousands}]\d{{3}})+")

    def call(match: re.Match[str]) -> str | None:
        figures, groups = match["figures"], match.groupdict()
        single = figures.isdigit()
        count = sum(map(str.isdigit, figures))
        is_short = count < 5 and (not single or groups.get("at") or groups.get("at_too") or code == "fr")
        if is_short or DATE.fullmatch(figures) or (code == "fr" and _FRENCH_PAIRS.fullmatch(figures)):
            return None
        if counted.match(match.string, match.end()) and (single or "-" in figures or thousands.fullmatch(figures)):
            return None
        return match["word"] + digits(figures, code)

    def label(match: re.Match[str]) -> str:
        word = match["word"]
        if word.endswith("#"):
            word = f"{word[:-1].rstrip()} {lexicon.number} "
        return word + digits(match["figures"], code)

    def number(match: re.Match[str]) -> str | None:
        figures = match["figures"]
        if thousands.fullmatch(figures) or _FRENCH_PAIRS.fullmatch(figures) or sum(map(str.isdigit, figures)) < 6:
            return None
        return match["word"] + digits(figures, code)

    figures = rf"(?P<figures>{GROUPS}|\d{{3,15}}){END}"
    return (
        Rule(DIGITS, re.compile(rf"\b(?P<word>(?i:{_CALL_WORDS[code]}) ){figures}"), call),
        Rule(DIGITS, re.compile(rf"\b(?P<word>(?i:{_LABELS[code]}) ?){figures}"), label),
        Rule(DIGITS, re.compile(rf"\b(?P<word>(?i:{_NUMBER_WORDS[code]}) )(?P<figures>{GROUPS}){END}"), number),
    )


def _grouped_numbers(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns rules for digit groups that no amount has."""
    code = lexicon.code
    counted = re.compile(_COUNTED[code])

    def grouped(match: re.Match[str]) -> str:
        return digits(match[0], code)

    def uncounted(match: re.Match[str]) -> str | None:
        return None if counted.match(match.string, match.end()) else digits(match[0], code)

    def account(match: re.Match[str]) -> str | None:
        if sum(map(str.isdigit, match[0])) < 10:
            return None
        groups = match[0].split() if " " in match[0] else re.findall(".{1,4}", match[0])
        return ", ".join(" ".join(_spelled(piece, code) for piece in _PIECES.findall(group)) for group in groups)

    rules = [
        Rule(DIGITS, re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?(?!\w)"), account),
        Rule(DIGITS, re.compile(rf"{_START}(?:\d{{4}}(?:[ -]\d{{4}}){{3}}|3[47]\d\d \d{{6}} \d{{5}}){END}"), grouped),
    ]
    unit = "|".join(re.escape(unit) for unit in sorted(lexicon.units, key=len, reverse=True))
    no_unit = rf"(?! ?(?:{unit})(?!\w))"
    rules.append(Rule(DIGITS, re.compile(rf"{_START}(?<!\d )\d{{5}}[ -]\d{{5}}(?! \d){END}{no_unit}"), grouped))
    if code == "en":
        rules += [
            Rule(DIGITS, re.compile(rf"{_START}(?:1[ -])?1?[38]00[ -]\d{{3}}[ -]\d{{3,4}}{END}"), uncounted),
            Rule(DIGITS, re.compile(rf"{_START}\d{{3,5}}(?: \d{{3,4}}){{2,3}}{END}{no_unit}"), uncounted),
            Rule(
                DIGITS,
                re.compile(
                    rf"{_START}(?:\d{{3}} \d{{4}}|(?<!\d )0\d{{1,4}}[ -]\d{{3,8}}(?:[ -]\d{{3,4}}){{0,2}})"
                    rf"{END}{no_unit}"
                ),
                uncounted,
            ),
        ]
    else:
        rules.append(
            Rule(DIGITS, re.compile(rf"{_START}(?:\d{{3}}[ -]0\d{{3}}|0 [89]\d\d \d{{3}} \d{{3}}){END}"), grouped)
        )
        rules.append(Rule(DIGITS, re.compile(rf"(?<!\w)\(\d{{3}}\) ?\d{{3}}-\d{{4}}{END}"), grouped))
    if code == "es":
        rules.append(Rule(DIGITS, re.compile(rf"{_START}[89]\d \d{{3}} \d\d \d\d{END}"), grouped))
    return tuple(rules)


def _spelled(piece: str, code: str) -> str:
    return digits(piece, code) if piece.isdigit() else ".".join(piece)


def _amounts(lexicon: Lexicon) -> tuple[Rule, ...]:
    """ "1 800 123 people", "12 000 km" in English, where thousands rarely have spaces: only before a counted noun."""
    if lexicon.code != "en":
        return ()
    units = "|".join(
        re.escape(unit) for unit in sorted(lexicon.units, key=len, reverse=True) if unit not in ("in", "pt")
    )

    def with_commas(match: re.Match[str]) -> str:
        return match[0].replace(" ", ",")

    follows = rf"(?= ?(?:{units})(?!\w)|{_COUNTED['en']}| (?:euros|dollars|pounds|million|USD|EUR)\b)"
    pattern = rf"{_START}[1-9]\d{{0,2}}(?:(?: 000){{1,4}}(?! ?\d)|(?: \d{{3}}){{1,4}}(?![\w.,]\w){follows})"
    return (Rule(DIGITS, re.compile(pattern), with_commas),)
