"""GET /v1/repartee/settings: what a browser may choose, the server's own values, and who answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from assistant.config.settings import DEFAULTS, Settings
from assistant.config.turn_settings import PROFILE_HANGOVER_MS
from assistant.models.language_names import NAMES
from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.conversation.engine_options import OfferedEndpoint, base_of, offered_endpoint
from assistant.support.notice import code_of
from web.http_api.serving import ServerState, respond
from web.page_api.reachable import Reachability
from web.wire.incoming.session_fields import SPEED

PATH = "/v1/repartee/settings"


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Answers with the settings.

    Attributes:
        choices: The engines that clients may choose.
        state: Whether the server takes requests.
        reachability: Whether the endpoints answer.
        may_download: Whether the sender of a request may download models.
    """

    choices: EngineChoices
    state: ServerState
    reachability: Reachability
    may_download: Callable[[Request], bool] = lambda _request: False

    async def get(self, request: Request, send: Send) -> None:
        """Answers GET /v1/repartee/settings."""
        self.state.check()
        loader = self.choices.loader
        settings, options = loader.settings, await self.choices.refresh()
        reachable = await self.reachability.of(settings.llm.endpoints)
        offered = [offered_endpoint(endpoint) for endpoint in settings.llm.endpoints]
        body = {
            "language": {
                "default": base_of(settings.assistant.language),
                "configured": _is_set(settings, "assistant", "language"),
                "choices": [
                    {"code": code, "name": NAMES.get(code, code)} for code in _languages(settings, options.languages)
                ],
                "why_one": options.no_languages,
                "why_one_code": code_of(options.no_languages),
            },
            "voice": {
                "default": self.choices.default_voice,
                "configured": _is_set(settings, "tts", "voice"),
                "choices": [
                    {"name": voice.name, "language": voice.language, "label": voice.label} for voice in options.voices
                ],
                "not_installed": dict(options.better_voices),
            },
            "speed": {"default": 1.0, "configured": False, "min": SPEED[0], "max": SPEED[1]},
            "profile": {
                "default": settings.turn.profile,
                "configured": _is_set(settings, "turn", "profile"),
                "choices": list(PROFILE_HANGOVER_MS),
            },
            "endpoint": {
                "default": None,
                "configured": bool(settings.llm.endpoints),
                "choices": [
                    {**_shown(endpoint), "reachable": reachable[endpoint.name]} for endpoint in options.endpoints
                ],
            },
            "instructions": {
                "default": settings.assistant.instructions,
                "configured": _is_set(settings, "assistant", "instructions"),
            },
            "words": {
                "default": settings.trace.words,
                "configured": _is_set(settings, "trace", "words"),
                "may_record": options.words,
            },
            "answers": _answers(offered, reachable, loader.local_problem),
            "downloads": self.may_download(request),
        }
        await respond(request, JSONResponse(body), send)


def _languages(settings: Settings, offered: Sequence[str]) -> Sequence[str]:
    """Returns the codes by the names of the languages; the server's own if there are no others."""
    return sorted(offered or (base_of(settings.assistant.language),), key=lambda code: NAMES.get(code, code))


def _is_set(settings: Settings, section: str, key: str) -> bool:
    """Returns whether a setting differs from the program's default."""
    return bool(getattr(getattr(settings, section), key) != getattr(getattr(DEFAULTS, section), key))


def _shown(endpoint: OfferedEndpoint) -> dict[str, object]:
    return {"name": endpoint.name, "model": endpoint.model, "here": endpoint.here}


def _answers(
    offered: Sequence[OfferedEndpoint], reachable: Mapping[str, bool | None], problem: str
) -> dict[str, object]:
    """Returns who answers if the client chooses no endpoint.

    Returns:
        `kind`: "skills", "model" or "models"; `name`: of the first model that can be reached; `here`: whether that runs
        on this machine; `reachable`: false if none can be reached, null if that is not known; `problem`: why the model
        on this machine does not answer.
    """
    if not offered:
        return {"kind": "skills", "name": "", "here": True, "reachable": True, "problem": problem}
    usable = [endpoint for endpoint in offered if reachable[endpoint.name] is not False]
    first = (usable or offered)[0]
    return {
        "kind": "model" if len(offered) == 1 else "models",
        "name": first.model,
        "here": first.here,
        "reachable": reachable[first.name] if usable else False,
        "problem": problem,
    }
