"""Appearance of the screen of `repartee talk`: the colours of the web page, dark and light, and layouts by size."""

from collections.abc import Mapping
from typing import Literal

from textual.theme import BUILTIN_THEMES, Theme

Shade = Literal["dark", "light", "none"]
"""Background of the terminal; none: no colours (NO_COLOR)."""

MIN_COLUMNS, MIN_ROWS = 60, 16
"""Below this size, only the state, the transcript and the keys are shown."""
WIDE_COLUMNS = 100
HIGH_ROWS = 22
"""Rows from which the state is written in letters three rows high."""

AIRY_ROWS = 30
"""Rows from which there is a margin."""

WIDTHS = [(0, "-slim"), (MIN_COLUMNS, "-normal"), (WIDE_COLUMNS, "-wide")]
HEIGHTS = [(0, "-flat"), (MIN_ROWS, "-low"), (HIGH_ROWS, "-high"), (AIRY_ROWS, "-airy")]

_DARK = {
    "ground": "#0d1113",
    "raised": "#13191c",
    "edge": "#2c373c",
    "ink": "#edf1ef",
    "soft": "#9aa8a6",
    "faint": "#71807f",
    "you": "#e9b872",
    "reply": "#6fd3b8",
    "late": "#ee8f7a",
    "soon": "#8fb4f5",
    "standin": "#e6c76c",
}
_LIGHT = {
    "ground": "#f5f4ef",
    "raised": "#fdfdfb",
    "edge": "#cfccc2",
    "ink": "#182020",
    "soft": "#566463",
    "faint": "#71807e",
    "you": "#a8650c",
    "reply": "#0b7d66",
    "late": "#b8432a",
    "soon": "#2f62b8",
    "standin": "#8a6a00",
}
_NONE = dict.fromkeys(_DARK, "ansi_default")


def _theme(shade: Shade, colours: dict[str, str]) -> Theme:
    return Theme(
        name=f"repartee-{shade}",
        dark=shade != "light",
        ansi=shade == "none",
        primary=colours["reply"],
        secondary=colours["soon"],
        warning=colours["you"],
        error=colours["late"],
        success=colours["reply"],
        accent=colours["you"],
        foreground=colours["ink"],
        background=colours["ground"],
        surface=colours["ground"],
        panel=colours["raised"],
        # Without colours Textual uses the terminal's own, which needs more names.
        variables={**BUILTIN_THEMES["ansi-dark"].variables, **colours} if shade == "none" else colours,
    )


THEMES: Mapping[Shade, Theme] = {
    "dark": _theme("dark", _DARK),
    "light": _theme("light", _LIGHT),
    "none": _theme("none", _NONE),
}


def shade_of(environ: Mapping[str, str]) -> Shade:
    """Determines the background of the terminal; dark if unknown."""
    if environ.get("NO_COLOR"):
        return "none"
    # "foreground;background", numbers of the 16 colours, as set by rxvt, Konsole and others.
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if ground in {"7", "15"} else "dark"


CSS = """
Screen { background: $ground; color: $ink; padding: 0 1; }
#short { height: auto; color: $standin; display: none; }
#head { height: 3; }
#floor { width: 1fr; }
#levels { width: auto; height: 3; }
#hint { height: 1; color: $soft; }
#middle { height: 1fr; }
#words { height: 1fr; padding: 0; scrollbar-size-vertical: 1; scrollbar-background: $ground;
  scrollbar-background-hover: $ground; scrollbar-background-active: $ground; scrollbar-color: $edge;
  scrollbar-color-hover: $soft; scrollbar-color-active: $soft; }
Paragraph { height: auto; width: 1fr; padding: 0 1 0 0; }
Paragraph.first { margin-top: 1; }
#side { height: auto; max-height: 50%; border-top: solid $edge; scrollbar-size-vertical: 0; }
#side Static { height: auto; }
#sound { display: none; }
#line { display: none; height: 1; border: none; padding: 0; background: $raised; }
#line:focus { border: none; }
#keys { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }

Screen.-high #hint, Screen.-airy #hint { margin-bottom: 1; }
Screen.-airy { padding: 1 2; }
Screen.-low #head, Screen.-flat #head { height: 1; }
Screen.-low #levels { height: 1; }
Screen.-low #side { max-height: 65%; }

Screen.-wide #middle { layout: horizontal; }
Screen.-wide #words { width: 1fr; height: 100%; margin: 0 1 0 0; }
Screen.-wide #side { width: 46; height: 100%; max-height: 100%; border: none; border-left: solid $edge;
  padding: 0 0 0 2; }
Screen.-wide #side Static { border-top: solid $edge; border-title-color: $soft; border-title-style: none;
  padding: 0 0 1 0; }
Screen.-wide #sound { display: block; }

Screen.-slim #side, Screen.-flat #side, Screen.-slim #levels, Screen.-flat #levels { display: none; }
Screen.-slim #short, Screen.-flat #short { display: block; }

Dialog { align: center middle; background: $ground 60%; }
Dialog > Vertical { width: 72; max-width: 100%; height: auto; max-height: 90%; background: $raised; color: $ink;
  border: solid $edge; border-title-color: $soft; padding: 0 1; }
Dialog OptionList { background: $raised; border: none; height: auto; max-height: 100%; }
Dialog Static { height: auto; }
"""
