"""Generates docs/data/licence-table.tsv from requirements.lock and the installed packages' metadata.

`python tests/support/generated/licence_table.py` in the repository's root writes it; tests/repository/test_licences.py
compares it.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[3]
LOCK_FILE = ROOT / "requirements.lock"
TABLE_FILE = ROOT / "docs" / "data" / "licence-table.tsv"

_PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))?", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRAS = re.compile(r"^[A-Za-z0-9._-]+\[(\w+)\]")

_READ_BY_HAND: Mapping[str, str] = MappingProxyType(
    {
        # Windows and the browser only, so not installed here; read from their wheels.
        "colorama": "BSD-3-Clause",
        "httpx2-jsfetch": "BSD-3-Clause",
        # "BSD License"; the licence file has three clauses.
        "jinja2": "BSD-3-Clause",
        # The wheel states no licence. This is the licence of espeak-ng, whose library and data are its only content.
        "espeakng-loader": "GPL-3.0-or-later",
        # "LGPL"; the header of each source file says which.
        "num2words": "LGPL-2.1-or-later",
        # "MPL-2.0 AND (Apache-2.0 OR MIT)", expanded: as in the test, alternatives are outermost.
        "orjson": "MPL-2.0 AND Apache-2.0 OR MPL-2.0 AND MIT",
        # The metadata names Piper's own licence; the wheel also carries the licence of its g2pW part.
        "piper-tts": "GPL-3.0-or-later AND Apache-2.0",
        # The metadata names no licence; LICENSE.md is the Apache licence.
        "py-nanotts": "Apache-2.0",
        # No licence but "BSD License" in the classifiers; LICENSE has three clauses.
        "segno": "BSD-3-Clause",
        # "MIT"; LICENSE adds WebRTC's three clauses.
        "webrtcvad-wheels": "MIT AND BSD-3-Clause",
    }
)
"""Licences that the metadata omits or leaves vague."""

_SPDX: Mapping[str, str] = MappingProxyType(
    {
        "3-Clause BSD License": "BSD-3-Clause",
        "Apache 2.0": "Apache-2.0",
        "Apache Software License": "Apache-2.0",
        "BSD 3-Clause License": "BSD-3-Clause",
        "ISC License": "ISC",
        "MIT License": "MIT",
        "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    }
)
"""Maps how packages spell their licence, in free text or as a classifier, to SPDX. "BSD License" is ambiguous."""

_USED_FOR: Mapping[str, str] = MappingProxyType(
    {
        "av": "compressed sound: uploads, and speech over HTTP",
        "cryptography": "the server's certificate",
        "editables": "the editable install",
        "espeakng-loader": "speech synthesis: espeak-ng",
        "faster-whisper": "speech recognition; contains the Silero VAD",
        "hassil": "matching sentences to the built-in skills",
        "hatchling": "building the package",
        "httpx": "the client of language models",
        "jinja2": "chat templates of models without a route for messages",
        "livekit": "echo cancellation",
        "xllamacpp": "language models on this machine",
        "num2words": "numbers as spoken words",
        "numpy": "samples",
        "onnxruntime": "running Silero and Piper",
        "orjson": "reading traces",
        "piper-tts": "speech synthesis: Piper",
        "platformdirs": "the folder of the user's configuration",
        "prometheus-client": "metrics of the server",
        "hibari-tts": "speech synthesis: Hibari",
        "py-nanotts": "speech synthesis: Pico",
        "python-multipart": "uploaded recordings",
        "pyyaml": "the skills' sentence files",
        "rapidfuzz": "edit distances: the wake phrase, word errors",
        "rich": "the screen in the terminal",
        "segno": "the QR code of the server's address",
        "sniffio": "spares httpcore a failed import with every request",
        "sounddevice": "microphone and speaker",
        "soundfile": "reading recordings",
        "soxr": "resampling",
        "starlette": "the server",
        "textual": "the screen of `repartee talk`",
        "typer": "the command line",
        "tzdata": "time zones where the system has none",
        "uvicorn": "the server",
        "webrtcvad-wheels": "the second voice detector",
        "websockets": "the socket to browsers",
        "wyoming": "events of Home Assistant's voice services",
    }
)

_ONLY: Mapping[str, str] = MappingProxyType(
    {
        "python_full_version < '3.12'": "Python 3.11",
        "python_full_version >= '3.12'": "Python 3.12 and newer",
        "python_full_version >= '3.12' and sys_platform == 'emscripten'": "in a browser only",
        "sys_platform != 'darwin'": "not on macOS",
        "sys_platform == 'win32'": "Windows only",
    }
)
"""Describes conditions of the lock that leave a package out on platforms where readers might expect it."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One line of the lock."""

    name: str
    version: str
    only: str  # "" if the package belongs to every install


