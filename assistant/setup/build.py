"""From settings to engines, not loaded yet. The only place that names concrete ones, but for endpoint_kinds.py, which
makes the clients of language models, and engine_table.py.

Whether there is what an engine needs, what runs in its place, and when it is loaded is decided in workshop.py.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.config.tool_settings import ToolServerSection
from assistant.models.needs import Need, at_hand, is_path, is_piper_voice, lacking_model
from assistant.setup.llm_clients import model_of
from assistant.skills import Running
from assistant.skills.effects import SkillEffects
from assistant.support.cpu import cores, piper_threads, whisper_threads
from assistant.support.local_timezone import LOCAL
from assistant.trace.spans import EndpointDetails, provider_of
from audio.errors import EngineLoadError
from audio.extra import installing
from audio.tts import Voice
from audio.vad import Vad
from llm.chat import ChatModel

if TYPE_CHECKING:
    from assistant.skills.skills import Skills as Skills  # noqa: PLC0414 - for workshop.py, which names none
    from assistant.tools.mcp_tools import McpTools
    from assistant.trace.export import SpanExport
    from audio.end_of_turn.smart_turn_service import SmartTurnService
    from audio.stt.pocketsphinx import PocketsphinxRecognizer
    from audio.stt.whisper.model import WhisperSettings
    from audio.stt.whisper.shared_model import SharedWhisper as SharedWhisper  # noqa: PLC0414 - likewise

ESPEAK_WORDS_PER_MINUTE = 170
"""The pace of `tts.speed = 1`: espeak-ng's own default is 175, a little hurried for an answer."""

# ---- voice activity ----


def vad(name: str) -> Vad:
    """A detector. Raises EngineLoadError."""
    if name == "silero":
        from audio.vad.silero import SileroVad

        return SileroVad()
    if name == "cascade":
        from audio.vad.cascade import CascadeVad

        return CascadeVad()
    from audio.vad.webrtc import WebrtcVad

    return WebrtcVad()


def spare_vad() -> Vad:
    """The detector that takes over from one that fails: nothing in it can."""
    return vad("webrtc")


def smart_turn(place: Path) -> "SmartTurnService":
    """Smart Turn, of the model that lies there."""
    from audio.end_of_turn.smart_turn_service import SmartTurnService

    return SmartTurnService(place)


def place_of(need: Need) -> Path:
    """Where a model for speech lies. Raises EngineLoadError where it is not at hand, or does not know the language."""
    place = at_hand(need)
    if place is None:
        raise EngineLoadError(f"{lacking_model(need)}.")
    return place


# ---- speech to text ----


def whisper(settings: Settings, place: Path) -> "SharedWhisper":
    """The model that lies there, at which every conversation has a seat of its own."""
    from audio.stt.whisper.shared_model import SharedWhisper

    # After twice the time that words are waited for, nobody has any use for a decode.
    return SharedWhisper(whisper_settings(settings, place), hang_s=2 * settings.stt.timeout_s)


def whisper_settings(settings: Settings, place: Path) -> "WhisperSettings":
    """Of the model that lies there, and how it decodes."""
    from audio.stt.whisper.model import WhisperSettings

    stt = settings.stt
    return WhisperSettings(
        place,
        language=settings.assistant.language,
        device=stt.device,
        compute_type=stt.compute_type,
        cpu_threads=whisper_threads(stt.threads, cores()),
        encoder_window=stt.encoder_window,
        hot_words=stt.hot_words,
        initial_prompt=stt.initial_prompt,
        name="" if is_path(stt.model) else stt.model,
    )


def sphinx(settings: Settings, sentences: Sequence[str]) -> "PocketsphinxRecognizer":
    """A recognizer that knows these sentences, whole, better than others."""
    from audio.stt.pocketsphinx import PocketsphinxRecognizer

    return PocketsphinxRecognizer(sentences, language=settings.assistant.language)


# ---- text to speech ----


def piper(settings: Settings, place: Path) -> Voice:
    """The voice that lies there."""
    from audio.tts.piper import PiperTts

    tts = settings.tts
    return PiperTts(
        place,
        language=settings.assistant.language,
        speaker=tts.speaker or None,
        speed=tts.speed,
        target_dbfs=tts.volume_dbfs,
        threads=piper_threads(settings.stt.threads, cores()),
        timeout_s=tts.timeout_s,
    )


