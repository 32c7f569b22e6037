"""Loads the engines that clients choose for their conversations: another language, voice or LLM endpoint.

They are shared by all conversations and bounded in number: a voice that no conversation uses makes room for another.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from assistant.config.settings import Settings
from assistant.models.model_choice import candidates
from assistant.pipeline.engines import Engines
from assistant.registry.listening import measured_recognizer
from assistant.registry.packages import lacking_package
from assistant.registry.voices import CLUSTER, last_resort
from assistant.setup import build
from assistant.setup.answering.llm_clients import clients_of
from assistant.setup.conversation.engine_options import (
    ONE_CLUSTER_LANGUAGE,
    ONE_VOICE,
    EngineOptions,
    base_of,
    engine_options,
    settings_in,
    voice_in_use,
)
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.listening.recognizer_loader import make_recognizer
from assistant.setup.loading import close_engine
from assistant.setup.voices.factory import make_voice, pronunciations
from assistant.setup.voices.installed import installed_voices, voice_named
from assistant.skills.answers import SkillEffect
from assistant.text.normalization.reading import spoken
from audio.errors import EngineLoadError
from audio.stt import Recognizer, SharedRecognizer
from audio.tts import Voice
from llm.chat import ChatModel, Message

if TYPE_CHECKING:
    from assistant.setup.build import Skills

log = logging.getLogger(__name__)

MAX_VOICES = 4
"""Voices that are loaded besides the server's own. A large neural one takes about 100 MB."""

LOAD_TIMEOUT_S = 30.0
"""Time limit for loading what a client has chosen."""

OPTIONS_KEPT_S = 10.0
"""Age until which `refresh` uses the list of options again."""


EffectOf = Callable[[Sequence[Message]], SkillEffect | None]


@dataclass(frozen=True, slots=True)
class EngineWish:
    """Choices of a client; "" for the server's own.

    Attributes:
        language: Code of the language.
        voice: Name of the voice.
        endpoint: Name of the LLM endpoint.
        telephone: Whether the line has the band of the telephone, for which another recognizer may be better.
    """

    language: str = ""
    voice: str = ""
    endpoint: str = ""
    telephone: bool = False


@dataclass(frozen=True, slots=True)
class ChosenEngines:
    """The engines for a wish.

    Attributes:
        engines: The engines; parts that the wish does not change are those of the conversation's first engines.
        settings: The settings of a conversation on them.
        effect_of: See `SkillEffects`; None: that of the first engines.
        own_recognizer: A recognizer that the conversation has to close; None: there is none.
        voice: Key of the voice in `EngineChoices`; None: the server's.
        why_model: Why the recognizer has its model; "": it was not chosen for its time.
    """

    engines: Engines
    settings: Settings
    effect_of: EffectOf | None = None
    own_recognizer: Recognizer | None = None
    voice: "VoiceKey | None" = None
    why_model: str = ""


VoiceKey = tuple[str, str]
"""Name and language of a voice."""


@dataclass(slots=True)
class _SharedVoice:
    voice: Voice
    users: int = 0


