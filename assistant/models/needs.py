"""Determines which models a configuration needs and which are downloaded. Reads the disk; downloads nothing."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assistant.config.words import unknown, with_known_names
from assistant.models.catalogue import (
    CHAT_MODELS,
    MODELS,
    SMART_TURN,
    VOICE_OF_LANGUAGE,
    Kind,
    Model,
    is_hub_name,
    named,
    piper_voice,
)
from assistant.support.paths import at_home
from audio import whisper_folder

IN_HUB_CACHE: frozenset[Kind] = frozenset({"whisper", "chat"})
"""Kinds that are kept in the Hugging Face cache, where other programs find them."""


class ModelError(Exception):
    """A model that is unknown or cannot be downloaded. The text is one sentence: what, where, and what to do next."""


LOCAL_MODEL = "llm.local_model"
"""Setting that names the language model of this machine where no endpoint is configured."""

_OTHER_VALUES: Mapping[str, list[str]] = MappingProxyType({"stt.model": ["auto"], LOCAL_MODEL: ["auto", "off"]})
"""Values that are no models, by setting."""


@dataclass(frozen=True, slots=True)
class Need:
    """A model that the configuration needs.

    Attributes:
        name: As in the configuration: a name of the catalogue, or a path.
        kind: Required kind of model.
        purpose: Purpose, for display.
        key: The setting that names it; "" if none does.
        language: Language it must support, as in the configuration; "" for any.
    """

    name: str
    kind: Kind
    purpose: str
    key: str = ""
    language: str = ""

    @property
    def model(self) -> Model | None:
        """Catalogue entry; None for a path or an unknown name."""
        model = None if is_path(self.name) else named(self.name)
        return model if model is not None and model.kind == self.kind else None

    @property
    def language_remedy(self) -> str:
        """Remedy for a model that lacks the language; "" if it has it or the languages are unknown."""
        if not self.language or self.model is None or self.model.covers(self.language):
            return ""
        other = self.model.multilingual
        fetched = (model := named(other)) is not None and installed(model) is not None
        fetch = "" if fetched else f", then repartee models pull {other}"
        return f'{self.name} supports only English: set {self.key} = "{other}"{fetch}'


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row of `repartee models`.

    Attributes:
        name: Name or path.
        purpose: Purpose; "" if the configuration does not need it.
        size: As in "148 MB"; "" if unknown.
        licence: "" if unknown.
        where: Path on disk, or "missing: ..." with the remedy.
        at_hand: Whether it is downloaded.
        needed: Whether the configuration needs it.
    """

    name: str
    purpose: str
    size: str
    licence: str
    where: str
    at_hand: bool
    needed: bool


def needed(
    *,
    language: str,
    stt_model: str,
    tts_engine: str,
    voice: str,
    chat_models: Sequence[str] = (),
    chat_key: str = "model",
) -> list[Need]:
    """Returns the models that `assistant.language`, `stt.model`, `tts.engine` and `tts.voice` need.

    For a voice `auto` the model of its best engine is listed, although another engine can replace it. `chat_models`:
    language models that run on this machine; `chat_key`: the setting that names them.
    """
    needs = [Need(stt_model, "whisper", "speech to text", "stt.model", language)]
    if tts_engine == "piper" or (tts_engine == "auto" and (not voice or is_piper_voice(voice))):
        of_language = VOICE_OF_LANGUAGE.get(language.partition("-")[0], "")
        if voice or of_language or tts_engine == "piper":
            needs.append(Need(voice or of_language, "piper", "text to speech", "tts.voice"))
    needs.append(Need(SMART_TURN.name, "smart-turn", "end of turn"))
    needs += [Need(name, "chat", "language model", chat_key) for name in chat_models]
    return needs


_LIKE_PIPER = re.compile("[a-z]{2,3}_[A-Z]{2}-")
"""Beginning of every Piper voice's name, and of no espeak-ng voice's."""


