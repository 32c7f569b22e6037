"""Normalizes numbers read by digit or by part: telephone numbers, IP addresses, versions, codes, coordinates."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import cardinal, digits, say
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule, word_before

_PRODUCTS = (
    "Python|python|Java|Ruby|PHP|Perl|Node|Go|Rust|Swift|Kotlin|Django|Rails|React|Angular|Vue|Linux|kernel|Ubuntu|"
    "Debian|Fedora|Android|iOS|macOS|iPadOS|Windows|CUDA|Bluetooth|HDMI|USB|HTTP|TLS|OpenGL|Unity|Claude|Gemini|Llama"
)
_COMPASS = {
    "en": {"N": "north", "S": "south", "E": "east", "W": "west"},
    "de": {"N": "Nord", "S": "Süd", "E": "Ost", "O": "Ost", "W": "West"},
    "fr": {"N": "nord", "S": "sud", "E": "est", "O": "ouest", "W": "ouest"},
    "es": {"N": "norte", "S": "sur", "E": "este", "O": "oeste", "W": "oeste"},
}
_ARC = {
    "en": ("degrees", "minutes", "seconds"),
    "de": ("Grad", "Minuten", "Sekunden"),
    "fr": ("degrés", "minutes", "secondes"),
    "es": ("grados", "minutos", "segundos"),
}
_TELEPHONE_WORDS = frozenset("tel tel. phone telephone call dial number teléfono llama llame al telefon nummer".split())


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules; addresses and versions come first because they look like numbers with dots."""
    return (*_dotted(lexicon), *_telephones(lexicon), *_coordinates(lexicon))


def _dotted(lexicon: Lexicon) -> tuple[Rule, ...]:
    code = lexicon.code

    def address(match: re.Match[str]) -> str | None:
        parts = match[1].split(".")
        if any(int(part) > 255 or (len(part) > 1 and part[0] == "0") for part in parts):
            return None
        words = f" {lexicon.dot} ".join(digits(part, code) for part in parts)
        if match[3]:
            words += f" {lexicon.slash} {cardinal(int(match[3]), code)}"
        return words + (f" {lexicon.port} {digits(match[2], code)}" if match[2] else "")

    def parts_of(figures: str) -> str:
        parts = [digits(part, code) if part[0] == "0" else cardinal(int(part), code) for part in figures.split(".")]
        return f" {lexicon.point if code == 'en' else lexicon.dot} ".join(parts)

    def version(match: re.Match[str]) -> str:
        before = word_before(match)
        words = lexicon.version if match[1] and before not in (lexicon.version.lower(), "v") else ""
        return " ".join(filter(None, (words, parts_of(match[2]))))

    def product(match: re.Match[str]) -> str:
        return f"{match[1]} {parts_of(match[2])}"

    number = r"\d{1,3}"
    kinds = "[Vv]ersion|[Rr]elease|[Ss]ection|[Cc]hapter|Kapitel|Abschnitt|[Cc]apítulo|[Cc]hapitre"
    rules = [
        Rule(
            DIGITS,
            re.compile(rf"{STARTS}({number}(?:\.{number}){{3}})(?::(\d{{1,5}}))?(?:/(\d{{1,2}}))?{ENDS}"),
            address,
        ),
        Rule(DIGITS, re.compile(rf"(?<![\w.@-])([vV])(\d{{1,4}}(?:\.\d{{1,6}}){{0,4}}){ENDS}"), version),
        # Where dots group thousands, 1.234.567 is a number.
        Rule(
            DIGITS,
            re.compile(rf"{STARTS}()(?!\d{{1,3}}(?:\.\d{{3}}){{2,4}}{ENDS})(\d{{1,4}}(?:\.\d{{1,6}}){{2,4}}){ENDS}"),
            version,
        ),
        Rule(DIGITS, re.compile(rf"\b({_PRODUCTS}|{kinds}) (\d{{1,4}}\.\d{{1,4}}){ENDS}"), product),
    ]
    if lexicon.decimal == ",":
        rules.append(Rule(DIGITS, re.compile(rf"{STARTS}()(\d{{1,4}}\.(?!\d{{3}}\b)\d{{1,6}}){ENDS}"), version))
    return tuple(rules)


