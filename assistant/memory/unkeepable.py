"""Decides what must never be remembered: secrets, and instructions to the assistant. Pure.

What is doubtful is not kept: a fact that is lost can be said again, a secret in a file cannot be taken back.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal

Reason = Literal["card", "account", "password", "id_number", "key", "instruction"]
"""The reason for which a text is not kept."""

MIN_CARD_DIGITS, MAX_CARD_DIGITS = 13, 19
"""Digits of payment cards (ISO/IEC 7812)."""

MIN_CODE_DIGITS = 3
"""Digits of the shortest code of a lock."""

MIN_IBAN_CHARS, MAX_IBAN_CHARS = 15, 34
"""Characters of an IBAN (ISO 13616)."""

MIN_IBAN_DIGITS = 10
"""Digits from which words that begin like an IBAN are taken for one, also with a wrong check digit."""

MIN_KEY_CHARS = 20
"""A word of letters and digits of this length is a key; the longest names of products are shorter."""

_PASSWORD = re.compile(
    r"\b(?:pins?|puk|tans?|cvv2?|cvc2?|passcodes?|pass[- ]?words?|passphrases?|pass[- ]phrases?|security codes?"
    r"|access codes?|seed phrases?|recovery phrases?|secret codes?|(?:door|gate|alarm|safe|lock|unlock|entry) codes?"
    r"|combination (?:of|to|for)\b.*\b(?:safe|lock)|one[- ]time codes?|log[- ]?in data|credentials"
    r"|kennw(?:ort|örter)\w*|passw(?:ort|örter)\w*|geheimzahl\w*|geheimnummer\w*|geheimcode\w*"
    r"|kartenprüfnummer|prüfziffer|sicherheitscode\w*|zugangscode\w*|zugangsdaten|türcode\w*|entsperrcode\w*"
    r"|zahlenkombination|losungswort|pin[- ]?(?:code|nummer|zahl)"
    r"|mots? de passe|code secret|codes secrets|code confidentiel|code pin|code de sécurité|code d'accès"
    r"|code (?:de la porte|de l'alarme|de déverrouillage|du coffre|d'entrée|de l'immeuble)|identifiants|digicode"
    r"|contraseñas?|claves? (?:secreta|de acceso|del wifi|de la alarma|del banco|de la tarjeta|bancaria|personal)"
    r"|mi clave|la clave es|códigos? (?:secreto|pin|de seguridad|de acceso|de la puerta|de la alarma|de desbloqueo)"
    r"|palabra secreta)\b"
    # The code of a place or a thing, and the key of a radio network.
    r"|\b(?:codes?|kode|códigos?|codigo) (?:for|of|to|für|von|zu[rm]?|de|du|del|des|pour|para|d'|de l')\b.{0,12}"
    r"(?:garage|door|gate|alarm|safe|locker|lock|phone|tür|tor\b|keller|tresor|handy|porte|portail|coffre|immeuble|portal"
    r"|puerta|garaje|caja|móvil)"
    r"|(?:tür|tor|garagen|keller|handy|alarm|tresor)[- ]?codes?\b"
    r"|\b(?:wlan|wi-?fi|netzwerk|network)[- ]?(?:schlüssel|code|keys?|pin)\b"
    r"|\b(?:clés?|clefs?|codes?) (?:du |de |de la |wpa )*(?:wi-?fi|wpa|box|réseau)\b"
    r"|\b(?:claves?|códigos?) (?:de |del |de la |de mi )?(?:wi-?fi|red|portal|puerta|garaje)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?:\w*codes?|códigos?|codigo)\b", re.IGNORECASE)
_PUBLIC_CODE = re.compile(
    r"\b(?:zip|post(?:al|leit)?|area|country|dial\w*|qr|bar|dress)[- ]?codes?\b|\bcode postal"
    r"|\bc[oó]digo (?:postal|de área)",
    re.IGNORECASE,
)
_CARD = re.compile(
    r"\b(?:(?:credit|debit|bank) ?card (?:number|no)|card number|kreditkartennummer|kartennummer|ec[- ]karten?nummer"
    r"|numéro (?:de (?:ma|la|sa) )?carte|numéro de carte|número de (?:la |mi |su )?tarjeta)\b",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"\b(?:iban|bic|sort code|routing number|account number|kontonummer|bankleitzahl|blz|numéro de compte|mon rib"
    r"|número de (?:la |mi |su )?cuenta|cbu|clabe)\b",
    re.IGNORECASE,
)
_ID_NUMBER = re.compile(
    r"\b(?:passport (?:number|no)|social security(?: number)?|national insurance number|ssn|driver'?s licen[cs]e number"
    r"|licen[cs]e number|identity card number|id(?:entity|entification)? number|id card number|tax (?:id|number)"
    r"|reisepass(?:nummer|nr)|pass(?:nummer|nr)|ausweis(?:nummer|nr)|personalausweisnummer|führerscheinnummer"
    r"|sozialversicherungsnummer|rentenversicherungsnummer|versichertennummer"
    r"|steuer[- ]?(?:id|identifikationsnummer|nummer)"
    r"|numéro (?:de |du )?(?:mon |ma |son |sa |la |le )?(?:passeport|carte d'identité|sécurité sociale|sécu|permis)"
    r"|numéro fiscal"
    r"|número (?:de |del )?(?:mi |su |la |el )?(?:pasaporte|dni|nie|nif|carné|carnet|seguridad social|identidad|cédula"
    r"|permiso de conducir)|dni|nie es|nif)\b",
    re.IGNORECASE,
)
_KEY_NAME = re.compile(
    r"\b(?:api|private|secret|ssh|licen[cs]e|encryption|recovery|activation|product) keys?\b"
    r"|\b(?:access|bearer) tokens?\b|\bapi[- ]?schlüssel\b|\b(?:privater?|geheimer?) schlüssel\b|\blizenzschlüssel\b"
    r"|\bclé (?:api|privée|secrète|ssh)\b"
    r"|\bclaves? (?:api|privada)\b|-----BEGIN|\b(?:sk|pk|rk|ghp|gho|glpat|xox[bap]|AKIA|AIza)[-_]?\w{12,}",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|override|bypass) (?:all |any |the |your |my )?"
    r"(?:previous|prior|earlier|above|instructions?|rules?|other)"
    r"|\b(?:system|developer) (?:prompt|message|instructions?)\b|\bjailbreak"
    r"|\byou are now\b|\bpretend (?:to be|that you)"
    r"|\bact as (?:a|an|if)\b|\byou (?:must|should|shall|have to|will) (?:always|never|not|from now)"
    r"|\bfrom now on\b|\balways (?:answer|reply|respond|say|call|tell|use|send|start|end|run|execute|confirm)\b"
    r"|\bnever (?:answer|reply|mention|tell|refuse|say|ask)\b"
    r"|\bwhenever (?:i|the user|somebody|someone|anyone)\b.*\b(?:you|call|send|run|say)\b"
    r"|\b(?:call|run|execute|invoke) (?:the )?(?:tool|function|command)\b"
    r"|\bignoriere?\b|\bmissachte\b|\bsystem-?(?:prompt|anweisung|nachricht)|\bdu bist (?:jetzt|ab jetzt|nun)\b"
    r"|\bab (?:jetzt|sofort|nun)\b|\bdu (?:musst|sollst) (?:immer|nie|niemals|ab)\b"
    r"|\bantworte? (?:immer|nie|stets|nur)\b"
    r"|\bdass du (?:immer|nie|niemals|stets|nur)\b"
    r"|\bignore[zr]? (?:toutes|tes|les|vos|mes)\b|\btu es maintenant\b|\bvous êtes maintenant\b"
    r"|\bdésormais\b|\bà partir de maintenant\b|\btu dois (?:toujours|ne jamais)|\bvous devez (?:toujours|ne jamais)"
    r"|\bréponds? (?:toujours|uniquement)\b|\brépondez (?:toujours|uniquement)\b"
    r"|\binstructions? (?:système|précédentes)\b"
    r"|\bignora (?:todas|tus|las|mis)\b|\bahora eres\b|\ba partir de ahora\b|\bde ahora en adelante\b"
    r"|\bdebes (?:siempre|nunca)|\bsiempre (?:debes|tienes que|responde)\b|\bresponde (?:siempre|solo)\b"
    r"|\binstrucciones (?:anteriores|del sistema)\b"
    r"|https?://|```|<\|?/?(?:im_|system|user|assistant)|^\s*(?:system|assistant|user)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_PHONE = re.compile(
    r"\b(?:tele)?(?:phone|fon)(?:nummer)?\b|\bhandy(?:nummer)?\b|\bmobile?\b|\brufnummer\b|\btéléphone\b|\bportable\b"
    r"|\bteléfono\b|\bmóvil\b|\bcelular\b|\bcall\b|\bring\b|\+",
    re.IGNORECASE,
)
_DIGIT_WORDS = {
    word: str(digit)
    for words in (
        "zero one two three four five six seven eight nine",
        "null eins zwei drei vier fünf sechs sieben acht neun",
        "zéro un deux trois quatre cinq six sept huit neuf",
        "cero uno dos tres cuatro cinco seis siete ocho nueve",
    )
    for digit, word in enumerate(words.split())
} | {"oh": "0", "zwo": "2", "une": "1"}
_TOKEN = re.compile(r"\w+")
_SSN = re.compile(r"\b\d{3}[- ]\d{2}[- ]\d{4}\b")
_IBAN_SHAPE = re.compile(r"\b[A-Z]{2} ?\d{2}(?: ?[A-Z0-9]){11,30}\b")


def reason_not_to_keep(text: str) -> Reason | None:
    """Returns why a text must not be remembered; None if it may be."""
    plain = text.replace("’", "'")
    return next((reason for reason, applies in _REASONS.items() if applies(plain)), None)


def names_secret(text: str) -> bool:
    """Returns whether a text has or names a secret, so that the next words may be one."""
    return reason_not_to_keep(text) not in {None, "instruction"}


def digit_runs(text: str) -> list[str]:
    """Returns the numbers of a text without their spaces and dashes; digits may be words: "four one one one"."""
    runs, run = [], ""
    for token in _TOKEN.findall(text.casefold()):
        digits = token if token.isdecimal() else _DIGIT_WORDS.get(token, "")
        if digits:
            run += digits
        elif run:
            runs.append(run)
            run = ""
    return [*runs, run] if run else runs


def passes_luhn(digits: str) -> bool:
    """Returns whether the last digit is the check digit of a card (ISO/IEC 7812)."""
    doubled = (int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _has_code(text: str) -> bool:
    """Returns whether a text has a code with its number: "the code is 4711". Those of places are public."""
    named = _CODE.search(text) is not None and _PUBLIC_CODE.search(text) is None
    return named and any(len(run) >= MIN_CODE_DIGITS for run in digit_runs(text))


def _looks_like_card(run: str, text: str) -> bool:
    """Returns whether digits look like a card's. With a wrong digit they still do, unless a telephone is named."""
    if not MIN_CARD_DIGITS <= len(run) <= MAX_CARD_DIGITS:
        return len(run) > MAX_CARD_DIGITS
    return passes_luhn(run) or _PHONE.search(text) is None


