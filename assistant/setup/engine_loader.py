"""Loads the engines: selects available ones, replaces missing ones, and shares engines between conversations.

build.py makes engines without loading them.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import process_time
from typing import TYPE_CHECKING

from assistant.config.settings import Settings
from assistant.end_of_turn.estimator import fitted_turn_end
from assistant.home.directory import HomeDirectory
from assistant.models.model_choice import AUTO, model_choice
from assistant.models.needs import Need, at_hand, kind_of_recognizer, lacking_model
from assistant.models.turn_cost import DecodeTime
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel, warm_up_estimator
from assistant.pipeline.engines import Engines, LanguageParts
from assistant.pipeline.listening_sounds import ListeningSound
from assistant.pipeline.missing_engines import NoRecognizer, NoVoice
from assistant.registry.engine_choice import EngineChoice
from assistant.registry.voices import CLUSTER
from assistant.setup import build
from assistant.setup.answering import answer_cache, services
from assistant.setup.answering.language_model_loader import load_language_model
from assistant.setup.cluster_engines import load_cluster_recognizer, load_cluster_voice
from assistant.setup.conversation.language_parts import following, load_language_parts
from assistant.setup.derived_settings import needs
from assistant.setup.listening.end_of_turn_loader import load_end_of_turn_model
from assistant.setup.listening.model_timing import measure_unmeasured
from assistant.setup.listening.recognizer_choice import chosen_recognizer
from assistant.setup.listening.recognizer_loader import load_recognizer
from assistant.setup.listening.recognizer_models import RecognizerModels
from assistant.setup.listening.speaker_loader import EnrolledVoices, load_speaker_embedder, voice_focus
from assistant.setup.loading import close_engine, now_s
from assistant.setup.voices.factory import pronunciations
from assistant.setup.voices.listening_sound import load_listening_sound
from assistant.setup.voices.loader import load_voice
from assistant.skills.effects import ConversationTimers, SkillEffects
from assistant.skills.lists.items import UserLists
from assistant.skills.timers.timers import Timers
from assistant.support.notice import notice
from assistant.support.paths import HomeError
from assistant.text.normalization.reading import spoken
from audio.engine_lateness import EngineLateness
from audio.errors import EngineLoadError
from audio.execution_provider import SHOWN, ProviderRequest, ProviderUser
from audio.pronunciation import Pronunciations
from audio.queue_wait import QueuedEngine, QueueWait
from audio.stt import ModelRecognizer, Recognizer, SharedRecognizer
from audio.tts import Voice
from audio.tts.relief_voice import relief_of
from audio.vad import NetworkVad, Vad
from llm.cache import CacheStoreError
from llm.chat import ChatModel, Message

if TYPE_CHECKING:
    from assistant.setup.answering.answer_cache import AnswerCache
    from assistant.setup.answering.user_memory import UserMemory
    from assistant.setup.build import ClusterConnection, Skills
    from assistant.speakers.focus import VoiceFocus
    from assistant.tools.mcp_tools import McpTools
    from assistant.trace.export import SpanExport
    from audio.speaker_embedding.service import SpeakerService

log = logging.getLogger(__name__)

LOAD_TIMEOUT_S = 300.0
MEASURE_TIMEOUT_S = 30.0
CACHE_TIMEOUT_S = 10.0


@dataclass(slots=True)
class EngineLoader:
    """Builds and loads engines: shared ones once, and others for each conversation.

    Shared: the skills' tables, the clients of the language models, the tools and the voice. They serialize access where
    needed. Separate for each conversation: the detector, the recognizer's state, and the effects of its skills.
    """

    settings: Settings
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    chosen: list[EngineChoice] = field(default_factory=list)
    export: "SpanExport | None" = None  # receives turns besides the trace files; the caller runs its task
    make_timers: Callable[[], ConversationTimers] = Timers  # for one conversation; by default not shared
    homes: HomeDirectory = field(default_factory=HomeDirectory)  # gets the home of the configuration
    make_lists: Callable[[], UserLists] = UserLists  # likewise
    memory: "UserMemory | None" = None  # what is remembered across conversations
    _skills: "Skills | None" = None
    _voice: Voice | None = None
    _languages: Mapping[str, LanguageParts] = field(default_factory=dict)  # of conversations that follow the user's
    _listening_sound: ListeningSound | None = None
    _model: ChatModel | None = None
    _tools: "McpTools | None" = None
    _cache: "AnswerCache | None" = None
    _end_of_turn_model: AudioEndOfTurnModel | None = None
    _speaker_service: "SpeakerService | None" = None
    _cluster: "ClusterConnection | None" = None
    _local_reason: str = ""  # why the model on this machine is used although it is not configured, or is not used
    local_problem: str = ""  # why the installed model on this machine does not answer; "" if none is there or it does
    shared_recognizer: SharedRecognizer | None = None  # the part that conversations share; None without a recognizer
    _recognizer_loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    lateness: EngineLateness = field(default_factory=EngineLateness)  # of the engines on this machine
    _background_voice: asyncio.Lock = field(default_factory=asyncio.Lock)
    providers: dict[str, str] = field(default_factory=dict)  # where models compute, by "tts_provider", "turn_provider"
    recognizer_models: RecognizerModels = field(init=False)
    _enrolled_voices: EnrolledVoices = field(init=False)
    _why_model: str = ""  # why `stt.model = "auto"` is the model that was loaded
    measures: bool = True  # models without a time on this machine are measured first
    talks: bool = False  # a local microphone is used, so the settings of [talk] apply
    listens: bool = True  # False: there is no microphone, so no recognizer is loaded
    speaks: bool = True  # False: replies are text, so no voice is loaded
    show_measuring: Callable[[str], None] = lambda _what: None  # is told what is measured, at the beginning

    def __post_init__(self) -> None:
        self.recognizer_models = RecognizerModels(self.settings, self.lateness)
        self._enrolled_voices = EnrolledVoices(self.environ)

    async def open(self) -> None:
        """Loads the shared engines. Raises EngineLoadError if a stage has no working engine."""
        await self._open(await self._load_skills())

    async def engines(self) -> Engines:
        """Returns the loaded engines of one conversation. The caller closes its recognizer. Raises EngineLoadError."""
        if self._skills is None:
            await self.open()
        return self.around(following(await self._make_recognizer(), self.settings))

    async def _load_skills(self) -> "Skills":
        """Loads the skills' tables."""
        build.check_local_model(self.settings)
        self.settings, self._local_reason = build.with_local_model(self.settings)
        if not self.settings.skills.enabled and not self.settings.llm.endpoints:
            raise EngineLoadError(
                "nothing can answer: skills.enabled is false and there is no [[llm.endpoints]]; enable the skills or "
                "add an endpoint."
            )
        skills = build.skills()
        skills.services = services.service_skills(self.settings, self.environ)
        for language in self.settings.assistant.languages or (self.settings.assistant.language,):
            await self.with_timeout("skills", asyncio.to_thread(skills.load, language))
        return skills

    async def _open(self, skills: "Skills") -> None:
        """Loads the other shared engines."""
        try:
            self._voice = await self._make_voice() if self.speaks else NoVoice()
            self._languages = await load_language_parts(self, self._voice)
            self._listening_sound = await load_listening_sound(self, self._voice)
            self._model = await load_language_model(self, skills, self._local_reason)
            await self._open_cache()
            await self._open_tools()
            self._end_of_turn_model = await load_end_of_turn_model(self, self._connection)
            self._speaker_service = await load_speaker_embedder(self)
            following(await self._make_recognizer(), self.settings)  # loads the shared model
        except BaseException:
            for opened in (skills, self):
                await opened.aclose()
            raise
        self._skills = skills
        if skills.home is not None:
            self.homes.add_home(skills.home)
        spoken("1", language=self.settings.assistant.language)  # compiles its regular expressions: up to 0.16 s
        warm_up_estimator(fitted_turn_end())

    def around(self, transcriber: Recognizer) -> Engines:
        """Returns the engines of one conversation, shared and new ones, with a loaded recognizer."""
        assert self._skills is not None
        assert self._voice is not None
        effects = SkillEffects(lambda _messages: None, build.local_now, self.make_timers(), self.make_lists())
        effects.home = self._skills.home
        vad, spare = self._make_vads()
        say = partial(_spoken_form, pronunciations(self.settings), self.settings.assistant.language)
        asked = self._model
        on_answer_heard: Callable[[Sequence[Message]], None] = _ignored
        if self._model is not None and self._cache is not None:
            asked = cached = answer_cache.cached(self.settings, self._model, self._cache)
            on_answer_heard = cached.heard
        if self._model is not None and asked is not None and self.memory is not None:
            asked = self.memory.recalling(asked, self._model, effects)
        model = build.answering(self.settings, self._skills, asked, effects)
        return Engines(
            vad,
            spare,
            transcriber,
            model,
            self._voice,
            effects,
            say,
            fitted_turn_end(),
            self._end_of_turn_model,
            self._is_known_sentence,
            build.warming(model, self._model),
            services.tools(self.settings, self._model, self._tools, self._skills, effects),
            self._listening_sound,
            on_answer_heard,
            self._model if self.settings.llm.summary else None,
            self._model,
            self._background_voice,
            self._speaker_service,
            self._languages,
        )

    def voice_focus(self) -> "VoiceFocus | None":
        """Returns the voices that a new conversation listens to; None: all. Only after `open`."""
        return None if self._speaker_service is None else voice_focus(self, self._enrolled_voices)

    @property
    def skills(self) -> "Skills":
        """The shared skills, with the connections of their services. Only after `open`."""
        assert self._skills is not None
        return self._skills

    @property
    def voice(self) -> Voice:
        """The shared voice. Only after `open`."""
        assert self._voice is not None
        return self._voice

    @property
    def queue_waits(self) -> Mapping[str, QueueWait]:
        """The queue waits of the shared engines by stage, `stt` and `tts`; engines without a queue are left out."""
        shared: dict[str, object] = {"stt": self.shared_recognizer, "tts": self._voice}
        return {stage: engine.queue_wait for stage, engine in shared.items() if isinstance(engine, QueuedEngine)}

    def spoken_text(self, text: str) -> str:
        """Returns written text as it is spoken."""
        return _spoken_form(pronunciations(self.settings), self.settings.assistant.language, text)

    async def live_recognizer(self) -> Recognizer:
        """Returns a recognizer for speech outside of a conversation that somebody waits for. The caller closes it.

        Raises EngineLoadError.
        """
        return following(await self._make_recognizer(), self.settings)

    def detector(self) -> Vad:
        """Returns a voice activity detector for speech outside of a conversation."""
        return self._make_vads()[0]

    async def background_recognizer(self) -> Recognizer:
        """Returns a recognizer that gives way to those of conversations. The caller closes it. Raises EngineLoadError.

        It must be requested for segments of at most 30 s.
        """
        shared = self.shared_recognizer
        if shared is not None and shared.works:
            return shared.transcriber(background=True)
        return await self._make_recognizer()

    async def aclose(self, report: Callable[[str], None] = lambda _what: None) -> None:
        """Closes the shared engines, each with a time limit."""
        recognizers = (self.shared_recognizer, self.recognizer_models)
        voices = (self._voice, *(parts.voice for parts in self._languages.values()))
        for engine in (*voices, self._model, self._tools, *recognizers, self._cache, self._skills):
            if engine is not None:
                await close_engine(engine, report)
        if self._speaker_service is not None:
            self._speaker_service.close()
        self._speaker_service = None
        self._skills = self._voice = self._model = self._tools = self.shared_recognizer = self._cache = None
        if self._cluster is not None:  # last: the engines use it
            await self._cluster.aclose()
            self._cluster = None

    @property
    def language_model(self) -> ChatModel | None:
        """The client of the endpoints, shared by all conversations; None if only the skills answer."""
        return self._model

    @property
    def fallbacks(self) -> list[str]:
        """The engines that replace others, with the reason."""
        return [f"{chosen.stage}: {chosen.name}, {chosen.why}" for chosen in self.chosen if chosen.fallback]

    @property
    def traced(self) -> dict[str, str]:
        """The engine of each stage for the trace, why the recognizer has its model, and where other models compute."""
        why = {"stt_model": self._why_model} if self._why_model else {}
        return {chosen.stage: chosen.name for chosen in self.chosen} | why | self.providers

    @property
    def degraded(self) -> dict[str, str]:
        """The level of degradation, and why another voice spoke, for the trace of a turn; empty without either."""
        level, relief = self.lateness.level, relief_of(self._voice)
        fields = {"degradation": level.name.lower()} if level else {}
        return fields | ({"tts_relief": relief} if relief else {})

    # ---- voice activity ----

    def _make_vads(self) -> tuple[Vad, Vad]:
        spare = build.spare_vad()
        began_s, engine_name = now_s(), self.settings.vad.engine
        try:
            vad, why, fallback = build.vad(engine_name), "as configured", False
        except EngineLoadError as error:
            vad, why, fallback = spare, f"instead of {engine_name}, because {error}", True
        unusual = isinstance(vad, NetworkVad) and vad.runtime != "numpy"
        detail = (
            f"20 ms frames, computed by {vad.runtime}" if isinstance(vad, NetworkVad) and unusual else "20 ms frames"
        )
        self.record_choice("vad", vad.name, detail, why, began_s, fallback=fallback)
        return vad, spare

    def _connection(self) -> "ClusterConnection":
        """Returns the connection to the cluster, which the engines share. Raises EngineLoadError without the extra."""
        if self._cluster is None:
            self._cluster = build.cluster(self.settings)
        return self._cluster

    def _is_known_sentence(self, text: str) -> bool:
        """Returns whether the text is a complete sentence that a skill understands, whichever model answers it."""
        if self._skills is None:
            return False
        languages = self.settings.assistant.languages or (self.settings.assistant.language,)
        matches = (self._skills.match(text, language) for language in languages)
        return any(match is not None and not match.open_ended for match in matches)

    # ---- speech to text ----

    @property
    def lacking_recognizer(self) -> str:
        """The lack that prevents recognition, and the remedy, as a part of a sentence; "" if the model is available."""
        if not self._chooses_models:
            return ""
        return self._missing(kind_of_recognizer())

    @property
    def _chooses_models(self) -> bool:
        """Whether the model of the recognizer is chosen by measured times."""
        return self.settings.stt.engine != CLUSTER and chosen_recognizer(self.settings).measured is not None

    async def _make_recognizer(self) -> Recognizer:
        """Returns a conversation's own recognizer on the shared model.

        Without the model, "auto" returns one that recognizes no words; a named engine raises EngineLoadError.
        """
        if not self.listens:
            return NoRecognizer("there is no microphone")
        if self.shared_recognizer is not None and self.shared_recognizer.works:
            return self.shared_recognizer.transcriber()
        if self.settings.stt.engine == CLUSTER:
            if self.shared_recognizer is None:
                self.shared_recognizer = build.cluster_recognizer(self.settings, self._connection())
            return await load_cluster_recognizer(self, self.shared_recognizer)
        if (engine := chosen_recognizer(self.settings)).measured is None:
            async with self._recognizer_loading:
                if self.shared_recognizer is None:
                    self.shared_recognizer = await load_recognizer(self, engine)
                elif not self.shared_recognizer.works:
                    await self.with_timeout(self.shared_recognizer.name, self.shared_recognizer.load())
                return self.shared_recognizer.transcriber()
        measured = await self._measure_models() if self.measures and self.shared_recognizer is None else {}
        engine_name, lacking = self.settings.stt.engine, self.lacking_recognizer
        if engine_name == "auto" and lacking:
            self.record_choice(
                "stt", NoRecognizer.name, "", notice("typed_text_only", reason=lacking), now_s(), fallback=True
            )
            return NoRecognizer(lacking)
        if self.shared_recognizer is None:
            choice, self.shared_recognizer = await self.recognizer_models.choose("wide", measured)
            self._why_model = choice.why
        shared = self.shared_recognizer
        if not shared.works:
            began_s = now_s()
            await self.with_timeout(shared.name, shared.load())
            why = self._why_model or ("as configured" if engine_name != AUTO else "auto: its model is downloaded")
            self.record_choice("stt", shared.name, shared.transcriber().detail, why, began_s)
        return shared.transcriber()

    async def telephone_recognizer(self) -> tuple[Recognizer, str] | None:
        """Returns a recognizer for a telephone line, and why it has its model; None: it needs no other model.

        Its model is loaded with the first such line. Raises EngineLoadError.
        """
        in_use = self.shared_recognizer
        if self.settings.stt.model != AUTO or not self._chooses_models or in_use is None:
            return None
        choice, shared = await self.recognizer_models.choose("telephone")
        if shared is in_use:
            return None
        await self.with_timeout(shared.name, shared.load())
        return following(shared.transcriber(), self.settings), choice.why

    async def follow_turns(self) -> None:
        """Changes to another model for later conversations, if the turns so far have shown its cost."""
        choice = (await self.recognizer_models.follow()).get("wide")
        if choice is None:
            return
        _, self.shared_recognizer = await self.recognizer_models.choose("wide")
        self._why_model, detail = choice.why, self.shared_recognizer.transcriber().detail
        self.chosen = [
            replace(engine_choice, detail=detail, why=choice.why) if engine_choice.stage == "stt" else engine_choice
            for engine_choice in self.chosen
        ]

    def is_current(self, recognizer: Recognizer) -> bool:
        """Returns whether a recognizer has the model of later conversations."""
        in_use = self.shared_recognizer
        if in_use is None or not isinstance(recognizer, ModelRecognizer):
            return True
        latest = in_use.transcriber()
        return isinstance(latest, ModelRecognizer) and recognizer.model == latest.model

    async def _measure_models(self) -> Mapping[str, DecodeTime]:
        """Measures the models that "auto" needs times of. Those without a time at the limit are not chosen."""
        choice = model_choice(self.settings)
        if not choice.to_measure:
            return {}
        self.show_measuring(choice.measuring(MEASURE_TIMEOUT_S))
        now_s, ended = asyncio.get_running_loop().time, threading.Event()
        try:
            async with asyncio.timeout(MEASURE_TIMEOUT_S):
                return await asyncio.to_thread(measure_unmeasured, self.settings, now_s, process_time, ended.is_set)
        except TimeoutError:
            return {}
        finally:
            ended.set()  # the thread would otherwise compute beside the conversation

    def _missing(self, kind: str) -> str:
        """Returns what the best engine of a stage lacks; "" if its model is available."""
        need = self._need(kind)
        if need is None:
            return f"no {kind} model is known for {self.settings.assistant.language}"
        return "" if at_hand(need) is not None else lacking_model(need)

    def _need(self, kind: str) -> Need | None:
        return next((need for need in needs(self.settings) if need.kind == kind), None)

    # ---- voice, cache and tools ----

    async def _make_voice(self) -> Voice:
        if self.settings.tts.engine == CLUSTER:
            return await load_cluster_voice(self, self._connection())
        return await load_voice(self)

    async def _open_cache(self) -> None:
        """Opens the answer cache; without it, or if it cannot be used, the language model is asked."""
        if not self.settings.cache.enabled or self._model is None:
            return
        began_s, problem = now_s(), ""
        try:
            self._cache = answer_cache.answer_cache(self.settings, self.environ)
            async with asyncio.timeout(CACHE_TIMEOUT_S):
                problem = await self._cache.load()
        except (CacheStoreError, HomeError) as error:
            problem = str(error)
        except TimeoutError:
            problem = f"it did not open within {CACHE_TIMEOUT_S:g} s"
        if problem:
            log.warning("cache: %s", problem)
        if self._voice is not None and self._cache is not None:
            self._voice = answer_cache.remembered(self._voice)
        name, detail = ("none", "") if self._cache is None else (self.settings.cache.store, self._cache.detail)
        self.record_choice("cache", name, detail, problem or "as configured", began_s, fallback=bool(problem))

    async def _open_tools(self) -> None:
        """Opens the tools of the configured servers; none without a model that could call them."""
        servers = self.settings.tools.servers
        if not servers:
            return
        began_s = now_s()
        if self._model is None:
            why = "instead of [[tools.servers]], because only a language model calls tools; add [[llm.endpoints]]"
            self.record_choice("tools", "none", "", why, began_s, fallback=True)
            return
        without_functions = [endpoint.name for endpoint in self.settings.llm.endpoints if not endpoint.takes_functions]
        if len(without_functions) == len(self.settings.llm.endpoints):
            raise EngineLoadError(
                f"[[tools.servers]] are set, but no endpoint supports functions ({', '.join(without_functions)}: their "
                "kinds have none, or they have a template): remove them, or add an endpoint of another kind."
            )
        # Assigned before loading, so that a caller that stops waiting can close it.
        self._tools = tools = await asyncio.to_thread(build.mcp_tools, servers, self.environ)
        await self.with_timeout(tools.name, tools.load())
        unfit = [f"{name} does not support functions and cannot answer" for name in without_functions]
        troubles = [*unfit, *tools.troubles]
        why = f"with problems: {'; '.join(troubles)}" if troubles else "as configured"
        self.record_choice("tools", "mcp", tools.detail, why, began_s, fallback=bool(troubles))

    # ---- what the loaders of single engines use (assistant/setup/loading.py) ----

    def provider_of(self, stage: str, engine: ProviderUser) -> str:
        """Returns the name of the provider in which a loaded engine computes, and keeps it for the trace."""
        assert engine.provider is not None, "it is loaded"
        shown = SHOWN[engine.provider]
        self.providers[f"{stage}_provider"] = f"{shown}; {engine.fallback}" if engine.fallback else shown
        return shown

    async def with_timeout(self, name: str, loading: Awaitable[None], provider: ProviderRequest | None = None) -> None:
        """Waits for a load; see `Loading`. Raises EngineLoadError if it takes too long."""
        limit_s = LOAD_TIMEOUT_S if provider is None else provider.load_timeout_s(LOAD_TIMEOUT_S)
        try:
            async with asyncio.timeout(limit_s):
                await loading
        except TimeoutError as error:
            raise EngineLoadError(
                f"{name} did not load within {limit_s:g} s: run `repartee doctor`, then try again"
            ) from error

    def record_choice(
        self, stage: str, name: str, detail: str, why: str, began_s: float, *, fallback: bool = False
    ) -> None:
        """Records the engine of a stage, and why it was chosen."""
        if all(chosen.stage != stage for chosen in self.chosen):  # all conversations have the engines of the first
            self.chosen.append(EngineChoice(stage, name, detail, why, fallback, (now_s() - began_s) * 1000))


def _ignored(_messages: Sequence[Message]) -> None:
    """Does nothing with an answer that was heard: there is no cache."""


def _spoken_form(table: Pronunciations, language: str, text: str) -> str:
    """Returns written text as it is spoken."""
    return spoken(table.respelled(text), language)