def unknown_models(stt_model: str, local_model: str, voice: str = "") -> dict[str, str]:
    """Returns the problem with each of `stt.model`, `llm.local_model` and `tts.voice` that names no model, by setting.

    `voice` counts only if it begins as a Piper voice does and is similar to one; espeak-ng's voices are known later.
    """
    names = (
        (stt_model, Need(stt_model, "whisper", "", "stt.model")),
        (local_model, Need(local_model, "chat", "", LOCAL_MODEL)),
    )
    found = {
        need.key: missing(need).removeprefix("missing: ")
        for name, need in names
        if name not in _OTHER_VALUES[need.key] and not is_path(name) and need.model is None
    }
    if _LIKE_PIPER.match(voice) and not is_piper_voice(voice):
        voices = [name for name, model in MODELS.items() if model.kind == "piper"]
        problem = unknown(voice, voices, f"tts.voice = {voice!r} is not known", dotted=False)
        if problem.endswith("?"):
            found["tts.voice"] = problem
    return found


def other_voice(language: str) -> Need | None:
    """Returns a downloaded Piper voice of the catalogue for a language; None if there is none."""
    voices = (name for name, model in MODELS.items() if model.kind == "piper" and model.covers(language))
    return next((need for name in voices if at_hand(need := Need(name, "piper", "text to speech"))), None)


def is_piper_voice(voice: str) -> bool:
    """Returns whether a `tts.voice` is for Piper (en_US-ljspeech-medium, a path) and not for espeak-ng (en-us)."""
    return is_path(voice) or piper_voice(voice) is not None


def at_hand(need: Need) -> Path | None:
    """Returns the path of a complete model on this machine; None if it is missing or lacks the language.

    Returns:
        For a Whisper model its folder, for any other its ONNX or GGUF file.
    """
    if is_path(need.name):
        path = at_home(need.name)
        return None if _missing_file(path, need.kind) else path
    model = need.model
    return None if model is None or need.language_remedy else installed(model)


def installed(model: Model) -> Path | None:
    """Returns the path of a complete catalogue model on this machine, as `at_hand` does; None if it is missing."""
    if model.kind in IN_HUB_CACHE:
        folders = (folder for folder in _snapshots(model) if _is_complete(model, folder))
        if model.kind == "chat":
            return next((folder / model.files[-1].name for folder in folders), None)
        return next((folder for folder in folders if not _missing_file(folder, model.kind)), None)
    folder = folder_of(model.kind)
    return folder / model.files[-1].name if _is_complete(model, folder) else None


def missing(need: Need) -> str:
    """Returns why a model is missing, and the remedy: "missing: repartee models pull base.en"."""
    if is_path(need.name):
        path = at_home(need.name)
        what = _problem_with(path, need.kind)
        return f"missing: {what}; correct {need.key}" if need.key else f"missing: {what}"
    if need.language_remedy:
        return f"missing: {need.language_remedy}"
    if need.model is not None:
        return f"missing: repartee models pull {need.name}"
    known = [name for name, model in MODELS.items() if model.kind == need.kind]
    if not need.name:
        return f"missing: {with_known_names(f'{need.key} is empty', known)}, or give a path"
    others = _OTHER_VALUES.get(need.key, [])
    wrong = unknown(need.name, [*known, *others], f"{need.key} = {need.name!r} is not known", dotted=False)
    return f"missing: {with_known_names(wrong, [*known, *others])}, or give a path"


def lacking_model(need: Need) -> str:
    """As `missing`, as part of a sentence: "the Whisper model base is not downloaded; fetch it: repartee ..."."""
    what = {
        "whisper": "Whisper model",
        "piper": "Piper voice",
        "smart-turn": "Smart Turn model",
        "chat": "language model",
    }[need.kind]
    if need.language_remedy:
        return f"the {what} {need.language_remedy}"
    if need.model is not None:
        return f"the {what} {need.name} is not downloaded; fetch it: repartee models pull {need.name}"
    return f"the {what} is {missing(need)}"


def rows(needs: Sequence[Need], *, everything: bool = False) -> list[ModelRow]:
    """Returns the rows of `repartee models`: first the needed models, then others that are downloaded.

    Args:
        needs: From `needed`.
        everything: Whether models that are neither needed nor downloaded are listed, too.
    """
    lines = [_row(need, needed=True) for need in needs]
    names = {need.name for need in needs}
    others = [_row(Need(name, model.kind, ""), needed=False) for name, model in MODELS.items() if name not in names]
    return lines + [line for line in others if everything or line.at_hand]


