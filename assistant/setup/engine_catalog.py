"""Makes single engines, by stage and name, for commands that examine engines without a conversation.

`EngineLoader` loads the engines of one conversation: one of each stage, or none if one is missing. A command that
checks which engines work needs each of them separately.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.models.needs import Need, at_hand, engine_of_voice, missing, voice_need
from assistant.registry.listening import DETECTORS, RECOGNIZERS
from assistant.registry.packages import lacking_package
from assistant.registry.voices import VOICES
from assistant.setup.answering.llm_clients import model_of
from assistant.setup.build import place_of
from assistant.setup.listening.recognizer_choice import model_need
from assistant.setup.listening.recognizer_loader import make_recognizer
from assistant.setup.voices.choice import VoiceCandidate, voice_candidates, voice_engine
from assistant.setup.voices.factory import make_voice
from audio.errors import EngineLoadError
from audio.stt import RecognitionStream, Recognizer, SegmentId, SharedRecognizer, Transcript
from audio.tts import Voice
from llm.chat import ChatModel

Stage = Literal["vad", "stt", "tts", "llm"]

ENGINES: tuple[tuple[Stage, str], ...] = (
    *(("vad", name) for name in DETECTORS.names),
    *(("stt", name) for name in RECOGNIZERS.names),
    *(("tts", name) for name in VOICES.names),
    ("llm", "skills"),
)
"""All engines that need no network."""


def need_of(settings: Settings, engine: str) -> Need | None:
    """Returns the model that an engine needs, whether these settings select it or not; None if it needs none."""
    language, voice = settings.assistant.language, settings.tts.voice
    if (declared := VOICES.get(engine)) is not None:
        return voice_need(declared, language, voice if engine_of_voice(voice) is declared else "", named_engine=True)
    recognizer = RECOGNIZERS.get(engine)
    return None if recognizer is None else model_need(recognizer, settings)


def lacking(settings: Settings, engine: str) -> str:
    """Returns what an engine lacks: a model as `needs.missing` words it, or a package; "" if nothing."""
    declared = VOICES.get(engine) or RECOGNIZERS.get(engine)
    if declared is not None and (package := lacking_package(declared)):
        return package
    for registry in (VOICES, RECOGNIZERS):
        if declared is None and engine in registry.names:
            return registry.problem_of(engine)
    need = need_of(settings, engine)
    return "" if need is None or at_hand(need) is not None else missing(need)


def transcriber(settings: Settings, name: str) -> Recognizer:
    """Returns a recognizer, not loaded yet. Raises EngineLoadError if its package or its model is missing."""
    engine = RECOGNIZERS.get(name)
    if engine is None:
        raise EngineLoadError(f"{RECOGNIZERS.problem_of(name)}; repair this package, or name another stt.engine.")
    return _SoleRecognizer(make_recognizer(settings, engine))


def voice(settings: Settings, name: str) -> Voice:
    """Returns a voice, not loaded yet. Raises EngineLoadError if its model is not downloaded."""
    engine = voice_engine(name)
    in_use = next(
        (candidate for candidate in voice_candidates(settings) if candidate.engine is engine and not candidate.lacking),
        None,
    )
    if in_use is not None:
        return make_voice(settings, in_use)
    need = need_of(settings, name)
    own = engine.default_voice(settings.assistant.language)
    candidate = VoiceCandidate(engine, own) if need is None else VoiceCandidate(engine, need.name, place_of(need))
    return make_voice(settings, candidate)


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


class _SoleRecognizer:
    """The only recognizer of a shared part: loads and closes that, too. Implements `Recognizer`."""

    def __init__(self, shared: SharedRecognizer) -> None:
        self.name = shared.name
        self._shared = shared
        self._recognizer = shared.transcriber()

    @property
    def detail(self) -> str:
        return self._recognizer.detail

    @property
    def works(self) -> bool:
        return self._recognizer.works

    async def load(self) -> None:
        await self._shared.load()

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> RecognitionStream:
        return self._recognizer.open(segment, on_interim)

    def reset(self) -> bool:
        return self._recognizer.reset()

    async def aclose(self) -> None:
        await self._recognizer.aclose()
        await self._shared.aclose()
