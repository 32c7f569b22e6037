"""Normalization tables for Spanish."""

from assistant.text.normalization.currencies import currencies
from assistant.text.normalization.lexicon import Currency, Lexicon, months

_MASCULINE = {
    "km": "kilómetro", "m": "metro", "cm": "centímetro", "mm": "milímetro", "nm": "nanómetro", "kg": "kilogramo",
    "g": "gramo", "mg": "miligramo", "l": "litro", "L": "litro", "ml": "mililitro", "mL": "mililitro",
    "s": "segundo", "seg": "segundo", "min": "minuto", "ms": "milisegundo", "W": "vatio", "kW": "kilovatio",
    "V": "voltio", "dB": "decibelio", "µm": "micrómetro", "dm": "decímetro", "µg": "microgramo", "cl": "centilitro",
    "cL": "centilitro", "dl": "decilitro", "dL": "decilitro", "hl": "hectolitro", "MW": "megavatio",
    "GW": "gigavatio", "kV": "kilovoltio",
    "mV": "milivoltio", "mA": "miliamperio", "kJ": "kilojulio", "MJ": "megajulio", "µs": "microsegundo",
    "ns": "nanosegundo", "Ω": "ohmio",
}  # fmt: skip
_UNITS = {symbol: (f"un {name}", f"{name}s") for symbol, name in _MASCULINE.items()}
_UNITS |= {
    "Pa": ("un pascal", "pascales"), "hPa": ("un hectopascal", "hectopascales"),
    "kPa": ("un kilopascal", "kilopascales"), "mbar": ("un milibar", "milibares"), "px": ("un píxel", "píxeles"),
    "bar": ("un bar", "bares"), "mmHg": ("un milímetro de mercurio", "milímetros de mercurio"),
    "Wh": ("un vatio hora", "vatios hora"), "MWh": ("un megavatio hora", "megavatios hora"),
    "GWh": ("un gigavatio hora", "gigavatios hora"), "mAh": ("un miliamperio hora", "miliamperios hora"),
    "ppm": ("una parte por millón", "partes por millón"),
    "rpm": ("una revolución por minuto", "revoluciones por minuto"),
    "km/s": ("un kilómetro por segundo", "kilómetros por segundo"), "cal": ("una caloría", "calorías"),
    "Mbit/s": ("un megabit por segundo", "megabits por segundo"),
    "Mb/s": ("un megabit por segundo", "megabits por segundo"),
    "h": ("una hora", "horas"), "t": ("una tonelada", "toneladas"), "ha": ("una hectárea", "hectáreas"),
    "%": ("uno por ciento", "por ciento"), "‰": ("uno por mil", "por mil"),
    "km/h": ("un kilómetro por hora", "kilómetros por hora"), "m/s": ("un metro por segundo", "metros por segundo"),
    "kWh": ("un kilovatio hora", "kilovatios hora"), "kcal": ("una kilocaloría", "kilocalorías"),
    "Mbps": ("un megabit por segundo", "megabits por segundo"), "KB": ("un kilobyte", "kilobytes"),
    "MB": ("un megabyte", "megabytes"), "GB": ("un gigabyte", "gigabytes"), "TB": ("un terabyte", "terabytes"),
    "Hz": ("un hercio", "hercios"), "kHz": ("un kilohercio", "kilohercios"), "MHz": ("un megahercio", "megahercios"),
    "GHz": ("un gigahercio", "gigahercios"), "m²": ("un metro cuadrado", "metros cuadrados"),
    "km²": ("un kilómetro cuadrado", "kilómetros cuadrados"),
    "cm²": ("un centímetro cuadrado", "centímetros cuadrados"),
    "cm³": ("un centímetro cúbico", "centímetros cúbicos"), "mm²": ("un milímetro cuadrado", "milímetros cuadrados"),
    "m³": ("un metro cúbico", "metros cúbicos"),
    "°C": ("un grado Celsius", "grados Celsius"), "° C": ("un grado Celsius", "grados Celsius"),
    "°F": ("un grado Fahrenheit", "grados Fahrenheit"), "°": ("un grado", "grados"),
}  # fmt: skip

_EURO = Currency("un euro", "euros", "un céntimo", "céntimos")
_DOLLAR = Currency("un dólar", "dólares", "un centavo", "centavos")
_US_DOLLAR = Currency("un dólar estadounidense", "dólares estadounidenses", "un centavo", "centavos")

_MONTHS, _SHORT_MONTHS = months(
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "setiembre=9 ene=1 feb=2 mar=3 abr=4 jun=6 jul=7 ago=8 sept=9 sep=9 oct=10 nov=11 dic=12",
)

SPANISH = Lexicon(
    code="es",
    thousands=". ",
    decimal=",",
    point="coma",
    dot="punto",
    minus="menos",
    to="a",
    per="por",
    at="arroba",
    slash="barra",
    dash="guion",
    underscore="guion bajo",
    hashtag="hashtag",
    number="número",
    version="versión",
    port="puerto",
    about="unos",
    power_of_ten="por diez elevado a",
    squared="al cuadrado",
    cubed="al cubo",
    conjunction="y",
    units=_UNITS,
    currencies=currencies("es")
    | {
        "€": _EURO, "EUR": _EURO, "$": _DOLLAR, "US$": _US_DOLLAR, "USD": _US_DOLLAR,
        "£": Currency("una libra", "libras", "un penique", "peniques"), "¥": Currency("un yen", "yenes"),
    },
    money="{major} con {minor}",
    months=_MONTHS,
    short_months=_SHORT_MONTHS,
    abbreviations={
        "p. ej.": "por ejemplo", "Sr.": "Señor", "Sra.": "Señora",
        "Srta.": "Señorita", "Dr.": "Doctor", "Dra.": "Doctora", "Prof.": "Profesor", "aprox.": "aproximadamente",
        "Avda.": "Avenida", "Av.": "Avenida", "Ud.": "usted", "Uds.": "ustedes", "vs.": "contra",
    },
    closing={"etc.": "etcétera", "EE. UU.": "Estados Unidos", "a. C.": "antes de Cristo",
             "d. C.": "después de Cristo"},
    numbered={"núm.": "número", "n.º": "número", "N.º": "número", "nº": "número", "Nº": "número", "pág.": "página",
              "págs.": "páginas", "cap.": "capítulo", "fig.": "figura", "art.": "artículo", "vol.": "volumen",
              "nro.": "número", "tel.": "teléfono",
              "ref.": "referencia", "ed.": "edición", "párr.": "párrafo", "apdo.": "apartado", "tít.": "título",
              "Nro.": "número", "Núm.": "número", "Art.": "artículo", "Pág.": "página"},
    scales={"k": "mil", "K": "mil", "mil": "mil", "millón": "millón", "millones": "millones", "M": "millones"},
    signs={
        "+": "más", "=": "igual a", "×": "por", "*": "por", "·": "por", "÷": "entre", "/": "entre", "−": "menos",
        ">": "mayor que", "<": "menor que", "≥": "mayor o igual que", "≤": "menor o igual que",
        "≠": "distinto de", "≈": "aproximadamente", "±": "más o menos", "→": "a",
    },
)  # fmt: skip
