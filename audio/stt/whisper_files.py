"""Where a Whisper model lies on this machine. Nothing is ever downloaded here."""

from pathlib import Path

from audio.errors import EngineLoadError

_NEEDED = ("model.bin", "config.json", "tokenizer.json")
"""Without tokenizer.json faster-whisper would fetch one from the network."""


def find_model(model: str) -> Path:
    """The folder of a model: a path, or a name (tiny, base.en, owner/name) in the local Hugging Face cache.

    Imports faster_whisper for a name. Raises EngineLoadError, naming what is missing and the remedy.
    """
    try:
        return _found(model)
    except (OSError, RuntimeError) as error:  # no name of a file; not to be looked into; "~" where there is no home
        why = getattr(error, "strerror", None) or error
        raise EngineLoadError(f"The Whisper model {model!r} cannot be looked at ({why}): correct stt.model.") from error


def _found(model: str) -> Path:
    folder = Path(model).expanduser()
    remedy = "give the folder of a model converted for CTranslate2"
    if not folder.is_dir():
        if model.startswith((".", "/", "~")) or model.count("/") > 1 or not model:
            raise EngineLoadError(f"There is no Whisper model at {model!r}: {remedy}, or a name like base.en.")
        folder = _in_cache(model)
        remedy = f"run `repartee models pull {model}`"
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if not list(folder.glob("vocabulary.*")):
        missing.append("vocabulary.json")
    if missing:
        raise EngineLoadError(f"The Whisper model in {folder} lacks {', '.join(missing)}: {remedy}.")
    return folder


def _in_cache(name: str) -> Path:
    from faster_whisper.utils import available_models, download_model  # noqa: PLC0415 - on use: 189 ms
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415 - as above

    if "/" not in name and name not in available_models():
        raise EngineLoadError(
            f"There is no Whisper model called {name!r}: use a path, or one of {', '.join(available_models())}."
        )
    try:
        return Path(download_model(name, local_files_only=True))
    except LocalEntryNotFoundError as error:
        raise EngineLoadError(
            f"The Whisper model {name} is not on this machine: run `repartee models pull {name}`."
        ) from error
    except HFValidationError as error:
        raise EngineLoadError(f"{name!r} is no name of a model on the hub: use owner/name, or base.en.") from error
