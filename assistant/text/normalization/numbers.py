"""Converts numbers to words: whole, decimal and ordinal numbers, fractions, years, single digits."""

import re
from functools import lru_cache

from num2words import num2words

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule, word_before

_MAX_WORDS_DIGITS = 15  # a longer number is an identifier and is read digit by digit
_YEAR_WORDS = frozenset(
    "in since of by until till before after during around circa year years early late mid class ©"
    " spring summer autumn fall winter january february march april may june july august september october november"
    " december from and to ca. c.".split()
)
_SURELY_YEAR = frozenset("since until till before after during circa year".split())
_COUNTED = re.compile(r" (?!was|is|has|as|this|its|does|always|perhaps)(?:[a-z]+s|people|men|women|children)\b")
_SPANISH_PLURAL = re.compile(r" ([a-záéíóúñü]{2,30}s)\b")
_SPANISH_MASCULINE = re.compile(
    r"millones|billones|pies|galones|acres|\w+gramos|días|mensajes|viajes|huevos|euros|minutos|mapas|planetas|problemas|sistemas|temas|programas|idiomas|meses|coches|goles|hombres|países|"
    r"dálmatas|pandas|gorilas|koalas|pumas|piratas|policías|guardias|espías|atletas|poetas|colegas|"
    r"astronautas|internautas|demócratas|aristócratas|acróbatas|patriotas|compatriotas|idiotas|belgas|croatas|incas|"
    r"mayas|aztecas|indígenas|nómadas|pediatras|psiquiatras|terapeutas|monarcas|camaradas|suicidas|cometas|tranvías|"
    r"pijamas|(?!lis|pis|vis|revis|entrevis|conquis|aris|amatis)\w{2,}istas|lugares|dólares|jugadores|trenes|aviones|puntos|gramos|kilogramos|(?!manos|fotos|motos|menos|estos|ellos|todos|otros)\w+[^m\W]os"
)
_SPANISH_FEMININE = re.compile(
    r"(?:re|entre)?vistas|[lp]istas|conquistas|aristas|manos|fotos|motos|veces|mujeres|noches|tardes|calles|clases|partes|luces|voces|\w+(?:ciones|siones|dades|tades)|"
    r"(?!mientras|ellas|estas|todas|otras|atletas|poetas|cometas|colegas|policías)\w+(?<!ist)(?<!em)(?<!am)(?<!om)as"
)
_FRENCH_PLURAL = re.compile(
    r" ([a-zà-öø-ÿœ]{3,30}[sx])\b(?<!fois)(?<!dans)(?<!sans)(?<!plus)(?<!mais)(?<!vers)(?<!moins)"
)
_ELIDES = re.compile("[aeiouyéèêœ]|h(?!au|éros|uit|anches|aricots|ollandais)")
_FRENCH_FEMININE = re.compile(
    r"(?:demi-)?(?:heures|millisecondes|minutes|secondes|semaines|années|journées|onces|tonnes|tasses|pintes|cuillères|cuillerées|"
    r"personnes|pages|lignes|femmes|filles|voitures|maisons|chambres|chaises|tables|villes|langues|couleurs|images|"
    r"photos|lettres|étoiles|réponses|pièces|places|étapes|marches|bouteilles|pommes|tranches|"
    r"\w+(?:tions|sions|ettes|euses|ances|ences|esses))"
)
_FRENCH_MASCULINE = re.compile(
    r"(?:jours|mois|ans|messages|œufs|verres|litres|kilos|euros|dollars|points|morceaux|sachets|minuteurs|rappels|"
    r"enfants|hommes|mots|livres|films|fichiers|articles|degrés|pots|oignons|bouquets|lieux|paquets|colis|appels|"
    r"\w+(?:mètres|grammes|ments|eaux|(?:mess|voy|ét|garn|pass|tir|chauff)ages))"
)
_FRENCH_POUNDS = re.compile(
    r"\b(?:p[eè]s\w{1,4}|poids|co[uû]t\w{0,5}|prix|pay\w{1,3}|paie|vaut|vend\w{0,3}|factur\w{1,3}|perd\w{1,3}|"
    r"maigri|pris|dépens\w{1,3}|gagn\w{1,3}|kilos?|grammes|euros|soit|dette|remis\w{1,3}|somme)\b[^.!?]{0,40}\Z",
    re.IGNORECASE,
)
_OF_FOOD = re.compile(
    r" livres? (?:sterling|britanniques?|turques?|libanaises?|égyptiennes?|irlandaises?|d['’e] ?(?:farine|sucre|beurre|"
    r"viande|pommes|tomates|fraises|cerises|poulet|bœuf|café|fromage|poisson|pâtes|riz|pain|carottes|muscle|graisse|plus))\b"
)
_INDIAN = re.compile(r"\d{1,2}(?:,\d\d){1,4},\d{3}")  # lakhs and crores: "5,00,000"
_PAIRS = frozenset(((24, 7), (50, 50), (9, 11)))
DENOMINATORS = frozenset((2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32, 64, 100))
_PARTS = {2: ("half", "halves"), 4: ("quarter", "quarters")}
VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip
_FRACTIONS = {
    "de": {(1, 2): "ein halb"},
    "fr": {(1, 2): "un demi", (1, 3): "un tiers", (2, 3): "deux tiers", (1, 4): "un quart", (3, 4): "trois quarts"},
    "es": {(1, 2): "un medio", (1, 3): "un tercio", (2, 3): "dos tercios"},
}
_HALF_AFTER = {"en": "and a half", "de": "einhalb", "fr": "et demi", "es": "y medio"}


