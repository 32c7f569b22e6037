"""Repartee as the assistant of Home Assistant: a conversation agent that controls the exposed entities."""

from typing import TypeAlias

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryAuthFailed, ConfigEntryNotReady
from homeassistant.helpers import instance_id
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.storage import Store

from .agent import STORE_VERSION, Agent
from .const import CONF_ALLOW, DOMAIN
from .home import ExposedHome
from .server import Server, ServerError

PLATFORMS = (Platform.CONVERSATION,)

ReparteeConfigEntry: TypeAlias = "ConfigEntry[Agent]"


async def async_setup_entry(hass: HomeAssistant, entry: ReparteeConfigEntry) -> bool:
    """Sets up the agent. Home Assistant tries again while the server is not reachable."""
    server = Server.of(entry.data)
    try:
        offer = await server.offer(async_get_clientsession(hass))
    except ServerError as error:
        failed = ConfigEntryAuthFailed if error.key == "invalid_auth" else ConfigEntryNotReady
        raise failed(
            translation_domain=DOMAIN,
            translation_key=error.key,
            translation_placeholders={"address": server.url},
        ) from error
    home = ExposedHome(hass, entry.options.get(CONF_ALLOW, ()), await instance_id.async_get(hass))
    agent = entry.runtime_data = Agent(hass, server, offer, home, _store(hass, entry))
    await agent.start()
    entry.async_on_unload(entry.add_update_listener(_reload))
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ReparteeConfigEntry) -> bool:
    """Ends the conversations and removes the agent."""
    unloaded = await hass.config_entries.async_unload_platforms(entry, PLATFORMS)
    if unloaded:
        await entry.runtime_data.aclose()
    return unloaded


async def async_remove_entry(hass: HomeAssistant, entry: ReparteeConfigEntry) -> None:
    """Deletes what the agent has kept."""
    await _store(hass, entry).async_remove()


def _store(hass: HomeAssistant, entry: ReparteeConfigEntry) -> Store[list[str]]:
    return Store(hass, STORE_VERSION, f"{DOMAIN}.{entry.entry_id}")


async def _reload(hass: HomeAssistant, entry: ReparteeConfigEntry) -> None:
    await hass.config_entries.async_reload(entry.entry_id)
