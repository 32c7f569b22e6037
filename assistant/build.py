"""From settings to a conversation's engines: the only place that names concrete engines."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from assistant.deeds import Deeds
from assistant.model_catalogue import Kind
from assistant.models import Need, at_hand, is_piper_voice, missing, needed
from assistant.session import Engines, SessionSettings
from assistant.settings import EndpointSection, Settings
from assistant.skills import Running
from assistant.spoken import spoken
from assistant.turns import TurnSettings
from audio.errors import EngineLoadError
from audio.stt import Transcriber
from audio.tts import Voice
from audio.vad import Vad
from llm.chat import ChatModel

if TYPE_CHECKING:
    from assistant.skills.skills import Skills

LOAD_TIMEOUT_S = 60.0

ESPEAK_WORDS_PER_MINUTE = 170
"""The pace of `tts.speed = 1`: espeak-ng's own default is 175, a little hurried for an answer."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An engine in use, for the screen.

    Attributes:
        stage: "vad", "stt", "llm" or "tts".
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
    """Builds and loads the engines of one conversation."""

    settings: Settings
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    chosen: list[Chosen] = field(default_factory=list)
    _deeds: Deeds = field(default_factory=lambda: Deeds(lambda _messages: None, _local_now))

    async def engines(self) -> Engines:
        """The engines, loaded and warm. Raises EngineLoadError where a stage has none that works."""
        from assistant.skills.skills import Skills, understood_sentences

        if not self.settings.skills.enabled and not self.settings.llm.endpoints:
            raise EngineLoadError(
                "nothing can answer: skills.enabled is false and there is no [[llm.endpoints]]; set one of them."
            )
        skills = Skills()
        await self._timed(asyncio.to_thread(skills.load))
        vad, spare = await self._vad()
        transcriber = await self._transcriber(understood_sentences() if self.settings.skills.enabled else ())
        try:
            voice = await self._voice()
            model = await self._model(skills)
        except BaseException:
            await transcriber.aclose()
            raise
        say = partial(spoken, language=self.settings.assistant.language)
        say("1")  # compiles what it looks for: 20 ms
        return Engines(vad, spare, transcriber, model, voice, self._deeds, say)

    @property
    def fallbacks(self) -> list[str]:
        """What runs in place of something else, and why."""
        return [f"{chosen.stage}: {chosen.name}, {chosen.why}" for chosen in self.chosen if chosen.fallback]

    # ---- voice activity ----

    async def _vad(self) -> tuple[Vad, Vad]:
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

    # ---- speech to text ----

    async def _transcriber(self, sentences: tuple[str, ...]) -> Transcriber:
        wanted = self.settings.stt.engine
        lacking = "" if wanted == "pocketsphinx" else self._missing("whisper")
        if wanted == "faster-whisper" or not (lacking or wanted == "pocketsphinx"):
            return await self._whisper("as configured" if wanted == "faster-whisper" else "auto: its model is at hand")
        return await self._sphinx(sentences, lacking)

    async def _whisper(self, why: str) -> Transcriber:
        from audio.stt.whisper import WhisperTranscriber

        stt = self.settings.stt
        began_s = _now_s()
        transcriber = WhisperTranscriber(
            stt.model,
            language=self.settings.assistant.language,
            device=stt.device,
            compute_type=stt.compute_type,
            cpu_threads=stt.threads,
            encoder_window=stt.encoder_window,
            hot_words=stt.hot_words,
            initial_prompt=stt.initial_prompt,
        )
        await self._timed(transcriber.load())
        self._note("stt", transcriber.name, transcriber.detail, why, began_s)
        return transcriber

    async def _sphinx(self, sentences: tuple[str, ...], lacking: str) -> Transcriber:
        from audio.stt.pocketsphinx import PocketsphinxTranscriber

        began_s = _now_s()
        transcriber = PocketsphinxTranscriber(sentences, language=self.settings.assistant.language)
        await self._timed(transcriber.load())
        why = f"in place of faster-whisper: {lacking}" if lacking else "as configured"
        self._note("stt", transcriber.name, transcriber.detail, why, began_s, fallback=bool(lacking))
        return transcriber

    def _missing(self, kind: Kind) -> str:
        """What the best engine of a stage lacks; "" where its model is at hand."""
        return next((missing(need) for need in needs(self.settings) if need.kind == kind and at_hand(need) is None), "")

    # ---- text to speech ----

    async def _voice(self) -> Voice:
        wanted = self.settings.tts.engine
        for_espeak = wanted == "espeak-ng" or (self.settings.tts.voice and not is_piper_voice(self.settings.tts.voice))
        lacking = "" if for_espeak else self._missing("piper")
        if wanted == "piper" or not (for_espeak or lacking):
            return await self._piper("as configured" if wanted == "piper" else "auto: its voice is at hand")
        return await self._espeak(lacking)

    async def _piper(self, why: str) -> Voice:
        from audio.tts.piper import PiperTts

        settings = self.settings.tts
        need = next(need for need in needs(self.settings) if need.kind == "piper")
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

    async def _model(self, skills: "Skills") -> ChatModel:
        from assistant.skills.chat import SkillsChat, SkillsFirst

        language = self.settings.assistant.language
        began_s = _now_s()
        model: ChatModel
        if self.settings.llm.endpoints:
            endpoint = self.settings.llm.endpoints[0]
            others = len(self.settings.llm.endpoints) - 1
            why = "the first of [[llm.endpoints]]" + (f"; {others} more not used yet" if others else "")
            fallback = False
            model = self._endpoint(endpoint)
            if self.settings.skills.enabled and self.settings.skills.before_llm:
                model = first = SkillsFirst(skills, model, _local_now, language, running=self._running)
                self._deeds.effect_of = first.effect_of
        else:
            model = alone = SkillsChat(skills, _local_now, language, running=self._running)
            self._deeds.effect_of = alone.effect_of
            why, fallback = "in place of a language model: no [[llm.endpoints]] in config.toml", True
        await self._timed(model.load())
        self._note("llm", model.name, model.detail, why, began_s, fallback=fallback)
        return model

    def _endpoint(self, endpoint: EndpointSection) -> ChatModel:
        from llm.openai import OpenAIChat

        settings = self.settings.llm
        key = self.environ.get(endpoint.api_key_env) if endpoint.api_key_env else None
        if endpoint.api_key_env and not key:
            raise EngineLoadError(
                f"endpoint {endpoint.name}: the environment variable {endpoint.api_key_env} is not set; "
                "put the key there, or remove api_key_env if it needs none."
            )
        try:
            return OpenAIChat(
                endpoint.name,
                endpoint.url,
                endpoint.model,
                api_key=key,
                first_token_timeout_s=settings.first_token_timeout_s,
                token_gap_timeout_s=settings.token_gap_timeout_s,
                connect_timeout_s=settings.connect_timeout_s,
                max_tokens=settings.max_tokens,
                temperature=settings.temperature,
            )
        except ValueError as error:
            raise EngineLoadError(str(error)) from error

    def _running(self) -> Running:
        return self._deeds.timers.running(_now_s())

    async def _timed(self, loading: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await loading
        except TimeoutError as error:
            raise EngineLoadError(
                f"an engine did not load within {LOAD_TIMEOUT_S:g} s; see `repartee demo` again"
            ) from error

    def _note(self, stage: str, name: str, detail: str, why: str, began_s: float, *, fallback: bool = False) -> None:
        self.chosen.append(Chosen(stage, name, detail, why, fallback, (_now_s() - began_s) * 1000))


def needs(settings: Settings) -> list[Need]:
    """The models that these settings need."""
    return needed(
        language=settings.assistant.language,
        stt_engine=settings.stt.engine,
        stt_model=settings.stt.model,
        tts_engine=settings.tts.engine,
        voice=settings.tts.voice,
    )


def turn_settings(settings: Settings) -> TurnSettings:
    """What turn taking needs of the settings."""
    turn = settings.turn
    return TurnSettings(
        hangover_ms=turn.hangover_in_use_ms,
        speculate_after_ms=turn.speculate_after_ms or None,
        interrupt_after_ms=turn.interrupt_after_ms,
        max_turn_s=turn.max_turn_s,
        stuck_after_s=turn.stuck_after_s,
        pre_roll_ms=turn.pre_roll_ms,
    )


def session_settings(settings: Settings) -> SessionSettings:
    """What a session needs of the settings."""
    # The voice is given its own limit first: it knows how to get rid of a library that hangs.
    voice_timeout_s = settings.tts.timeout_s + 0.5
    return SessionSettings(settings.stt.timeout_s, voice_timeout_s, settings.assistant.greeting)


async def close(engines: Engines, report: Callable[[str], None]) -> None:
    """Stop the engines, each within a limit."""
    for close_one, name in (
        (engines.transcriber.aclose, engines.transcriber.name),
        (engines.voice.aclose, engines.voice.name),
        (engines.model.aclose, engines.model.name),
    ):
        try:
            async with asyncio.timeout(3.0):
                await close_one()
        except TimeoutError:
            report(f"{name} did not stop within 3 s and was left behind")


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _local_now() -> datetime:
    return datetime.now().astimezone()
