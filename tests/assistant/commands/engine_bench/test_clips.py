"""Manifests: what is read, what is cut, and errors of one sentence. The default set is complete, licensed and short."""

import asyncio
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.texts.text_cases import named_cases

from assistant.commands.engine_bench.clips import (
    NOISES,
    SNR_DB,
    Clip,
    Label,
    Noise,
    clip_of,
    default_labels,
    labels_of,
    read_labels,
    recording,
    with_noise,
)
from audio.errors import AudioFileError
from audio.units import FRAME_SAMPLES, samples_of_ms

SPEECH: dict[str, object] = {"speech_start_s": 0.5, "speech_end_s": 1.5}


def written(folder: Path, *lines: object) -> Path:
    manifest = folder / "manifest.jsonl"
    manifest.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return manifest


def recorded(folder: Path, *, seconds: float = 2.0, rate_hz: int = 16_000) -> None:
    """Writes a tone from 0.5 to 1.5 s."""
    at_s = np.arange(round(seconds * rate_hz)) / rate_hz
    tone = 0.5 * np.sin(2 * np.pi * 440 * at_s) * ((at_s >= 0.5) & (at_s < 1.5))
    soundfile.write(folder / "tone.wav", tone, rate_hz)


def cut(folder: Path, line: dict[str, object], *, before_ms: float = 300, after_ms: float = 400) -> Clip:
    (label,) = read_labels(written(folder, {"file": "tone.wav", **line}))
    return asyncio.run(clip_of(label, before_ms=before_ms, after_ms=after_ms))


def test_noise_is_added_at_its_level(tmp_path: Path) -> None:
    recorded(tmp_path)
    rng = np.random.default_rng(1)
    soundfile.write(tmp_path / "noise.wav", 0.01 * rng.standard_normal(4000), 16_000)
    label = Label("tone", tmp_path / "tone.wav", 0.5, 1.5, None)
    noise = Noise(tmp_path / "noise.wav", 10.0)
    quiet = asyncio.run(clip_of(label, before_ms=300, after_ms=400))
    noisy = asyncio.run(clip_of(replace(label, noise=noise), before_ms=300, after_ms=400))
    added = noisy.pcm.astype(float) - quiet.pcm
    speech = quiet.pcm[quiet.onset : quiet.onset + 16_000].astype(float)
    assert 10 * np.log10(np.mean(speech**2) / np.mean(added**2)) == pytest.approx(10, abs=0.3)
    assert noisy.onset == quiet.onset
    again = asyncio.run(clip_of(replace(label, noise=noise), before_ms=300, after_ms=400))
    assert np.array_equal(again.pcm, noisy.pcm)


def test_silent_noise_and_loud_speech_do_not_overflow() -> None:
    loud = np.full(100, 32_000, np.int16)
    assert with_noise(loud, 32_000.0, np.zeros(10, np.int16), 10.0).tolist() == loud.tolist()
    assert with_noise(loud, 32_000.0, np.full(10, 100, np.int16), 0.0).max() == 32_767


def test_lines_without_speech_are_skipped(tmp_path: Path) -> None:
    manifest = written(tmp_path, {"file": "noise.wav", "tag": "noise"}, "", {"file": "a/b.wav", "id": "b", **SPEECH})
    (label,) = read_labels(manifest)
    assert (label.name, label.file, label.transcript) == ("b", tmp_path / "a" / "b.wav", None)


@pytest.mark.parametrize("rate_hz", [16_000, 44_100], ids="{} Hz".format)
def test_clip_has_pre_roll_speech_and_trailing_silence(tmp_path: Path, rate_hz: int) -> None:
    recorded(tmp_path, rate_hz=rate_hz)
    clip = cut(tmp_path, SPEECH)
    assert abs(len(clip.pcm) - samples_of_ms(1700)) < FRAME_SAMPLES
    assert clip.onset == samples_of_ms(300)
    loud = np.flatnonzero(np.abs(clip.pcm) > 3000)
    assert abs(loud[0] - clip.onset) < samples_of_ms(25), "the resampler holds back up to 20 ms"
    assert abs(loud[-1] - samples_of_ms(1300)) < samples_of_ms(25)


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 48_000], ids="{} Hz".format)
def test_clip_starts_at_its_label_despite_inserted_silence(tmp_path: Path, rate_hz: int) -> None:
    step = np.concatenate((np.zeros(rate_hz), np.full(rate_hz, 0.25)))
    soundfile.write(tmp_path / "tone.wav", step, rate_hz)
    clip = cut(tmp_path, {"speech_start_s": 1.0, "speech_end_s": 1.5})
    assert abs(int(np.argmax(clip.pcm > 4096)) - clip.onset) <= 1


def test_clip_is_shorter_before_and_padded_after_at_the_edges(tmp_path: Path) -> None:
    recorded(tmp_path, seconds=1.5)
    clip = cut(tmp_path, SPEECH, before_ms=800)
    assert clip.onset == samples_of_ms(500)
    assert len(clip.pcm) == samples_of_ms(1900)
    assert not clip.pcm[-samples_of_ms(300) :].any()


@named_cases(
    ("line", "told"),
    {
        "invalid JSON": ("{", "line 1 is not a label"),
        "deeply nested": ("[" * 100_000, "line 1 is not a label"),
        "list": ("[1]", "line 1 is not a label"),
        "missing file": (SPEECH, "'file'"),
        "end before start": ({"file": "a.wav", "speech_start_s": 2, "speech_end_s": 1}, "from 2 to 1 s"),
        "start is a word": ({"file": "a.wav", "speech_start_s": "soon", "speech_end_s": 1}, "soon"),
        "missing start": ({"file": "a.wav"}, "no line with speech_start_s"),
    },
)
def test_invalid_manifest_is_refused(tmp_path: Path, line: object, told: str) -> None:
    with pytest.raises(AudioFileError, match=re.escape(told)):
        read_labels(written(tmp_path, line))


def test_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AudioFileError, match="cannot be read"):
        read_labels(tmp_path / "none.jsonl")


def test_label_beyond_the_recording_is_refused(tmp_path: Path) -> None:
    recorded(tmp_path)
    with pytest.raises(AudioFileError, match=r"is 2\.0 s long"):
        cut(tmp_path, {"speech_start_s": 0.5, "speech_end_s": 2.5})


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
