"""Loads the engines: selects available ones, replaces missing ones, and shares engines between conversations.

build.py maps engine names to classes.
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

from assistant.config.endpoint_settings import WITHOUT_FUNCTIONS, EndpointSection
from assistant.config.settings import Settings
from assistant.end_of_turn.estimator import fitted_turn_end
from assistant.models.catalogue import Kind
from assistant.models.needs import Need, at_hand, is_piper_voice, lacking_model, other_voice
from assistant.models.whisper_choice import DecodeTime, whisper_choice
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel, warm_up_estimator
from assistant.pipeline.engines import EngineChoice, Engines
from assistant.pipeline.listening_sounds import ListeningSound
from assistant.pipeline.no_recognizer import NoRecognizer, typed_text_only
from assistant.pipeline.no_voice import NoVoice
from assistant.setup import answer_cache, build, services
from assistant.setup.derived_settings import knows_grammar, needs
from assistant.setup.listening_sound import make_listening_sound
from assistant.setup.whisper_timing import measure_unmeasured
from assistant.skills.effects import ConversationTimers, SkillEffects
from assistant.skills.timers import Timers
from assistant.support.paths import HomeError
from assistant.text.normalization.reading import spoken
from audio.errors import EngineError, EngineLoadError, TtsError
from audio.execution_provider import SHOWN, ProviderUnavailableError, ProviderUser
from audio.pronunciation import Pronunciations
from audio.queue_wait import QueuedEngine, QueueWait
from audio.stt import Recognizer
from audio.tts import Voice
from audio.vad import NetworkVad, Vad
from llm.cache import CacheStoreError
from llm.chat import ChatModel, Message
from llm.errors import LlmError

if TYPE_CHECKING:
    from assistant.setup.answer_cache import AnswerCache
    from assistant.setup.build import ClusterConnection, SharedWhisper, Skills
    from assistant.tools.mcp_tools import McpTools
    from assistant.trace.export import SpanExport

log = logging.getLogger(__name__)

LOAD_TIMEOUT_S = 60.0
MEASURE_TIMEOUT_S = 30.0
SOUND_TIMEOUT_S = 10.0
CACHE_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 3.0


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
    _skills: "Skills | None" = None
    _voice: Voice | None = None
    _listening_sound: ListeningSound | None = None
    _model: ChatModel | None = None
    _tools: "McpTools | None" = None
    _cache: "AnswerCache | None" = None
    _end_of_turn_model: AudioEndOfTurnModel | None = None
    _cluster: "ClusterConnection | None" = None
    _left_out: list[str] = field(default_factory=list)  # fallbacks that cannot start, with the reasons
    _local_reason: str = ""  # why the model on this machine is used although it is not configured, or is not used
    local_problem: str = ""  # why the installed model on this machine does not answer; "" if none is there or it does
    shared_whisper: "SharedWhisper | None" = None
    _background_voice: asyncio.Lock = field(default_factory=asyncio.Lock)
    providers: dict[str, str] = field(default_factory=dict)  # where models compute, by "tts_provider", "turn_provider"
    _why_model: str = ""  # why `stt.model = "auto"` is the model that was loaded
    measures: bool = True  # Whisper models without a time on this machine are measured first
    talks: bool = False  # a local microphone is used, so the settings of [talk] apply
    listens: bool = True  # False: there is no microphone, so no recognizer is loaded
    speaks: bool = True  # False: replies are text, so no voice is loaded
    show_measuring: Callable[[str], None] = lambda _what: None  # is told what is measured, at the beginning

    async def open(self) -> None:
        """Loads the shared engines. Raises EngineLoadError if a stage has no working engine."""
        await self._open(await self._load_skills())

    async def engines(self) -> Engines:
        """Returns the loaded engines of one conversation. The caller closes its recognizer. Raises EngineLoadError."""
        if self._skills is None:
            await self.open()
        return self.around(await self._make_recognizer())

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
        await self._with_timeout("skills", asyncio.to_thread(skills.load, self.settings.assistant.language))
        return skills

    async def _open(self, skills: "Skills") -> None:
        """Loads the other shared engines."""
        try:
            self._voice = await self._make_voice()
            self._listening_sound = await self._make_listening_sound(self._voice)
            self._model = await self._make_model(skills)
            await self._open_cache()
            await self._open_tools()
            self._end_of_turn_model = await self._make_end_of_turn_model()
            await self._make_recognizer()  # loads the shared model; the recognizer itself costs nothing
        except BaseException:
            for opened in (skills, self):
                await opened.aclose()
            raise
        self._skills = skills
        spoken("1", language=self.settings.assistant.language)  # compiles its regular expressions: up to 0.16 s
        warm_up_estimator(fitted_turn_end())

    def around(self, transcriber: Recognizer) -> Engines:
        """Returns the engines of one conversation, shared and new ones, with a loaded recognizer."""
        assert self._skills is not None
        assert self._voice is not None
        effects = SkillEffects(lambda _messages: None, build.local_now, self.make_timers())
        vad, spare = self._make_vads()
        say = partial(_said, build.pronunciations(self.settings), self.settings.assistant.language)
        asked = self._model
        on_answer_heard: Callable[[Sequence[Message]], None] = _ignored
        if self._model is not None and self._cache is not None:
            asked = cached = answer_cache.cached(self.settings, self._model, self._cache)
            on_answer_heard = cached.heard
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
        )

    @property
    def voice(self) -> Voice:
        """The shared voice. Only after `open`."""
        assert self._voice is not None
        return self._voice

    @property
    def queue_waits(self) -> Mapping[str, QueueWait]:
        """The queue waits of the shared engines by stage, `stt` and `tts`; only those that have a queue."""
        shared = {"stt": self.shared_whisper, "tts": self._voice}
        return {stage: engine.queue_wait for stage, engine in shared.items() if isinstance(engine, QueuedEngine)}

    def spoken_text(self, text: str) -> str:
        """Returns written text as it is spoken."""
        return _said(build.pronunciations(self.settings), self.settings.assistant.language, text)

    async def background_recognizer(self) -> Recognizer:
        """Returns a recognizer that gives way to those of conversations. The caller closes it. Raises EngineLoadError.

        It must be requested for segments of at most 30 s.
        """
        if self.shared_whisper is not None and self.shared_whisper.works:
            return self.shared_whisper.transcriber(background=True)
        return await self._make_recognizer()

    async def aclose(self, report: Callable[[str], None] = lambda _what: None) -> None:
        """Closes the shared engines, each with a time limit."""
        for engine in (self._voice, self._model, self._tools, self.shared_whisper, self._cache, self._skills):
            if engine is not None:
                await close_engine(engine, report)
        self._skills = self._voice = self._model = self._tools = self.shared_whisper = self._cache = None
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
        """The engine of each stage for the trace, why the Whisper model was chosen, and where other models compute."""
        why = {"stt_model": self._why_model} if self._why_model else {}
        return {chosen.stage: chosen.name for chosen in self.chosen} | why | self.providers

    # ---- voice activity ----

    def _make_vads(self) -> tuple[Vad, Vad]:
        spare = build.spare_vad()
        began_s, wanted = _now_s(), self.settings.vad.engine
        try:
            vad, why, fallback = build.vad(wanted), "as configured", False
        except EngineLoadError as error:
            vad, why, fallback = spare, f"instead of {wanted}, because {error}", True
        unusual = isinstance(vad, NetworkVad) and vad.runtime != "numpy"
        detail = (
            f"20 ms frames, computed by {vad.runtime}" if isinstance(vad, NetworkVad) and unusual else "20 ms frames"
        )
        self._record_choice("vad", vad.name, detail, why, began_s, fallback=fallback)
        return vad, spare

    # ---- end of turn ----

    async def _make_end_of_turn_model(self) -> AudioEndOfTurnModel | None:
        """Returns Smart Turn if its model is available and the end of turn is estimated at all."""
        began_s = _now_s()
        if fixed_ms := self.settings.turn.hangover_ms:
            self._record_choice("turn", "fixed silence", f"{fixed_ms} ms", "as configured", began_s)
            return None
        if self.settings.turn.smart_turn == "ray":
            return await self._cluster_smart_turn()
        need = self._need("smart-turn")
        assert need is not None, "every other configuration needs it"
        place = at_hand(need)
        sources = "sound and words" if knows_grammar(self.settings) else "sound"
        if place is None:
            why = f"without Smart Turn, because {lacking_model(need)}"
            self._record_choice("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
            return None
        service = build.smart_turn(self.settings, place)
        try:
            await self._with_timeout("Smart Turn", service.load())
        except ProviderUnavailableError:
            raise
        except (EngineLoadError, EngineError) as error:
            self._record_choice(
                "turn", "estimate", f"of {sources}", f"without Smart Turn: {error}", began_s, fallback=True
            )
            return None
        less = "; ".join(filter(None, (service.fallback and f"Smart Turn {service.fallback}", service.slow)))
        what = f"of {sources}, with {need.name}, {self._provider_of('turn', service)}"
        self._record_choice("turn", "estimate", what, less or "as configured", began_s, fallback=bool(less))
        return service

    def _provider_of(self, stage: str, engine: ProviderUser) -> str:
        """Returns the name of the provider in which a loaded engine computes, and keeps it for the trace."""
        assert engine.provider is not None, "it is loaded"
        shown = SHOWN[engine.provider]
        self.providers[f"{stage}_provider"] = f"{shown}; {engine.fallback}" if engine.fallback else shown
        return shown

    async def _cluster_smart_turn(self) -> AudioEndOfTurnModel | None:
        """Returns Smart Turn on the cluster, or none, with the reason."""
        began_s, sources = _now_s(), "sound and words" if knows_grammar(self.settings) else "sound"
        model = build.cluster_smart_turn(self._connection())
        try:
            await self._with_timeout("Smart Turn on the cluster", model.load())
        except EngineLoadError as error:
            log.warning("turn: without Smart Turn: %s", error)
            why = f"without Smart Turn: {error}"
            self._record_choice("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
            return None
        self._record_choice("turn", "estimate", f"of {sources}, with {model.detail}", "as configured", began_s)
        return model

    # ---- cluster ----

    def _connection(self) -> "ClusterConnection":
        """Returns the connection to the cluster, which the engines share. Raises EngineLoadError without the extra."""
        if self._cluster is None:
            self._cluster = build.cluster(self.settings)
        return self._cluster

    def _is_known_sentence(self, text: str) -> bool:
        """Whether the text is a complete sentence that a skill understands, whichever model answers it."""
        match = None if self._skills is None else self._skills.match(text, self.settings.assistant.language)
        return match is not None and not match.open_ended

    # ---- speech to text ----

    @property
    def lacking_recognizer(self) -> str:
        """Why speech is not recognized, and the remedy, as a part of a sentence; "" if the model is available."""
        return "" if self.settings.stt.engine == "ray" else self._missing("whisper")

    async def _make_recognizer(self) -> Recognizer:
        """Returns a conversation's own recognizer on the shared model.

        Without the model, "auto" returns one that recognizes no words; "faster-whisper" raises EngineLoadError.
        """
        if not self.listens:
            return NoRecognizer("there is no microphone")
        if self.shared_whisper is not None and self.shared_whisper.works:
            return self.shared_whisper.transcriber()
        if self.settings.stt.engine == "ray":
            return await self._cluster_recognizer()
        measured = await self._measure_whisper() if self.measures and self.shared_whisper is None else {}
        wanted, lacking = self.settings.stt.engine, self.lacking_recognizer
        if wanted == "auto" and lacking:
            self._record_choice("stt", NoRecognizer.name, "", typed_text_only(lacking), _now_s(), fallback=True)
            return NoRecognizer(lacking)
        if self.shared_whisper is None:
            # Chosen once: another process, or a measurement that took too long, may add times meanwhile.
            choice = whisper_choice(self.settings, measured)
            settings = replace(self.settings, stt=replace(self.settings.stt, model=choice.name))
            need = next(need for need in needs(settings) if need.kind == "whisper")
            self.shared_whisper, self._why_model = build.whisper(settings, build.place_of(need)), choice.why
        shared = self.shared_whisper
        if not shared.works:
            began_s = _now_s()
            await self._with_timeout(shared.name, shared.load())
            why = self._why_model or (
                "as configured" if wanted == "faster-whisper" else "auto: its model is downloaded"
            )
            self._record_choice("stt", shared.name, shared.transcriber().detail, why, began_s)
        return shared.transcriber()

    async def _cluster_recognizer(self) -> Recognizer:
        """Returns a conversation's recognizer on the cluster. Raises EngineLoadError if no replica answers."""
        began_s = _now_s()
        if self.shared_whisper is None:
            self.shared_whisper = build.cluster_whisper(self.settings, self._connection())
        shared = self.shared_whisper
        await self._with_timeout("the recognizer on the cluster", shared.load())
        recognizer = shared.transcriber()
        self._record_choice("stt", "ray", recognizer.detail, "as configured", began_s)
        return recognizer

    async def _measure_whisper(self) -> Mapping[str, DecodeTime]:
        """Measures the Whisper models that "auto" needs times of. Those without a time at the limit are not chosen."""
        choice = whisper_choice(self.settings)
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

    def _missing(self, kind: Kind) -> str:
        """Returns what the best engine of a stage lacks; "" if its model is available."""
        need = self._need(kind)
        if need is None:
            return f"no {kind} model is known for {self.settings.assistant.language}"
        return "" if at_hand(need) is not None else lacking_model(need)

    def _need(self, kind: Kind) -> Need | None:
        return next((need for need in needs(self.settings) if need.kind == kind), None)

    # ---- text to speech ----

    async def _make_voice(self) -> Voice:
        """Returns Piper with the configured voice, or the language's default, or any other of the language.

        With "auto", espeak-ng replaces a voice that is missing or cannot be loaded.
        """
        if not self.speaks or self.settings.tts.engine == "ray":
            return await self._cluster_voice() if self.speaks else NoVoice()
        wanted, need = self.settings.tts.engine, self._need("piper")
        if wanted == "espeak-ng" or (self.settings.tts.voice and not is_piper_voice(self.settings.tts.voice)):
            return await self._espeak("")
        lacking, why = self._missing("piper"), "auto: its voice is downloaded"
        if lacking and not self.settings.tts.voice and (other := other_voice(self.settings.assistant.language)):
            need, lacking, why = other, "", f"auto: {lacking.partition(';')[0]}"
        if wanted == "piper":
            assert need is not None, "a configuration with Piper needs a voice, even if none is named"
            return await self._piper(need, "as configured")
        if lacking or need is None:
            return await self._espeak(lacking)
        try:
            return await self._piper(need, why)
        except ProviderUnavailableError:
            raise
        except EngineLoadError as error:
            return await self._espeak(str(error))

    async def _cluster_voice(self) -> Voice:
        """Returns the voice on the cluster. Raises EngineLoadError if no replica answers."""
        began_s = _now_s()
        voice = build.cluster_voice(self.settings, self._connection())
        await self._with_timeout("the voice on the cluster", voice.load())
        self._record_choice("tts", voice.name, voice.detail, "as configured", began_s)
        return voice

    async def _piper(self, need: Need, why: str) -> Voice:
        began_s = _now_s()
        voice = build.piper(self.settings, build.place_of(need))
        await self._with_timeout(voice.name, voice.load())
        self._provider_of("tts", voice)
        why = voice.fallback or why
        self._record_choice("tts", voice.name, voice.detail, why, began_s, fallback=bool(voice.fallback))
        return voice

    async def _espeak(self, lacking: str) -> Voice:
        began_s = _now_s()
        voice = build.espeak(self.settings)
        await self._with_timeout(voice.name, voice.load())
        why = f"instead of piper, because {lacking}" if lacking else "as configured"
        if lacking:
            log.info("tts: espeak-ng, %s", why)
        self._record_choice("tts", voice.name, voice.detail, why, began_s, fallback=bool(lacking))
        return voice

    async def _make_listening_sound(self, voice: Voice) -> ListeningSound | None:
        """Returns the voice's listening sound, if it is wanted. Without one, pauses are not attended."""
        if not self.settings.turn.listening_sounds:
            return None
        began_s = _now_s()
        try:
            async with asyncio.timeout(SOUND_TIMEOUT_S):
                settings = self.settings
                return await make_listening_sound(voice, settings.assistant.language, settings.tts.volume_dbfs)
        except (TtsError, TimeoutError) as error:
            why = f"instead of turn.listening_sounds, because {error or 'the voice is too slow'}"
            log.warning("listening sounds: none, %s", why)
            self._record_choice("listening", "none", "", why, began_s, fallback=True)
            return None

    # ---- language model ----

    async def _make_model(self, skills: "Skills") -> ChatModel | None:
        """Returns the client of the endpoints; None if only the skills answer."""
        began_s = _now_s()
        model: ChatModel | None = None
        fallback = True
        if not self.settings.llm.endpoints:
            why = "instead of a language model, because none is configured in [[llm.endpoints]]"
            why += f", and {self._local_reason}" if self._local_reason else ""
            self.local_problem = self._local_reason
        else:
            why, fallback = self._local_reason or "as configured", False
            try:
                model = await self._open_model()
            except EngineLoadError as error:
                if not (self._local_reason and self.settings.skills.enabled):
                    raise
                self.settings = replace(self.settings, llm=replace(self.settings.llm, endpoints=()))
                why, fallback = f"instead of the model on this machine, because {error}", True
                self.local_problem = str(error)
            else:
                if self._left_out:
                    why, fallback = "; ".join(self._left_out), True
        shown = build.answering(self.settings, skills, model, SkillEffects(lambda _messages: None, build.local_now))
        self._record_choice("llm", shown.name, shown.detail, why, began_s, fallback=fallback)
        return model

    async def _open_model(self) -> ChatModel:
        """Returns the loaded client of the endpoints, without fallbacks that cannot start. Raises EngineLoadError."""
        clients = self._make_clients()
        self._model = model = build.joined(self.settings, clients)
        try:
            started = await self._start_local_models(clients)
            if len(started) < len(clients):
                self._model = model = build.joined(self.settings, started)
            await self._with_timeout(model.name, model.load())
        except BaseException:
            self._model = None
            await close_engine(model, lambda _what: None)
            raise
        return model

    def _make_clients(self) -> list[ChatModel]:
        """Returns the clients of the endpoints. Raises EngineLoadError."""
        clients = []
        for endpoint in self.settings.llm.endpoints:
            try:
                clients.append(build.client(endpoint, self.settings, self.environ))
            except EngineLoadError as error:
                self._leave_out(endpoint, error)
        return clients

    async def _start_local_models(self, clients: Sequence[ChatModel]) -> list[ChatModel]:
        """Starts the models that run on this machine. Returns the clients of all endpoints that are left.

        Raises EngineLoadError if a model that is no fallback cannot be started.
        """
        left = []
        for endpoint, client in zip(self.settings.llm.endpoints, clients, strict=True):
            try:
                if endpoint.kind == "local":
                    await self._start(client)
            except EngineLoadError as error:
                self._leave_out(endpoint, error)
                await close_engine(client, lambda _what: None)
            else:
                left.append(client)
        return left

    async def _start(self, client: ChatModel) -> None:
        try:
            await self._with_timeout(client.name, client.load())
        except LlmError as error:
            raise EngineLoadError(str(error)) from error

    def _leave_out(self, endpoint: EndpointSection, error: EngineLoadError) -> None:
        """Continues without a fallback that cannot start, and reports it. Raises the error for any other endpoint."""
        if not build.is_fallback(endpoint, self.settings):
            raise error
        left = tuple(other for other in self.settings.llm.endpoints if other != endpoint)
        self.settings = replace(self.settings, llm=replace(self.settings.llm, endpoints=left))
        why = f"without the fallback {endpoint.name}: {error}"
        self._left_out.append(why)
        log.warning("llm: %s", why)

    async def _open_cache(self) -> None:
        """Opens the answer cache; without it, or if it cannot be used, the language model is asked."""
        if not self.settings.cache.enabled or self._model is None:
            return
        began_s, problem = _now_s(), ""
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
        self._record_choice("cache", name, detail, problem or "as configured", began_s, fallback=bool(problem))

    async def _open_tools(self) -> None:
        """Opens the tools of the configured servers; none without a model that could call them."""
        servers = self.settings.tools.servers
        if not servers:
            return
        began_s = _now_s()
        if self._model is None:
            why = "instead of [[tools.servers]], because only a language model calls tools; add [[llm.endpoints]]"
            self._record_choice("tools", "none", "", why, began_s, fallback=True)
            return
        without_functions = [one.name for one in self.settings.llm.endpoints if not one.takes_functions]
        if len(without_functions) == len(self.settings.llm.endpoints):
            raise EngineLoadError(
                f"[[tools.servers]] are set, but no endpoint supports functions ({', '.join(without_functions)}: kind "
                f"{' or '.join(WITHOUT_FUNCTIONS)}, or with a template): remove them, or add an endpoint of another "
                "kind."
            )
        # Assigned before loading, so that a caller that stops waiting can close it.
        self._tools = tools = await asyncio.to_thread(build.mcp_tools, servers, self.environ)
        await self._with_timeout(tools.name, tools.load())
        unfit = [f"{name} does not support functions and cannot answer" for name in without_functions]
        troubles = [*unfit, *tools.troubles]
        why = f"with problems: {'; '.join(troubles)}" if troubles else "as configured"
        self._record_choice("tools", "mcp", tools.detail, why, began_s, fallback=bool(troubles))

    async def _with_timeout(self, name: str, loading: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await loading
        except TimeoutError as error:
            raise EngineLoadError(
                f"{name} did not load within {LOAD_TIMEOUT_S:g} s: run `repartee doctor`, then try again"
            ) from error

    def _record_choice(
        self, stage: str, name: str, detail: str, why: str, began_s: float, *, fallback: bool = False
    ) -> None:
        if all(chosen.stage != stage for chosen in self.chosen):  # all conversations have the engines of the first
            self.chosen.append(EngineChoice(stage, name, detail, why, fallback, (_now_s() - began_s) * 1000))


async def close_engine(engine: services.Closable, report: Callable[[str], None]) -> None:
    """Closes an engine with a time limit."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await engine.aclose()
    except TimeoutError:
        report(f"{engine.name} did not stop within {CLOSE_TIMEOUT_S:g} s and was abandoned")


def _ignored(_messages: Sequence[Message]) -> None:
    """Does nothing with an answer that was heard: there is no cache."""


def _said(pronunciations: Pronunciations, language: str, text: str) -> str:
    """Returns written text as it is spoken."""
    return spoken(pronunciations.respelled(text), language)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
