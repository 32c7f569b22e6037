"""The table of host APIs."""

import pytest

from audio.portaudio.host_apis import PARAMETERS, PREFERRED, parameters_of, rates_of


def test_alsa_cards_and_plug_ins_have_different_parameters() -> None:
    assert parameters_of("ALSA", "HDA Intel PCH: ALC (hw:0,0)") is PARAMETERS["ALSA"]
    assert parameters_of("ALSA", "pulse") is PARAMETERS["ALSA plug-in"]
    assert parameters_of("sndio", "x").input_latency_ms == 0


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_parameters_are_plausible(name: str) -> None:
    parameters = PARAMETERS[name]
    assert parameters.why
    assert 0 < parameters.output_block_ms <= 20  # a duck acts within 20 ms
    for block_ms, latency_ms in (
        (parameters.input_block_ms, parameters.input_latency_ms),
        (parameters.output_block_ms, parameters.output_latency_ms),
    ):
        assert latency_ms == 0 or latency_ms >= 2 * block_ms


def test_preferred_host_apis_have_parameters() -> None:
    assert set(PREFERRED) <= set(PARAMETERS)


def test_native_rate_is_tried_first_if_the_host_api_prefers_it() -> None:
    assert rates_of(PARAMETERS["ALSA"], 16_000, 44_100) == (44_100, 16_000, 48_000)
    assert rates_of(PARAMETERS["MME"], 24_000, 48_000) == (24_000, 48_000, 44_100)
    assert rates_of(PARAMETERS["MME"], 24_000, 0) == (24_000, 48_000, 44_100)
