"""Normalization tables for English. Numeric dates are American unless configured otherwise."""

from assistant.text.normalization.currencies import currencies
from assistant.text.normalization.lexicon import Currency, Lexicon, months

_REGULAR = {
    "km": "kilometer", "m": "meter", "cm": "centimeter", "mm": "millimeter", "µm": "micrometer", "μm": "micrometer",
    "nm": "nanometer", "mi": "mile", "yd": "yard", "yds": "yard", "kg": "kilogram", "g": "gram", "mg": "milligram",
    "µg": "microgram", "lb": "pound", "lbs": "pound", "oz": "ounce", "l": "liter", "L": "liter", "ml": "milliliter",
    "mL": "milliliter", "cl": "centiliter", "dl": "deciliter",
    "dL": "deciliter", "tsp": "teaspoon", "tbsp": "tablespoon", "Tbsp": "tablespoon", "qt": "quart", "pt": "pint",
    "fl oz": "fluid ounce", "fl. oz": "fluid ounce", "gal": "gallon", "ha": "hectare", "s": "second",
    "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
    "ms": "millisecond", "µs": "microsecond", "μs": "microsecond", "ns": "nanosecond", "kB": "kilobyte",
    "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "PB": "petabyte", "KiB": "kibibyte",
    "MiB": "mebibyte", "GiB": "gibibyte", "Mbit": "megabit", "Gbit": "gigabit", "W": "watt", "kW": "kilowatt",
    "MW": "megawatt", "GW": "gigawatt", "Wh": "watt-hour", "kWh": "kilowatt-hour", "MWh": "megawatt-hour",
    "mAh": "milliamp-hour", "mA": "milliamp", "V": "volt", "mV": "millivolt", "kV": "kilovolt", "Ω": "ohm",
    "kΩ": "kiloohm", "dB": "decibel", "Pa": "pascal", "hPa": "hectopascal", "kPa": "kilopascal", "cal": "calorie",
    "kcal": "kilocalorie", "kJ": "kilojoule", "MJ": "megajoule", "N": "newton", "px": "pixel",
}  # fmt: skip
_SPECIAL = {
    "%": ("one percent", "percent"), "‰": ("one per mille", "per mille"), "ft": ("one foot", "feet"),
    "mph": ("one mile per hour", "miles per hour"), "kph": ("one kilometer per hour", "kilometers per hour"),
    "km/h": ("one kilometer per hour", "kilometers per hour"), "m/s": ("one meter per second", "meters per second"),
    "km/s": ("one kilometer per second", "kilometers per second"),
    "Mbps": ("one megabit per second", "megabits per second"),
    "Gbps": ("one gigabit per second", "gigabits per second"),
    "MB/s": ("one megabyte per second", "megabytes per second"),
    "GB/s": ("one gigabyte per second", "gigabytes per second"), "Hz": ("one hertz", "hertz"),
    "kHz": ("one kilohertz", "kilohertz"), "MHz": ("one megahertz", "megahertz"), "GHz": ("one gigahertz", "gigahertz"),
    "m²": ("one square meter", "square meters"), "km²": ("one square kilometer", "square kilometers"),
    "cm²": ("one square centimeter", "square centimeters"), "ft²": ("one square foot", "square feet"),
    "ft³": ("one cubic foot", "cubic feet"), "in²": ("one square inch", "square inches"),
    "in³": ("one cubic inch", "cubic inches"), "mi²": ("one square mile", "square miles"),
    "yd²": ("one square yard", "square yards"), "mm²": ("one square millimeter", "square millimeters"),
    "mm³": ("one cubic millimeter", "cubic millimeters"), "m³": ("one cubic meter", "cubic meters"),
    "cm³": ("one cubic centimeter", "cubic centimeters"), "sq ft": ("one square foot", "square feet"),
    "sq. ft": ("one square foot", "square feet"), "in": ("one inch", "inches"),
    "mpg": ("one mile per gallon", "miles per gallon"), "fps": ("one frame per second", "frames per second"),
    "rpm": ("one revolution per minute", "revolutions per minute"),
    "bpm": ("one beat per minute", "beats per minute"),
    "mmHg": ("one millimeter of mercury", "millimeters of mercury"),
    "ppm": ("one part per million", "parts per million"),
    "psi": ("one pound per square inch", "pounds per square inch"),
    "°C": ("one degree Celsius", "degrees Celsius"), "° C": ("one degree Celsius", "degrees Celsius"),
    "°F": ("one degree Fahrenheit", "degrees Fahrenheit"), "°": ("one degree", "degrees"),
}  # fmt: skip
_UNITS = {symbol: (f"one {name}", f"{name}s") for symbol, name in _REGULAR.items()}