@dataclass(slots=True)
class EngineChoices:
    """The engines of a server that clients may choose, besides its own. Not thread-safe: use it on the event loop.

    Attributes:
        loader: The server's own engines, which must be loaded.
    """

    loader: EngineLoader
    _voices: "OrderedDict[VoiceKey, _SharedVoice]" = field(default_factory=OrderedDict)
    _multilingual: SharedRecognizer | None = None  # for other languages, if the server's own knows only one
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _options: EngineOptions | None = None
    _listed_at_s: float = 0.0

    def options(self) -> EngineOptions:
        """Returns what clients may choose, as it was last listed."""
        if self._options is None:
            self._options = self._list_options()
        return self._options

    async def refresh(self) -> EngineOptions:
        """Lists again what clients may choose, some seconds after the last time: models may have been downloaded."""
        now_s = asyncio.get_running_loop().time()
        if self._options is None or now_s > self._listed_at_s + OPTIONS_KEPT_S:
            self._listed_at_s = now_s
            self._options = await asyncio.to_thread(self._list_options)
        return self._options

    @property
    def default_voice(self) -> str:
        """Name of the server's own voice."""
        return voice_in_use(self.loader.settings, self.loader.voice.name)

    def model_named(self, endpoint: str) -> ChatModel:
        """Returns the client of an endpoint. Raises EngineLoadError if it is not in use."""
        for client in clients_of(self.loader.language_model):
            if client.name == endpoint:
                return client
        raise EngineLoadError(f"the endpoint {endpoint} is not in use on this server; choose another one.")

    async def engines(self, first: Engines, wish: EngineWish) -> ChosenEngines:
        """Returns the engines for a wish; `release` them afterwards. Raises EngineLoadError.

        `first`: the engines with which the conversation began.
        """
        base = self.loader.settings
        is_own = base_of(wish.language) == base_of(base.assistant.language)
        language = "" if is_own and not base.assistant.languages else wish.language
        settings = settings_in(base, language) if language else base
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S), self._loading:
                return await self._load(first, replace(wish, language=language), settings)
        except TimeoutError as error:
            raise EngineLoadError(f"it did not load within {LOAD_TIMEOUT_S:g} s; try again in a moment.") from error

    async def release(self, chosen: ChosenEngines) -> None:
        """Gives back the engines that a conversation no longer uses."""
        if chosen.voice is not None:
            self._voices[chosen.voice].users -= 1
        if chosen.own_recognizer is not None:
            await close_engine(chosen.own_recognizer, lambda _what: None)

    @asynccontextmanager
    async def voice(self, name: str, language: str) -> AsyncGenerator[tuple[Voice, Callable[[str], str]]]:
        """Lends a voice, and what converts written to spoken text. Raises EngineLoadError."""
        base = self.loader.settings
        language = language or base.assistant.language
        settings = base if base_of(language) == base_of(base.assistant.language) else settings_in(base, language)
        if settings is base and name in {"", self.default_voice}:
            yield self.loader.voice, self._normalizer(settings)
            return
        async with asyncio.timeout(LOAD_TIMEOUT_S), self._loading:
            key = await self._take_voice(name, settings)
        try:
            yield self._voices[key].voice, self._normalizer(settings)
        finally:
            self._voices[key].users -= 1

    async def recognizer(self, language: str) -> Recognizer:
        """Returns a recognizer for speech outside of a conversation; the caller closes it. Raises EngineLoadError.

        `language`: one of `options`; "": the server's own language, or those that it follows.
        """
        base = self.loader.settings
        is_own = base_of(language) == base_of(base.assistant.language)
        if not language or (is_own and not base.assistant.languages):
            return await self.loader.live_recognizer()
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S), self._loading:
                return await self._recognizer_in(base_of(language), settings_in(base, language))
        except TimeoutError as error:
            raise EngineLoadError(f"it did not load within {LOAD_TIMEOUT_S:g} s; try again in a moment.") from error

    async def aclose(self) -> None:
        """Closes what was loaded."""
        for shared in self._voices.values():
            await close_engine(shared.voice, lambda _what: None)
        self._voices.clear()
        if self._multilingual is not None:
            await close_engine(self._multilingual, lambda _what: None)
            self._multilingual = None

    # ---- private ----

    def _list_options(self) -> EngineOptions:
        shared = self.loader.shared_recognizer
        return engine_options(self.loader.settings, multilingual=shared is not None and shared.multilingual)

    async def _load(self, first: Engines, wish: EngineWish, settings: Settings) -> ChosenEngines:
        engines, effects = first, first.skill_effects
        effect_of: EffectOf | None = None
        own_recognizer: Recognizer | None = None
        why_model = self.loader.traced.get("stt_model", "")
        if wish.language or wish.endpoint:
            skills = await self._skills_in(settings.assistant.language)
            asked = self.model_named(wish.endpoint) if wish.endpoint else self.loader.language_model
            in_use = effects.effect_of
            memory = self.loader.memory
            recalling = asked if memory is None or asked is None else memory.recalling(asked, asked, effects)
            model = build.answering(settings, skills, recalling, effects)
            effect_of, effects.effect_of = effects.effect_of, in_use  # until the new engines are used
            engines = replace(
                engines,
                model=model,
                is_known_sentence=partial(_is_known, skills, settings.assistant.language),
                warm_connections=build.warming(model, asked),
                on_answer_heard=_ignored,  # the answer cache knows one language and one model
                summarizer=asked if first.summarizer is not None else None,
                direct_model=asked,
            )
        voice_key: VoiceKey | None = None
        is_other = base_of(wish.language) not in {"", base_of(self.loader.settings.assistant.language)}
        if is_other or wish.voice not in {"", self.default_voice}:
            voice_key = await self._take_voice(wish.voice, settings)
            voice = self._voices[voice_key].voice
            engines = replace(
                engines, voice=voice, normalize_text=self._normalizer(settings), background_voice=asyncio.Lock()
            )
        try:
            if wish.language:
                own_recognizer, why_model = await self._recognizer_in(wish.language, settings), ""
            elif wish.telephone and (by_telephone := await self._by_telephone()) is not None:
                own_recognizer, why_model = by_telephone
        except BaseException:
            if voice_key is not None:
                self._voices[voice_key].users -= 1
            raise
        if own_recognizer is not None:
            engines = replace(engines, recognizer=own_recognizer)
        return ChosenEngines(engines, settings, effect_of, own_recognizer, voice_key, why_model)

    async def _by_telephone(self) -> tuple[Recognizer, str] | None:
        """Returns the recognizer for a telephone line; None if it is the server's, or cannot be loaded."""
        try:
            return await self.loader.telephone_recognizer()
        except EngineLoadError as error:
            log.warning("telephone lines keep the recognizer of the server, because %s", error)
            return None

    def _normalizer(self, settings: Settings) -> Callable[[str], str]:
        return partial(_spoken_form, pronunciations(settings).respelled, settings.assistant.language)

    async def _skills_in(self, language: str) -> "Skills":
        """Returns the server's skills, with their services, after loading what they need in a language."""
        skills = self.loader.skills
        for known in (language, *self.loader.settings.assistant.languages):
            await asyncio.to_thread(skills.load, known)
        return skills

    async def _recognizer_in(self, language: str, settings: Settings) -> Recognizer:
        shared = self.loader.shared_recognizer
        if shared is None or not shared.multilingual:
            if settings.stt.engine == CLUSTER:
                raise EngineLoadError(f"{ONE_CLUSTER_LANGUAGE}.")
            shared = self._multilingual = self._multilingual or _multilingual_recognizer(settings)
            await shared.load()
        return shared.transcriber(language=language)

    async def _take_voice(self, name: str, settings: Settings) -> VoiceKey:
        """Loads a voice if needed and counts its user. Raises EngineLoadError."""
        if settings.tts.engine == CLUSTER:
            raise EngineLoadError(f"{ONE_VOICE}.")
        language = base_of(settings.assistant.language)
        name = name or _default_voice(self.options(), language)
        key = name, language
        if key not in self._voices:
            await self._make_room()
            voice = _voice(name, settings)
            try:
                await voice.load()
            except BaseException:  # otherwise it goes on loading, and nobody would ever release it
                await close_engine(voice, lambda _what: None)
                raise
            self._voices[key] = _SharedVoice(voice)
        self._voices.move_to_end(key)
        self._voices[key].users += 1
        return key

    async def _make_room(self) -> None:
        while len(self._voices) >= MAX_VOICES:
            unused = next((key for key, shared in self._voices.items() if not shared.users), None)
            if unused is None:
                raise EngineLoadError(f"other conversations use {MAX_VOICES} other voices; choose one that is in use.")
            await close_engine(self._voices.pop(unused).voice, lambda _what: None)


