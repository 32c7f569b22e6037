"""Decides whether a spaced dash before an amount is a minus sign: "The low tonight is - 5 °C."."""

import re

_NEXT = re.compile(r"[-–−] ?(?:(?:[A-Z]{1,3})?[$€£¥₹] ?)?(\d{1,9}(?:[.,]\d{1,9}){0,3})( ?)(°|[^\W\d_]{1,12}|%)?")
_NEXT_PARTIAL = re.compile(r"[-–−] ?(?:[A-Z]{0,3}[$€£¥₹]? ?)?(?:\d[\d.,]{0,20} ?[^\W\d_]{0,12})?")
_DEGREES = frozenset("° degree degrees grad degré degrés grado grados °c °f".split())
_AMOUNT = re.compile(r"(?:\d[)\]]?|[%°²³⁰-⁹$€£¥₹)]|\d ?(?:[^\W\d_]{1,4}|°[CF])|(?<![^\W\d_])[a-zA-Z][²³]?)\Z")
_LAST_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?\Z")
_LINK_WITH_DOT = re.compile(r"\b(?:ca|approx|env|aprox)\.\Z")
_LINKS = frozenset(
    "is are was were be been at to of from about around below above reach reached reaches hit hits equals and or"
    " between by than like as near under over became becomes get gets got reads showed shows drops drop dropped fell"
    " fall falls until only just nearly almost plus minus times"
    " ist sind war waren wird werden bei auf von um bis unter über etwa rund ca mit nur fast und oder zwischen zeigt"
    " hat hatte beträgt betrug liegt lag erreicht sinkt sank fällt fiel gleich"
    " est sont était sera fait faisait à de vers environ atteint jusqu'à et ou entre égale"
    " es son era está hace hacía a hasta unos unas marca marcaba y o bajo baja alcanza alcanzó".split()
)
"""Words after which any amount may follow."""
_ADVERBS = frozenset(
    "today tonight tomorrow now currently yesterday outside here there low high temperature"
    " heute morgen gestern jetzt aktuell draußen nachts hier dort temperatur temperaturen tiefstwert höchstwert grad"
    " aujourd'hui demain hier maintenant dehors actuellement température"
    " hoy mañana ayer ahora fuera actualmente temperatura".split()
)


def spaced_minus(before: str, text: str, position: int, *, final: bool) -> bool | None:
    """Returns whether the dash at `position`, which follows a space, is the sign of the amount after it.

    Args:
        before: The text before the dash in its sentence.
        text: The text that contains the dash.
        position: Position of the dash in `text`.
        final: Whether `text` is complete.

    Returns:
        None if more text is needed.
    """
    if text[position] == "—":
        return False
    head = before[-24:].rstrip()
    match = _NEXT.match(text, position)
    if not final and _NEXT_PARTIAL.fullmatch(text, position):
        plain, degrees = (_is_minus_sign(head, text[position], degrees=degrees) for degrees in (False, True))
        return plain if match and plain == degrees else None
    return match is not None and _is_minus_sign(head, text[position], degrees=(match[3] or "").lower() in _DEGREES)


def between_amounts(before: str) -> bool:
    """Returns whether `before` ends with an amount or variable, so that the dash is a range or a subtraction."""
    head = before[-24:].rstrip()
    word = _LAST_WORD.search(head)
    linked = word is not None and len(word[0]) > 1 and word[0].lower() in _LINKS  # "between 5 and - 3"
    return not linked and _AMOUNT.search(head) is not None


def _is_minus_sign(head: str, dash: str, *, degrees: bool) -> bool:
    word = _LAST_WORD.search(head)
    link = word is not None and word[0].lower() in _LINKS
    if word and len(word[0]) == 1:
        return link and degrees  # "a", "y" and "à" are also variables
    if not head or between_amounts(head):
        return False
    if _LINK_WITH_DOT.search(head):
        return True
    if word is None:
        return head[-1] in "=(<>≤≥≈×÷*+:" or (degrees and head[-1] in ',;["“„«')
    return link or (degrees and ((word[0].islower() and dash == "-") or word[0].lower() in _ADVERBS))
