"""Converts simple LaTeX to words. Other LaTeX loses its commands and braces, which at least shortens it."""

import re

_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\{[lcr|]*\})?")
_LIMITS = re.compile(r"\\(?P<name>sum|prod|int)\s*_\s*(?P<low>\{[^{}]*\}|\w)\s*\^\s*(?P<high>\{[^{}]*\}|\\?\w+)")
_APPROACHED = re.compile(r"\\lim\s*_\s*\{([^{}]*?)\s*\\(?:to|rightarrow)\b([^{}]*)\}")
_ROW_END = re.compile(r"\s*\\\\\s*")
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))")
_ROOT = re.compile(r"\\sqrt\s*(?:\[(\w)\]\s*)?(?:\{([^{}]*)\}|(\w))")
_PLAIN_GROUP = re.compile(
    r"\\(?:text(?:bf|it|rm)?|math(?:rm|bf|it|bb|cal|sf)|operatorname|boxed|overline|underline)\s*\{([^{}]*)\}"
)
_POWER = re.compile(r"\s*\^\s*(?:\{([^{}]*)\}|([-−]?(?:\d+|\w)))")
_LETTER_GROUP = re.compile(r"(?<![A-Za-z\]}])\{\s*([A-Za-z])\s*\}(?=\s*[_^])")
_SUBSCRIPT = re.compile(r"((?<![\\A-Za-z])[A-Za-z]|(?<!\\)[A-Z])\s*_\s*(?:\{\s*(\d{1,3})\s*\}|(\d))")
_SUBSCRIPT_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GAP = re.compile(r"\\[,;:! ]|~")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_MARK_APART = re.compile(r"\s+(?=[²³°])")

# Signs that synthesizers read in the language of the voice. Where no sign exists, the English word is used.
_SIGNS = {
    "times": "×",
    "cdot": "×",
    "div": "÷",
    "pm": "±",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "neq": "≠",
    "approx": "≈",
    "to": "→",
    "rightarrow": "→",
    "Rightarrow": "→",
    "infty": "infinity",
    "int": "integral",
    "prod": "product",
    "degree": "°",
    "circ": "°",
    "ldots": ",",
    "dots": ",",
    "cdots": ",",
}
_ROOTS = {None: "square root", "2": "square root", "3": "cube root"}
_SILENT = frozenset(
    ("left", "right", "quad", "qquad", "displaystyle", "limits", "big", "Big", "vec", "bar", "hat", "tilde", "dot")
)


def spoken_power(exponent: str) -> str:
    """Returns the words for an exponent, to append to the preceding word."""
    exponent = exponent.strip()
    if exponent in ("2", "3"):
        return {"2": "²", "3": "³"}[exponent]
    if exponent in ("°", "\\circ"):
        return "°"
    return f" to the power of {exponent} " if exponent else " "


def spoken_subscript(figures: str) -> str:
    """Returns subscript digits, which `assistant.text.normalization` reads in the language of the voice."""
    return figures.translate(_SUBSCRIPT_DIGITS)


def spoken_command(name: str) -> str:
    """Returns the speakable form of a command: its sign, its own name (alpha, sin, pi), or ""."""
    return "" if name in _SILENT else _SIGNS.get(name, name)


def spoken_math(tex: str) -> str:
    """Returns the speakable form of a formula given without its dollar signs."""
    tex = _ROW_END.sub(", ", _ENVIRONMENT.sub(" ", tex.replace("{,}", ",")))
    tex = _GAP.sub(" ", tex)
    tex = _APPROACHED.sub(r" limit as \1 goes to \2 of ", tex)
    tex = _LIMITS.sub(r" \\\g<name> from \g<low> to \g<high> of ", tex)
    tex = _LETTER_GROUP.sub(r"\1", tex)
    tex = _SUBSCRIPT.sub(lambda match: match[1] + spoken_subscript(match[2] or match[3]), tex)
    for _ in range(4):  # innermost braces first; deeper nesting is not speakable
        flat = _PLAIN_GROUP.sub(r"\1", tex)
        flat = _ROOT.sub(lambda root: f" {_ROOTS.get(root[1], f'root {root[1]}')} of {root[2] or root[3] or ''} ", flat)
        flat = _FRACTION.sub(lambda parts: f" {parts[1] or parts[2] or ''} over {parts[3] or parts[4] or ''} ", flat)
        flat = _POWER.sub(lambda power: spoken_power(power.group(1) or power.group(2) or ""), flat)
        if flat == tex:
            break
        tex = flat
    words = _COMMAND.sub(lambda command: f" {spoken_command(command.group(1))} ", tex)
    return " ".join(_MARK_APART.sub("", re.sub(r"[\\{}_^&$]", " ", words)).split())
