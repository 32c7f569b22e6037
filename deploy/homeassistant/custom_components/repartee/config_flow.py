"""Asks for the address of the server, its token and its certificate, and for what may be used."""

from collections.abc import Mapping
from typing import Any

import voluptuous as vol
from homeassistant.config_entries import ConfigEntry, ConfigFlow, ConfigFlowResult, OptionsFlow
from homeassistant.const import CONF_TOKEN, CONF_URL
from homeassistant.core import callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.selector import (
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)

from .const import CONF_ALLOW, CONF_FINGERPRINT, DOMAIN, GUARDED
from .server import AddressError, Server, ServerError

_TOKEN = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD))
_SERVER = vol.Schema(
    {
        vol.Required(CONF_URL): TextSelector(),
        vol.Optional(CONF_TOKEN): _TOKEN,
        vol.Optional(CONF_FINGERPRINT): TextSelector(),
    }
)
_FIELDS = {
    "invalid_address": CONF_URL,
    "invalid_token": CONF_TOKEN,
    "invalid_auth": CONF_TOKEN,
    "invalid_fingerprint": CONF_FINGERPRINT,
    "fingerprint_without_tls": CONF_FINGERPRINT,
    "wrong_certificate": CONF_FINGERPRINT,
}
"""The field of the form that an error is about."""


class ReparteeConfigFlow(ConfigFlow, domain=DOMAIN):
    """Adds a server, and changes its address, token and certificate."""

    VERSION = 1

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Adds a server."""
        errors: dict[str, str] = {}
        if user_input is not None:
            server = await self._tried(user_input, errors)
            if server is not None:
                await self.async_set_unique_id(server.url)
                self._abort_if_unique_id_configured()
                return self.async_create_entry(title="Repartee", data=server.as_data)
        return self._form("user", user_input or {CONF_URL: "http://repartee.local:8765"}, errors)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Changes the address, token or certificate."""
        entry, errors = self._get_reconfigure_entry(), dict[str, str]()
        if user_input is not None:
            server = await self._tried(user_input, errors)
            if server is not None:
                await self.async_set_unique_id(server.url)
                if server.url != entry.unique_id:
                    self._abort_if_unique_id_configured()
                return self.async_update_reload_and_abort(entry, unique_id=server.url, data=server.as_data)
        return self._form("reconfigure", user_input or entry.data, errors)

    async def async_step_reauth(self, _entry_data: Mapping[str, Any]) -> ConfigFlowResult:
        """Asks for another token, because the server has refused it."""
        return await self.async_step_reauth_confirm()

    async def async_step_reauth_confirm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Asks for another token."""
        entry, errors = self._get_reauth_entry(), dict[str, str]()
        if user_input is not None:
            server = await self._tried({**entry.data, CONF_TOKEN: user_input.get(CONF_TOKEN, "")}, errors)
            if server is not None:
                return self.async_update_reload_and_abort(entry, data=server.as_data)
        return self.async_show_form(
            step_id="reauth_confirm",
            data_schema=vol.Schema({vol.Optional(CONF_TOKEN): _TOKEN}),
            errors=errors,
            description_placeholders={"address": entry.data[CONF_URL]},
        )

    @staticmethod
    @callback
    def async_get_options_flow(_config_entry: ConfigEntry) -> OptionsFlow:
        """Returns the flow of the options."""
        return ReparteeOptionsFlow()

    async def _tried(self, user_input: Mapping[str, Any], errors: dict[str, str]) -> Server | None:
        """Returns the server, if it answers; else None, with the error."""
        try:
            server = Server.of(user_input)
            await server.offer(async_get_clientsession(self.hass))
        except (AddressError, ServerError) as error:
            errors[_FIELDS.get(error.key, "base")] = error.key
            return None
        return server

    def _form(self, step: str, values: Mapping[str, Any], errors: dict[str, str]) -> ConfigFlowResult:
        schema = self.add_suggested_values_to_schema(_SERVER, values)
        return self.async_show_form(step_id=step, data_schema=schema, errors=errors)


class ReparteeOptionsFlow(OptionsFlow):
    """Asks which kinds of devices may be used although a misheard word could open the house."""

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Asks for the options."""
        if user_input is not None:
            return self.async_create_entry(data=user_input)
        kinds = SelectSelectorConfig(
            options=list(GUARDED), multiple=True, mode=SelectSelectorMode.LIST, translation_key=CONF_ALLOW
        )
        allowed = list(self.config_entry.options.get(CONF_ALLOW, ()))
        schema = vol.Schema({vol.Optional(CONF_ALLOW, default=allowed): SelectSelector(kinds)})
        return self.async_show_form(step_id="init", data_schema=schema)