def locked() -> tuple[Pin, ...]:
    """Returns every package of requirements.lock, in order."""
    text = LOCK_FILE.read_text(encoding="utf-8")
    return tuple(
        Pin(found["name"], found["version"], _ONLY.get((found["marker"] or "").strip(), ""))
        for found in _PIN.finditer(text)
    )


def asked_for() -> frozenset[str]:
    """Returns the packages that pyproject.toml itself names: for running and for the install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    optional = project["project"]["optional-dependencies"]
    extras = [*optional["desktop"], *optional["local"], *optional["plots"]]  # the extras that `make setup` installs
    wanted: list[str] = [*project["project"]["dependencies"], *extras, *project["dependency-groups"]["build"]]
    return frozenset(_name_in(requirement) for requirement in wanted)


def table() -> str:
    """Returns one row for each line of the lock: tab-separated package, version, licence (SPDX) and use."""
    pins = locked()
    direct = asked_for()
    pulled_by = _pulled_by(pins)
    rows = ["package\tversion\tlicence\tused for\n"]
    for pin in pins:
        use = _USED_FOR[pin.name] if pin.name in direct else f"pulled in by {', '.join(pulled_by[pin.name])}"
        only = f" ({pin.only})" if pin.only else ""
        rows.append(f"{pin.name}\t{pin.version}\t{licence_of(pin.name)}\t{use}{only}\n")
    return "".join(rows)


def licence_of(package: str) -> str:
    """Returns the package's licence as SPDX: the entry above, or else that of its metadata.

    Raises:
        LookupError: Neither states it. Then read its licence file and add an entry above.
    """
    if package in _READ_BY_HAND:
        return _READ_BY_HAND[package]
    metadata = distribution(package).metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    if "License" in metadata:
        return _SPDX.get(metadata["License"], metadata["License"])
    classifiers = [value.rpartition(" :: ")[2] for value in metadata.get_all("Classifier", []) if "License" in value]
    if len(classifiers) != 1 or classifiers[0] not in _SPDX:
        raise LookupError(f"{package} states no licence: read its licence file and enter it in {Path(__file__).name}.")
    return _SPDX[classifiers[0]]


def _pulled_by(pins: tuple[Pin, ...]) -> dict[str, list[str]]:
    """Maps each locked package to the locked packages that require it, on any platform: the lock is for all of them."""
    requirements = {pin.name: _requirements(pin.name) for pin in pins}
    extras = {  # (package, extra) required by some package, such as textual's markdown-it-py[linkify]
        (_name_in(requirement), extra)
        for of_one in requirements.values()
        for requirement in of_one
        if "extra ==" not in requirement
        for extra in _EXTRAS.findall(requirement)
    }
    pulled_by: dict[str, list[str]] = {pin.name: [] for pin in pins}
    for package in sorted(pulled_by):
        needed = {
            _name_in(requirement)
            for requirement in requirements[package]
            if "extra ==" not in requirement
            or any(package == of and f'extra == "{extra}"' in requirement for of, extra in extras)
        }
        for name in needed & pulled_by.keys():
            pulled_by[name].append(package)
    return pulled_by


def _requirements(package: str) -> list[str]:
    try:
        return distribution(package).requires or []
    except PackageNotFoundError:  # Windows or browser only; neither requires anything
        return []


def _name_in(requirement: str) -> str:
    found = _NAME.match(requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


if __name__ == "__main__":
    TABLE_FILE.write_text(table(), encoding="utf-8")
