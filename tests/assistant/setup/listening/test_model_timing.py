"""Measures the installed Whisper models for `stt.model = "auto"`, with scripted models in the real code."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.models.two_whispers import install_two_whispers

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.models.model_choice import model_choice
from assistant.models.model_times import read_costs, times_file
from assistant.models.turn_cost import DecodeTime
from assistant.setup import engine_loader
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.listening import model_timing, recognizer_models
from assistant.setup.listening.model_timing import measure_unmeasured
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.units import Pcm


def settings() -> Settings:
    return load_settings(None, {}, ["stt.faster-whisper.device=cpu", "tts.engine=espeak-ng"]).settings


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a cache with the models tiny and base.en, which take no time."""
    return install_two_whispers(tmp_path, monkeypatch)


@pytest.fixture
def loadings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the names of the models that are loaded, as they are."""
    names: list[str] = []
    load = LoadedWhisper.__init__

    def loading(loaded: LoadedWhisper, chosen: WhisperSettings) -> None:
        names.append(chosen.name)
        load(loaded, chosen)

    monkeypatch.setattr(LoadedWhisper, "__init__", loading)
    return names


@pytest.fixture
def decoders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the models in measurements. Returns the names of those that are loaded, as they are."""
    names: list[str] = []

    def decoder(chosen: Settings) -> Callable[[Pcm], object]:
        names.append(chosen.stt.model)
        return lambda _pcm: None

    monkeypatch.setattr(model_timing, "_decoder", decoder)
    return names


def idle() -> float:
    """Returns no processor time, as if other programs had kept the processor busy."""
    return 0.0


def clock(*decode_ms: float) -> Callable[[], float]:
    """Returns a clock on which the decodes take these times; the last one is repeated."""
    times = [0.0]
    for decode in (*decode_ms, *[decode_ms[-1]] * 40):
        times += [times[-1], times[-1] + decode / 1000]
    readings = iter(times[1:])
    return lambda: next(readings)


def decode_times() -> list[float | None]:
    """Returns the times of a decode with tiny and base.en; None: not measured."""
    found, _ = read_costs(settings(), ["tiny", "base.en"])
    return [None if cost.decode is None else cost.decode.p95_ms for cost in found.values()]


def busy() -> list[bool]:
    return [entry["busy"] for entry in json.loads(times_file().read_text(encoding="utf-8")).values()]


@pytest.mark.slow
def test_times_are_measured_once_and_decide(hub: Path, loadings: list[str]) -> None:
    measuring: list[str] = []

    async def scene() -> EngineLoader:
        loader = EngineLoader(settings(), {}, show_measuring=measuring.append)
        await loader.engines()
        await loader.aclose(pytest.fail)
        return loader

    loader = asyncio.run(scene())
    assert measuring == ["the speed of speech recognition on this machine (tiny, base.en), 30 s at most"]
    assert loadings == ["tiny", "base.en", "base.en"]
    (stt,) = (chosen for chosen in loader.chosen if chosen.stage == "stt")
    assert stt.why.startswith("auto: base.en is the largest that keeps p95 of response latency within 500 ms (est")
    assert stt.detail.startswith("faster-whisper base.en, ")
    assert not stt.fallback
    assert loader.traced["stt"] == "faster-whisper"
    assert loader.traced["stt_model"] == stt.why
    loadings.clear()
    # The estimate itself may move by 1 ms with the load of the machine.
    assert asyncio.run(scene()).traced["stt_model"].startswith("auto: base.en is the largest that keeps p95")
    assert loadings == ["base.en"]
    assert len(measuring) == 1