def _is_iban(text: str) -> bool:
    compact = "".join(text.split())
    return MIN_IBAN_CHARS <= len(compact) <= MAX_IBAN_CHARS and sum(map(str.isdecimal, compact)) >= MIN_IBAN_DIGITS


def _looks_like_key(word: str) -> bool:
    word = word.strip(".,;:!?\"'()")
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdecimal, word))
    return len(word) >= MIN_KEY_CHARS and letters and digits and re.fullmatch(r"[\w+/=.-]+", word) is not None


_REASONS: Mapping[Reason, Callable[[str], bool]] = {
    "password": lambda text: _PASSWORD.search(text) is not None or _has_code(text),
    "account": lambda text: (
        _ACCOUNT.search(text) is not None or any(_is_iban(match[0]) for match in _IBAN_SHAPE.finditer(text))
    ),
    "card": lambda text: _CARD.search(text) is not None or any(_looks_like_card(run, text) for run in digit_runs(text)),
    "id_number": lambda text: _ID_NUMBER.search(text) is not None or _SSN.search(text) is not None,
    "key": lambda text: _KEY_NAME.search(text) is not None or any(map(_looks_like_key, text.split())),
    "instruction": lambda text: _INSTRUCTION.search(text) is not None,
}
"""Each reason with its test, in this order."""