def _telephones(lexicon: Lexicon) -> tuple[Rule, ...]:
    code = lexicon.code

    def grouped(match: re.Match[str]) -> str:
        return digits(match[0], code)

    def pairs(match: re.Match[str]) -> str:
        words = [
            digits(pair, code) if pair[0] == "0" else cardinal(int(pair), code) for pair in re.split("[ .]", match[0])
        ]
        return ", ".join(words)

    def spanish(match: re.Match[str]) -> str | None:
        return digits(match[0], code) if word_before(match).rstrip(":") in _TELEPHONE_WORDS else None

    start, end = r"(?<![\w.,+$€£/-])(?<!\d )", r"(?![\w]|[-/]\d|[.,]\d)"
    rules: list[Rule] = []
    if code == "en":
        area = r"(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])"
        rules.append(Rule(DIGITS, re.compile(rf"{start}{area}\d{{3}}[ .-]\d{{4}}{end}"), grouped))
        rules.append(Rule(frozenset("-"), re.compile(rf"{start}\d{{3}}-\d{{4}}{end}"), grouped))
        rules.append(Rule(DIGITS, re.compile(rf"(?<=, [A-Z]{{2}} )\d{{5}}(?:-\d{{4}})?{end}"), grouped))
        rules.append(Rule(DIGITS, re.compile(rf"{start}0\d{{2,4}} \d{{3,4}} ?\d{{3,4}}{end}"), grouped))
    if code == "de":
        rules.append(Rule(DIGITS, re.compile(r"(?<=\d, )\d{5}(?= [A-ZÄÖÜ])"), grouped))
        rules.append(
            Rule(
                DIGITS,
                re.compile(rf"{start}\(?0\d{{2,4}}\)?[ /-]{{1,3}}\d{{2,8}}(?:[ -]\d{{2,8}}){{0,4}}{end}"),
                grouped,
            )
        )
    if code == "fr":
        rules.append(Rule(DIGITS, re.compile(rf"{start}0\d(?:[ .]\d\d){{4}}{end}"), pairs))
    if code == "es":
        rules.append(
            Rule(DIGITS, re.compile(rf"{start}[6-9]\d\d ?(?:\d{{3}} ?\d{{3}}|\d\d ?\d\d ?\d\d){end}"), spanish)
        )
    return tuple(rules)


def _coordinates(lexicon: Lexicon) -> tuple[Rule, ...]:
    compass, arc = _COMPASS[lexicon.code], _ARC[lexicon.code]
    letters = "".join(compass)
    figures = r"\d{1,3}(?:[.,]\d{1,8})?"

    def decimal(match: re.Match[str]) -> str:
        sign = f"{lexicon.minus} " if match[1] else ""
        whole, _, rest = re.sub(",", ".", match[2]).partition(".")
        number = say(whole, lexicon) + (f" {lexicon.point} {digits(rest, lexicon.code)}" if rest else "")
        return f"{sign}{number} {arc[0]} {compass[match[3]]}"

    def arcs(match: re.Match[str]) -> str:
        parts = [
            f"{cardinal(int(match[1]), lexicon.code)} {arc[0]}",
            f"{cardinal(int(match[2]), lexicon.code)} {arc[1]}",
        ]
        if match[3]:
            parts.append(f"{cardinal(int(match[3]), lexicon.code)} {arc[2]}")
        return " ".join(parts) + (f" {compass[match[4]]}" if match[4] else "")

    return (
        Rule(frozenset("°"), re.compile(rf"{STARTS}([-−])?({figures}) ?° ?([{letters}])(?!\w)"), decimal),
        Rule(
            frozenset("°"),
            re.compile(
                rf"{STARTS}(\d{{1,3}})° ?(\d{{1,2}})[′'’](?: ?(\d{{1,2}})(?:\.\d{{1,4}})?[″\"”])?"
                rf"(?: ?([{letters}])(?!\w))?"
            ),
            arcs,
        ),
    )
