"""Setting up, changing and removing the integration, with a real server."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import COMPONENTS, DOMAIN, TOKEN, Program
from homeassistant import config_entries
from homeassistant.components.diagnostics import DOMAIN as DIAGNOSTICS
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry

COMPONENT = COMPONENTS / DOMAIN


async def filled(hass: HomeAssistant, **fields: str) -> Any:
    """Goes through the form of a new entry; returns the last step."""
    flow = await hass.config_entries.flow.async_init(DOMAIN, context={"source": config_entries.SOURCE_USER})
    assert flow["type"] is FlowResultType.FORM
    result = await hass.config_entries.flow.async_configure(flow["flow_id"], fields)
    await hass.async_block_till_done()
    return result


async def test_server_is_added_once(home: HomeAssistant, server: Program) -> None:
    address = server.url.replace("http://", "ws://")
    added = await filled(home, url=address, token=TOKEN)
    assert added["type"] is FlowResultType.CREATE_ENTRY
    assert added["data"] == {"url": server.url, "token": TOKEN, "fingerprint": ""}
    assert added["result"].state is ConfigEntryState.LOADED
    again = await filled(home, url=server.url, token=TOKEN)
    assert (again["type"], again["reason"]) == (FlowResultType.ABORT, "already_configured")


async def test_wrong_values_are_refused_at_their_field(home: HomeAssistant, server: Program) -> None:
    digits = "ab" * 32
    for fields, errors in (
        ({"url": server.url, "token": "wrong"}, {"token": "invalid_auth"}),
        ({"url": server.url}, {"token": "invalid_auth"}),
        ({"url": "http://127.0.0.1:9", "token": TOKEN}, {"base": "cannot_connect"}),
        ({"url": "ftp://somewhere"}, {"url": "invalid_address"}),
        ({"url": server.url, "token": "two words"}, {"token": "invalid_token"}),
        ({"url": server.url, "fingerprint": "12:34"}, {"fingerprint": "invalid_fingerprint"}),
        ({"url": server.url, "fingerprint": digits}, {"fingerprint": "fingerprint_without_tls"}),
    ):
        assert (await filled(home, **fields))["errors"] == errors


async def test_certificate_is_checked(home: HomeAssistant, programs: Callable[..., Program]) -> None:
    secured = programs("--tls-self-signed")
    await secured.start()
    refused = await filled(home, url=secured.url, token=TOKEN)
    assert refused["errors"] == {"fingerprint": "wrong_certificate"}
    refused = await filled(home, url=secured.url, token=TOKEN, fingerprint="ab" * 32)
    assert refused["errors"] == {"fingerprint": "wrong_certificate"}
    added = await filled(home, url=secured.url, token=TOKEN, fingerprint=secured.fingerprint)
    assert added["type"] is FlowResultType.CREATE_ENTRY
    assert added["result"].state is ConfigEntryState.LOADED
    answer = await home.services.async_call(
        "conversation",
        "process",
        {"text": "what is two plus two", "agent_id": "conversation.repartee"},
        blocking=True,
        return_response=True,
    )
    assert "4" in json.dumps(answer)


async def test_entry_waits_for_its_server(home: HomeAssistant, server: Program) -> None:
    await server.stop()
    entry = MockConfigEntry(domain=DOMAIN, data={"url": server.url, "token": TOKEN, "fingerprint": ""})
    entry.add_to_hass(home)
    await home.config_entries.async_setup(entry.entry_id)
    assert entry.state is ConfigEntryState.SETUP_RETRY
    assert entry.error_reason_translation_key == "cannot_connect"
    assert server.url in str(entry.reason)
    await server.start()
    await home.config_entries.async_reload(entry.entry_id)
    assert entry.state is ConfigEntryState.LOADED


async def test_refused_token_asks_for_another_one(home: HomeAssistant, server: Program) -> None:
    entry = MockConfigEntry(domain=DOMAIN, data={"url": server.url, "token": "old", "fingerprint": ""})
    entry.add_to_hass(home)
    await home.config_entries.async_setup(entry.entry_id)
    await home.async_block_till_done()
    assert entry.state is ConfigEntryState.SETUP_ERROR
    (flow,) = home.config_entries.flow.async_progress()
    assert flow["step_id"] == "reauth_confirm"
    configure = home.config_entries.flow.async_configure
    assert (await configure(flow["flow_id"], {"token": "wrong"}))["errors"] == {"token": "invalid_auth"}
    assert (await configure(flow["flow_id"], {"token": TOKEN}))["reason"] == "reauth_successful"
    await home.async_block_till_done()
    assert entry.state is ConfigEntryState.LOADED


async def test_address_and_options_can_be_changed(
    entry: MockConfigEntry, home: HomeAssistant, programs: Callable[..., Program]
) -> None:
    other = programs()
    await other.start()
    flow = await entry.start_reconfigure_flow(home)
    changed = await home.config_entries.flow.async_configure(flow["flow_id"], {"url": other.url, "token": TOKEN})
    assert changed["reason"] == "reconfigure_successful"
    await home.async_block_till_done()
    assert (entry.data["url"], entry.unique_id) == (other.url, other.url)
    flow = await home.config_entries.options.async_init(entry.entry_id)
    await home.config_entries.options.async_configure(flow["flow_id"], {"allow": ["lock"]})
    await home.async_block_till_done()
    assert entry.options == {"allow": ["lock"]}
    assert entry.state is ConfigEntryState.LOADED


async def test_removal_leaves_nothing(entry: MockConfigEntry, home: HomeAssistant) -> None:
    assert er.async_entries_for_config_entry(er.async_get(home), entry.entry_id)
    assert await home.config_entries.async_remove(entry.entry_id)
    await home.async_block_till_done()
    assert home.config_entries.async_entries(DOMAIN) == []
    assert er.async_entries_for_config_entry(er.async_get(home), entry.entry_id) == []
    assert dr.async_entries_for_config_entry(dr.async_get(home), entry.entry_id) == []
    assert home.states.get("conversation.repartee") is None


async def test_diagnostics_have_no_token(
    entry: MockConfigEntry, home: HomeAssistant, hass_client: Callable[[], Any], server: Program
) -> None:
    assert await async_setup_component(home, DIAGNOSTICS, {})
    client = await hass_client()
    answer = await client.get(f"/api/diagnostics/config_entry/{entry.entry_id}")
    text = await answer.text()
    assert TOKEN not in text
    assert server.url not in text
    assert json.loads(text)["data"]["language"] == "en"


def keys_of(value: object, path: str = "") -> set[str]:
    """Returns the paths of all texts, each with its placeholders."""
    if isinstance(value, dict):
        return {inner for key, part in value.items() for inner in keys_of(part, f"{path}/{key}")}
    return {f"{path} {sorted(part.split('}')[0] for part in str(value).split('{')[1:])}"}


@pytest.mark.parametrize("code", ["de", "es", "fr"])
def test_translations_are_complete(code: str) -> None:
    texts = {
        name: json.loads((COMPONENT / "translations" / f"{name}.json").read_text("utf-8")) for name in ("en", code)
    }
    assert keys_of(texts[code]) == keys_of(texts["en"])


def test_each_error_and_field_has_its_text() -> None:
    texts = json.loads((COMPONENT / "translations" / "en.json").read_text("utf-8"))
    source = "".join(file.read_text("utf-8") for file in COMPONENT.glob("*.py"))
    for key in texts["config"]["error"]:
        assert f'"{key}"' in source
    for key in texts["exceptions"]:
        assert f'"{key}"' in source
    raised = {part.split('"')[1] for part in source.split("ServerError(")[1:] if part.startswith('"')}
    assert raised <= set(texts["exceptions"])
    assert {part.split('"')[1] for part in source.split("AddressError(")[1:] if part.startswith('"')} <= set(
        texts["config"]["error"]
    )
    assert set(texts["config"]["step"]) == {"user", "reconfigure", "reauth_confirm"}


def test_manifest_is_sorted_and_complete() -> None:
    manifest = json.loads((COMPONENT / "manifest.json").read_text("utf-8"))
    keys = list(manifest)
    assert keys == ["domain", "name", *sorted(keys[2:])]
    assert {"codeowners", "config_flow", "integration_type", "iot_class", "version"} <= set(keys)
    assert manifest["requirements"] == [], "what Home Assistant has is enough"
