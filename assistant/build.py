"""From settings to a conversation's engines. The only place that names concrete ones, but for endpoint_kinds.py, which
makes the clients of language models, and engine_table.py."""

import asyncio
import os
import random
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from assistant.attention import Attention, WakePhrase
from assistant.conversation import Conversation
from assistant.deeds import Deeds
from assistant.endpoint_kinds import model_of
from assistant.endpoint_settings import WITHOUT_FUNCTIONS, EndpointSection
from assistant.engines import Engines, SessionSettings
from assistant.facts import Fact
from assistant.judge import Listener
from assistant.model_catalogue import Kind
from assistant.models import Need, at_hand, is_piper_voice, missing, needed
from assistant.push_to_talk import TalkKey
from assistant.record import TurnRecord
from assistant.recorder import Recorder
from assistant.session import Session
from assistant.settings import Profile, Settings
from assistant.skills import Running
from assistant.spoken import spoken
from assistant.tool_settings import ToolServerSection
from assistant.tools import ToolSettings
from assistant.trace_file import TraceFile
from assistant.turn_end import BALANCED, EAGER, PATIENT, Evidence, Patience, fitted_turn_end
from assistant.turn_spans import Asked, provider_of
from assistant.turns import Turns, TurnSettings
from audio.errors import EngineLoadError
from audio.microphone import Microphone
from audio.speaker import Speaker
from audio.stt import Transcriber
from audio.tts import Voice
from audio.units import samples_of_s
from audio.vad import Vad
from llm.chat import ChatModel

if TYPE_CHECKING:
    from assistant.mcp_tools import McpTools
    from assistant.skills.skills import Skills
    from assistant.span_export import SpanExport
    from audio.stt.whisper_shared import SharedWhisper

LOAD_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 3.0

SETTLE_MS: Mapping[str, float] = MappingProxyType({"pocketsphinx": 160.0})
"""Silence after which a recognizer's words are as good as they get: pocketsphinx looks 130 ms ahead (docs/stt.md).
Others take the sound as it is, and to ask them again costs as much as to ask: the words of their first answer stay."""

PATIENCE: Mapping[Profile, Patience] = MappingProxyType({"eager": EAGER, "balanced": BALANCED, "patient": PATIENT})
"""How long a silence is waited for, by `turn.profile`."""

ESPEAK_WORDS_PER_MINUTE = 170
"""The pace of `tts.speed = 1`: espeak-ng's own default is 175, a little hurried for an answer."""


MOMENTS: Mapping[str, str] = MappingProxyType(
    {"en": "One moment.", "de": "Einen Moment.", "fr": "Un instant.", "es": "Un momento."}
)
"""What is said while a tool is slow, by language; in any other the configuration has to say it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An engine in use, for the screen.

    Attributes:
        stage: "vad", "turn", "stt", "llm", "tools" or "tts".
        name: The engine.
        detail: One line about it.
        why: Why this one: asked for, or in place of what.
        fallback: Whether it runs in place of something else.
        load_ms: How long it took to load and warm.
    """

    stage: str
    name: str
    detail: str
    why: str
    fallback: bool
    load_ms: float


