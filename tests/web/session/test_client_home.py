"""A home that a client sends: skills and the language model use its devices, and the client calls the services."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from support.conversations.session_harness import SessionHarness
from support.protocol.wire_client import Client

from assistant.config.settings import Settings
from assistant.home import CLIENTS_HOME, PlannedCalls, ServiceCall
from assistant.home.client_home import CALL_TIMEOUT_S
from assistant.pipeline.engines import Engines
from assistant.setup import build
from assistant.skills.skills import Skills
from assistant.skills.timers.user_timers import SharedTimers
from web.wire.values.session_config import SessionConfig

pytestmark = pytest.mark.virtual_time

KITCHEN = {"id": "light.kitchen", "name": "Ceiling", "area": "Kitchen", "state": "off"}
LAMP = {"id": "light.lamp", "name": "Floor lamp", "aliases": ["the sun"], "area": "Study", "state": "off"}
DOOR = {"id": "lock.door", "name": "Front door", "state": "locked"}
HOME = {
    "entities": [KITCHEN, LAMP, DOOR],
    "areas": [{"name": "Kitchen", "aliases": ["galley"]}, {"name": "Study", "floor": "Upstairs"}],
    "floors": [{"name": "Upstairs"}],
}
SKILLS = Skills()
SKILLS.load("en")
SKILLS.load("de")


def with_skills(engines: Engines) -> Engines:
    effects = engines.skill_effects
    return replace(engines, model=build.answering(Settings(), SKILLS, None, effects))


async def at_once(function: Callable[..., None], *values: object) -> None:
    """Stands for a thread, which virtual time does not have."""
    function(*values)


@dataclass
class HomeHarness(SessionHarness):
    """A client with a home, whose session answers with skills alone. `asked`: the number of texts so far."""

    asked: int = 0
    client: Client = field(default_factory=lambda: Client(SessionConfig()))

    def __post_init__(self) -> None:
        self.engines = with_skills
        super().__post_init__()
        self.talk.home.in_thread = at_once

    async def say(self, text: str, *, error: str = "", states: Sequence[object] = (), answers: bool = True) -> str:
        """Types a text; answers each call of the home. Returns the reply."""
        self.asked += 1
        seen = len(self.calls)
        await self.type_text(text)
        await self.send("response.create", response={"output_modalities": ["text"]})
        async with asyncio.timeout(60):
            while len(self.done) < self.asked:
                for call in self.calls[seen:] if answers else ():
                    outcome: dict[str, Any] = {"error": error} if error else {"states": list(states)}
                    await self.send("repartee.home.result", call_id=call["call_id"], **outcome)
                seen = len(self.calls)
                await asyncio.sleep(0.01)
        return str(self.done[-1]["output"][0]["content"][0]["text"]).strip()

    @property
    def calls(self) -> list[dict[str, Any]]:
        return self.events("repartee.home.call")

    @property
    def called(self) -> list[tuple[str, list[str]]]:
        return [(f"{call['domain']}.{call['service']}", call["entity_ids"]) for call in self.calls]


async def test_command_is_done_by_the_client() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        assert await harness.say("turn on the kitchen light") == "Kitchen light on."
        assert await harness.say("set the floor lamp to 40 percent") == "Floor lamp at 40%."
    assert harness.called == [("light.turn_on", ["light.kitchen"]), ("light.turn_on", ["light.lamp"])]
    assert harness.calls[1]["data"] == {"brightness_pct": 40}
    assert harness.errors == []


@pytest.mark.parametrize("words", ["turn on the sun", "turn on the light upstairs"])
async def test_alias_and_floor_find_the_device(words: str) -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        await harness.say(words)
    assert harness.called == [("light.turn_on", ["light.lamp"])]


async def test_alias_of_an_area_finds_its_devices() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        await harness.say("turn on the light in the galley")
    assert harness.called == [("light.turn_on", ["light.kitchen"])]


async def test_second_question_refers_to_the_first() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        await harness.say("turn on the floor lamp")
        await harness.say("turn it off")
    assert harness.called[1] == ("light.turn_off", ["light.lamp"])


async def test_states_of_the_client_answer_questions() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        assert await harness.say("is the floor lamp on") == "No."
        await harness.send("repartee.home.states", states=[{"id": "light.lamp", "state": "on"}])
        assert await harness.say("is the floor lamp on") == "Yes."
        changed = [{"id": "light.lamp", "state": "off"}, {"id": "light.unknown", "state": "on"}]
        await harness.say("turn off the floor lamp", states=changed)
        assert await harness.say("is the floor lamp on") == "No."


async def test_lock_is_not_allowed_without_permission() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        assert await harness.say("unlock the front door") == "I am not allowed to do that: front door."
        await harness.update(repartee={"home": {**HOME, "allow": ["lock"]}})
        await harness.say("unlock the front door")
    assert harness.called == [("lock.unlock", ["lock.door"])]


async def test_refusal_and_silence_of_the_client_are_told() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        assert "refuses" in await harness.say("turn on the floor lamp", error="refused")
        await harness.say("turn on the floor lamp", answers=False)
        await asyncio.sleep(CALL_TIMEOUT_S)
        await harness.until("response.done", 3)
        assert "Your home does not answer" in json.dumps(harness.done[-1])


async def test_disconnected_client_is_an_unreachable_home_until_it_sends_it_again() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME})
        await harness.say("turn on the floor lamp")
        harness.talk.on_disconnect()
        assert harness.talk.home.port is not None
        assert harness.talk.home.port.fault == "unreachable"
        harness.resume()
        harness.asked = 0
        await harness.update(repartee={"home": HOME})
        assert await harness.say("turn off the floor lamp") == "Floor lamp off."


async def test_home_ends_with_null_and_no_other_session_has_it() -> None:
    async with HomeHarness().running() as harness, HomeHarness().running() as other:
        await harness.update(repartee={"home": HOME})
        await harness.say("turn on the floor lamp")
        await other.say("turn on the floor lamp")
        await harness.update(repartee={"home": None})
        await harness.say("turn on the floor lamp")
    assert len(harness.calls) == 1
    assert other.calls == []


async def test_command_for_later_is_made_by_the_client() -> None:
    async with HomeHarness().running() as harness:
        await harness.update(repartee={"home": HOME, "room": "Galley"})
        assert await harness.say("turn off the light in two days") == "In 48 hours: Light off."
        effects = harness.session.engines.skill_effects
        effects.local_now = lambda: build.local_now() + timedelta(days=2)
        await harness.sound(400, loud=False)
        await harness.until("repartee.home.call", 1)
    assert harness.called == [("light.turn_off", ["light.kitchen"])]


async def test_home_of_a_connected_client_is_known_to_planned_commands() -> None:
    async with HomeHarness().running() as harness:
        timers = SharedTimers(build.local_now, lambda _missed, _now: "", lambda: "key", stored=False)
        harness.session.engines.skill_effects.timers = timers.join()
        await harness.update(repartee={"home": HOME})
        planned = PlannedCalls((ServiceCall("light", "turn_off", ("light.lamp",)),), CLIENTS_HOME)
        assert timers.homes.find(planned) is harness.talk.home.port
        harness.talk.on_disconnect()
        assert timers.homes.find(planned) is None
        harness.resume()
        harness.asked = 0
        await harness.update(repartee={"home": HOME})
        assert timers.homes.find(planned) is not None
    assert timers.homes.find(planned) is None
