"""Diagnostics of an entry: without the token, names and words."""

from typing import Any

from homeassistant.components.diagnostics import async_redact_data
from homeassistant.const import CONF_TOKEN, CONF_URL
from homeassistant.core import HomeAssistant

from . import ReparteeConfigEntry
from .const import CONF_FINGERPRINT


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: ReparteeConfigEntry) -> dict[str, Any]:
    """Returns what helps to find a fault."""
    agent = entry.runtime_data
    home = agent.home.description()
    return {
        "entry": async_redact_data(dict(entry.data), {CONF_TOKEN, CONF_URL, CONF_FINGERPRINT}),
        "is_encrypted": agent.server.url.startswith("https:"),
        "options": dict(entry.options),
        "language": agent.offer.language,
        "languages": list(agent.offer.languages),
        "exposed": {name: len(home[name]) for name in ("entities", "areas", "floors")},
        "conversations": agent.conversations,
    }
