"""Questions for the weather are answered in every language; a service that fails is a failed turn."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from support.conversations.loaded_skills import spoken_form
from support.services.service_server import Reply, ServiceServer, service_server
from support.texts.text_cases import text_cases

from assistant.config.home_settings import WeatherSection
from assistant.skills.chat import SkillsChat, SkillsFirst
from assistant.skills.effects import SkillEffects
from assistant.skills.skills import Skills
from assistant.skills.weather.replies import WeatherSkill
from assistant.support.json_http import JsonHttp
from assistant.weather.service import WeatherService
from llm.chat import ChatModel, Finished, Message, Token
from llm.errors import LlmBroken

NOW = datetime(2026, 11, 26, 17, 45, tzinfo=UTC)


def service_of(
    served: ServiceServer, place: str = "Paris", units: str = "metric", timeout_s: float = 20.0
) -> WeatherService:
    settings = WeatherSection(
        enabled=True,
        place=place,
        units=units,  # type: ignore[arg-type]
    )
    forecasts = JsonHttp(f"{served.url}/v1/forecast", timeout_s, max_bytes=99_999)
    return WeatherService(settings, forecasts, JsonHttp(f"{served.url}/v1/search", 20.0))


async def ask(skills: Skills, said: str, code: str, model: ChatModel | None = None) -> list[object]:
    chat = (
        SkillsChat(skills, lambda: NOW, code)
        if model is None
        else SkillsFirst(skills, model, lambda: NOW, code, model_has_tools=True)
    )
    await chat.load()
    return [event async for event in chat.stream([Message("user", said)])]


def answers(
    *said: str,
    code: str = "en",
    place: str = "Paris",
    units: str = "metric",
    faults: dict[str, Reply] | None = None,
    timeout_s: float = 20.0,
) -> list[str]:
    async def main() -> list[str]:
        async with service_server() as served:
            served.faults |= faults or {}
            skills = Skills([WeatherSkill(service_of(served, place, units, timeout_s))])
            try:
                events = [await ask(skills, one, code) for one in said]
            finally:
                await skills.aclose()
            return [spoken_form(text_of(one), code) for one in events]

    return asyncio.run(main())


def text_of(events: Sequence[object]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token)).strip()


@text_cases(
    ("code", "said", "text"),
    [
        (
            "en",
            "What's the weather?",
            "It's seven degrees and overcast. Today between four and nine degrees, "
            "seventy-eight percent chance of rain.",
        ),
        (
            "en",
            "what's the weather like tomorrow",
            "Tomorrow: overcast, between three and eight degrees, twelve percent chance of rain.",
        ),
        ("en", "will it rain tomorrow", "No, probably not. Tomorrow: twelve percent chance of rain."),
        ("en", "do I need an umbrella", "Yes, probably. Today: seventy-eight percent chance of rain."),
        ("en", "how warm is it in Paris on Saturday", "Saturday in Paris: between minus two and three degrees."),
        ("en", "how warm is it", "It's seven degrees. It feels like five."),
        ("en", "will it snow on Saturday", "Yes. Saturday: snowy."),
        ("en", "is it windy", "Today: wind up to twenty-two kilometers per hour."),
        (
            "en",
            "weather in Springfield",
            "Which place do you mean: Springfield, Missouri, Springfield, Massachusetts or Springfield, Illinois?",
        ),
        (
            "en",
            "what is the weather in Atlantis",
            "I don't know a place called Atlantis. Which place do you mean?",
        ),
        (
            "de",
            "Wie wird das Wetter morgen?",
            "Morgen: bedeckt, drei bis acht Grad, zwölf Prozent Regenwahrscheinlichkeit.",
        ),
        ("de", "Regnet es morgen?", "Nein, wahrscheinlich nicht. Morgen: zwölf Prozent Regenwahrscheinlichkeit."),
        ("de", "Wie warm wird es am Samstag in Paris?", "Samstag in Paris: minus zwei bis drei Grad."),
        (
            "de",
            "Wie ist das Wetter in Paris am Samstag",
            "Samstag in Paris: verschneit, minus zwei bis drei Grad, fünfunddreißig Prozent Regenwahrscheinlichkeit.",
        ),
        (
            "fr",
            "Quel temps fait-il demain ?",
            "Demain : temps couvert, entre trois et huit degrés, douze pour cent de risque de pluie.",
        ),
        (
            "fr",
            "Est-ce qu'il va pleuvoir demain ?",
            "Non, probablement pas. Demain : douze pour cent de risque de pluie.",
        ),
        (
            "fr",
            "Quelle température fait-il à Paris samedi",
            "Samedi à Paris : entre moins deux et trois degrés.",
        ),
        (
            "es",
            "¿Qué tiempo hará mañana?",
            "Mañana: cielo cubierto, entre tres y ocho grados, doce por ciento de probabilidad de lluvia.",
        ),
        ("es", "¿Va a llover mañana?", "No, probablemente no. Mañana: doce por ciento de probabilidad de lluvia."),
        ("es", "¿Qué temperatura hará en París el sábado?", "Sábado en Paris: entre menos dos y tres grados."),
    ],
    columns=(0, 1),
)
def test_question_is_answered(code: str, said: str, text: str) -> None:
    assert answers(said, code=code) == [text]


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
        async with service_server() as served:
            url = served.url
        served.url = url  # nobody listens there any more
        skills = Skills([WeatherSkill(service_of(served))])
        try:
            await ask(skills, "what's the weather", "en")
        finally:
            await skills.aclose()

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
        async with service_server() as served:
            skills = Skills([WeatherSkill(service_of(served, place=""))])
            effects = SkillEffects(lambda _messages: None, lambda: NOW)
            chat = SkillsChat(skills, lambda: NOW, code, memory=lambda: effects.memory)
            await chat.load()
            first = [Message("user", request_)]
            asked = text_of([event async for event in chat.stream(first)])
            effects.do(chat.effect_of(first), 0.0)
            messages = [*first, Message("assistant", asked), Message("user", said)]
            answer = text_of([event async for event in chat.stream(messages)])
            await skills.aclose()
            return answer

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


def test_skill_answers_before_a_language_model() -> None:
    async def main() -> list[object]:
        async with service_server() as served:
            skills = Skills([WeatherSkill(service_of(served))])
            try:
                return await ask(skills, "is it windy", "en", NeverAsked())  # type: ignore[arg-type]
            finally:
                await skills.aclose()

    events = asyncio.run(main())
    assert text_of(events) == "Today: wind up to 22 kilometers per hour."
    assert isinstance(events[-1], Finished)


def test_question_is_not_sent_before_the_skill_is_asked() -> None:
    async def main() -> int:
        async with service_server() as served:
            skills = Skills([WeatherSkill(service_of(served))])
            skills.load("en")
            assert skills.match("what's the weather") is not None
            await skills.aclose()
            return len(served.requests)

    assert asyncio.run(main()) == 0