def espeak(settings: Settings) -> Voice:
    """The voice that needs no model; the language's own where `tts.voice` names the one of Piper's it stands in for."""
    from audio.tts.espeak import EspeakVoice

    tts = settings.tts
    stands_in = tts.engine != "espeak-ng" and is_piper_voice(tts.voice)
    return EspeakVoice(
        language=settings.assistant.language,
        voice=None if stands_in else tts.voice or None,
        words_per_minute=round(ESPEAK_WORDS_PER_MINUTE * tts.speed),
        target_dbfs=tts.volume_dbfs,
        timeout_s=tts.timeout_s,
    )


# ---- what answers ----


def skills() -> "Skills":
    """The built-in skills, their tables not read yet."""
    from assistant.skills.skills import Skills

    return Skills()


def skill_sentences() -> tuple[str, ...]:
    """What the skills understand, for a recognizer."""
    from assistant.skills.skills import understood_sentences

    return understood_sentences()


def answering(settings: Settings, skills: "Skills", model: ChatModel | None, deeds: SkillEffects) -> ChatModel:
    """What answers one conversation: the skills, the model, or the one before the other."""
    from assistant.skills.chat import SkillsChat, SkillsFirst

    def running() -> Running:
        return deeds.timers.running(asyncio.get_running_loop().time())

    language = settings.assistant.language
    if model is None:
        alone = SkillsChat(skills, local_now, language, running=running)
        deeds.effect_of = alone.effect_of
        return alone
    if settings.skills.enabled and settings.skills.before_llm:
        first = SkillsFirst(skills, model, local_now, language, running=running)
        deeds.effect_of = first.effect_of
        return first
    return model


def routed(settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """One endpoint as it is, several behind a router that all conversations share."""
    from llm.routing.endpoint_selection import Endpoint, GeoPoint, Routing
    from llm.routing.hedging import HedgeBudget
    from llm.routing.router import Router

    llm = settings.llm
    models = [_endpoint(endpoint, settings, environ) for endpoint in llm.endpoints]
    if len(models) == 1:
        return models[0]
    endpoints = [
        Endpoint(
            endpoint.name,
            endpoint.tier,
            endpoint.weight,
            GeoPoint(endpoint.latitude, endpoint.longitude) if endpoint.placed else None,
            endpoint.price_in_per_million,
            endpoint.price_out_per_million,
            endpoint.patience_s,
        )
        for endpoint in llm.endpoints
    ]
    here = GeoPoint(llm.latitude, llm.longitude) if llm.placed else None
    try:
        routing = Routing(endpoints, llm.policy, HedgeBudget(llm.hedge_share), random.SystemRandom().random, here)
    except ValueError as error:
        raise EngineLoadError(f"the endpoints of a language model: {error}") from error
    return Router(models, routing, first_token_timeout_s=llm.first_token_timeout_s)


def _endpoint(endpoint: EndpointSection, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    try:
        return model_of(endpoint, settings.llm, environ)
    except ValueError as error:
        raise EngineLoadError(str(error)) from error


def mcp_tools(servers: Sequence[ToolServerSection], environ: Mapping[str, str]) -> "McpTools":
    """In a thread: importing what speaks to them takes a second. Raises EngineLoadError without the extra."""
    try:
        from assistant.tools.mcp_tools import McpTools
    except ImportError as error:
        raise EngineLoadError(
            f"[[tools.servers]] need the package mcp, which is not installed: {installing('mcp')}, or remove them "
            "from config.toml."
        ) from error
    return McpTools(servers, environ)


# ---- where turns go ----


def span_export(settings: Settings, environ: Mapping[str, str], complain: Callable[[str], None]) -> "SpanExport | None":
    """The way to the OpenTelemetry collector of these settings; None without one.

    `complain` hears of a collector that takes nothing. Raises EngineLoadError where the extra is missing, or a variable
    of OpenTelemetry's cannot be understood.
    """
    if not settings.trace.otlp_url:
        return None
    try:
        from assistant.trace.export import SpanExport
    except ImportError as error:
        raise EngineLoadError(str(error)) from error
    endpoints = {
        endpoint.name: EndpointDetails(
            provider_of(endpoint.kind, urlsplit(endpoint.url).hostname or ""), endpoint.model
        )
        for endpoint in settings.llm.endpoints
    }
    try:
        return SpanExport(settings.trace.otlp_url, environ, endpoints, complain)
    except ValueError as error:
        raise EngineLoadError(f"trace.otlp_url: {error}") from error


def local_now() -> datetime:
    """The time of day, for who is asked for it, in a zone whose clocks change."""
    return datetime.now(LOCAL)