def _row(need: Need, *, needed: bool) -> ModelRow:
    place, model = at_hand(need), need.model
    return ModelRow(
        need.name,
        need.purpose,
        _size(model),
        model.licence if model else "",
        str(place) if place else missing(need),
        place is not None,
        needed,
    )


def _size(model: Model | None) -> str:
    size = size_text(model.size_mb) if model and model.size_mb else ""
    return f"{size}, {size_text(model.memory_mb)} RAM" if model and model.memory_mb else size


def size_text(size_mb: float) -> str:
    """Formats a size: "8.7 MB", "148 MB", "1.6 GB"."""
    if size_mb >= 1000:
        return f"{size_mb / 1000:.1f} GB"
    return f"{size_mb:.0f} MB" if size_mb >= 10 else f"{size_mb:.1f} MB"


def is_path(name: str) -> bool:
    """Returns whether a configured name is a path on this machine. owner/name is one if that path exists."""
    if is_hub_name(name):
        try:
            return Path(name).exists()
        except OSError:  # the folder cannot be read
            return False
    return name.startswith(("~", ".")) or "/" in name or os.sep in name or name.endswith((".onnx", ".gguf"))


# ---- paths ----


def folder_of(kind: Kind) -> Path:
    """Returns the folder for models of a kind: the Hugging Face cache, or Repartee's data folder."""
    if kind in IN_HUB_CACHE:
        return _hub_cache()
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return at_home(home) / "repartee" / ("voices" if kind == "piper" else "turns")


def cache_folder_of(model: Model) -> Path:
    """Returns a repository's folder in the Hugging Face cache, by its documented layout."""
    return _hub_cache() / f"models--{model.repository.replace('/', '--')}"


def _hub_cache() -> Path:
    """Finds the cache as huggingface_hub does, without the 100 ms of importing it. Reads the environment each time."""
    given = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if given:
        return at_home(given)
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return at_home(os.environ.get("HF_HOME") or f"{cache}/huggingface") / "hub"


def _snapshots(model: Model) -> Iterator[Path]:
    """Yields the folders of a repository's commits in the cache: the revision's first, then the others."""
    folder = cache_folder_of(model)
    try:
        own = (folder / "refs" / model.revision).read_text(encoding="utf-8").strip()
        yield folder / "snapshots" / own
    except (OSError, UnicodeError):
        pass  # downloaded by commit, or not at all
    try:
        yield from sorted((folder / "snapshots").iterdir())
    except OSError:
        return


def _is_complete(model: Model, folder: Path) -> bool:
    return all(_is_complete_file(folder / file.name, file.size_bytes) for file in model.files if not file.optional)


def _is_complete_file(path: Path, size_bytes: int | None) -> bool:
    """Returns whether a file exists with its size. Hashes are checked on download: reading 1.6 GB takes too long."""
    try:
        found_bytes = path.stat().st_size if path.is_file() else 0
    except OSError:
        return False
    return found_bytes > 0 if size_bytes is None else found_bytes == size_bytes


def _problem_with(path: Path, kind: Kind) -> str:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no {path}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return f"{path} lacks {_missing_file(path, kind)}"


def _missing_file(path: Path, kind: Kind) -> str:
    """Returns the file that a path lacks for a kind of model; "" if none."""
    if kind == "whisper":
        return next(iter(whisper_folder.lacking(path)), "")
    wanted = [path, path.with_name(f"{path.name}.json")] if kind == "piper" else [path]
    return next((file.name for file in wanted if not _is_complete_file(file, None)), "")


def without_language(language: str) -> str:
    """Returns why the downloaded language models do not answer in a language, and what to do; "" if one of them does.

    Also "" if none is downloaded.
    """
    there = [model for model in CHAT_MODELS if installed(model) is not None]
    if not there or any(model.covers(language) for model in there):
        return ""
    other = next(model.name for model in CHAT_MODELS if model.covers(language))
    return f'{there[-1].name} does not know the language "{language}"; get another: repartee models pull {other}'