_DOLLAR = Currency("one dollar", "dollars", "one cent", "cents")
_US_DOLLAR = Currency("one US dollar", "US dollars", "one cent", "cents")
_EURO = Currency("one euro", "euros", "one cent", "cents")
_POUND = Currency("one pound", "pounds", "one penny", "pence")
_YEN = Currency("one yen", "yen")
_RUPEE = Currency("one rupee", "rupees", "one paisa", "paise")
_FRANC = Currency("one Swiss franc", "Swiss francs", "one centime", "centimes")

_MONTHS, _SHORT_MONTHS = months(
    "January February March April May June July August September October November December",
    "Jan=1 Feb=2 Mar=3 Apr=4 Jun=6 Jul=7 Aug=8 Sep=9 Sept=9 Oct=10 Nov=11 Dec=12",
)

ENGLISH = Lexicon(
    code="en",
    thousands=",",
    decimal=r"\.",
    point="point",
    dot="dot",
    minus="minus",
    to="to",
    per="per",
    at="at",
    slash="slash",
    dash="dash",
    underscore="underscore",
    hashtag="hashtag",
    number="number",
    version="version",
    port="port",
    about="about",
    power_of_ten="times ten to the power of",
    squared="squared",
    cubed="cubed",
    conjunction="and",
    units=_UNITS | _SPECIAL,
    currencies=currencies("en")
    | {
        "$": _DOLLAR, "US$": _US_DOLLAR, "USD": _US_DOLLAR,
        "€": _EURO, "EUR": _EURO,
        "£": _POUND, "GBP": _POUND, "¥": _YEN, "JPY": _YEN,
        **dict.fromkeys(("₹", "INR", "Rs", "Rs.", "₨"), _RUPEE), "CHF": _FRANC,
        "¢": Currency("one cent", "cents"),
    },
    money="{major} and {minor} {cents}",
    months=_MONTHS,
    short_months=_SHORT_MONTHS,
    abbreviations={
        "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Prof.": "Professor", "Rev.": "Reverend", "Gen.": "General",
        "Sgt.": "Sergeant", "Capt.": "Captain", "Lt.": "Lieutenant", "Gov.": "Governor", "Sen.": "Senator",
        "a.k.a.": "also known as",
        "e.g.,": "for example,", "e.g.": "for example,", "i.e.,": "that is,", "i.e.": "that is,", "vs.": "versus",
        "approx.": "approximately", "Approx.": "Approximately", "cf.": "compare", "ca.": "circa",
        "Mt.": "Mount", "Ft.": "Fort", "Pt.": "Point", "Mtn.": "Mountain",
        "incl.": "including", "excl.": "excluding", "max.": "maximum", "avg.": "average", "esp.": "especially",
        "temp.": "temperature", "Apt.": "Apartment", "Hwy.": "Highway",
    },
    closing={
        "etc.": "et cetera", "Jr.": "Junior", "Sr.": "Senior", "Inc.": "Incorporated", "Ltd.": "Limited",
        "Corp.": "Corporation", "dept.": "department", "Dept.": "Department", "govt.": "government",
    },
    numbered={
        "No.": "number", "no.": "number", "Nos.": "numbers", "nos.": "numbers", "p.": "page", "pp.": "pages",
        "Fig.": "figure", "fig.": "figure", "Figs.": "figures", "Ch.": "chapter", "ch.": "chapter", "Vol.": "volume",
        "vol.": "volume", "Sec.": "section", "sec.": "section", "§": "section", "Eq.": "equation", "c.": "circa",
        "Art.": "article", "art.": "article", "№": "number", "Ref.": "reference", "ref.": "reference",
        "Bldg.": "building", "bldg.": "building", "Sect.": "section", "sect.": "section", "Ed.": "edition",
        "ed.": "edition", "Rm.": "room", "Ste.": "suite", "Tab.": "table", "Tel.": "telephone", "tel.": "telephone",
        "Chap.": "chapter", "chap.": "chapter", "Vols.": "volumes", "vols.": "volumes", "Pg.": "page", "pg.": "page",
    },
    scales={
        "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "bn": "billion",
        "B": "billion", "b": "billion", "T": "trillion", "tn": "trillion", "thousand": "thousand",
        "million": "million", "billion": "billion", "trillion": "trillion", "lakh": "lakh", "lakhs": "lakh",
        "lac": "lakh", "lacs": "lakh", "crore": "crore", "crores": "crore", "Cr": "crore",
    },
    signs={
        "+": "plus", "=": "equals", "×": "times", "*": "times", "·": "times",
        "÷": "divided by", "/": "divided by", "−": "minus",
        ">": "is greater than", "<": "is less than", "≥": "is at least", ">=": "is at least", "≤": "is at most",
        "<=": "is at most", "≠": "does not equal", "!=": "does not equal", "==": "equals", "≈": "is about",
        "±": "plus or minus", "→": "to", "->": "to",
    },
    day_first=False,
)  # fmt: skip
