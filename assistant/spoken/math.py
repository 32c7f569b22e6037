"""Simple LaTeX in words. What cannot be said well loses its commands and braces, so that it is at least short."""

import re

_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_PLAIN_GROUP = re.compile(r"\\(?:text|mathrm|mathbf|mathit|mathbb|operatorname)\s*\{([^{}]*)\}")
_POWER = re.compile(r"\s*\^\s*(?:\{([^{}]*)\}|([-−]?(?:\d+|\w)))")
_GAP = re.compile(r"\\[,;:! ]|~")
_COMMAND = re.compile(r"\\([A-Za-z]+)")

# Signs that synthesizers read in the language of the voice; where there is no sign, the English word.
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
    "degree": "°",
    "circ": "°",
    "ldots": ",",
    "dots": ",",
    "cdots": ",",
}
_SILENT = frozenset(("left", "right", "quad", "qquad", "displaystyle", "limits", "begin", "end", "big", "Big"))


def spoken_power(exponent: str) -> str:
    """What an exponent adds to the word before it."""
    exponent = exponent.strip()
    if exponent in ("2", "3"):
        return {"2": "²", "3": "³"}[exponent]
    if exponent in ("°", "\\circ"):
        return "°"
    return f" to the power of {exponent} " if exponent else " "


def spoken_command(name: str) -> str:
    """A command outside or inside a formula: its sign, nothing, or its own name (alpha, sin, pi)."""
    return "" if name in _SILENT else _SIGNS.get(name, name)


def spoken_math(tex: str) -> str:
    """A formula without its dollar signs, as text for a voice."""
    tex = _GAP.sub(" ", tex.replace("{,}", ","))
    for _ in range(4):  # innermost first; deeper nesting is not speech
        flat = _PLAIN_GROUP.sub(r"\1", tex)
        flat = _ROOT.sub(r" square root of \1 ", flat)
        flat = _FRACTION.sub(r" \1 over \2 ", flat)
        flat = _POWER.sub(lambda power: spoken_power(power.group(1) or power.group(2) or ""), flat)
        if flat == tex:
            break
        tex = flat
    words = _COMMAND.sub(lambda command: f" {spoken_command(command.group(1))} ", tex)
    return " ".join(re.sub(r"[\\{}_^&$]", " ", words).split())
