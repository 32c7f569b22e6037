"""Determines which models a configuration needs and which are downloaded. Reads the disk; downloads nothing."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assistant.config.words import unknown, with_known_names
from assistant.models.catalogue import CHAT, CHAT_MODELS, KINDS, MODELS, named
from assistant.registry.listening import measured_recognizer, turn_end_engine
from assistant.registry.voices import AUTO, VOICES, ranked_voice_engines
from assistant.support.paths import HomeError, at_home
from audio.engines.voice import VoiceEngine
from declarations.models import Model, is_hub_name

LOCAL_MODEL = "llm.local_model"
"""Setting that names the language model of this machine where no endpoint is configured."""

_OTHER_VALUES: Mapping[str, list[str]] = MappingProxyType({"stt.model": ["auto"], LOCAL_MODEL: ["auto", "off"]})
"""Values that are no models, by setting."""


@dataclass(frozen=True, slots=True)
class Need:
    """A model that the configuration needs.

    Attributes:
        name: As in the configuration: a name of the catalogue, or a path.
        kind: Name of the required `ModelKind`.
        purpose: Purpose, for display.
        key: The setting that names it; "" if none does.
        language: Language it must support, as in the configuration; "" for any.
    """

    name: str
    kind: str
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
        other = KINDS[self.kind].multilingual(self.name)
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
    stt_language: str = "",
    chat_models: Sequence[str] = (),
    chat_key: str = "model",
) -> list[Need]:
    """Returns the models that `assistant.language`, `stt.model`, `tts.engine` and `tts.voice` need.

    For a voice `auto` the model of its best engine is listed, although another engine can replace it. `chat_models`:
    language models that run on this machine; `chat_key`: the setting that names them. `stt_language`: the language
    that the recognizer's model must know, if it is another one.
    """
    kind, estimator = KINDS[kind_of_recognizer()], turn_end_engine().models
    needs = [Need(stt_model, kind.name, kind.purpose, "stt.model", stt_language or language)]
    if (voice_need := needed_voice(language, tts_engine, voice)) is not None:
        needs.append(voice_need)
    if estimator is not None:
        needs.append(Need(estimator.catalogue[0].name, estimator.name, estimator.purpose))
    needs += [Need(name, CHAT.name, CHAT.purpose, chat_key) for name in chat_models]
    return needs


def kind_of_recognizer() -> str:
    """Returns the kind of the models among which `stt.model` chooses."""
    models = measured_recognizer().models
    assert models is not None, "each of its models is chosen"
    return models.name


def needed_voice(language: str, tts_engine: str, voice: str) -> Need | None:
    """Returns the model of the voice that these settings prefer; None if that one needs none."""
    if tts_engine != AUTO:
        engine = VOICES.get(tts_engine)
        return None if engine is None else voice_need(engine, language, voice, named_engine=True)
    if voice:
        engine = engine_of_voice(voice)
        return None if engine is None else voice_need(engine, language, voice)
    for engine in ranked_voice_engines(language):
        if engine.models is None or engine.default_voice(language):
            return voice_need(engine, language)
    return None


def voice_need(engine: VoiceEngine, language: str, voice: str = "", *, named_engine: bool = False) -> Need | None:
    """Returns the model that an engine needs for a voice; None if it needs none, or knows no voice of the language.

    `voice`: "" for the language's own. `named_engine`: the configuration requires this engine, so a voice is missing.
    """
    name = voice or engine.default_voice(language)
    if engine.models is None or not (name or named_engine):
        return None
    return Need(name, engine.models.name, engine.models.purpose, "tts.voice")


def engine_of_voice(voice: str) -> VoiceEngine | None:
    """Returns the engine of a `tts.voice` (a name, or the path of a model); None if it is left to the last resort."""
    engines = VOICES.all()
    if is_path(voice):
        with_models = [engine for engine in engines if engine.models is not None]
        by_suffix = (e for e in with_models if e.models is not None and voice.endswith(e.models.suffix or "\0"))
        return next(by_suffix, next(iter(with_models), None))
    for engine in engines:
        if engine.voice_of_name(voice) or (engine.models is not None and engine.models.named(voice)):
            return engine
    return None


def unknown_models(stt_model: str, local_model: str, voice: str = "") -> dict[str, str]:
    """Returns the problem with each of `stt.model`, `llm.local_model` and `tts.voice` that names no model, by setting.

    `voice` counts only if it begins as the names of an engine's models do and is similar to one; other names are known
    when the engine is loaded.
    """
    names = (
        (stt_model, Need(stt_model, kind_of_recognizer(), "", "stt.model")),
        (local_model, Need(local_model, CHAT.name, "", LOCAL_MODEL)),
    )
    problems = {
        need.key: missing(need).removeprefix("missing: ")
        for name, need in names
        if name not in _OTHER_VALUES[need.key] and not is_path(name) and need.model is None
    }
    for engine in VOICES.all() if engine_of_voice(voice) is None else ():
        if engine.models is not None and engine.name_pattern is not None and engine.name_pattern.match(voice):
            voices = [model.name for model in engine.models.catalogue]
            problem = unknown(voice, voices, f"tts.voice = {voice!r} is not known", dotted=False)
            if problem.endswith("?"):
                problems["tts.voice"] = problem
    return problems


def other_voice(engine: VoiceEngine, language: str) -> Need | None:
    """Returns a downloaded voice of an engine's catalogue for a language; None if there is none."""
    if engine.models is None:
        return None
    kind = engine.models
    voices = (model.name for model in kind.catalogue if model.covers(language))
    return next((need for name in voices if at_hand(need := Need(name, kind.name, kind.purpose))), None)


