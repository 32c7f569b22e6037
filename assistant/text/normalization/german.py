"""Normalization tables for German."""

from assistant.text.normalization.currencies import currencies
from assistant.text.normalization.lexicon import Currency, Lexicon, months

_MASCULINE = {
    "km": "Kilometer", "m": "Meter", "cm": "Zentimeter", "mm": "Millimeter", "µm": "Mikrometer", "nm": "Nanometer",
    "l": "Liter", "L": "Liter", "ml": "Milliliter", "cl": "Zentiliter", "dl": "Deziliter", "EL": "Esslöffel",
    "TL": "Teelöffel", "m²": "Quadratmeter",
    "km²": "Quadratkilometer", "cm²": "Quadratzentimeter", "m³": "Kubikmeter", "cm³": "Kubikzentimeter", "ha": "Hektar",
    "mm²": "Quadratmillimeter",
    "km/h": "Kilometer pro Stunde", "m/s": "Meter pro Sekunde",
}  # fmt: skip
_NEUTER = {
    "kg": "Kilogramm", "g": "Gramm", "mg": "Milligramm", "µg": "Mikrogramm", "kB": "Kilobyte", "KB": "Kilobyte",
    "MB": "Megabyte", "GB": "Gigabyte", "TB": "Terabyte", "Hz": "Hertz", "kHz": "Kilohertz", "MHz": "Megahertz",
    "GHz": "Gigahertz", "W": "Watt", "kW": "Kilowatt", "MW": "Megawatt", "V": "Volt", "mA": "Milliampere",
    "Mbit": "Megabit", "dB": "Dezibel", "%": "Prozent", "‰": "Promille", "°C": "Grad Celsius", "° C": "Grad Celsius",
    "°F": "Grad Fahrenheit", "°": "Grad", "Mbit/s": "Megabit pro Sekunde", "MB/s": "Megabyte pro Sekunde",
    "hPa": "Hektopascal", "px": "Pixel", "Pa": "Pascal", "kPa": "Kilopascal", "bar": "Bar", "mbar": "Millibar",
    "kV": "Kilovolt", "mV": "Millivolt", "kJ": "Kilojoule", "MJ": "Megajoule", "GW": "Gigawatt", "N": "Newton",
}  # fmt: skip
_FEMININE = {
    "s": ("Sekunde", "Sekunden"), "Sek.": ("Sekunde", "Sekunden"), "min": ("Minute", "Minuten"),
    "Min.": ("Minute", "Minuten"), "h": ("Stunde", "Stunden"), "Std.": ("Stunde", "Stunden"),
    "ms": ("Millisekunde", "Millisekunden"), "Wh": ("Wattstunde", "Wattstunden"),
    "kWh": ("Kilowattstunde", "Kilowattstunden"), "kcal": ("Kilokalorie", "Kilokalorien"),
    "MWh": ("Megawattstunde", "Megawattstunden"), "mAh": ("Milliamperestunde", "Milliamperestunden"),
    "µs": ("Mikrosekunde", "Mikrosekunden"),
 "t": ("Tonne", "Tonnen"),
}  # fmt: skip
_UNITS = {symbol: (f"ein {name}", name) for symbol, name in (_MASCULINE | _NEUTER).items()}
_UNITS |= {
    "mmHg": ("ein Millimeter Quecksilbersäule", "Millimeter Quecksilbersäule"),
    "ppm": ("ein Teil pro Million", "Teile pro Million"),
}
_UNITS |= {symbol: (f"eine {one}", many) for symbol, (one, many) in _FEMININE.items()}

_EURO = Currency("ein Euro", "Euro", "ein Cent", "Cent")
_DOLLAR = Currency("ein Dollar", "Dollar", "ein Cent", "Cent")
_POUND = Currency("ein Pfund", "Pfund", "ein Penny", "Pence")
_FRANC = Currency("ein Franken", "Franken", "ein Rappen", "Rappen")

_MONTHS, _SHORT_MONTHS = months(
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Jänner=1 Jan=1 Feb=2 Mär=3 Apr=4 Jun=6 Jul=7 Aug=8 Sep=9 Sept=9 Okt=10 Nov=11 Dez=12",
)

