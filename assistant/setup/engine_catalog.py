"""Makes single engines, by stage and name, for commands that examine engines without a conversation.

`EngineLoader` loads the engines of one conversation: one of each stage, or none if one is missing. A command that
checks
which engines work needs each of them separately.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.models.catalogue import Kind
from assistant.models.needs import Need, at_hand, is_piper_voice, missing, needed
from assistant.models.whisper_choice import whisper_choice
from assistant.setup.build import espeak, piper, place_of, whisper_settings
from assistant.setup.llm_clients import model_of
from audio.stt import Recognizer
from audio.tts import Voice
from llm.chat import ChatModel

Stage = Literal["vad", "stt", "tts", "llm"]

ENGINES: tuple[tuple[Stage, str], ...] = (
    ("vad", "silero"),
    ("vad", "cascade"),
    ("vad", "webrtc"),
    ("stt", "faster-whisper"),
    ("tts", "piper"),
    ("tts", "espeak-ng"),
    ("llm", "skills"),
)
"""All engines that need no network."""

_KIND: Mapping[str, Kind] = {"faster-whisper": "whisper", "piper": "piper"}


def need_of(settings: Settings, engine: str) -> Need | None:
    """Returns the model that an engine needs, whether these settings select it or not; None if it needs none."""
    voice = settings.tts.voice
    needs = needed(
        language=settings.assistant.language,
        stt_model=whisper_choice(settings).name,
        tts_engine="piper",
        voice=voice if is_piper_voice(voice) else "",
    )
    return next((need for need in needs if need.kind == _KIND.get(engine)), None)


def lacking(settings: Settings, engine: str) -> str:
    """Returns what an engine lacks, as `needs.missing` words it; "" if nothing."""
    need = need_of(settings, engine)
    return "" if need is None or at_hand(need) is not None else missing(need)


def transcriber(settings: Settings, name: str) -> Recognizer:
    """Returns a recognizer, not loaded yet. Raises EngineLoadError if Whisper's model is not downloaded."""
    # Imported on use: it costs 50-200 ms.
    from audio.stt.whisper.recognizer import WhisperRecognizer  # noqa: PLC0415

    return WhisperRecognizer(whisper_settings(settings, _place_of(settings, name)))


def voice(settings: Settings, name: str) -> Voice:
    """Returns a voice, not loaded yet. Raises EngineLoadError if Piper's model is not downloaded."""
    if name == "espeak-ng":
        return espeak(settings)
    return piper(settings, _place_of(settings, name))


def _place_of(settings: Settings, engine: str) -> Path:
    need = need_of(settings, engine)
    assert need is not None, "it has a kind of models"
    return place_of(need)


def skills(settings: Settings) -> ChatModel:
    """Returns the built-in skills as a chat model, not loaded yet."""
    from assistant.skills.chat import SkillsChat  # noqa: PLC0415
    from assistant.skills.skills import Skills  # noqa: PLC0415

    return SkillsChat(Skills(), lambda: datetime.now().astimezone(), settings.assistant.language)


def key_of(endpoint: EndpointSection, environ: Mapping[str, str]) -> str | None:
    """Returns the endpoint's API key, if it has one and the variable is set."""
    return environ.get(endpoint.api_key_env) or None if endpoint.api_key_env else None


def chat(
    settings: Settings, endpoint: EndpointSection, environ: Mapping[str, str], *, max_tokens: int, timeout_s: float
) -> ChatModel:
    """Returns the client of one endpoint, for a short question. Raises ValueError for an invalid endpoint."""
    return model_of(endpoint, replace(settings.llm, max_tokens=max_tokens, first_token_timeout_s=timeout_s), environ)