@dataclass(slots=True)
class Workshop:
    """Builds and loads engines: once what conversations share, and for each what it needs of its own.

    Shared are the skills' tables, the clients of the language models, the tools and the voice, which serialize what
    they must.
    A conversation's own are the detector, the recognizer's state, and what its skills have set going.
    """

    settings: Settings
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    chosen: list[Chosen] = field(default_factory=list)
    export: "SpanExport | None" = None  # where turns go besides their files; its task is the caller's
    _skills: "Skills | None" = None
    _voice: Voice | None = None
    _model: ChatModel | None = None
    _tools: "McpTools | None" = None
    _listener: Listener | None = None
    _shared_whisper: "SharedWhisper | None" = None
    _sentences: tuple[str, ...] = ()
    talks: bool = False  # at a microphone of its own: the settings of [talk] hold

    async def open(self) -> None:
        """Load what is shared. Raises EngineLoadError where a stage has nothing that works."""
        from assistant.skills.skills import Skills, understood_sentences

        if not self.settings.skills.enabled and not self.settings.llm.endpoints:
            raise EngineLoadError(
                "nothing can answer: skills.enabled is false and there is no [[llm.endpoints]]; set one of them."
            )
        skills = Skills()
        await self._timed(asyncio.to_thread(skills.load, self.settings.assistant.language))
        self._sentences = understood_sentences() if self.settings.skills.enabled else ()
        if self.talks and self.settings.talk.mode == "wake":
            self._sentences = with_phrase(self._sentences, self.settings.talk.wake_phrase)
        try:
            self._voice = await self._make_voice()
            self._model = await self._make_model(skills)
            self._tools = await self._make_tools()
            self._listener = await self._make_listener()
            if self._whisper_why():
                await self._transcriber()  # loads the model of all conversations; what it makes of it costs nothing
        except BaseException:
            await self.aclose()
            raise
        self._skills = skills
        spoken("1", language=self.settings.assistant.language)  # compiles what it looks for: 20 ms
        fitted_turn_end().estimate(Evidence(0.0, text="warm"))  # reads its tables: 30 ms

    async def engines(self) -> Engines:
        """The engines of one conversation, loaded and warm; whoever holds it closes its transcriber.

        Raises EngineLoadError.
        """
        if self._skills is None:
            await self.open()
        return self.around(await self._transcriber())

    def around(self, transcriber: Transcriber) -> Engines:
        """The engines of one conversation, the shared ones and new ones, around a recognizer that is ready."""
        assert self._skills is not None
        assert self._voice is not None
        deeds = Deeds(lambda _messages: None, _local_now)
        vad, spare = self._make_vads()
        say = partial(spoken, language=self.settings.assistant.language)
        model = self._before(self._skills, self._model, deeds)
        return Engines(
            vad,
            spare,
            transcriber,
            model,
            self._voice,
            deeds,
            say,
            fitted_turn_end(),
            self._listener,
            self._understands,
            None if self._model is None else self._model.load,
            self._tools,
        )

    async def aclose(self, report: Callable[[str], None] = lambda _what: None) -> None:
        """Stop what is shared, each within a limit."""
        for engine in (self._voice, self._model, self._tools, self._shared_whisper):
            if engine is not None:
                await close(engine, report)
        self._skills = self._voice = self._model = self._tools = self._shared_whisper = None

    @property
    def fallbacks(self) -> list[str]:
        """What runs in place of something else, and why."""
        return [f"{chosen.stage}: {chosen.name}, {chosen.why}" for chosen in self.chosen if chosen.fallback]

    # ---- voice activity ----

    def _make_vads(self) -> tuple[Vad, Vad]:
        from audio.vad.webrtc import WebrtcVad

        spare: Vad = WebrtcVad()
        began_s = _now_s()
        wanted = self.settings.vad.engine
        try:
            vad, why, fallback = self._vad_named(wanted), "as configured", False
        except EngineLoadError as error:
            vad, why, fallback = spare, f"in place of {wanted}: {error}", True
        self._note("vad", vad.name, "20 ms frames", why, began_s, fallback=fallback)
        return vad, spare

    def _vad_named(self, name: str) -> Vad:
        if name == "silero":
            from audio.vad.silero import SileroVad

            return SileroVad()
        if name == "cascade":
            from audio.vad.cascade import CascadeVad

            return CascadeVad()
        from audio.vad.webrtc import WebrtcVad

        return WebrtcVad()

    # ---- the end of a turn ----

    async def _make_listener(self) -> Listener | None:
        """Smart Turn where it is at hand and silences are judged at all."""
        began_s = _now_s()
        if self.settings.turn.hangover_ms:
            self._note("turn", "fixed silence", f"{self.settings.turn.hangover_ms} ms", "as configured", began_s)
            return None
        need = self._need("smart-turn")
        assert need is not None, "every configuration wants it"
        place = at_hand(need)
        sources = "sound and words" if self._reads else "sound"
        if place is None:
            why = f"in place of sound, words and Smart Turn: {missing(need)}"
            self._note("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
            return None
        from audio.smart_turn_desk import SmartTurnDesk

        desk = SmartTurnDesk(place)
        try:
            await self._timed(desk.load())
        except EngineLoadError as error:
            self._note("turn", "estimate", f"of {sources}", f"without Smart Turn: {error}", began_s, fallback=True)
            return None
        self._note("turn", "estimate", f"of {sources}, with {need.name}", "as configured", began_s)
        return desk

    @property
    def _reads(self) -> bool:
        return reads(self.settings)

    def _understands(self, text: str) -> bool:
        """Whether the words are, whole, a sentence that needs no model."""
        return self._skills is not None and self._skills.match(text, self.settings.assistant.language) is not None

    # ---- speech to text ----

    async def _transcriber(self) -> Transcriber:
        why = self._whisper_why()
        if why:
            return await self._whisper(why)
        return await self._sphinx("" if self.settings.stt.engine == "pocketsphinx" else self._missing("whisper"))

    def _whisper_why(self) -> str:
        """Why faster-whisper hears; "" where it does not."""
        wanted = self.settings.stt.engine
        if wanted == "faster-whisper":
            return "as configured"
        return "" if wanted == "pocketsphinx" or self._missing("whisper") else "auto: its model is at hand"

    async def _whisper(self, why: str) -> Transcriber:
        """A conversation's own seat at the model of all."""
        from audio.stt.whisper_model import WhisperSettings
        from audio.stt.whisper_shared import SharedWhisper

        stt = self.settings.stt
        if self._shared_whisper is None:
            settings = WhisperSettings(
                stt.model,
                language=self.settings.assistant.language,
                device=stt.device,
                compute_type=stt.compute_type,
                cpu_threads=stt.threads,
                encoder_window=stt.encoder_window,
                hot_words=stt.hot_words,
                initial_prompt=stt.initial_prompt,
            )
            # After twice the time that words are waited for, nobody has any use for a decode.
            self._shared_whisper = SharedWhisper(settings, hang_s=2 * stt.timeout_s)
        shared = self._shared_whisper
        if not shared.works:
            began_s = _now_s()
            await self._timed(shared.load())
            self._note("stt", shared.name, shared.transcriber().detail, why, began_s)
        return shared.transcriber()

    async def _sphinx(self, lacking: str) -> Transcriber:
        from audio.stt.pocketsphinx import PocketsphinxTranscriber

        began_s = _now_s()
        transcriber = PocketsphinxTranscriber(self._sentences, language=self.settings.assistant.language)
        await self._timed(transcriber.load())
        why = f"in place of faster-whisper: {lacking}" if lacking else "as configured"
        self._note("stt", transcriber.name, transcriber.detail, why, began_s, fallback=bool(lacking))
        return transcriber

    def _missing(self, kind: Kind) -> str:
        """What the best engine of a stage lacks; "" where its model is at hand."""
        need = self._need(kind)
        if need is None:
            return f"no {kind} model is known for {self.settings.assistant.language}"
        return "" if at_hand(need) is not None else missing(need)

    def _need(self, kind: Kind) -> Need | None:
        return next((need for need in needs(self.settings) if need.kind == kind), None)

    # ---- text to speech ----

    async def _make_voice(self) -> Voice:
        wanted = self.settings.tts.engine
        for_espeak = wanted == "espeak-ng" or (self.settings.tts.voice and not is_piper_voice(self.settings.tts.voice))
        lacking = "" if for_espeak else self._missing("piper")
        if wanted == "piper" or not (for_espeak or lacking):
            return await self._piper("as configured" if wanted == "piper" else "auto: its voice is at hand")
        return await self._espeak(lacking)

    async def _piper(self, why: str) -> Voice:
        from audio.tts.piper import PiperTts

        settings = self.settings.tts
        need = self._need("piper")
        if need is None:
            raise EngineLoadError(f"{self._missing('piper')}: set tts.voice to a voice, or tts.engine to espeak-ng.")
        place = at_hand(need)
        if place is None:
            raise EngineLoadError(f"the Piper voice {need.name} is not at hand ({missing(need)}).")
        began_s = _now_s()
        voice = PiperTts(
            str(place),
            language=self.settings.assistant.language,
            speaker=settings.speaker or None,
            speed=settings.speed,
            target_dbfs=settings.volume_dbfs,
            threads=self.settings.stt.threads,
            timeout_s=settings.timeout_s,
        )
        await self._timed(voice.load())
        self._note("tts", voice.name, voice.detail, why, began_s)
        return voice

    async def _espeak(self, lacking: str) -> Voice:
        from audio.tts.espeak import EspeakVoice

        settings = self.settings.tts
        began_s = _now_s()
        voice = EspeakVoice(
            language=self.settings.assistant.language,
            voice=settings.voice or None,
            words_per_minute=round(ESPEAK_WORDS_PER_MINUTE * settings.speed),
            target_dbfs=settings.volume_dbfs,
            timeout_s=settings.timeout_s,
        )
        await self._timed(voice.load())
        why = f"in place of piper: {lacking}" if lacking else "as configured"
        self._note("tts", voice.name, voice.detail, why, began_s, fallback=bool(lacking))
        return voice

    # ---- the model ----

    async def _make_model(self, skills: "Skills") -> ChatModel | None:
        """The client of the endpoints; None where the skills answer alone."""
        began_s = _now_s()
        model: ChatModel | None = None
        if self.settings.llm.endpoints:
            why = "as configured"
            model = self._routed()
            await self._timed(model.load())
        else:
            why = "in place of a language model: no [[llm.endpoints]] in config.toml"
        shown = self._before(skills, model, Deeds(lambda _messages: None, _local_now))
        self._note("llm", shown.name, shown.detail, why, began_s, fallback=model is None)
        return model

    def _before(self, skills: "Skills", model: ChatModel | None, deeds: Deeds) -> ChatModel:
        """What answers one conversation: the skills, the model, or the one before the other."""
        from assistant.skills.chat import SkillsChat, SkillsFirst

        def running() -> Running:
            return deeds.timers.running(_now_s())

        language = self.settings.assistant.language
        if model is None:
            alone = SkillsChat(skills, _local_now, language, running=running)
            deeds.effect_of = alone.effect_of
            return alone
        if self.settings.skills.enabled and self.settings.skills.before_llm:
            first = SkillsFirst(skills, model, _local_now, language, running=running)
            deeds.effect_of = first.effect_of
            return first
        return model

    def _routed(self) -> ChatModel:
        """One endpoint as it is, several behind a router that all conversations share."""
        from llm.hedging import HedgeBudget
        from llm.router import Router
        from llm.routing import Endpoint, Place, Routing

        settings = self.settings.llm
        models = [self._endpoint(endpoint) for endpoint in settings.endpoints]
        if len(models) == 1:
            return models[0]
        endpoints = [
            Endpoint(
                endpoint.name,
                endpoint.tier,
                endpoint.weight,
                Place(endpoint.latitude, endpoint.longitude) if endpoint.placed else None,
                endpoint.price_in_per_million,
                endpoint.price_out_per_million,
            )
            for endpoint in settings.endpoints
        ]
        here = Place(settings.latitude, settings.longitude) if settings.placed else None
        try:
            routing = Routing(
                endpoints, settings.policy, HedgeBudget(settings.hedge_share), random.SystemRandom().random, here
            )
        except ValueError as error:
            raise EngineLoadError(f"the endpoints of a language model: {error}") from error
        return Router(models, routing, first_token_timeout_s=settings.first_token_timeout_s)

    def _endpoint(self, endpoint: EndpointSection) -> ChatModel:
        try:
            return model_of(endpoint, self.settings.llm, self.environ)
        except ValueError as error:
            raise EngineLoadError(str(error)) from error

    async def _make_tools(self) -> "McpTools | None":
        """The tools of the configured servers; None where there are none, or no model that could call them."""
        servers = self.settings.tools.servers
        if not servers:
            return None
        began_s = _now_s()
        if self._model is None:
            why = "in place of [[tools.servers]]: skills call none; add [[llm.endpoints]] to config.toml"
            self._note("tools", "none", "", why, began_s, fallback=True)
            return None
        takes_none = [one.name for one in self.settings.llm.endpoints if not one.takes_functions]
        if len(takes_none) == len(self.settings.llm.endpoints):
            raise EngineLoadError(
                f"[[tools.servers]] are set, but no endpoint takes functions ({', '.join(takes_none)}: kind "
                f"{' or '.join(WITHOUT_FUNCTIONS)}, or with a template): remove them, or add an endpoint of another "
                "kind."
            )
        tools = await asyncio.to_thread(_mcp_tools, servers, self.environ)
        await self._timed(tools.load())
        troubles = [*(f"{name} takes no functions and cannot answer" for name in takes_none), *tools.troubles]
        why = f"not all of them: {'; '.join(troubles)}" if troubles else "as configured"
        self._note("tools", "mcp", tools.detail, why, began_s, fallback=bool(troubles))
        return tools

    async def _timed(self, loading: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await loading
        except TimeoutError as error:
            raise EngineLoadError(
                f"an engine did not load within {LOAD_TIMEOUT_S:g} s; see `repartee demo` again"
            ) from error

    def _note(self, stage: str, name: str, detail: str, why: str, began_s: float, *, fallback: bool = False) -> None:
        if all(chosen.stage != stage for chosen in self.chosen):  # what the first conversation got, the others get too
            self.chosen.append(Chosen(stage, name, detail, why, fallback, (_now_s() - began_s) * 1000))


def _mcp_tools(servers: Sequence[ToolServerSection], environ: Mapping[str, str]) -> "McpTools":
    """In a thread: importing what speaks to them takes a second. Raises EngineLoadError without the extra."""
    try:
        from assistant.mcp_tools import McpTools
    except ImportError as error:
        raise EngineLoadError(
            "[[tools.servers]] need the package mcp, which is not installed: pip install 'repartee[mcp]', or remove "
            "them from config.toml."
        ) from error
    return McpTools(servers, environ)


def needs(settings: Settings) -> list[Need]:
    """The models that these settings need."""
    return needed(
        language=settings.assistant.language,
        stt_engine=settings.stt.engine,
        stt_model=settings.stt.model,
        tts_engine=settings.tts.engine,
        voice=settings.tts.voice,
    )


def turn_settings(settings: Settings, recognizer: str) -> TurnSettings:
    """What turn taking needs of the settings, with this recognizer."""
    turn = settings.turn
    return TurnSettings(
        hangover_ms=turn.hangover_in_use_ms,
        patience=None if turn.hangover_ms else PATIENCE[turn.profile],
        speculate_after_ms=turn.speculate_after_ms or None,
        settle_ms=SETTLE_MS.get(recognizer, 0.0),
        interrupt_after_ms=turn.interrupt_after_ms,
        max_turn_s=turn.max_turn_s,
        stuck_after_s=turn.stuck_after_s,
        pre_roll_ms=turn.pre_roll_ms,
    )


def with_phrase(sentences: Sequence[str], phrase: str) -> tuple[str, ...]:
    """Sentences to be recognized, the wake phrase before each, and it alone, too."""
    called = " ".join(phrase.lower().split())
    return (*sentences, called, *(f"{called} {sentence}" for sentence in sentences))


def attention(settings: Settings) -> Attention:
    """Who is listened to. Raises EngineLoadError for a wake phrase that is none."""
    if settings.talk.mode != "wake":
        return Attention()
    try:
        return Attention(WakePhrase(settings.talk.wake_phrase), samples_of_s(settings.talk.listen_s))
    except ValueError as error:
        raise EngineLoadError(str(error)) from error


def session_settings(settings: Settings) -> SessionSettings:
    """What a session needs of the settings."""
    # The voice is given its own limit first: it knows how to get rid of a library that hangs.
    voice_timeout_s = settings.tts.timeout_s + 0.5
    return SessionSettings(
        settings.stt.timeout_s,
        voice_timeout_s,
        settings.assistant.greeting,
        reads(settings),
        tool_settings(settings),
    )


def tool_settings(settings: Settings) -> ToolSettings:
    """How tools may behave."""
    tools = settings.tools
    moment = tools.moment or MOMENTS.get(settings.assistant.language.partition("-")[0], "")
    return ToolSettings(
        timeout_s=tools.timeout_s,
        moment=moment if tools.moment_after_s else "",
        moment_after_s=tools.moment_after_s,
        max_rounds=tools.max_rounds,
        max_result_chars=tools.max_result_chars,
    )


def reads(settings: Settings) -> bool:
    """Whether the estimate of turn ends knows the grammar of the conversation's language."""
    return settings.assistant.language.partition("-")[0] == "en"


def session(
    workshop: Workshop,
    *,
    engines: Engines,
    microphone: Microphone,
    speaker: Speaker,
    trace: TraceFile,
    show: Callable[[Fact], None],
    counters: Callable[[], Mapping[str, int]],
) -> Session:
    """A conversation on these engines, as the settings say, its records on their way to `trace`."""
    settings, talk = workshop.settings, workshop.settings.talk
    export = workshop.export
    recorder = Recorder(
        conversation=trace.path.stem,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        salt=secrets.token_bytes(16),
        engines={chosen.stage: chosen.name for chosen in workshop.chosen},
        fallbacks=list(workshop.fallbacks),
        keep_words=settings.trace.words,
        speech_end_bias_ms=engines.vad.end_bias_ms,
        counters=lambda: {
            "clock_steps": microphone.clock.steps,
            "invented_frames": microphone.invented_frames,
            "dropped_records": trace.dropped,
            "dropped_exports": 0 if export is None else export.dropped,
            **counters(),
        },
        write=trace.put if export is None else partial(_put, (trace, export)),
        show=show,
        started_s=_now_s(),
        exports=export is not None,
    )
    who, by_key = attention(settings) if workshop.talks else Attention(), workshop.talks and talk.mode == "push-to-talk"
    turns = turn_settings(settings, engines.transcriber.name)
    return Session(
        microphone,
        speaker,
        engines,
        Turns(replace(turns, held=by_key, interruptible=who.interruptible)),
        Conversation(settings.assistant.instructions, settings.llm.max_history_turns, settings.llm.max_history_tokens),
        recorder,
        session_settings(settings),
        show,
        attention=who,
        key=TalkKey() if by_key else None,
    )


def span_export(settings: Settings, environ: Mapping[str, str], complain: Callable[[str], None]) -> "SpanExport | None":
    """The way to the OpenTelemetry collector of these settings; None without one.

    `complain` hears of a collector that takes nothing. Raises EngineLoadError where the extra is missing, or a variable
    of OpenTelemetry's cannot be understood.
    """
    if not settings.trace.otlp_url:
        return None
    from llm.address import is_loopback

    try:
        from assistant.span_export import SpanExport
    except ImportError as error:
        raise EngineLoadError(str(error)) from error
    endpoints = {
        endpoint.name: Asked(provider_of(endpoint.kind, urlsplit(endpoint.url).hostname or ""), endpoint.model)
        for endpoint in settings.llm.endpoints
    }
    try:
        # A proxy from the environment is for the world outside, never for a collector on this machine.
        trust_env = not is_loopback(urlsplit(settings.trace.otlp_url).hostname or "")
        return SpanExport(settings.trace.otlp_url, environ, endpoints, complain, trust_env=trust_env)
    except ValueError as error:
        raise EngineLoadError(str(error)) from error


def _put(places: "tuple[TraceFile, SpanExport]", record: TurnRecord) -> None:
    for place in places:
        place.put(record)


def conversation_name() -> str:
    """When it began, and what tells it from others that began then."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


async def close(
    engine: "Transcriber | Voice | ChatModel | McpTools | SharedWhisper", report: Callable[[str], None]
) -> None:
    """Stop an engine within a limit."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await engine.aclose()
    except TimeoutError:
        report(f"{engine.name} did not stop within {CLOSE_TIMEOUT_S:g} s and was left behind")


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _local_now() -> datetime:
    return datetime.now().astimezone()
