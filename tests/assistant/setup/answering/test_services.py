"""Home and weather are made from the settings; what is missing is named before the program starts."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support.services.service_server import TOKEN, service_server

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.home_settings import HomeSection, WeatherSection
from assistant.config.llm_settings import LlmSection
from assistant.config.settings import Settings
from assistant.setup import build
from assistant.setup.answering.services import service_skills, tools
from assistant.skills.chat import SkillsChat
from assistant.skills.effects import SkillEffects
from assistant.skills.skills import Skills
from assistant.tools.timers.timer_tools import FUNCTIONS
from audio.errors import EngineLoadError
from llm.chat import Message

ENVIRON = {"HOME_ASSISTANT_TOKEN": TOKEN}
BOTH = Settings(home=HomeSection(url="http://127.0.0.1:9"), weather=WeatherSection(enabled=True))


def test_nothing_is_made_by_default() -> None:
    assert service_skills(Settings(), {}) == []


def test_missing_token_is_named() -> None:
    with pytest.raises(EngineLoadError, match="HOME_ASSISTANT_TOKEN is not set; set it to a long-lived access token"):
        service_skills(BOTH, {})


def test_configuration_without_services_imports_no_http_client() -> None:
    program = (
        "import sys; from assistant.config.settings import Settings; from assistant.setup.answering import services;"
        "from assistant.skills import effects; services.service_skills(Settings(), {}); print('httpx' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


async def test_model_that_calls_functions_gets_the_tools() -> None:
    skills = Skills(service_skills(BOTH, ENVIRON))
    effects = SkillEffects(lambda _messages: None, lambda: datetime.now(UTC))
    effects.home = skills.home
    able = replace(BOTH, llm=LlmSection(endpoints=(EndpointSection(name="x", url="http://127.0.0.1:9/v1", model="m"),)))
    model = SkillsChat(skills, lambda: datetime.now(UTC))
    found = tools(able, model, None, skills, effects)
    assert found is not None
    timers = [function.name for function in FUNCTIONS]
    assert [function.name for function in found.functions] == ["home_devices", "home_control", "weather", *timers]
    effects.home = None  # a telephone call
    assert [function.name for function in found.functions] == ["weather", *timers]
    assert tools(BOTH, model, None, skills, effects) is None
    await skills.aclose()


async def test_conversation_switches_a_light_at_the_commit() -> None:
    async with service_server() as served:
        settings = Settings(home=HomeSection(url=served.url))
        skills = build.skills()
        skills.services = service_skills(settings, ENVIRON)
        skills.load("en")
        effects = SkillEffects(lambda _messages: None, lambda: datetime.now(UTC))
        chat = build.answering(settings, skills, None, effects)
        assert skills.home is not None
        effects.home = skills.home
        assert build.warming(chat, None) is not None
        async with asyncio.timeout(10):
            while skills.home.state is None:  # noqa: ASYNC110 - it is read in the background
                await asyncio.sleep(0.01)
        asked = [Message("user", "Turn on the kitchen light.")]
        events = [event async for event in chat.stream(asked)]
        assert getattr(events[0], "text", "").strip() == "Kitchen light on."
        assert not served.calls
        effects.do(effects.effect_of(asked), asyncio.get_running_loop().time())
        assert effects.pending is not None
        assert await effects.pending.fault() == ""
        assert served.calls == [("light/turn_on", {"entity_id": ["light.kitchen"]})]
        await skills.aclose()
