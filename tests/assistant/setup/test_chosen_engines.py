"""A conversation in which a client has chosen another language keeps the home and the weather of the server."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer
from support.services.service_server import TOKEN, ServiceServer, service_server

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.pipeline.engines import Engines
from assistant.setup.answering import services
from assistant.setup.conversation import chosen_engines
from assistant.setup.conversation.chosen_engines import ChosenEngines, EngineChoices, EngineWish
from assistant.setup.engine_loader import EngineLoader
from audio.stt import Recognizer
from llm.chat import Message, Token

ENGLISH, GERMAN, FRENCH = "Turn on the kitchen light.", "Schalte Kitchen light ein.", "Allume Kitchen light."
SWITCHED_ON = ("light/turn_on", {"entity_id": ["light.kitchen"]})


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the voice and the recognizer of the chosen language."""

    async def recognizer(_self: EngineChoices, _language: str, _settings: Settings) -> Recognizer:
        return SequenceRecognizer(["hallo"])

    monkeypatch.setattr(chosen_engines, "_voice", lambda _name, _settings: ScriptedVoice())
    monkeypatch.setattr(EngineChoices, "_recognizer_in", recognizer)


@asynccontextmanager
async def server_with_home(
    monkeypatch: pytest.MonkeyPatch, *assignments: str
) -> AsyncGenerator[tuple[ServiceServer, EngineLoader, EngineChoices]]:
    """Yields a home, the engines of a server that uses it, and what clients may choose there."""
    async with service_server() as served:
        monkeypatch.setattr(services, "FORECAST_URL", f"{served.url}/v1/forecast")
        monkeypatch.setattr(services, "GEOCODING_URL", f"{served.url}/v1/search")
        settings = load_settings(None, {}, [f"home.url={served.url}", *assignments]).settings
        loader = EngineLoader(settings, {"HOME_ASSISTANT_TOKEN": TOKEN}, listens=False, speaks=False)
        async with aclosing(loader), aclosing(EngineChoices(loader)) as choices:
            await loader.open()
            home = loader.skills.home
            assert home is not None
            async with asyncio.timeout(10):
                while home.state is None:  # noqa: ASYNC110 - it is read in the background
                    await asyncio.sleep(0.01)
            yield served, loader, choices


async def commanded(first: Engines, chosen: ChosenEngines, text: str, *earlier: Message) -> str:
    """Gives a command. Returns the answer, when the home has done it."""
    messages: Sequence[Message] = [*earlier, Message("user", text)]
    answer = "".join([e.text async for e in chosen.engines.model.stream(messages) if isinstance(e, Token)]).strip()
    assert chosen.effect_of is not None
    effects = first.skill_effects
    effects.do(chosen.effect_of(messages), asyncio.get_running_loop().time())
    if effects.pending is not None:
        assert await effects.pending.fault() == ""
    return answer


@pytest.mark.parametrize(("language", "command"), [("de", GERMAN), ("fr", FRENCH)])
async def test_home_is_commanded_in_a_chosen_language(
    monkeypatch: pytest.MonkeyPatch, language: str, command: str
) -> None:
    async with server_with_home(monkeypatch) as (served, loader, choices):
        first, other = await loader.engines(), await loader.engines()
        chosen = await choices.engines(first, EngineWish(language=language))
        assert "Kitchen light" in await commanded(first, chosen, command)
        assert served.calls == [SWITCHED_ON]
        assert [request.path for request in served.requests].count("/api/states") == 1  # one connection
        assert (first.skill_effects.home, other.skill_effects.home) == (loader.skills.home,) * 2
        asked = [Message("user", ENGLISH)]  # the other conversation stays as it was
        async for _event in other.model.stream(asked):
            pass
        assert other.skill_effects.effect_of(asked) is not None
        await choices.release(chosen)


async def test_home_is_commanded_after_the_choice_of_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = '{name = "near", kind = "openai", url = "http://127.0.0.1:9/v1", model = "m"}'
    async with server_with_home(monkeypatch, f"llm.endpoints=[{endpoint}]") as (served, loader, choices):
        first = await loader.engines()
        chosen = await choices.engines(first, EngineWish(endpoint="near"))
        assert await commanded(first, chosen, ENGLISH) == "Kitchen light on."
        assert served.calls == [SWITCHED_ON]


async def test_guest_cannot_use_the_home_in_a_chosen_language(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server_with_home(monkeypatch) as (served, loader, choices):
        guest = await loader.engines()
        guest.skill_effects.home = None
        chosen = await choices.engines(guest, EngineWish(language="de"))
        assert guest.skill_effects.home is None
        await commanded(guest, chosen, GERMAN)
        assert served.calls == []


async def test_weather_is_told_in_a_chosen_language(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = '{name = "near", kind = "openai", url = "http://127.0.0.1:9/v1", model = "m"}'
    async with server_with_home(monkeypatch, "weather.enabled=true", f"llm.endpoints=[{endpoint}]") as (
        served,
        loader,
        choices,
    ):
        first = await loader.engines()
        chosen = await choices.engines(first, EngineWish(language="de"))
        answer = await commanded(first, chosen, "Wie ist das Wetter in Paris?")
        assert answer.startswith("Es hat 7° in Paris und ist bedeckt.")
        first.skill_effects.language = "de"  # as `SessionChoices` notes it
        assert first.tools is not None
        await first.tools.call("weather", '{"place": "Paris"}')
        assert [request.query["language"] for request in served.of("/v1/search")] == ["de"]


async def test_chosen_language_counts_after_speech_in_a_followed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server_with_home(monkeypatch, "assistant.language=en fr") as (_served, loader, choices):
        first = await loader.engines()
        chosen = await choices.engines(first, EngineWish(language="de"))
        spoken = Message("user", "quelle heure est-il", language="fr"), Message("assistant", "Il est dix heures.")
        assert await commanded(first, chosen, "Wie viel ist zwei plus zwei?", *spoken) == "Das ergibt 4."