GERMAN = Lexicon(
    code="de",
    thousands=". ",
    decimal=",",
    point="Komma",
    dot="Punkt",
    minus="minus",
    to="bis",
    per="pro",
    at="ät",
    slash="Schrägstrich",
    dash="minus",
    underscore="Unterstrich",
    hashtag="Hashtag",
    number="Nummer",
    version="Version",
    port="Port",
    about="etwa",
    power_of_ten="mal zehn hoch",
    squared="hoch zwei",
    cubed="hoch drei",
    conjunction="und",
    units=_UNITS,
    currencies=currencies("de")
    | {
        "€": _EURO, "EUR": _EURO, "$": _DOLLAR, "US$": Currency("ein US-Dollar", "US-Dollar", "ein Cent", "Cent"),
        "USD": Currency("ein US-Dollar", "US-Dollar", "ein Cent", "Cent"), "£": _POUND, "CHF": _FRANC,
        "¥": Currency("ein Yen", "Yen"), "ct": Currency("ein Cent", "Cent"),
    },
    money="{major} {minor}",
    months=_MONTHS,
    short_months=_SHORT_MONTHS,
    abbreviations={
        "z. B.": "zum Beispiel", "d. h.": "das heißt", "u. a.": "unter anderem", "v. a.": "vor allem",
        "z. T.": "zum Teil", "u. U.": "unter Umständen", "m. E.": "meines Erachtens", "i. A.": "im Auftrag",
        "i. d. R.": "in der Regel", "o. g.": "oben genannt", "bzw.": "beziehungsweise", "bzgl.": "bezüglich",
        "ggf.": "gegebenenfalls", "evtl.": "eventuell", "ca.": "circa", "inkl.": "inklusive", "exkl.": "exklusive",
        "einschl.": "einschließlich", "zzgl.": "zuzüglich", "vgl.": "vergleiche", "Dr.": "Doktor",
        "h. c.": "honoris causa", "Dipl.-Ing.": "Diplomingenieur", "Prof.": "Professor", "Hr.": "Herr", "Fr.": "Frau",
        "St.": "Sankt", "sog.": "sogenannte", "zw.": "zwischen", "max.": "maximal", "min.": "mindestens",
        "mind.": "mindestens", "geb.": "geboren", "gest.": "gestorben", "Tel.": "Telefon",
    },
    closing={
        "usw.": "und so weiter", "etc.": "et cetera", "u. s. w.": "und so weiter", "Str.": "Straße",
        "o. Ä.": "oder Ähnliches", "u. Ä.": "und Ähnliches", "s. o.": "siehe oben", "s. u.": "siehe unten",
        "Jh.": "Jahrhundert", "Einw.": "Einwohner", "MwSt.": "Mehrwertsteuer",
        "v. Chr.": "vor Christus", "n. Chr.": "nach Christus",
    },
    numbered={"Nr.": "Nummer", "S.": "Seite", "Kap.": "Kapitel", "Abb.": "Abbildung", "Bd.": "Band", "§": "Paragraf",
              "Art.": "Artikel", "Abs.": "Absatz", "Tab.": "Tabelle", "Ziff.": "Ziffer", "Aufl.": "Auflage",
              "Zi.": "Zimmer", "Rn.": "Randnummer", "Anm.": "Anmerkung", "Kl.": "Klasse", "Jg.": "Jahrgang",
              "Pos.": "Position", "Nrn.": "Nummern"},
    scales={
        "k": "tausend", "K": "tausend", "M": "Millionen",
        "Tsd.": "tausend", "Mio.": "Millionen", "Mio": "Millionen", "Mrd.": "Milliarden", "Mrd": "Milliarden",
        "tausend": "tausend", "Millionen": "Millionen", "Milliarden": "Milliarden", "Billionen": "Billionen",
    },
    signs={
        "+": "plus", "=": "gleich", "×": "mal", "*": "mal", "·": "mal",
        "÷": "geteilt durch", "/": "geteilt durch", ":": "geteilt durch", "−": "minus",
        ">": "größer als", "<": "kleiner als", "≥": "größer oder gleich", "≤": "kleiner oder gleich",
        "≠": "ungleich", "≈": "ungefähr", "±": "plus minus", "→": "nach",
    },
)  # fmt: skip
