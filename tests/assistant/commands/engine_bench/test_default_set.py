"""The default set of `repartee bench engines`: complete, licensed, in the wheel, and short."""

import json
import tomllib
from pathlib import Path

from assistant.commands.engine_bench.default_set import NOISES, SNR_DB, default_labels, labels_of, recording
from assistant.commands.engine_bench.words import plain_words

ROOT = Path(__file__).parents[4]
MANIFEST = ROOT / "assistant" / "recordings" / "engines.jsonl"
LABELS = list(default_labels())


def test_set_has_the_conversation_free_speech_and_the_same_in_noise() -> None:
    timed, quiet, noisy = LABELS[:5], LABELS[5:13], LABELS[13:]
    assert [label.transcript for label in timed[:2]] == ["what time is it", "turn on the lamp"]
    assert timed[-1].transcript is None
    assert all(label.timed and label.noise is None for label in timed)
    assert all(not label.timed and label.noise is None for label in quiet)
    assert [label.transcript for label in noisy] == [label.transcript for label in quiet]
    assert {label.noise.file.name for label in noisy if label.noise} == {Path(name).name for name in NOISES}
    assert {label.noise.snr_db for label in noisy if label.noise} == {SNR_DB}
    assert all(label.file.is_file() for label in LABELS)
    assert labels_of(None) == LABELS


def test_set_tells_recognizers_apart_and_is_short() -> None:
    assert sum(len(plain_words(label.transcript or "", "en")) for label in LABELS) >= 100
    assert sum(label.end_s - label.start_s for label in LABELS if label.timed) < 10
    assert sum(label.end_s - label.start_s for label in LABELS) < 70


def test_every_recording_is_in_the_wheel_and_has_a_licence() -> None:
    names = [json.loads(line)["file"] for line in MANIFEST.read_text(encoding="utf-8").splitlines()] + list(NOISES)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    licences = (ROOT / "assistant" / "recordings" / "LICENCES.md").read_text(encoding="utf-8")
    for name in names:
        assert included[name] == f"assistant/recordings/engines/{Path(name).name}"
        assert f"`{name}`" in licences


def test_installed_recording_is_found_beside_that_of_the_demo(tmp_path: Path) -> None:
    assert recording(tmp_path / "assistant", "bench/clips/a.wav") == tmp_path / "bench" / "clips" / "a.wav"
    folder = tmp_path / "assistant" / "recordings" / "engines"
    folder.mkdir(parents=True)
    (folder / "a.wav").touch()
    assert recording(tmp_path / "assistant", "bench/clips/a.wav") == folder / "a.wav"
