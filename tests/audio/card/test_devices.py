"""Selection of a device by name or number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.devices import Device, Direction, pick
from audio.errors import DeviceError


def device(
    index: int, name: str, host_api: str = "ALSA", *, ways: tuple[int, int] = (1, 2), default: bool = False
) -> Device:
    return Device(index, name, host_api, *ways, 48_000, 0.01, 0.01, default, default)


WINDOWS = (
    device(0, "Headset", "MME"),
    device(1, "Headset", "Windows WASAPI"),
    device(2, "Speakers", "Windows WASAPI", ways=(0, 2), default=True),
    device(3, "Webcam", "Windows WASAPI", ways=(1, 0), default=True),
    device(4, "Headset (stereo)", "Windows WASAPI", ways=(0, 2)),
)


@pytest.mark.parametrize(
    ("wanted", "direction", "index"),
    [
        pytest.param("", "input", 3, id="default input"),
        pytest.param("", "output", 2, id="default output"),
        pytest.param(" 0 ", "input", 0, id="number"),
        pytest.param("webc", "input", 3, id="part of a name"),
        pytest.param("Headset", "output", 1, id="name"),  # exact match, on the host API of the default
        pytest.param("headset", "input", 1, id="name in other case"),
        pytest.param("Headset, MME", "input", 0, id="name with host API"),
        pytest.param("mme", "input", 0, id="host API"),
        pytest.param("stereo", "output", 4, id="unique part"),
    ],
)
def test_pick_finds_device(wanted: str, direction: Direction, index: int) -> None:
    assert pick(WINDOWS, wanted, direction).index == index


@pytest.mark.parametrize(
    ("wanted", "direction", "message"),
    [
        ("\u00b2", "input", 'no microphone is called "\u00b2"'),  # a digit to some, but no number
        ("2", "input", 'device 2 is not a microphone: choose 0 "Headset", 1 "Headset" or 3 "Webcam"'),
        ("99", "output", "device 99 is not a loudspeaker"),
        ("phone", "input", 'no microphone is called "phone": choose "Headset" or "Webcam"'),
        ("wasapi", "input", '"wasapi" may be "Headset" or "Webcam": write more'),
    ],
    ids=["superscript digit", "device without input", "unknown number", "unknown name", "ambiguous name"],
)
def test_pick_reports_unknown_or_ambiguous_device(wanted: str, direction: Direction, message: str) -> None:
    with pytest.raises(DeviceError) as error:
        pick(WINDOWS, wanted, direction)
    assert message in str(error.value)


def test_no_device_is_reported() -> None:
    with pytest.raises(DeviceError, match="no microphone was found: connect one"):
        pick((), "", "input")
    with pytest.raises(DeviceError, match="no loudspeaker"):
        pick([device(0, "x", ways=(1, 0))], "x", "output")


def test_long_list_of_candidates_is_truncated() -> None:
    with pytest.raises(DeviceError, match=r'"d5" or 14 more \(`repartee devices`\)'):
        pick([device(index, f"d{index}") for index in range(20)], "nothing", "input")


names = st.text(alphabet="aAbB (:,0)", min_size=1, max_size=6)


@given(
    st.lists(st.tuples(names, st.sampled_from(["ALSA", "MME"]), st.integers(0, 2))), st.text("aAbB 0123", max_size=4)
)
def test_picked_device_has_direction_and_matches_name(listed: list[tuple[str, str, int]], wanted: str) -> None:
    there = [device(index, name, api, ways=(ways, 0)) for index, (name, api, ways) in enumerate(listed)]
    try:
        picked = pick(there, wanted, "input")
    except DeviceError:
        return
    assert picked in there
    assert picked.input_channels > 0
    said = wanted.strip().casefold()
    assert said in picked.full_name.casefold() or said == str(picked.index)