def downloaded_voices(engine: VoiceEngine) -> list[str]:
    """Returns the names of all complete voices in an engine's folder, whether its catalogue has them or not."""
    if engine.models is None:
        return []
    kind = engine.models
    known = {model.name for model in kind.catalogue}
    with suppress(OSError, HomeError):  # the folder cannot be read, or is not known
        known |= {path.stem for path in folder_of(kind.name).glob(f"*{kind.suffix}") if kind.folder and kind.suffix}
    needs = [Need(name, kind.name, kind.purpose) for name in sorted(known)]
    return [need.name for need in needs if need.model is not None and at_hand(need) is not None]


def at_hand(need: Need) -> Path | None:
    """Returns the path of a complete model on this machine; None if it is missing or lacks the language.

    Returns:
        Its folder if its kind is a folder (`ModelKind.is_folder`), else its ONNX or GGUF file.
    """
    if is_path(need.name):
        path = at_home(need.name)
        return None if _missing_file(path, need.kind) else path
    model = need.model
    return None if model is None or need.language_remedy else installed(model)


def installed(model: Model) -> Path | None:
    """Returns the path of a complete catalogue model on this machine, as `at_hand` does; None if it is missing."""
    kind = KINDS[model.kind]
    if not kind.folder:
        folders = (folder for folder in _snapshots(model) if _is_complete(model, folder))
        if not kind.is_folder:
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
    """As `missing`, as part of a sentence: "the Piper voice x is not downloaded; fetch it: repartee ..."."""
    what = KINDS[need.kind].label
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


def is_in_hub_cache(kind: str) -> bool:
    """Returns whether models of a kind are kept in the Hugging Face cache."""
    return not KINDS[kind].folder


def folder_of(kind: str) -> Path:
    """Returns the folder for models of a kind: the Hugging Face cache, or one in the program's data folder."""
    if is_in_hub_cache(kind):
        return _hub_cache()
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return at_home(home) / "repartee" / KINDS[kind].folder


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


def _problem_with(path: Path, kind: str) -> str:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no {path}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return f"{path} lacks {_missing_file(path, kind)}"


def _missing_file(path: Path, kind: str) -> str:
    """Returns the file that a path lacks for a kind of model; "" if none."""
    if KINDS[kind].is_folder:
        return KINDS[kind].missing_file(path)
    paths = [path, *(path.with_name(f"{path.name}{suffix}") for suffix in KINDS[kind].beside)]
    return next((file.name for file in paths if not _is_complete_file(file, None)), "")


def without_language(language: str) -> str:
    """Returns why the downloaded language models do not answer in a language, and what to do; "" if one of them does.

    Also "" if none is downloaded.
    """
    there = [model for model in CHAT_MODELS if installed(model) is not None]
    if not there or any(model.covers(language) for model in there):
        return ""
    other = next(model.name for model in CHAT_MODELS if model.covers(language))
    return f'{there[-1].name} does not know the language "{language}"; get another: repartee models pull {other}'
