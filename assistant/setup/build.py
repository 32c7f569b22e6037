"""Makes the engines that the settings name, without loading them.

Voices and recognizers are made from their declarations in voices.py and recognizer_loader.py;
clients of language models in llm_clients.py.
engine_loader.py decides whether an engine's model is there, what replaces it, and when it is loaded.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.config.tool_settings import ToolServerSection
from assistant.memory.facts import Fact
from assistant.models.catalogue import CHAT, CHAT_MODELS
from assistant.models.needs import (
    LOCAL_MODEL,
    Need,
    at_hand,
    installed,
    lacking_model,
    missing,
    size_text,
    without_language,
)
from assistant.registry.listening import DETECTORS, measured_recognizer, spare_detector
from assistant.registry.packages import lacking_package
from assistant.registry.protocols import protocol_on_this_machine
from assistant.registry.voices import CLUSTER
from assistant.setup.answering.llm_clients import model_of
from assistant.skills.answers import Running
from assistant.skills.dialog.memory import Memory
from assistant.skills.effects import SkillEffects
from assistant.skills.lists.items import ListItem
from assistant.support.local_timezone import LOCAL
from assistant.trace.spans import EndpointDetails
from audio.engines.recognizer import GatewayRequest
from audio.errors import EngineLoadError
from audio.stt import SharedRecognizer
from audio.tts import Voice
from audio.vad import Vad
from declarations.extra import installing
from llm.chat import ChatModel, Message, PrefillingChat

if TYPE_CHECKING:
    from assistant.skills.kinds import MatchingSkill
    from assistant.skills.skills import Skills as Skills  # noqa: PLC0414 - for engine_loader.py
    from assistant.tools.mcp_tools import McpTools
    from assistant.trace.export import SpanExport
    from audio.cluster import ClusterConnection as ClusterConnection  # noqa: PLC0414 - for engine_loader.py
    from audio.cluster.turn_end import ClusterTurnEnd

LOCAL_NAME = "local"
"""Name of the endpoint that is used without being configured."""

FALLBACK_TIER = 10
"""After every tier that an endpoint can be given."""

# ---- voice activity ----


def vad(name: str) -> Vad:
    """Returns a detector. Raises EngineLoadError."""
    engine = DETECTORS.get(name)
    if engine is None:
        raise EngineLoadError(f"{DETECTORS.problem_of(name)}; repair this package, or name another vad.engine.")
    return engine.make()


def spare_vad() -> Vad:
    """Returns the detector that replaces a failed one; it has nothing that can fail."""
    return spare_detector().make()


def place_of(need: Need) -> Path:
    """Returns the path of a speech model. Raises EngineLoadError if it is not downloaded or lacks the language."""
    place = at_hand(need)
    if place is None:
        raise EngineLoadError(f"{lacking_model(need)}.")
    return place


# ---- engines on a cluster ----


def uses_cluster(settings: Settings) -> bool:
    """Returns whether some engine runs on a cluster."""
    return CLUSTER in {settings.stt.engine, settings.tts.engine, settings.turn.smart_turn}


def cluster(settings: Settings) -> "ClusterConnection":
    """Returns the connection to the cluster, which connects when it is used. Raises EngineLoadError."""
    from audio.cluster.ray_connection import RayConnection

    return RayConnection(settings.cluster.address)


CLUSTER_DECODES = 4
"""Segments that one gateway has decoded at the same time. An estimate, not measured: a GPU decodes four in about the
time of one."""


def cluster_recognizer(settings: Settings, connection: "ClusterConnection") -> SharedRecognizer:
    """Returns the recognizer on the cluster, shared by all conversations."""
    from audio.cluster import ANSWER_TIMEOUT_S

    engine = measured_recognizer().cluster
    assert engine is not None, "the program's own recognizer works on a cluster"
    timeout_s = max(ANSWER_TIMEOUT_S, settings.stt.timeout_s)
    return engine.gateway(GatewayRequest(connection, settings.assistant.language, CLUSTER_DECODES, timeout_s))


def cluster_voice(settings: Settings, connection: "ClusterConnection") -> Voice:
    """Returns the voice on the cluster."""
    from audio.cluster import ANSWER_TIMEOUT_S
    from audio.cluster.voice import ClusterVoice

    return ClusterVoice(connection, timeout_s=max(ANSWER_TIMEOUT_S, settings.tts.timeout_s))


def cluster_smart_turn(connection: "ClusterConnection") -> "ClusterTurnEnd":
    """Returns Smart Turn on the cluster."""
    from audio.cluster.turn_end import ClusterTurnEnd

    return ClusterTurnEnd(connection)


# ---- language models ----


def skills() -> "Skills":
    """Returns the built-in skills, without their tables loaded."""
    from assistant.skills.skills import Skills

    return Skills()


def answering(settings: Settings, skills: "Skills", model: ChatModel | None, effects: SkillEffects) -> ChatModel:
    """Returns the chat model of one conversation: the skills, the language model, or the skills before the model."""
    from assistant.memory.recalling_chat import RecallingChat, prefilling
    from assistant.skills.chat import SkillsChat, SkillsFirst
    from assistant.tools.timers.checked_chat import CheckedChat
    from llm.cache.cached_chat import CachedChat

    def running() -> Running:
        return effects.timers.running(asyncio.get_running_loop().time())

    def at_home() -> bool:
        return effects.home is not None

    def lists() -> tuple[ListItem, ...]:
        return effects.lists.items

    def memory() -> Memory:
        return effects.memory.remaining_at(asyncio.get_running_loop().time())

    def facts() -> tuple[Fact, ...] | None:
        return effects.known_facts

    def room() -> str:
        return effects.room

    def own_home() -> "MatchingSkill | None":
        return effects.own_home

    language, follows = settings.assistant.language, bool(settings.assistant.languages)
    if model is None:
        alone = SkillsChat(
            skills,
            local_now,
            language,
            running=running,
            at_home=at_home,
            memory=memory,
            lists=lists,
            facts=facts,
            room=room,
            own_home=own_home,
            follows=follows,
        )
        effects.effect_of = alone.effect_of
        return alone
    answers = settings.skills.enabled and settings.skills.before_llm
    checked = CheckedChat(model, partial(not_set_text, skills_answer=answers), language, running, follows=follows)
    if answers:
        recalling = model if isinstance(model, RecallingChat) else None
        inner = model if recalling is None else recalling.model
        asked = inner.model if isinstance(inner, CachedChat) else inner
        prefill: Callable[[Sequence[Message]], Awaitable[None]] | None = None
        prefill = asked.prefill if isinstance(asked, PrefillingChat) else None
        if prefill is not None and recalling is not None:
            prefill = prefilling(recalling, prefill)
        on_this_machine = all(endpoint.is_on_this_machine for endpoint in settings.llm.endpoints)
        first = SkillsFirst(
            skills,
            checked,
            local_now,
            language,
            running=running,
            at_home=at_home,
            memory=memory,
            lists=lists,
            facts=facts,
            room=room,
            own_home=own_home,
            follows=follows,
            model_has_tools=bool(settings.tools.servers) or not on_this_machine,
            prefill=prefill,
        )
        effects.effect_of = first.effect_of
        return first
    return checked


def not_set_text(language: str, *, skills_answer: bool) -> str:
    """Returns the sentence that replaces the false claim of a language model that it has set an alarm.

    `skills_answer`: whether the user can have the skills set it, by saying it in other words.
    """
    from assistant.skills.languages.language import base_language, read_skill

    answers = read_skill("assistant.skills.timers", base_language(language) or "en")["answers"]
    return str(answers["timer_not_set" if skills_answer else "timer_cannot"])


def check_local_model(settings: Settings) -> None:
    """Raises EngineLoadError if `llm.local_model` is in use and names no model: a misspelt name, or a missing file."""
    model_name = settings.llm.local_model
    if settings.llm.endpoints or model_name in {"auto", "off"}:
        return
    need = Need(model_name, CHAT.name, CHAT.purpose, LOCAL_MODEL)
    if need.model is None and at_hand(need) is None:
        raise EngineLoadError(missing(need).removeprefix("missing: ") + ".")


def local_endpoint(settings: Settings) -> tuple[EndpointSection | None, str]:
    """Returns the endpoint of the model that `llm.local_model` selects for this machine, and why.

    Without one, the reason is why an installed model cannot be used; "" if none is installed.
    """
    from llm.local.memory import available_bytes

    model_name, language = settings.llm.local_model, settings.assistant.language
    if model_name == "off":
        return None, ""
    protocol = protocol_on_this_machine()
    if model_name != "auto":
        return EndpointSection(
            name=LOCAL_NAME, kind=protocol.name, model=model_name
        ), "as configured in llm.local_model"
    free_bytes, reason, lacking = available_bytes(), without_language(language), lacking_package(protocol)
    for model in (model for model in reversed(CHAT_MODELS) if installed(model) and model.covers(language)):
        if lacking:
            return None, f"{model.name} cannot be used: {lacking}"
        if free_bytes is None or free_bytes >= (model.memory_mb or 0) * 1e6:
            endpoint = EndpointSection(name=LOCAL_NAME, kind=protocol.name, model=model.name)
            return endpoint, "auto: its model is downloaded"
        reason = (
            f"{model.name} needs {size_text(model.memory_mb or 0)} of memory, and {free_bytes / 1e6:.0f} MB are free"
        )
    return None, reason


def warming(conversation: ChatModel, shared: ChatModel | None) -> Callable[[], Awaitable[None]] | None:
    """Returns what to call when the user begins to speak; None without a language model.

    `conversation`: the chat model of one conversation, from `answering`; `shared`: the language model behind it.
    """
    from assistant.skills.chat import SkillsChat, SkillsFirst

    if isinstance(conversation, SkillsFirst) or (isinstance(conversation, SkillsChat) and conversation.has_services):
        return conversation.warm
    return None if shared is None else shared.load


def with_local_model(settings: Settings) -> tuple[Settings, str]:
    """Returns the settings with the model on this machine if no endpoint is configured, and why it is used or not."""
    if settings.llm.endpoints:
        return settings, ""
    local, reason = local_endpoint(settings)
    if local is None:
        return settings, reason
    return replace(settings, llm=replace(settings.llm, endpoints=(local,))), reason


def joined(settings: Settings, models: Sequence[ChatModel]) -> ChatModel:
    """Returns the only client of `models`, or a router over several that all conversations share."""
    from llm.routing.endpoint_selection import Endpoint, GeoPoint, Routing
    from llm.routing.hedging import HedgeBudget
    from llm.routing.router import Router
    from llm.routing.sized_answer import SizeRules

    llm = settings.llm
    here = GeoPoint(llm.latitude, llm.longitude) if llm.placed else None

    def place_of_endpoint(endpoint: EndpointSection) -> GeoPoint | None:
        if endpoint.is_on_this_machine and not endpoint.placed:
            return here  # no endpoint is nearer
        return GeoPoint(endpoint.latitude, endpoint.longitude) if endpoint.placed else None

    if len(models) == 1:
        return models[0]
    endpoints = [
        Endpoint(
            endpoint.name,
            FALLBACK_TIER if is_fallback(endpoint, settings) else endpoint.tier,
            endpoint.weight,
            place_of_endpoint(endpoint),
            endpoint.price_in_per_million,
            endpoint.price_out_per_million,
            endpoint.patience_s,
            is_fallback(endpoint, settings),
            None if endpoint.size == "any" else endpoint.size,
            endpoint.images,
        )
        for endpoint in llm.endpoints
    ]
    try:
        routing = Routing(endpoints, llm.policy, HedgeBudget(llm.hedge_share), random.SystemRandom().random, here)
    except ValueError as error:
        raise EngineLoadError(f"LLM endpoints: {error}") from error
    sizes = SizeRules(settings.assistant.language, llm.escalate, llm.escalate_below, llm.bridge)
    return Router(models, routing, first_token_timeout_s=llm.first_token_timeout_s, sizes=sizes)


def is_fallback(endpoint: EndpointSection, settings: Settings) -> bool:
    """Returns whether an endpoint answers only when no other endpoint can, as a model on this machine may."""
    others = any(not other.can_be_fallback for other in settings.llm.endpoints)
    return endpoint.can_be_fallback and endpoint.fallback and others


def client(endpoint: EndpointSection, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """Returns the client of one endpoint. Raises EngineLoadError."""
    try:
        return model_of(endpoint, settings.llm, environ, instructions=settings.assistant.instructions)
    except ValueError as error:
        raise EngineLoadError(str(error)) from error


def mcp_tools(servers: Sequence[ToolServerSection], environ: Mapping[str, str]) -> "McpTools":
    """Returns the MCP tools. Raises EngineLoadError without the extra.

    Call it in a thread: the import takes a second.
    """
    try:
        from assistant.tools.mcp_tools import McpTools
    except ImportError as error:
        raise EngineLoadError(
            f"[[tools.servers]] need the package mcp, which is not installed: {installing('mcp')}, or remove them "
            "from the configuration."
        ) from error
    return McpTools(servers, environ)


# ---- export of turns ----


def span_export(settings: Settings, report_problem: Callable[[str], None]) -> "SpanExport | None":
    """Returns the exporter to the configured OpenTelemetry collector; None without one.

    OpenTelemetry's SDK reads its variables from the environment of the process. `report_problem` receives a message
    when the collector rejects spans. Raises EngineLoadError if the extra is missing or an OpenTelemetry variable is
    invalid.
    """
    if not settings.trace.otlp_url:
        return None
    try:
        from assistant.trace.export import SpanExport
    except ImportError as error:
        raise EngineLoadError(str(error)) from error
    endpoints = {
        endpoint.name: EndpointDetails(endpoint.protocol.provider_at(endpoint.url), endpoint.model)
        for endpoint in settings.llm.endpoints
    }
    try:
        return SpanExport(settings.trace.otlp_url, endpoints, report_problem)
    except ValueError as error:
        raise EngineLoadError(f"trace.otlp_url: {error}") from error


def local_now() -> datetime:
    """Returns the current local time, in a zone with daylight saving."""
    return datetime.now(LOCAL)
