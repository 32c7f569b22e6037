"""The Whisper model for `stt.model = "auto"`."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.models import model_choice as choices
from assistant.models import model_times
from assistant.models.catalogue import MODELS
from assistant.models.model_choice import model_choice
from assistant.models.model_times import keep_choice, keep_time, keep_turns, read_costs, time_key, times_file
from assistant.models.turn_cost import MAX_TURNS, DecodeTime
from assistant.setup.listening.recognizer_models import RecognizerModels
from assistant.support.cpu import Cores
from audio.engine_lateness import EngineLateness


def settings(*overrides: str) -> Settings:
    return load_settings(None, {}, overrides).settings


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "hub"


def install(hub: Path, *names: str) -> None:
    """Writes models that count as installed. Those with known sizes (tiny.en, base) are not possible."""
    for name in names:
        repository = MODELS[name].repository.replace("/", "--")
        blobs, folder = hub / f"models--{repository}" / "blobs", hub / f"models--{repository}" / "snapshots" / "c"
        blobs.mkdir(parents=True)
        folder.mkdir(parents=True)
        for file in ("config.json", "tokenizer.json", "vocabulary.txt", "model.bin"):
            (blobs / f"{name}-{file}").write_text(file)
            (folder / file).symlink_to(Path("..", "..", "blobs", f"{name}-{file}"))


def test_configured_model_is_not_replaced(hub: Path) -> None:
    install(hub, "small.en", "tiny")
    for name in ("small", "./mine", "owner/name"):
        assert model_choice(settings(f"stt.model={name}")) == choices.ModelChoice(name)


def test_model_without_any_installed_depends_on_the_language(hub: Path) -> None:
    assert model_choice(settings()) == choices.ModelChoice("tiny.en")
    assert model_choice(settings("assistant.language=en-GB")).name == "tiny.en"
    assert model_choice(settings("assistant.language=de")) == choices.ModelChoice("base")


def test_only_model_is_not_measured(hub: Path) -> None:
    install(hub, "base.en")
    assert model_choice(settings()) == choices.ModelChoice("base.en", "auto: base.en is the only one here")


def test_candidates_know_the_language_and_are_in_order_of_size(hub: Path) -> None:
    install(hub, "small.en", "tiny", "small", "base.en")
    assert choices.candidates("en") == ["tiny", "base.en", "small", "small.en"]
    assert choices.candidates("de-AT") == ["tiny", "small"]


# ---- the measured times ----


def let_pass(age: timedelta) -> None:
    """Sets the age of all times."""
    content = json.loads(times_file().read_text())
    for entry in content.values():
        entry["measured_at"] = (datetime.now(UTC) - age).isoformat()
    times_file().write_text(json.dumps(content))


def test_times_are_kept_until_something_changes(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(hub, "tiny", "base.en")
    mine = settings()
    assert model_choice(mine).unmeasured == ("tiny", "base.en")
    keep_time(mine, "tiny", DecodeTime(80.0))
    keep_time(mine, "base.en", DecodeTime(150.04))
    choice = model_choice(mine)
    assert (choice.name, choice.unmeasured) == ("base.en", ())
    assert "base.en 492 ms" in choice.why
    assert model_choice(settings("stt.threads=4")).unmeasured == ("tiny", "base.en")
    for name, other in {
        "_processor": lambda: "another one",
        "_version": lambda package: f"{package} 9",
        "cores": lambda: Cores(32, None),
    }.items():
        with monkeypatch.context() as changed:
            changed.setattr(model_times, name, other)
            assert model_choice(mine).unmeasured == ("tiny", "base.en")


def test_other_weights_are_measured_again(hub: Path) -> None:
    install(hub, "tiny", "base.en")
    keep_time(settings(), "tiny", DecodeTime(80.0))
    keep_time(settings(), "base.en", DecodeTime(150.0))
    weights = hub / "models--Systran--faster-whisper-base.en" / "snapshots" / "c" / "model.bin"
    weights.unlink()
    weights.write_text("other weights, not from the hub")
    assert model_choice(settings()).unmeasured == ("base.en",)


@pytest.mark.parametrize(("busy", "kept"), [(False, timedelta(days=1)), (True, timedelta(hours=1))])
def test_model_that_was_too_slow_is_measured_again_later(hub: Path, busy: bool, kept: timedelta) -> None:
    install(hub, "tiny", "base.en")
    keep_time(settings(), "tiny", DecodeTime(80.0, busy=busy))
    keep_time(settings(), "base.en", DecodeTime(400.0, busy=busy))
    minute = timedelta(minutes=1)
    for age, unmeasured in {kept - minute: (), kept + minute: ("base.en",)}.items():
        let_pass(age)
        assert model_choice(settings()).unmeasured == unmeasured


def test_busy_measurement_is_repeated_on_a_free_machine(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(hub, "tiny", "base.en", "small.en")
    keep_time(settings(), "tiny", DecodeTime(80.0, busy=True))
    keep_time(settings(), "small.en", DecodeTime(400.0, busy=True))
    for load, names in {64.0: ("base.en",), 0.0: ("base.en", "small.en")}.items():
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, load, load))
        assert model_choice(settings()).to_measure == names
    keep_time(settings(), "small.en", DecodeTime(400.0))
    assert model_choice(settings()).to_measure == ("base.en",)


def test_measurements_agree_on_their_median_and_the_choice_stays(hub: Path) -> None:
    install(hub, "tiny", "base.en")
    keep_time(settings(), "tiny", DecodeTime(80.0))
    keep_time(settings(), "base.en", DecodeTime(150.0))
    keep_choice(settings(), ["tiny", "base.en"], "wide", "base.en")
    for measured_ms, agreed_ms in {400.0: 275.0, 148.0: 150.0, 149.0: 149.5}.items():
        keep_time(settings(), "base.en", DecodeTime(measured_ms))
        costs, in_use = read_costs(settings(), ["tiny", "base.en"])
        assert costs["base.en"].decode == DecodeTime(agreed_ms)
        assert in_use == {"wide": "base.en"}
    assert model_choice(settings()).name == "base.en"


def test_turns_of_several_programs_are_kept_for_a_day(hub: Path) -> None:
    install(hub, "tiny", "base.en")
    for name, decode_ms in {"tiny": 80.0, "base.en": 150.0}.items():
        keep_time(settings(), name, DecodeTime(decode_ms))
    assert model_choice(settings()).name == "base.en"
    for _ in range(5):
        keep_turns(settings(), {"base.en": [400.0] * 5})
    choice = model_choice(settings())
    assert choice.name == "tiny"
    assert "base.en 645 ms in 25 turns" in choice.why
    keep_turns(settings(), {"base.en": [100.0] * 2 * MAX_TURNS})
    assert read_costs(settings(), ["base.en"])[0]["base.en"].turns_ms == (100.0,) * MAX_TURNS
    content = json.loads(times_file().read_text())
    for entry in content.values():
        entry["turns_at"] = (datetime.now(UTC) - timedelta(hours=25)).isoformat()
    times_file().write_text(json.dumps(content))
    assert read_costs(settings(), ["base.en"])[0]["base.en"].turns_ms == ()


def test_model_in_use_is_kept_for_each_line(hub: Path) -> None:
    names = ["tiny", "base.en"]
    install(hub, *names)
    keep_choice(settings(), names, "wide", "base.en")
    keep_choice(settings(), names, "telephone", "base.en")
    keep_choice(settings(), names, "wide", "tiny")
    assert read_costs(settings(), names)[1] == {"wide": "tiny", "telephone": "base.en"}


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{", '{"a": 1}', '{"a": {}}', '{"a": {"decode_p95_ms": "x", "measured_at": "y", "busy": false}}',
        '{"a": {"decode_p95_ms": 9, "measured_at": "2026-01-01", "busy": false}}',
    ],
)  # fmt: skip
def test_damaged_file_is_replaced(hub: Path, content: str) -> None:
    install(hub, "tiny", "base.en")
    times_file().parent.mkdir(parents=True)
    times_file().write_text(content)
    assert model_choice(settings()).unmeasured == ("tiny", "base.en")
    keep_time(settings(), "tiny", DecodeTime(80.0))
    assert time_key(settings(), "tiny") in times_file().read_text()


def test_damaged_entry_does_not_invalidate_the_others(hub: Path) -> None:
    install(hub, "tiny", "base.en")
    keep_time(settings(), "tiny", DecodeTime(80.0))
    content = json.loads(times_file().read_text())
    damaged = {"a": {"decode_p95_ms": 9}, "b": 3, "c": {"decode_p95_ms": 9, "busy": False, "measured_at": 7}}
    times_file().write_text(json.dumps(damaged | content))
    assert read_costs(settings(), ["tiny"])[0]["tiny"].decode == DecodeTime(80.0)


def test_oldest_times_are_removed_from_the_file(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(hub, "tiny", "base.en")
    keep_time(settings(), "tiny", DecodeTime(80.0))
    keep_time(settings(), "base.en", DecodeTime(150.0))
    for version in range(model_times._MAX_ENTRIES - 2):
        with monkeypatch.context() as changed:
            changed.setattr(model_times, "_version", lambda _package, version=version: f"{version}")
            keep_time(settings(), "base.en", DecodeTime(150.0))
    keep_time(settings(), "tiny", DecodeTime(90.0))  # measured again, so it is the newest
    assert len(json.loads(times_file().read_text())) == model_times._MAX_ENTRIES
    assert model_choice(settings()).unmeasured == ()
    with monkeypatch.context() as changed:
        changed.setattr(model_times, "_version", lambda _package: "the next")
        keep_time(settings(), "base.en", DecodeTime(150.0))
    assert len(json.loads(times_file().read_text())) == model_times._MAX_ENTRIES
    assert model_choice(settings()).unmeasured == ("base.en",)


async def test_times_of_this_process_count_without_a_cache_folder(hub: Path) -> None:
    install(hub, "tiny", "base.en")
    times_file().parent.parent.write_text("a file in place of the folder")
    choice = model_choice(settings(), {"tiny": DecodeTime(80.0), "base.en": DecodeTime(150.0)})
    assert (choice.name, choice.unmeasured) == ("base.en", ())
    models = RecognizerModels(settings("stt.faster-whisper.device=cpu"), EngineLateness())
    await models.choose("wide", {"tiny": DecodeTime(80.0), "base.en": DecodeTime(150.0)})
    assert [(await models.choose(line))[0].name for line in ("wide", "telephone")] == ["base.en", "base.en"]


def test_cache_folder_that_cannot_be_written_is_no_error(hub: Path) -> None:
    install(hub, "tiny", "base.en")
    times_file().parent.parent.write_text("a file in place of the folder")
    keep_time(settings(), "tiny", DecodeTime(80.0))
    assert model_choice(settings()).unmeasured == ("tiny", "base.en")
