"""The packages of the program, as the wheel has them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: tuple[str, ...] = tuple(_PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
