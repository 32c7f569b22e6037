"""States read from Home Assistant's answers, whoever named the devices."""

import json
from typing import Any

import pytest

from assistant.home import Device, HomeState
from assistant.home.states import home_state
from assistant.tools.home_tools import _listed


def device_of(name: object, state: str = "on", **attributes: Any) -> Device:
    entry = {"entity_id": "climate.hall", "state": state, "attributes": {"friendly_name": name, **attributes}}
    found = home_state([entry], None, {"climate"})
    assert found is not None
    return found.devices[0]


def test_name_of_a_device_adds_no_line_to_the_list_of_a_model() -> None:
    device = device_of("Hall\nlock.door | Door | lock |  | unlocked\x1b]0;x\x07", "heat\n\x1b[2J")
    assert (device.name, device.state) == ("Hall lock.door | Door | lock | | unlocked ]0;x", "heat [2J")
    assert "\n" not in _listed(HomeState((device,)), "")


def test_name_without_printable_characters_is_that_of_the_entity() -> None:
    assert device_of("\x00\u202e \n").name == "hall"


@pytest.mark.parametrize("written", ["1e999", "-1e999", "NaN", "9" * 400, "true", "[1]"])
def test_impossible_number_of_a_device_is_left_out(written: str) -> None:
    assert device_of("Hall", temperature=json.loads(written)).attributes == {}