def _default_voice(options: EngineOptions, language: str) -> str:
    """Returns the preferred installed voice of a language. Raises EngineLoadError if there is none."""
    offered = options.voices_of(language) or tuple(voice.name for voice in installed_voices(language))
    if not offered:
        raise EngineLoadError(f"no voice speaks {language}: {lacking_package(last_resort())}.")
    return offered[0]


def _voice(name: str, settings: Settings) -> Voice:
    """Returns a voice that is not loaded yet. Raises EngineLoadError if it is not installed."""
    return make_voice(settings, voice_named(name).candidate)


def _multilingual_recognizer(settings: Settings) -> SharedRecognizer:
    """Returns one with the smallest installed model for the settings' language. Raises EngineLoadError without one."""
    engine, language = measured_recognizer(), settings.assistant.language
    name = next(iter(candidates(language)), engine.default_model(language))
    return make_recognizer(replace(settings, stt=replace(settings.stt, model=name)), engine)


def _is_known(skills: "Skills", language: str, text: str) -> bool:
    match = skills.match(text, language)
    return match is not None and not match.open_ended


def _spoken_form(respelled: Callable[[str], str], language: str, text: str) -> str:
    return spoken(respelled(text), language)


def _ignored(_messages: Sequence[Message]) -> None:
    """Does nothing with an answer that was heard."""
