"""Finds the files and folders that this program makes, by group. Reads the disk."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assistant.commands.completion import COMPLETE
from assistant.config.files import NAME
from assistant.models.catalogue import KINDS, MODELS
from assistant.models.needs import cache_folder_of, folder_of, is_in_hub_cache
from assistant.setup.providers import ENGINE_FOLDER
from assistant.support.paths import at_home, config_folder, data_folder

_TRACE = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.jsonl")
"""Name of a trace."""

CONVERSATIONS = "conversations, and what is remembered of them"

MAX_SCRIPT_BYTES = 1_000_000
"""Larger files are no completion scripts."""


@dataclass(frozen=True, slots=True)
class Group:
    """Stored things that are removed together.

    Attributes:
        name: What they are, for the list and the question.
        paths: Files and folders that exist.
        is_shared: Whether other programs may use them, too.
    """

    name: str
    paths: tuple[Path, ...]
    is_shared: bool = False

    @property
    def size_bytes(self) -> int:
        """Size of all files; what a link points to is not counted."""
        return sum(map(_size_bytes, self.paths))


def stored_groups(environ: Mapping[str, str], start: Path) -> list[Group]:
    """Returns the groups of which something exists. Raises HomeError.

    Files with other names in the same folders are not of this program, and stay.

    Args:
        environ: Environment variables, which may name other folders.
        start: Folder of the command, in which `traces` and `out` are searched.
    """
    data, config, home, cache = data_folder(environ), config_folder(), at_home("~"), _cache_folder(environ)
    chats = [model for model in MODELS.values() if is_in_hub_cache(model.kind)]
    groups = (
        ("configuration", [config / NAME]),
        ("keys of the service", [config / "service.env"]),
        (CONVERSATIONS, _matching(data / "conversations", "conversations.sqlite3*", "*.jsonl", "*.jsonl.imported")),
        ("timers, alarms and reminders", _matching(data, "timers.sqlite3*")),
        ("lists and notes", _matching(data, "lists.sqlite3*")),
        ("enrolled voices", _matching(data, "voices.sqlite3*")),
        ("stored answers", _matching(data, "answers.sqlite3*")),
        ("certificate and its key", _matching(data / "tls", "repartee.*")),
        ("voices and models of turns", _own_models()),
        # The second name: that of older versions.
        ("caches", [cache / "recognizer-times.json", cache / "whisper-times.json", data / ENGINE_FOLDER]),
        (
            "traces and logs of the service",
            [*_traces(data / "traces"), *_matching(data, "repartee.log*", "repartee-talk.log*")],
        ),
        (
            "traces and sound in this folder",
            [*_traces(start / "traces"), start / "out/demo.wav", start / "out/trace.jsonl"],
        ),
        ("completion scripts", _completion_scripts(home)),
    )
    groups_found = [Group(name, _existing(paths)) for name, paths in groups]
    groups_found.append(
        Group("models in the cache of Hugging Face", _existing(map(cache_folder_of, chats)), is_shared=True)
    )
    return [group for group in groups_found if group.paths]


def own_folders(environ: Mapping[str, str], start: Path) -> list[Path]:
    """Returns the folders that are removed if nothing is left in them, the inner ones first. Raises HomeError."""
    data = data_folder(environ)
    inner = [data / name for name in ("conversations", "tls", "traces")]
    models = [folder_of(kind.name) for kind in KINDS.values() if kind.folder]
    return [*inner, *models, data, config_folder(), _cache_folder(environ), start / "traces", start / "out"]


def _cache_folder(environ: Mapping[str, str]) -> Path:
    return at_home(environ.get("XDG_CACHE_HOME") or "~/.cache") / "repartee"


def _existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path for path in dict.fromkeys(paths) if os.path.lexists(path))


def _matching(folder: Path, *patterns: str) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def _own_models() -> list[Path]:
    """Returns the files of known models in the program's folders; a model of the user's own has another name."""
    files = []
    for kind in KINDS.values():
        folder = folder_of(kind.name)
        others = (kind.other(path.stem) for path in sorted(folder.glob(f"*{kind.suffix}"))) if kind.folder else ()
        models = [*kind.catalogue, *(model for model in others if model is not None)] if kind.folder else []
        files += [folder / file.name for model in models for file in model.files]
    return files


def _traces(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if _TRACE.fullmatch(path.name))
    except OSError:
        return []


def _completion_scripts(home: Path) -> Iterator[Path]:
    """Yields files in the usual folders of the shells that this program has printed."""
    for name in (
        ".local/share/bash-completion/completions/repartee", ".bash_completion.d/repartee", ".zfunc/_repartee",
        ".config/fish/completions/repartee.fish",
    ):  # fmt: skip
        path = home / name
        try:
            if path.stat().st_size <= MAX_SCRIPT_BYTES and COMPLETE in path.read_text(errors="replace"):
                yield path
        except OSError:
            continue


def _size_bytes(path: Path) -> int:
    try:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
        return sum(map(_size_bytes, path.iterdir()))
    except OSError:
        return 0
