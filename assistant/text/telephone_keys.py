"""Recognizes the keys "*" and "#" of a telephone: "Press * or #.", "Dial *67"."""

import re

_VERB = re.compile(
    r"\b(?:press(?:ing)?|dial(?:ing|ed)?|hit|push|tap|enter|type|keys?|buttons?|use|followed by|then"
    r"|(?:ge)?drück\w{0,3}|(?:ge)?wähl\w{0,3}|tipp\w{0,3}|tasten?|gib|geben|gefolgt|dann|mit"
    r"|appu\w{1,5}|compos\w{1,3}|touches?|tap(?:er|ez|e)|fai(?:tes|s)|suivie?|termin\w{1,3}|puis|utilis\w{1,3}"
    r"|puls[ae]\w{0,2}|marc[ae]\w{0,2}|marque\w{0,2}|presion\w{1,3}|oprim\w{1,3}|teclas?|teclee?|botón|seguido|usa|use)\b"
    r"[^.!?\n]{0,72}\Z",
    re.IGNORECASE,
)
_DIAL_VERB = re.compile(r"(?:dial|wähl|compos|marc|marq)\w{0,4} (?:el |le )?\Z", re.IGNORECASE)
_DIALED = re.compile(r"[*#]\d{1,15}\Z")
_AFTER_OPERAND = re.compile(r"\d ?\Z")
_EMPHASIZED = re.compile(r"\*{3,}")
"""A star in emphasis, as "**\\***": emphasis of nothing does not exist."""
_NAMED = re.compile(
    r"\b(?:the|this|that|each|every|with|without|marked|by|symbol|sign|character|called|(?:use|an?) an?"
    r"|das|dem|des|dieses|diesem|ein|einem|mit|ohne|zeichen|symbol|sternchen|durch"
    r"|le|ce|cet|un|avec|sans|par|signe|symbole|caractère|el|este|ese|un|con|sin|por|signo|símbolo|carácter)\Z",
    re.IGNORECASE,
)
_QUOTES = frozenset("\"'“„«‹‘(,/")
_MAX_CHARS = 80
_KEYS = frozenset(("*", "#", "*#", "#*"))


def key_text(before: str, run: str, following: str) -> str | None:
    """Returns the symbols `run` with only the keys to press; None if they are no keys.

    Args:
        before: The text before the symbols, in its line.
        run: The symbols with the spaces around them.
        following: The next character; "" at the end of a line.
    """
    run = run.replace("`", " ").replace("**#**", "#")
    opens_emphasis = (
        following.isalnum() and run[-1:] == "*" and not (following.isdigit() and _DIAL_VERB.search(before + " "))
    )
    if run[:1] == " " and not opens_emphasis:
        run = _EMPHASIZED.sub("*", run)
    keys = run.strip(" ").removesuffix("-")
    if keys not in _KEYS or not before:
        return None
    if _DIALED.search(before):
        return run if run[0] in _KEYS and (following.isdigit() or keys == "#") else None
    starts = run[0] == " " or before[-1] in _QUOTES
    if not starts or _AFTER_OPERAND.search(before) or (keys == "#" and following == "o"):  # "the # of people"
        return None
    tail = before[-_MAX_CHARS:]
    if following.isalnum() and run[-1] not in " -":
        dialed = following.isdigit() and (
            keys == "*#" or (keys == "*" and _VERB.search(tail)) or _DIAL_VERB.search(tail + " ")
        )
        return run if dialed else None
    named = keys == "*" and _NAMED.search(tail)
    return run if named or _VERB.search(tail) else None
