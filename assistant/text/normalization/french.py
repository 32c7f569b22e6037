"""Normalization tables for French."""

from assistant.text.normalization.currencies import currencies
from assistant.text.normalization.lexicon import Currency, Lexicon, months

_MASCULINE = {
    "km": "kilomètre", "m": "mètre", "cm": "centimètre", "mm": "millimètre", "nm": "nanomètre", "kg": "kilogramme",
    "g": "gramme", "mg": "milligramme", "l": "litre", "L": "litre", "ml": "millilitre", "mL": "millilitre",
    "cl": "centilitre", "ha": "hectare", "Ko": "kilooctet", "ko": "kilooctet", "Mo": "mégaoctet", "Go": "gigaoctet",
    "To": "téraoctet", "W": "watt", "kW": "kilowatt", "MW": "mégawatt", "kWh": "kilowattheure", "V": "volt",
    "dB": "décibel", "px": "pixel", "µm": "micromètre", "dm": "décimètre", "µg": "microgramme", "hl": "hectolitre",
    "hL": "hectolitre", "dl": "décilitre", "dL": "décilitre", "cL": "centilitre", "Pa": "pascal", "hPa": "hectopascal",
    "kPa": "kilopascal", "bar": "bar", "mbar": "millibar", "kV": "kilovolt", "mV": "millivolt", "mA": "milliampère",
    "Wh": "wattheure", "MWh": "mégawattheure", "GWh": "gigawattheure", "GW": "gigawatt", "kJ": "kilojoule",
    "MJ": "mégajoule", "N": "newton", "KB": "kilooctet", "MB": "mégaoctet", "GB": "gigaoctet",
    "TB": "téraoctet", "Ω": "ohm",
}  # fmt: skip
_FEMININE = {
    "h": "heure",
    "s": "seconde",
    "min": "minute",
    "ms": "milliseconde",
    "t": "tonne",
    "kcal": "kilocalorie",
    "µs": "microseconde",
    "ns": "nanoseconde",
    "cal": "calorie",
}
_UNITS = {symbol: (f"un {name}", f"{name}s") for symbol, name in _MASCULINE.items()}
_UNITS |= {symbol: (f"une {name}", f"{name}s") for symbol, name in _FEMININE.items()}
_UNITS |= {
    "%": ("un pour cent", "pour cent"), "‰": ("un pour mille", "pour mille"),
    "km/h": ("un kilomètre heure", "kilomètres heure"), "m/s": ("un mètre par seconde", "mètres par seconde"),
    "Mbit/s": ("un mégabit par seconde", "mégabits par seconde"), "Hz": ("un hertz", "hertz"),
    "MHz": ("un mégahertz", "mégahertz"), "GHz": ("un gigahertz", "gigahertz"),
    "mmHg": ("un millimètre de mercure", "millimètres de mercure"),
    "ppm": ("une partie par million", "parties par million"),
    "mAh": ("un milliampère-heure", "milliampères-heure"), "kHz": ("un kilohertz", "kilohertz"),
    "lx": ("un lux", "lux"), "tr/min": ("un tour par minute", "tours par minute"),
    "Mb/s": ("un mégabit par seconde", "mégabits par seconde"),
    "Mbps": ("un mégabit par seconde", "mégabits par seconde"),
    "km/s": ("un kilomètre par seconde", "kilomètres par seconde"),
    "m²": ("un mètre carré", "mètres carrés"), "km²": ("un kilomètre carré", "kilomètres carrés"),
    "cm²": ("un centimètre carré", "centimètres carrés"),
    "cm³": ("un centimètre cube", "centimètres cubes"), "mm²": ("un millimètre carré", "millimètres carrés"),
    "m³": ("un mètre cube", "mètres cubes"), "°C": ("un degré Celsius", "degrés Celsius"),
    "° C": ("un degré Celsius", "degrés Celsius"), "°F": ("un degré Fahrenheit", "degrés Fahrenheit"),
    "°": ("un degré", "degrés"),
}  # fmt: skip

_EURO = Currency("un euro", "euros", "un centime", "centimes")
_DOLLAR = Currency("un dollar", "dollars", "un cent", "cents")

_MONTHS, _SHORT_MONTHS = months(
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janv=1 févr=2 avr=4 juil=7 sept=9 oct=10 nov=11 déc=12",
)

FRENCH = Lexicon(
    code="fr",
    thousands=" .",
    decimal=",",
    point="virgule",
    dot="point",
    minus="moins",
    to="à",
    per="par",
    at="arobase",
    slash="barre oblique",
    dash="tiret",
    underscore="tiret bas",
    hashtag="hashtag",
    number="numéro",
    version="version",
    port="port",
    about="environ",
    power_of_ten="fois dix puissance",
    squared="au carré",
    cubed="au cube",
    conjunction="et",
    units=_UNITS,
    currencies=currencies("fr")
    | {
        "€": _EURO, "EUR": _EURO, "$": _DOLLAR, "£": Currency("une livre", "livres", "un penny", "pence"),
        "CHF": Currency("un franc suisse", "francs suisses", "un centime", "centimes"), "¥": Currency("un yen", "yens"),
    },
    money="{major} {minor}",
    months=_MONTHS,
    short_months=_SHORT_MONTHS,
    abbreviations={
        "p. ex.": "par exemple", "c.-à-d.": "c'est-à-dire",
        "M.": "Monsieur", "MM.": "Messieurs", "Dr.": "Docteur", "Pr.": "Professeur", "env.": "environ", "vs.": "contre",
        "cf.": "confer", "av. J.-C.": "avant Jésus-Christ", "apr. J.-C.": "après Jésus-Christ",
    },
    closing={"etc.": "et cetera", "Mme": "Madame", "Mmes": "Mesdames", "Mlle": "Mademoiselle", "Bd.": "Boulevard"},
    numbered={"n°": "numéro", "N°": "numéro", "nº": "numéro", "p.": "page", "pp.": "pages", "chap.": "chapitre",
              "fig.": "figure", "art.": "article", "vol.": "volume", "tél.": "téléphone", "éd.": "édition",
              "no.": "numéro", "réf.": "référence", "bât.": "bâtiment", "ch.": "chapitre", "Art.": "article"},
    scales={
        "k": "mille", "K": "mille", "M": "millions", "Md": "milliards", "mille": "mille", "million": "million",
        "millions": "millions", "milliard": "milliard", "milliards": "milliards",
    },
    signs={
        "+": "plus", "=": "égale", "×": "fois", "*": "fois", "·": "fois",
        "÷": "divisé par", "/": "divisé par", "−": "moins",
        ">": "supérieur à", "<": "inférieur à", "≥": "supérieur ou égal à", "≤": "inférieur ou égal à",
        "≠": "différent de", "≈": "environ égal à", "±": "plus ou moins", "→": "vers",
    },
)  # fmt: skip
