"""Recognizes the keys "*" and "#" of a telephone: "Press * or #.", "Dial *67"."""

import re

_VERB = (
    r"\b(?:press(?:ing)?|dial(?:ing)?|hit|push|tap|enter|type|keys?|buttons?"
    r"|(?:ge)?drück\w{0,3}|(?:ge)?wähl\w{0,3}|tipp\w{0,3}|tasten?|rautetaste|gib|geben"
    r"|appu\w{1,5}|compos\w{1,3}|touches?|tap(?:er|ez|e)|fai(?:tes|s)"
    r"|puls[ae]\w{0,2}|marc[ae]\w{0,2}|marque\w{0,2}|presion\w{1,3}|oprim\w{1,3}|teclas?|teclee?|botón)\b"
)
_VERB_BEFORE = re.compile(rf"{_VERB}[^.!?\n]{{0,28}}\Z", re.IGNORECASE)
_DIALED = re.compile(r"[*#]\d{1,15}\Z")
_AFTER_OPERAND = re.compile(r"\d ?\Z")
_QUOTES = frozenset("\"'“„«‹‘(,/")
_TAIL_CHARS = 40


def are_keys(before: str, run: str, following: str) -> bool:
    """Returns whether the symbols `run` are keys to press.

    Args:
        before: The text before the symbols.
        run: The symbols with the spaces around them.
        following: The next character; "" at the end of a line.
    """
    keys = run.strip(" `").removesuffix("-")
    if keys not in ("*", "#", "*#", "#*", "**", "##"):
        return False
    tail = before[-_TAIL_CHARS:]
    if _DIALED.search(tail):
        return run[0] in "*#" and (following.isdigit() or keys == "#")
    starts = run[0] in " `" or tail[-1:] in _QUOTES
    if not starts or (len(keys) == 2 and keys[0] == keys[1]):
        return False
    apart = run[-1] in " `-" or not following.isalnum() or (following.isdigit() and keys != "#")
    if (
        keys == "#"
        and following.isdigit()
        and not re.search(r"(?:dial|wähl|compos|marc|marq)\w{0,4} (?:el |le )?\Z", tail, re.IGNORECASE)
    ):
        return False
    return (apart or following.isdigit()) and not _AFTER_OPERAND.search(tail) and after_verb(tail)


def after_verb(before: str) -> bool:
    """Returns whether `before` ends, within a sentence, with a word such as "press" and a few words after it."""
    return _VERB_BEFORE.search(before[-_TAIL_CHARS:]) is not None
