"""Questions for the weather are answered in every language; a service that fails is a failed turn."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Literal

import pytest
from support.conversations.loaded_skills import spoken_form, with_shared_tables
from support.services.service_server import Reply, ServiceServer, service_server
from support.texts.sentence_table import sections
from support.texts.text_cases import text_cases

from assistant.config.home_settings import WeatherSection
from assistant.skills.chat import SkillsChat, SkillsFirst
from assistant.skills.effects import SkillEffects
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.skills import Skills
from assistant.skills.weather.replies import WeatherSkill
from assistant.support.json_http import JsonHttp
from assistant.weather.service import WeatherService
from llm.chat import ChatModel, Finished, Message, Token
from llm.errors import LlmBroken

NOW = datetime(2026, 11, 26, 17, 45, tzinfo=UTC)


@asynccontextmanager
async def weather(
    code: str = "en", *, place: str = "Paris", units: Literal["metric", "us"] = "metric", timeout_s: float = 20.0
) -> AsyncGenerator[tuple[Skills, ServiceServer]]:
    """Gives skills with the weather of a server, and the server."""
    async with service_server() as served:
        settings = WeatherSection(enabled=True, place=place, units=units)
        forecasts = JsonHttp(f"{served.url}/v1/forecast", timeout_s, max_bytes=99_999)
        service = WeatherService(settings, forecasts, JsonHttp(f"{served.url}/v1/search", 20.0))
        skills = with_shared_tables(Skills([WeatherSkill(service)]), code)
        try:
            yield skills, served
        finally:
            await skills.aclose()


async def ask(chat: ChatModel, *messages: Message) -> list[object]:
    return [event async for event in chat.stream(messages)]


def answers(
    *said: str,
    code: str = "en",
    place: str = "Paris",
    units: Literal["metric", "us"] = "metric",
    faults: dict[str, Reply] | None = None,
    timeout_s: float = 20.0,
) -> list[str]:
    async def main() -> list[str]:
        async with weather(code, place=place, units=units, timeout_s=timeout_s) as (skills, served):
            served.faults |= faults or {}
            chat = SkillsChat(skills, lambda: NOW, code)
            return [spoken_form(text_of(await ask(chat, Message("user", one))), code) for one in said]

    return asyncio.run(main())


def text_of(events: Sequence[object]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token)).strip()


@pytest.mark.parametrize("code", LANGUAGES)
def test_question_is_answered(code: str) -> None:
    rows = [row for section in sections("weather") for row in section.rows if row[0] == code]
    assert rows
    assert answers(*[said for _, said, _ in rows], code=code) == [text for _, _, text in rows]


def test_without_a_place_it_is_asked() -> None:
    assert answers("what's the weather", place="") == ["For which place? Say, for example: the weather in Paris."]


def test_wind_is_in_the_configured_units() -> None:
    assert answers("is it windy", units="us") == ["Today: wind up to twenty-two miles per hour."]


@text_cases(
    ("text", "reply"),
    [
        ("The weather service answers with an error.", Reply(b"oops", 500)),
        ("The weather service answers with an error.", Reply(b"{}")),
        ("The weather service does not answer.", Reply(b"{}", after_s=30)),
    ],
    columns=(0, 1),
)
def test_fault_of_the_service_fails_the_turn(text: str, reply: Reply) -> None:
    with pytest.raises(LlmBroken) as error:
        answers("what's the weather", faults={"/v1/forecast": reply}, timeout_s=0.5 if reply.after_s else 20.0)
    assert error.value.spoken == text
    assert "Paris" not in str(error.value)


def test_without_network_the_turn_fails_with_a_clear_sentence() -> None:
    async def main() -> None:
        async with weather() as (skills, served):
            await served.stop()
            await ask(SkillsChat(skills, lambda: NOW), Message("user", "what's the weather"))

    with pytest.raises(LlmBroken) as error:
        asyncio.run(main())
    assert error.value.spoken == "I can't reach the weather service. Please check the internet connection."


@text_cases(
    ("code", "request_", "said", "text"),
    [
        (
            "en",
            "will it rain tomorrow",
            "In Paris.",
            "No, probably not. Tomorrow in Paris: twelve percent chance of rain.",
        ),
        ("de", "Wie wird das Wetter?", "Springfield", "Welchen Ort meinst du: Springfield, Missouri"),
        (
            "en",
            "will it rain tomorrow",
            "tell me another long story",
            "I can't do that yet: no language model is connected.",
        ),
    ],
    columns=(0, 2),
)
def test_answer_to_the_question_for_a_place_is_understood(code: str, request_: str, said: str, text: str) -> None:
    async def main() -> str:
        async with weather(code, place="") as (skills, _):
            effects = SkillEffects(lambda _messages: None, lambda: NOW)
            chat = SkillsChat(skills, lambda: NOW, code, memory=lambda: effects.memory)
            first = Message("user", request_)
            asked = text_of(await ask(chat, first))
            effects.do(chat.effect_of([first]), 0.0)
            return text_of(await ask(chat, first, Message("assistant", asked), Message("user", said)))

    assert spoken_form(asyncio.run(main()), code).startswith(text)


class NeverAsked:
    """A language model that must not be asked."""

    name = "model"
    detail = ""

    async def load(self) -> None:
        pass

    def stream(self, *_: object) -> object:
        raise AssertionError("the skill answers")

    async def aclose(self) -> None:
        pass


def test_skill_answers_before_a_language_model_and_asks_the_service_only_then() -> None:
    async def main() -> list[object]:
        async with weather() as (skills, served):
            assert skills.match("is it windy") is not None
            assert not served.requests
            chat = SkillsFirst(skills, NeverAsked(), lambda: NOW, model_has_tools=True)  # type: ignore[arg-type]
            return await ask(chat, Message("user", "is it windy"))

    events = asyncio.run(main())
    assert text_of(events) == "Today: wind up to 22 kilometers per hour."
    assert isinstance(events[-1], Finished)
