"""Hint for speech that is probably not in the configured language. Reads the disk."""

from assistant.config.settings import Settings
from assistant.models.catalogue import KINDS, named
from assistant.models.language_names import NAMES
from assistant.models.model_choice import AUTO
from assistant.models.needs import installed, is_path
from assistant.support.notice import notice
from audio.stt import UNKNOWN_LANGUAGE


def language_hint(settings: Settings, language: str) -> str:
    """Returns one sentence with the setting to change.

    Args:
        settings: The settings in effect.
        language: The detected code, or UNKNOWN_LANGUAGE if the model knows only the configured language.
    """
    configured = settings.assistant.language
    if language != UNKNOWN_LANGUAGE:
        name = NAMES.get(language, language)
        return notice("other_language", name=name, configured=configured, language=language)
    spoken = NAMES.get(configured.partition("-")[0], configured)
    name, fetch = _multilingual(settings)
    option = "--set assistant.language=de" + ("" if settings.stt.model == AUTO else f" --set stt.model={name}")
    return notice("improbable_words", name=spoken, command=f"{option} (de is German)", fetch=fetch)


def _multilingual(settings: Settings) -> tuple[str, str]:
    """Returns the name of a multilingual model, preferably a downloaded one, and how to download it."""
    model = None if is_path(settings.stt.model) else named(settings.stt.model)
    own = "base" if model is None else KINDS[model.kind].multilingual(model.name)
    for name in (own, "small", "base", "tiny"):
        if (other := named(name)) is not None and installed(other) is not None:
            return name, ""
    return own, f"; download the model first: repartee models pull {own}"
