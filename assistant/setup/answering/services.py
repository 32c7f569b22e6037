"""Makes the skills and tools that use a service: the home and the weather."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from assistant.config.settings import Settings
from assistant.skills.effects import SkillEffects
from assistant.tools import Tools
from audio.errors import EngineLoadError
from llm.chat import ChatModel

if TYPE_CHECKING:
    from assistant.home import HomePort, HomeState
    from assistant.home.connection import HomeConnection
    from assistant.skills.kinds import MatchingSkill, SkillRequest
    from assistant.skills.skills import Skills
    from assistant.tools.mcp_tools import McpTools
    from assistant.weather.service import WeatherService
    from declarations.skill import Skill


HOME_TIMEOUT_S = 5.0
"""Longest wait for an answer of the home, in seconds."""

WEATHER_TIMEOUT_S = 4.0
"""Longest wait for an answer of Open-Meteo, in seconds: half of the time in which a tool must answer."""

FORECAST_URL = "https://api.open-meteo.com/v1/forecast"
GEOCODING_URL = "https://geocoding-api.open-meteo.com/v1/search"
"""Addresses of Open-Meteo: the forecast, and the places of a name."""


class Closable(Protocol):
    """An engine that is closed at the end."""

    @property
    def name(self) -> str:
        """Its name, for messages."""
        ...

    async def aclose(self) -> None:
        """Closes it."""
        ...


def service_skills(settings: Settings, environ: Mapping[str, str]) -> "list[MatchingSkill]":
    """Returns the skills with tables of their own: those of configured services, and those of other packages.

    Call it on the event loop: the home is read in the background from now on. Raises EngineLoadError if the token of
    the home is missing or a proxy is invalid.
    """
    from assistant.skills.installed import matching_skills

    try:
        home = _home(settings, environ) if settings.home.url else None
        weather = weather_service(settings) if settings.weather.enabled else None
    except ValueError as error:
        raise EngineLoadError(str(error)) from error
    configured = {name for name, service in (("home", home), ("weather", weather)) if service is not None}

    def request_of(skill: "Skill") -> "SkillRequest | None":
        if not skill.needs <= configured:
            return None
        return skill_request(settings, environ, skill, home, weather)

    return matching_skills(request_of)


def home_skill(home: "HomePort") -> "tuple[MatchingSkill, Callable[[HomeState, str], None]]":
    """Returns the skill of a home that one conversation has, and what prepares it for new names, which blocks.

    The index of the names is built for the language that is given to it; in others it is built when they are used.
    """
    from assistant.skills.home.replies import HomeSkill
    from assistant.skills.languages.language import LANGUAGES, base_language

    skill = HomeSkill(home)

    def prepare(state: "HomeState", language: str) -> None:
        skill.load(base_language(language) or "en")
        skill.prepare(state)
        for other in LANGUAGES:
            skill.load(other)

    return skill, prepare


def check_skills(settings: Settings, environ: Mapping[str, str]) -> None:
    """Finds out which skills of other packages cannot be used; `broken_engines` names them. It blocks."""
    from assistant.skills.installed import check_skills as check

    check(lambda skill: None if skill.needs else skill_request(settings, environ, skill))


def skill_request(
    settings: Settings,
    environ: Mapping[str, str],
    skill: "Skill",
    home: "HomeConnection | None" = None,
    weather: "WeatherService | None" = None,
) -> "SkillRequest":
    """Returns the settings of a skill, and the services that it needs."""
    from assistant.skills.kinds import SkillRequest

    return SkillRequest(
        settings.engines.of("skills", skill.name),
        environ,
        home if "home" in skill.needs else None,
        weather if "weather" in skill.needs else None,
    )


def home_token(settings: Settings, environ: Mapping[str, str]) -> str:
    """Returns the token of the home. Raises ValueError if it is not set or cannot be sent."""
    name = settings.home.token_env
    token = environ.get(name, "").strip()
    if not token:
        raise ValueError(
            f"home: the environment variable {name} is not set; set it to a long-lived access token of Home Assistant "
            "(in its web page: your profile, Security), or empty home.url."
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(f"home: the environment variable {name} holds no token; set it to the token alone.")
    return token


def _home(settings: Settings, environ: Mapping[str, str]) -> "HomeConnection":
    from assistant.home.connection import HomeConnection
    from assistant.support.json_http import JsonHttp

    http = JsonHttp(settings.home.url, HOME_TIMEOUT_S, token=home_token(settings, environ))
    return HomeConnection(settings.home, http)


def weather_service(settings: Settings) -> "WeatherService":
    """Returns the configured service. Raises ValueError if a proxy is invalid."""
    from assistant.support.json_http import JsonHttp
    from assistant.weather.service import WeatherService

    weather = settings.weather
    return WeatherService(
        weather,
        JsonHttp(FORECAST_URL, WEATHER_TIMEOUT_S, max_bytes=256 << 10),
        JsonHttp(GEOCODING_URL, WEATHER_TIMEOUT_S, max_bytes=256 << 10),
    )


def tools(
    settings: Settings,
    model: ChatModel | None,
    servers: "McpTools | None",
    skills: "Skills | None" = None,
    effects: SkillEffects | None = None,
) -> Tools | None:
    """Returns the tools of one conversation: of the servers, home, weather, timers and documents; None for none.

    All but those of servers need an LLM endpoint that takes functions. Documents are read only in allowed folders. A
    small model on this machine gets no timers unless it has tools of servers: it is slow to read their schemas.
    """
    if model is None or not any(endpoint.takes_functions for endpoint in settings.llm.endpoints):
        return servers
    tools: list[Tools] = [] if servers is None else [servers]

    def language() -> str:
        return "" if effects is None else effects.language or settings.assistant.language

    if skills is not None and effects is not None:
        tools += _service_tools(skills, effects, language)
    if effects is not None and settings.skills.enabled and not _only_here(settings):
        from assistant.setup.build import local_now
        from assistant.tools.timers.timer_tools import TimerTools

        tools.append(TimerTools(effects.timers, local_now, language))
    if settings.documents.allowed_folders:
        from assistant.documents.tool import DocumentTools

        tools.append(DocumentTools(settings, model))
    if len(tools) < 2:
        return tools[0] if tools else None
    from assistant.tools.joined import JoinedTools

    return JoinedTools(tools)


def _only_here(settings: Settings) -> bool:
    """Returns whether all language models run on this machine and are given no tools of servers."""
    return not settings.tools.servers and all(endpoint.is_on_this_machine for endpoint in settings.llm.endpoints)


def _service_tools(skills: "Skills", effects: SkillEffects, language: Callable[[], str]) -> list[Tools]:
    """Returns the tools for the services that the skills use, and for a home: a client may have one of its own."""
    from assistant.skills.weather.replies import WeatherSkill
    from assistant.tools.home_tools import HomeTools
    from assistant.tools.weather_tools import WeatherTools

    weather = (service.service for service in skills.services if isinstance(service, WeatherSkill))
    return [
        HomeTools(lambda: effects.home, lambda: effects.room),
        *(WeatherTools(service, language) for service in weather),
    ]