def number_pattern(lexicon: Lexicon) -> str:
    """Returns a pattern for an unsigned number as written in this language, without groups or boundaries."""
    thousands, decimal = lexicon.thousands, lexicon.decimal
    indian = rf"\d{{1,2}}(?:,\d\d){{1,4}},\d{{3}}(?:{decimal}\d{{1,15}})?(?!,?\d)|" if lexicon.code == "en" else ""
    return (
        rf"(?:{indian}\d{{1,3}}(?:[{thousands}]\d{{3}}){{1,4}}(?:{decimal}\d{{1,15}})?(?!\d)"
        rf"|\d{{1,15}}(?:{decimal}\d{{1,15}})?(?!\d))"
    )


@lru_cache(maxsize=2000)
def cardinal(value: int, code: str) -> str:
    """Returns a whole number in words, without the commas of num2words, which would be spoken as pauses."""
    words = str(num2words(value, lang=code)).replace(",", "")
    # num2words says "veintiuno mil" and "ciento uno mil": before "mil" and "millones" the ending is dropped.
    return words.replace("veintiuno mil", "veintiún mil").replace("uno mil", "un mil") if code == "es" else words


@lru_cache(maxsize=500)
def ordinal(value: int, code: str) -> str:
    """Returns an ordinal: "twenty-first", "einundzwanzigste", "vingt et unième", "vigésimo primero"."""
    return str(num2words(value, lang=code, to="ordinal")).replace(",", "")


def before_noun(words: str, code: str, *, feminine: bool) -> str:
    """Inflects a number for the noun after it: "veintiún días", "doscientas casas", "vingt et une heures"."""
    if code == "fr" and feminine:
        return re.sub(r"\bun\Z", "une", words)
    if code != "es":
        return words
    if not feminine:
        return re.sub(r"veintiuno\Z", "veintiún", re.sub(r"\buno\Z", "un", words))
    millions, mark, rest = words.rpartition("millones")
    return millions + mark + re.sub(r"uno\Z", "una", re.sub(r"ientos\b", "ientas", rest))


