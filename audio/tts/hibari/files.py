"""Finds and checks the files of the package hibari-tts: the voice, and the network for words outside of its lexicon."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import orjson

from audio.errors import EngineLoadError

PACKAGE = "hibari-tts"

REMEDY = f"install the package {PACKAGE} again"

_VOICE = "hibari.onnx"
_UNKNOWN_WORDS = "oov.onnx"
_SHA256 = {
    _VOICE: "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
    _UNKNOWN_WORDS: "d3cfd8122c5f172a98c8de38268bf1213ee09f2c2ae4df6e055fc6532590fe76",
}
"""Hashes of the two networks in hibari-tts 0.2.1."""


@dataclass(frozen=True, slots=True)
class HibariFiles:
    """The voice's files.

    Attributes:
        voice: The network that makes sound of phonemes.
        unknown_words: The network that makes phonemes of letters.
        ids: The id of each phoneme.
        folder: The folder of all files.
    """

    voice: bytes
    unknown_words: bytes
    ids: Mapping[str, int]
    folder: Path


def read_files() -> HibariFiles:
    """Reads and checks the files. Raises EngineLoadError."""
    found = find_spec("hibari")
    if found is None or found.origin is None:
        raise EngineLoadError(f"the package {PACKAGE} is not installed: run `make setup`, or choose another tts.engine")
    folder = Path(found.origin).parent / "assets"
    try:
        voice, unknown_words = (_checked(folder / name) for name in (_VOICE, _UNKNOWN_WORDS))
        ids = orjson.loads((folder / "vocab.json").read_bytes())
    except OSError as refused:
        raise EngineLoadError(f"{refused.filename} cannot be read ({refused.strerror}): {REMEDY}") from refused
    except ValueError as broken:
        raise EngineLoadError(f"{folder / 'vocab.json'} is not JSON: {REMEDY}") from broken
    return HibariFiles(voice, unknown_words, ids, folder)


def _checked(path: Path) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256[path.name]:
        raise EngineLoadError(f"{path} is not the file that this program was tested with (its hash differs): {REMEDY}")
    return content
