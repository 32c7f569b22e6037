"""Repartee as the assistant: pipeline, streaming, devices, permissions, lost servers."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from conftest import TOKEN, WORDS, Model, Program
from homeassistant.auth.models import User
from homeassistant.components import conversation
from homeassistant.components.assist_pipeline import async_get_pipeline, async_update_pipeline
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.light import ColorMode, LightEntity
from homeassistant.const import STATE_OFF, STATE_ON
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.helpers import chat_session
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers import floor_registry as fr
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockEntityPlatform,
    async_fire_time_changed,
    async_mock_service,
)

AGENT = "conversation.repartee"


class Lamp(LightEntity):
    """A lamp that is switched on and off."""

    _attr_should_poll = False
    _attr_color_mode = ColorMode.ONOFF
    _attr_supported_color_modes = {ColorMode.ONOFF}  # noqa: RUF012 - as Home Assistant's entities have it

    def __init__(self, name: str) -> None:
        self._attr_name, self._attr_unique_id, self._attr_is_on = name, name, False

    async def async_turn_on(self, **_data: Any) -> None:
        self._attr_is_on = True
        self.async_write_ha_state()

    async def async_turn_off(self, **_data: Any) -> None:
        self._attr_is_on = False
        self.async_write_ha_state()


@pytest.fixture
async def lamps(home: HomeAssistant) -> HomeAssistant:
    """Returns a home with a kitchen on the ground floor and a study upstairs, and a lamp that is not exposed."""
    assert await async_setup_component(home, "light", {})
    floors, areas, entities = fr.async_get(home), ar.async_get(home), er.async_get(home)
    upstairs = floors.async_create("Upstairs", aliases={"first floor"})
    kitchen = areas.async_create("Kitchen", aliases={"galley"})
    study = areas.async_create("Study", floor_id=upstairs.floor_id)
    platform = MockEntityPlatform(home, domain="light", platform_name="test")
    await platform.async_add_entities([Lamp("Ceiling"), Lamp("Floor lamp"), Lamp("Secret lamp")])
    entities.async_update_entity("light.ceiling", area_id=kitchen.id)
    entities.async_update_entity("light.floor_lamp", area_id=study.id, aliases={"the sun"})
    for entity, exposed in (("light.ceiling", True), ("light.floor_lamp", True), ("light.secret_lamp", False)):
        async_expose_entity(home, "conversation", entity, exposed)
    await home.async_block_till_done()
    return home


async def ask(
    hass: HomeAssistant, text: str, conversation_id: str | None = None, language: str = "en", **fields: Any
) -> conversation.ConversationResult:
    context = fields.pop("context", Context())
    return await conversation.async_converse(
        hass, text, conversation_id, context, language=language, agent_id=AGENT, **fields
    )


def speech_of(result: conversation.ConversationResult) -> str:
    return str(result.response.speech["plain"]["speech"])


def is_on(hass: HomeAssistant, entity_id: str) -> bool:
    state = hass.states.get(entity_id)
    assert state is not None
    assert state.state in {STATE_ON, STATE_OFF}
    return state.state == STATE_ON


async def test_pipeline_switches_a_light(
    lamps: HomeAssistant, entry: MockConfigEntry, hass_ws_client: Callable[[HomeAssistant], Any]
) -> None:
    """The page of Home Assistant asks in this way, as soon as Repartee is the agent of an assistant."""
    pipeline = async_get_pipeline(lamps)
    await async_update_pipeline(lamps, pipeline, conversation_engine=AGENT, conversation_language="en")
    client = await hass_ws_client(lamps)
    asked = {"start_stage": "intent", "end_stage": "intent", "input": {"text": "turn on the kitchen light"}}
    await client.send_json_auto_id({"type": "assist_pipeline/run", "pipeline": pipeline.id, **asked})
    assert (await client.receive_json())["success"]
    events: dict[str, list[Any]] = {}
    while "run-end" not in events:
        event = (await client.receive_json())["event"]
        events.setdefault(event["type"], []).append(event["data"])
    assert is_on(lamps, "light.ceiling")
    (ended,) = events["intent-end"]
    assert ended["intent_output"]["response"]["speech"]["plain"]["speech"] == "Kitchen light on."
    assert not ended["processed_locally"]
    assert {"chat_log_delta": {"content": "Kitchen light on."}} in events["intent-progress"]


async def test_answer_of_the_model_is_streamed(home: HomeAssistant, entry: MockConfigEntry) -> None:
    came: list[tuple[float, str]] = []

    def note(_log: object, delta: dict[str, Any]) -> None:
        if text := delta.get("content"):
            came.append((home.loop.time(), text))

    with (
        chat_session.async_get_chat_session(home) as session,
        conversation.async_get_chat_log(home, session, chat_log_delta_listener=note),
    ):
        result = await ask(home, "tell me a story about a lamp", session.conversation_id)
    assert speech_of(result) == "".join(WORDS)
    assert "".join(text for _, text in came) == "".join(WORDS)
    assert len(came) > 2
    assert came[-1][0] - came[0][0] > 0.3, "it came at the pace of the model"


@pytest.mark.parametrize(
    ("words", "entity"),
    [
        ("turn on the sun", "light.floor_lamp"),
        ("turn on the lights upstairs", "light.floor_lamp"),
        ("turn on the light on the first floor", "light.floor_lamp"),
        ("turn on the light in the galley", "light.ceiling"),
    ],
)
async def test_names_and_places_of_the_home_are_found(
    lamps: HomeAssistant, entry: MockConfigEntry, words: str, entity: str
) -> None:
    await ask(lamps, words)
    assert [lamp for lamp in ("light.ceiling", "light.floor_lamp") if is_on(lamps, lamp)] == [entity]


async def test_second_question_refers_to_the_first(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    first = await ask(lamps, "turn on the floor lamp")
    assert is_on(lamps, "light.floor_lamp")
    await ask(lamps, "turn it off", first.conversation_id)
    assert not is_on(lamps, "light.floor_lamp")


async def test_question_of_the_assistant_goes_on(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    which = await ask(lamps, "turn on the lamp")
    if not which.continue_conversation:
        which = await ask(lamps, "turn on the light")
    assert which.continue_conversation, speech_of(which)
    await ask(lamps, "the floor lamp", which.conversation_id)
    assert is_on(lamps, "light.floor_lamp")
    assert not is_on(lamps, "light.ceiling")


async def test_room_of_the_satellite_is_meant(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    devices = dr.async_get(lamps)
    satellite = devices.async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "satellite")})
    area = ar.async_get(lamps).async_get_area_by_name("Study")
    assert area is not None
    devices.async_update_device(satellite.id, area_id=area.id)
    await ask(lamps, "turn on the light", device_id=satellite.id)
    assert is_on(lamps, "light.floor_lamp")
    assert not is_on(lamps, "light.ceiling")


async def test_model_acts_by_tools(lamps: HomeAssistant, entry: MockConfigEntry, model: Model) -> None:
    model.calls = [
        ("home_devices", {}),
        ("home_control", {"ids": ["light.ceiling"], "action": "turn_on"}),
        ("home_control", {"ids": ["light.secret_lamp"], "action": "turn_on"}),
    ]
    result = await ask(lamps, "make it cosy for the evening, would you please do whatever is needed")
    assert speech_of(result) == "".join(WORDS)
    assert is_on(lamps, "light.ceiling")
    assert not is_on(lamps, "light.secret_lamp")
    assert "Secret" not in str(model.asked)


async def test_entity_that_is_not_exposed_is_refused(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    result = await ask(lamps, "turn on the secret lamp")
    assert not is_on(lamps, "light.secret_lamp"), speech_of(result)
    home = entry.runtime_data.home
    call = {"domain": "light", "service": "turn_on", "entity_ids": ["light.secret_lamp"], "data": {}}
    assert await home.call(call, Context()) == {"error": "refused"}
    for wrong in (
        {"entity_ids": ["all"]},
        {"entity_ids": []},
        {"service": "reload"},
        {"domain": "homeassistant", "service": "restart"},
        {"domain": "switch"},
    ):
        assert await home.call({**call, "entity_ids": ["light.ceiling"], **wrong}, Context()) == {"error": "refused"}
    sneaky = {**call, "entity_ids": ["light.ceiling"], "data": {"area_id": "study", "entity_id": "light.secret_lamp"}}
    assert "states" in await home.call(sneaky, Context())
    assert is_on(lamps, "light.ceiling")
    assert not is_on(lamps, "light.floor_lamp")
    assert not is_on(lamps, "light.secret_lamp")


async def test_user_without_permission_is_refused(
    lamps: HomeAssistant, entry: MockConfigEntry, hass_read_only_user: User
) -> None:
    context = Context(user_id=hass_read_only_user.id)
    result = await ask(lamps, "turn on the floor lamp", context=context)
    assert not is_on(lamps, "light.floor_lamp")
    assert speech_of(result) == "Your home refuses that."


async def test_changes_of_the_home_are_known(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    first = await ask(lamps, "is the floor lamp on")
    assert speech_of(first) == "No."
    await lamps.services.async_call("light", "turn_on", {"entity_id": "light.floor_lamp"}, blocking=True)
    await asyncio.sleep(1)
    assert speech_of(await ask(lamps, "is the floor lamp on", first.conversation_id)) == "Yes."
    async_expose_entity(lamps, "conversation", "light.secret_lamp", True)
    await asyncio.sleep(3)
    await ask(lamps, "turn on the secret lamp", first.conversation_id)
    assert is_on(lamps, "light.secret_lamp")


async def test_locks_need_the_option(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    lamps.states.async_set("lock.front_door", "locked", {"friendly_name": "Front door"})
    async_expose_entity(lamps, "conversation", "lock.front_door", True)
    calls = async_mock_service(lamps, "lock", "unlock")
    assert "not allowed" in speech_of(await ask(lamps, "unlock the front door"))
    lamps.config_entries.async_update_entry(entry, options={"allow": ["lock"]})
    await lamps.async_block_till_done()
    await ask(lamps, "unlock the front door")
    assert [call.data["entity_id"] for call in calls] == [["lock.front_door"]]


async def test_conversation_goes_on_after_a_restart_of_the_server(
    lamps: HomeAssistant, entry: MockConfigEntry, server: Program, model: Model
) -> None:
    first = await ask(lamps, "tell me a story about a lamp")
    await server.stop()
    lost = await ask(lamps, "tell me another story", first.conversation_id)
    assert lost.response.error_code is not None
    assert speech_of(lost) == f"I cannot reach the Repartee server at {server.url}."
    german = await ask(lamps, "noch eine Geschichte", first.conversation_id, language="de")
    assert speech_of(german) == f"Ich erreiche den Repartee-Server unter {server.url} nicht."
    await server.start()
    again = await ask(lamps, "and one about a chair please", first.conversation_id)
    assert speech_of(again) == "".join(WORDS)
    assert "tell me a story about a lamp" in str(model.asked[-1])
    await ask(lamps, "turn on the floor lamp", first.conversation_id)
    assert is_on(lamps, "light.floor_lamp")


async def test_planned_command_is_done_later_with_the_rights_of_its_user(
    lamps: HomeAssistant, entry: MockConfigEntry, hass_read_only_user: User
) -> None:
    guest = Context(user_id=hass_read_only_user.id)
    await ask(lamps, "turn on the ceiling in 2 seconds", context=guest)
    await ask(lamps, "turn on the floor lamp in 2 seconds")
    async with asyncio.timeout(20):
        while not is_on(lamps, "light.floor_lamp"):  # noqa: ASYNC110 - the server does it
            await asyncio.sleep(0.1)
    await asyncio.sleep(2)
    assert not is_on(lamps, "light.ceiling")


async def test_planned_command_survives_a_restart_of_the_server(
    lamps: HomeAssistant, entry: MockConfigEntry, server: Program
) -> None:
    await ask(lamps, "turn on the floor lamp in 8 seconds")
    await entry.runtime_data.aclose()
    await server.stop()
    await server.start()
    await lamps.config_entries.async_reload(entry.entry_id)
    async with asyncio.timeout(30):
        while not is_on(lamps, "light.floor_lamp"):  # noqa: ASYNC110 - the server does it
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("may", [True, False])
async def test_planned_command_of_a_user_survives_a_reload(
    lamps: HomeAssistant, entry: MockConfigEntry, hass_admin_user: User, hass_read_only_user: User, may: bool
) -> None:
    """The server makes it only on a connection of the user who has planned it, and with these rights."""
    user = hass_admin_user if may else hass_read_only_user
    await ask(lamps, "turn on the floor lamp in 6 seconds", context=Context(user_id=user.id))
    async with asyncio.timeout(2):
        while not entry.runtime_data.planners:  # noqa: ASYNC110 - the server tells it after the answer
            await asyncio.sleep(0.05)
    await lamps.config_entries.async_reload(entry.entry_id)
    assert len(entry.runtime_data.conversations) == 2, "the standby and the user's"
    asked: list[str | None] = []
    call = entry.runtime_data.home.call

    async def note(fields: Mapping[str, Any], context: Context) -> dict[str, Any]:
        asked.append(context.user_id)
        return await call(fields, context)

    entry.runtime_data.home.call = note
    async with asyncio.timeout(30):
        while not asked:  # noqa: ASYNC110 - the server does it
            await asyncio.sleep(0.1)
    await asyncio.sleep(1)
    assert asked == [user.id]
    assert is_on(lamps, "light.floor_lamp") is may
    assert entry.runtime_data.planners == frozenset()


async def test_conversation_that_is_answered_does_not_end(
    home: HomeAssistant, entry: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custom_components.repartee.agent.MAX_CONVERSATIONS", 1)
    monkeypatch.setattr("custom_components.repartee.agent.IDLE_S", 0.0)
    first = home.async_create_task(ask(home, "tell me a story about a lamp"))
    await asyncio.sleep(0.6)
    for _ in range(2):
        await ask(home, "what is two plus two")
    assert not first.done()
    assert speech_of(await first) == "".join(WORDS)


def test_home_assistant_is_told_that_answers_are_streamed(home: HomeAssistant, entry: MockConfigEntry) -> None:
    entity = home.data["entity_components"]["conversation"].get_entity(AGENT)
    assert entity._attr_supports_streaming, "newer versions than this one read it, and speak while it is written"


async def test_timer_is_told_at_its_satellite(home: HomeAssistant, entry: MockConfigEntry) -> None:
    announced = async_mock_service(home, "assist_satellite", "announce")
    devices, entities = dr.async_get(home), er.async_get(home)
    satellite = devices.async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "satellite")})
    speaker = entities.async_get_or_create("assist_satellite", "test", "speaker", device_id=satellite.id)
    await ask(home, "set a timer for two seconds", device_id=satellite.id)
    async with asyncio.timeout(20):
        while not announced:  # noqa: ASYNC110 - the server does it
            await asyncio.sleep(0.1)
    assert announced[0].data["entity_id"] == [speaker.entity_id]
    assert "timer is done" in announced[0].data["message"]


async def test_question_after_a_cancelled_one_is_answered(home: HomeAssistant, entry: MockConfigEntry) -> None:
    with chat_session.async_get_chat_session(home) as session:
        first = home.async_create_task(ask(home, "tell me a story about a lamp", session.conversation_id))
        await asyncio.sleep(0.6)
        first.cancel()
        await asyncio.wait({first})
        second = await ask(home, "tell me a story about a chair", session.conversation_id)
    assert speech_of(second) == "".join(WORDS)


async def test_language_of_the_user_is_spoken(lamps: HomeAssistant, entry: MockConfigEntry) -> None:
    if "de" not in entry.runtime_data.offer.languages:
        pytest.skip("no German voice is installed here")
    result = await ask(lamps, "schalte das Licht in Galley ein", language="de-CH")
    assert is_on(lamps, "light.ceiling"), speech_of(result)
    assert speech_of(result).endswith(" an.")


async def test_idle_conversations_end(home: HomeAssistant, entry: MockConfigEntry, monkeypatch: Any) -> None:
    agent = entry.runtime_data
    await ask(home, "what is two plus two")
    assert len(agent.conversations) == 2, "with the standby"
    monkeypatch.setattr("custom_components.repartee.agent.IDLE_S", 0.0)
    async_fire_time_changed(home, dt_util.utcnow() + timedelta(seconds=61))
    await asyncio.sleep(0.5)
    assert agent.conversations == [{"connected": True, "has_timers": False}]


async def test_timer_is_told_without_a_satellite(home: HomeAssistant, entry: MockConfigEntry) -> None:
    assert await async_setup_component(home, "persistent_notification", {})
    await ask(home, "set a timer for two seconds")
    async with asyncio.timeout(20):
        while not (told := home.data.get("persistent_notification")):  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.1)
    assert "timer" in str(told)


def test_token_is_not_shown(entry: MockConfigEntry) -> None:
    assert TOKEN not in repr(entry.runtime_data.server)