@pytest.mark.slow
async def test_later_conversation_does_not_choose_again(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice reads the disk, in the event loop of other conversations."""
    loader = EngineLoader(settings(), {})
    await loader.open()
    monkeypatch.setattr(recognizer_models, "model_choice", pytest.fail)
    monkeypatch.setattr(recognizer_models, "make_recognizer", pytest.fail)
    detail = (await loader.engines()).recognizer.detail
    await loader.aclose(pytest.fail)
    assert detail.startswith("faster-whisper base.en, ")


@pytest.mark.slow
def test_measurement_that_takes_too_long_does_not_prevent_the_start(
    hub: Path, loadings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> EngineLoader:
        loader = EngineLoader(settings(), {})
        await loader.open()
        await loader.aclose(pytest.fail)
        return loader

    ended: list[bool] = []

    def slow(_settings: object, _now_s: object, _used_s: object, stops: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + 20
        while not stops() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        ended.append(stops())

    monkeypatch.setattr(engine_loader, "measure_unmeasured", slow)
    monkeypatch.setattr(engine_loader, "MEASURE_TIMEOUT_S", 0.01)
    why = asyncio.run(scene()).traced["stt_model"]
    assert loadings == ["tiny"]
    assert ended == [True]  # and does not compute beside the conversation
    assert why.endswith("(estimates: tiny not measured, base.en not measured)")


@pytest.mark.usefixtures("hub", "decoders")
def test_fastest_decode_of_the_slowest_turn_counts() -> None:
    measure_unmeasured(settings(), clock(50, 900, 70, 60, 80, 40, 50, 50, 60, 61, 140), idle)
    assert decode_times() == [60.0, 140.0]
    assert model_choice(settings()).name == "base.en"


@pytest.mark.usefixtures("hub", "decoders")
@pytest.mark.parametrize(("load", "found"), [(0.2, False), (64.0, True)])
def test_load_of_other_programs_counts_as_busy(monkeypatch: pytest.MonkeyPatch, load: float, found: bool) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    used = iter(range(10000))
    measure_unmeasured(settings(), clock(900), lambda: float(next(used)))
    assert busy() == [found, found]


@pytest.mark.usefixtures("hub")
def test_model_larger_than_one_that_is_too_slow_is_not_loaded(decoders: list[str]) -> None:
    measure_unmeasured(settings(), clock(700), idle)
    assert decoders == ["tiny"]
    assert decode_times() == [700.0, 700.0]
    choice = model_choice(settings())
    assert (choice.name, choice.unmeasured) == ("tiny", ())
    assert busy() == [True, True]
    assert choice.why.startswith("auto: no model keeps p95 of response latency within 500 ms, and tiny is the smallest")


@pytest.mark.slow
def test_model_that_cannot_be_loaded_is_not_chosen(hub: Path) -> None:
    (hub / "models--Systran--faster-whisper-base.en" / "snapshots" / "c" / "model.bin").write_text("damaged")
    measure_unmeasured(settings(), clock(50), idle)
    assert model_choice(settings()).name == "tiny"
    assert model_choice(settings()).unmeasured == ()
    assert busy() == [True, False]
    assert "base.en cannot be loaded" in model_choice(settings()).why


@pytest.mark.slow
def test_damaged_smallest_model_does_not_prevent_the_others(hub: Path) -> None:
    (hub / "models--Systran--faster-whisper-tiny" / "snapshots" / "c" / "model.bin").write_text("damaged")
    times = measure_unmeasured(settings(), clock(700), idle)
    assert {name: time.p95_ms for name, time in times.items()} == {"tiny": float("inf"), "base.en": 700.0}
    assert model_choice(settings()).name == "base.en"  # too slow, but it works


@pytest.mark.usefixtures("hub")
def test_model_that_cannot_decode_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def decoder(chosen: Settings) -> Callable[[Pcm], object]:
        def decode(_pcm: Pcm) -> None:
            if chosen.stt.model == "base.en":
                raise RuntimeError("out of\nmemory")

        return decode

    monkeypatch.setattr(model_timing, "_decoder", decoder)
    times = measure_unmeasured(settings(), clock(50), idle)
    assert times["base.en"] == DecodeTime(float("inf"), problem="cannot decode (out of memory)")
    choice = model_choice(settings())
    assert (choice.name, choice.unmeasured) == ("tiny", ())
    assert "base.en cannot decode (out of memory)" in choice.why


@pytest.mark.usefixtures("hub", "decoders")
def test_slow_time_of_a_busy_machine_is_replaced_on_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    load = 64.0
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    used = iter(range(100000))
    measure_unmeasured(settings(), clock(400), lambda: float(next(used)))
    assert model_choice(settings()).name == "tiny"
    assert measure_unmeasured(settings(), clock(100), lambda: float(next(used))) == {}
    load = 0.0
    assert list(measure_unmeasured(settings(), clock(100), lambda: float(next(used)))) == ["tiny", "base.en"]
    choice = model_choice(settings())
    assert (choice.name, choice.doubtful) == ("base.en", ())
    assert "busy" not in choice.why


@pytest.mark.usefixtures("hub")
def test_measurement_stops_between_decodes(decoders: list[str]) -> None:
    asked = iter(range(1000))
    assert measure_unmeasured(settings(), clock(50), idle, lambda: next(asked) >= 4) == {}
    assert next(asked) == 5
    assert decoders == ["tiny"]
    assert decode_times() == [None, None]


@pytest.mark.slow
async def test_model_and_reason_are_of_the_same_choice(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if another process writes other times while the model is loaded, or none can be written."""

    def measured(*_given: object) -> dict[str, DecodeTime]:
        return {"tiny": DecodeTime(80.0), "base.en": DecodeTime(150.0)}

    monkeypatch.setattr(engine_loader, "measure_unmeasured", measured)
    loader = EngineLoader(settings(), {})
    await loader.open()
    await loader.aclose(pytest.fail)
    assert decode_times() == [None, None]
    (stt,) = (chosen for chosen in loader.chosen if chosen.stage == "stt")
    assert stt.detail.startswith("faster-whisper base.en, ")
    assert stt.why == loader.traced["stt_model"]
    assert stt.why.startswith("auto: base.en is the largest")


def test_shipped_turns_are_decoded_as_in_a_conversation() -> None:
    seconds = [len(pcm) / 16000 for pcm in model_timing._turns()]
    assert len(seconds) == 5
    assert all(1 < length < 3 for length in seconds)