def year(value: int, code: str) -> str:
    """Returns a year in words: "twenty twenty-six", "neunzehnhundertvierundachtzig"."""
    if code == "de" and 1100 <= value < 2000 and value % 100 == 0:
        return cardinal(value // 100, code) + "hundert"
    words = str(num2words(value, lang=code, to="year")).replace(",", "")
    return words.replace("oh-", "oh ")


def digits(figures: str, code: str) -> str:
    """Returns each digit as a word. Any other character becomes a pause."""
    groups = re.findall(r"\d+", figures)
    return ", ".join(" ".join(cardinal(int(figure), code) for figure in group) for group in groups)


def say(figures: str, lexicon: Lexicon) -> str:
    """Returns an unsigned number, written as in this language, in words."""
    whole, _, rest = figures.replace("\\", "").partition(lexicon.decimal.replace("\\", ""))
    grouped = re.sub(r"\D", "", whole)
    if _INDIAN.fullmatch(whole):
        words = cardinal(int(grouped), "en_IN")
    elif len(grouped) > _MAX_WORDS_DIGITS or (len(grouped) > 1 and grouped[0] == "0"):
        words = digits(grouped, lexicon.code)
    else:
        words = cardinal(int(grouped), lexicon.code)
    return f"{words} {lexicon.point} {_after_point(rest, lexicon.code)}" if rest else words


def _after_point(rest: str, code: str) -> str:
    # In French, two decimals are read as one number.
    if code == "fr" and len(rest) == 2 and rest[0] != "0":
        return cardinal(int(rest), code)
    return digits(rest, code)


def counted(figures: str, one: str, lexicon: Lexicon) -> str:
    """Returns a number inflected for the unit `one` (its singular with article): "una libra" gives "veintiuna"."""
    article = one.split(" ", 1)[0]
    if article not in ("un", "una", "une") or re.search(rf"{lexicon.decimal}\d{{1,15}}\Z", figures):
        return say(figures, lexicon)
    return before_noun(say(figures, lexicon), lexicon.code, feminine=article != "un")


def fraction(over: int, under: int, code: str) -> str | None:
    """Returns a fraction such as "three quarters"; None if the language has no short name for it."""
    if code != "en":
        return _FRACTIONS[code].get((over, under)) or _with_ordinal(over, under, code)
    one, many = _PARTS.get(under, (ordinal(under, code), ordinal(under, code) + "s"))
    return f"{cardinal(over, code)} {one if over == 1 else many}"


def _with_ordinal(over: int, under: int, code: str) -> str | None:
    """Returns a fraction with an ordinal: "zwei Fünftel", "deux cinquièmes", "dos quintos"."""
    if under == 2 or (code == "es" and under > 10):
        return None
    part = ordinal(under, code)
    name = f"{part.capitalize()}l" if code == "de" else part + "s" * (over > 1)
    return f"{'ein' if code == 'de' else 'un'} {name}" if over == 1 else f"{cardinal(over, code)} {name}"


def agrees_with_noun(match: re.Match[str], code: str) -> bool:
    """Returns whether a noun follows that decides between "ein" and "eine", "un" and "une"."""
    following = match.string[match.end() : match.end() + 2]
    return code != "en" and following[:1] == " " and following[1:].isalpha()


def is_feminine_noun(noun: str, code: str) -> bool:
    """Returns whether a French or Spanish noun in the singular is certainly feminine."""
    table = _FRENCH_FEMININE if code == "fr" else _SPANISH_FEMININE
    return any(table.fullmatch(plural) for plural in (f"{noun}s", f"{noun}es"))


def is_masculine_noun(noun: str, code: str) -> bool:
    """Returns whether a French or Spanish noun in the singular is certainly masculine."""
    table = _FRENCH_MASCULINE if code == "fr" else _SPANISH_MASCULINE
    return any(table.fullmatch(plural) for plural in (f"{noun}s", f"{noun}es", f"{noun}x"))


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns rules for fractions and powers of ten. All larger expressions with numbers come before these."""
    code, number = lexicon.code, number_pattern(lexicon)

    def vulgar(match: re.Match[str]) -> str | None:
        over, under = VULGAR[match[2]]
        if under == 2 and not match[1] and agrees_with_noun(match, code):
            return None
        part = fraction(over, under, code)
        if part is None or not match[1]:
            return part
        if under == 2:
            if code == "de":
                return re.sub(r"eins\Z", "ein", cardinal(int(match[1]), code)) + _HALF_AFTER[code]
            return f"{cardinal(int(match[1]), code)} {_HALF_AFTER[code]}"
        return (
            cardinal(int(match[1]), code)
            + f" {lexicon.conjunction} "
            + (part.replace("one ", "a ", 1) if code == "en" else part)
        )

    def slashed(match: re.Match[str]) -> str | None:
        whole, over, under = match[1], int(match[2]), int(match[3])
        if code == "en" and (over, under) in _PAIRS:
            return f"{cardinal(over, code)} {cardinal(under, code)}"
        if code == "en" and under in (10, 100) and over <= under and not match.string.startswith(" of", match.end()):
            return f"{cardinal(over, code)} out of {cardinal(under, code)}"
        if not 0 < over < under or under not in DENOMINATORS or (under == 2 and agrees_with_noun(match, code)):
            return None
        part = fraction(over, under, code)
        return part if part is None or not whole else cardinal(int(whole), code) + f" {lexicon.conjunction} " + part

    def scientific(match: re.Match[str]) -> str:
        sign = f"{lexicon.minus} " if match[2] == "-" else ""
        return f"{say(match[1], lexicon)} {lexicon.power_of_ten} {sign}{cardinal(int(match[3]), code)}"

    return (
        Rule(frozenset(VULGAR), re.compile(rf"(?:{STARTS}(\d{{1,4}}) ?)?([{''.join(VULGAR)}])(?![\w/])"), vulgar),
        Rule(frozenset("/"), re.compile(rf"{STARTS}(?:(\d{{1,3}})[ -])?(\d{{1,2}})/(\d{{1,3}}){ENDS}"), slashed),
        Rule(frozenset("eE"), re.compile(rf"{STARTS}({number})[eE]([+-]?)(\d{{1,3}}){ENDS}"), scientific),
    )


def plain_rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the last rules: numbers that are not part of another expression."""
    code, number = lexicon.code, number_pattern(lexicon)

    def plain(match: re.Match[str]) -> str | None:
        figures = match[2]
        sign = f"{lexicon.minus} " if match[1] else ""
        if figures == "1" and agrees_with_noun(match, code):
            return None
        if code == "en" and not sign and len(figures) == 4 and figures.isdigit():
            return _year_or_count(match, int(figures))
        if code == "de" and not sign and figures.isdigit() and len(figures) == 4 and 1100 <= int(figures) < 2000:
            return year(int(figures), code)
        if figures.isdigit() and len(figures) >= 10:
            return sign + digits(figures, code)
        if "," not in figures and code in {"es", "fr"}:
            words = say(figures, lexicon)
            inflected = _spanish_number(match, words) if code == "es" else _french_number(match, words)
            return inflected if inflected is None else sign + inflected
        return sign + say(figures, lexicon)

    return (Rule(DIGITS, re.compile(rf"{STARTS}([-−])?({number}){ENDS}"), plain),)


def _french_number(match: re.Match[str], words: str) -> str:
    """Inflects a number for its noun: "vingt et une minutes", "un million de mètres"."""
    noun = _FRENCH_PLURAL.match(match.string, match.end())
    if noun is None:
        return words
    if words.endswith(("million", "millions", "milliard", "milliards")):
        return f"{words} d'" if _ELIDES.match(noun[1]) else f"{words} de"
    feminine = _FRENCH_FEMININE.fullmatch(noun[1]) is not None or is_french_pound(match)
    return before_noun(words, "fr", feminine=feminine)


def is_french_pound(match: re.Match[str]) -> bool:
    """Returns whether the noun after a number is a pound of money or weight ("vingt et une livres"), not a book."""
    text, end = match.string, match.end()
    if not re.match(r" livres?\b", text[end : end + 8]):
        return False
    before = text[max(0, match.start() - 48) : match.start()]
    return _OF_FOOD.match(text, end) is not None or _FRENCH_POUNDS.search(before) is not None


def _spanish_number(match: re.Match[str], words: str) -> str | None:
    """Inflects a number for its noun. A short number stays in digits if the noun's gender is uncertain."""
    noun = _SPANISH_PLURAL.match(match.string, match.end())
    feminine, masculine = (before_noun(words, "es", feminine=is_feminine) for is_feminine in (True, False))
    if noun is not None and words.endswith(("millón", "millones")):
        return f"{words} de"
    if noun is None or feminine == masculine:
        return words
    if _SPANISH_MASCULINE.fullmatch(noun[1]):
        return masculine
    if _SPANISH_FEMININE.fullmatch(noun[1]):
        return feminine
    return None if match[2].isdigit() else words


def _year_or_count(match: re.Match[str], value: int) -> str:
    counted = _COUNTED.match(match.string, match.end()) and word_before(match) not in _SURELY_YEAR
    if 1000 < value <= 2099 and not counted and (value >= 1900 or word_before(match) in _YEAR_WORDS):
        return year(value, "en")
    if 1100 <= value < 2000 and value % 100 == 0:
        return year(value, "en")  # "fifteen hundred people"
    return digits(match[2], "en") if match[2][0] == "0" else cardinal(value, "en")
