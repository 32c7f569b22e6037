"""Loads the client of the language models, without fallbacks that cannot start."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.config.endpoint_settings import EndpointSection
from assistant.setup import build
from assistant.setup.loading import Loading, close_engine, now_s
from assistant.skills.effects import SkillEffects
from audio.errors import EngineLoadError
from llm.chat import ChatModel
from llm.errors import LlmError

if TYPE_CHECKING:
    from assistant.setup.build import Skills

log = logging.getLogger(__name__)


async def load_language_model(loading: Loading, skills: "Skills", local_reason: str) -> ChatModel | None:
    """Returns the client of the endpoints; None if only the skills answer. Raises EngineLoadError.

    Args:
        loading: The loading of all engines. Endpoints that cannot be used are removed from its settings.
        skills: The skills.
        local_reason: Why the model on this machine is used although it is not configured, or is not used.
    """
    left_out: list[str] = []
    began_s = now_s()
    model: ChatModel | None = None
    fallback = True
    if not loading.settings.llm.endpoints:
        why = "instead of a language model, because none is configured in [[llm.endpoints]]"
        why += f", and {local_reason}" if local_reason else ""
        loading.local_problem = local_reason
        if loading.settings.llm.local_model == "off":
            why, fallback = "as configured: no language model", False
    else:
        why, fallback = local_reason or "as configured", False
        try:
            model = await _open_model(loading, left_out)
        except EngineLoadError as error:
            if not (local_reason and loading.settings.skills.enabled):
                raise
            loading.settings = replace(loading.settings, llm=replace(loading.settings.llm, endpoints=()))
            why, fallback = f"instead of the model on this machine, because {error}", True
            loading.local_problem = str(error)
        else:
            if left_out:
                why, fallback = "; ".join(left_out), True
    shown = build.answering(loading.settings, skills, model, SkillEffects(lambda _messages: None, build.local_now))
    loading.record_choice("llm", shown.name, shown.detail, why, began_s, fallback=fallback)
    return model


async def _open_model(loading: Loading, left_out: list[str]) -> ChatModel:
    """Returns the loaded client of the endpoints, without fallbacks that cannot start. Raises EngineLoadError."""
    clients = _make_clients(loading, left_out)
    model = build.joined(loading.settings, clients)
    try:
        started = await _start_local_models(loading, clients, left_out)
        if len(started) < len(clients):
            model = build.joined(loading.settings, started)
        await loading.with_timeout(model.name, model.load())
    except BaseException:
        await close_engine(model, lambda _what: None)
        raise
    return model


def _make_clients(loading: Loading, left_out: list[str]) -> list[ChatModel]:
    """Returns the clients of the endpoints. Raises EngineLoadError."""
    clients = []
    for endpoint in loading.settings.llm.endpoints:
        try:
            clients.append(build.client(endpoint, loading.settings, loading.environ))
        except EngineLoadError as error:
            _leave_out(loading, endpoint, error, left_out)
    return clients


async def _start_local_models(loading: Loading, clients: Sequence[ChatModel], left_out: list[str]) -> list[ChatModel]:
    """Starts the models that run on this machine. Returns the clients of all endpoints that are left.

    Raises EngineLoadError if a model that is no fallback cannot be started.
    """
    left = []
    for endpoint, client in zip(loading.settings.llm.endpoints, clients, strict=True):
        try:
            if endpoint.is_on_this_machine:
                await _start(loading, client)
        except EngineLoadError as error:
            _leave_out(loading, endpoint, error, left_out)
            await close_engine(client, lambda _what: None)
        else:
            left.append(client)
    return left


async def _start(loading: Loading, client: ChatModel) -> None:
    try:
        await loading.with_timeout(client.name, client.load())
    except LlmError as error:
        raise EngineLoadError(str(error)) from error


def _leave_out(loading: Loading, endpoint: EndpointSection, error: EngineLoadError, left_out: list[str]) -> None:
    """Continues without a fallback that cannot start, and reports it. Raises the error for any other endpoint."""
    if not build.is_fallback(endpoint, loading.settings):
        raise error
    left = tuple(other for other in loading.settings.llm.endpoints if other != endpoint)
    loading.settings = replace(loading.settings, llm=replace(loading.settings.llm, endpoints=left))
    why = f"without the fallback {endpoint.name}: {error}"
    left_out.append(why)
    log.warning("llm: %s", why)
