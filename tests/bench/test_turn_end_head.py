"""The fit of the head on Smart Turn's encoder."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from audio.units import MIC_RATE_HZ
from bench.turn_end_fit import area
from bench.turn_end_head import (
    Sample,
    changed,
    collection_of,
    ends_with_given_word,
    fit,
    fitted_turns,
    logits_of,
    span_means,
    weights_of,
)

WIDTH = 40


def samples(count: int, seed: int = 1) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        Sample(f"speaker {n % 7}", "dictation" if n % 3 else "telephone", bool(rng.random() < 0.3), False, 400.0, False)
        for n in range(count)
    ]


def test_fit_finds_direction_that_ends_share() -> None:
    some = samples(400)
    ends = np.array([sample.ends for sample in some])
    means = np.random.default_rng(2).normal(size=(400, 3, WIDTH)) * np.linspace(3, 1, WIDTH)
    means[ends, 0, 0] += 4
    smart = np.random.default_rng(3).normal(size=400)
    head = fit(means, smart, ends, weights_of(some))
    logits = logits_of(head, means, smart)
    assert area(logits, ends) > 0.8


def test_means_are_of_spans_counted_backwards() -> None:
    spans = np.random.default_rng(2).normal(size=(3, WIDTH))
    frames = np.repeat(spans[::-1], [46, 20, 10], axis=0).astype(np.float32)  # oldest first
    assert span_means(frames) == pytest.approx(spans, abs=1e-5)


def test_ends_and_pauses_weigh_the_same_in_each_collection() -> None:
    some = samples(300)
    weights = weights_of(some)
    for name in ("dictation", "telephone"):
        of = [sum(w for s, w in zip(some, weights, strict=True) if (s.collection, s.ends) == (name, e)) for e in (0, 1)]
        assert of[0] == pytest.approx(of[1])
    assert weights.mean() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6), ids="seed {}".format)
def test_changed_sound_keeps_length_but_for_speed(seed: int) -> None:
    pcm = np.random.default_rng(1).normal(0, 2000, 16_000).astype(np.int16)
    sound, speed = changed(pcm, np.random.default_rng(seed))
    assert sound.dtype == np.int16
    assert len(sound) == pytest.approx(16_000 / speed, abs=2)
    assert sound.any()


def manifest(folder: Path, count: int) -> Path:
    """Writes a manifest of some rows to fit on, one of read speech and one for judging."""
    pcm = np.random.default_rng(1).normal(0, 300, 3 * MIC_RATE_HZ).astype(np.int16)
    soundfile.write(folder / "one.wav", pcm, MIC_RATE_HZ)
    row = {
        "file": "one.wav", "speaker": "a", "source_repo": "wake-up-word/wuw-corpus-ii", "kind": "command",
        "speech_start_s": 0.5, "speech_end_s": 2.0, "use": "train", "transcript": "call the operator",
    }  # fmt: skip
    rows = [row | {"id": f"{number}"} for number in range(count)]
    rows += [row | {"id": "read", "kind": "read"}, row | {"id": "judged", "use": "judge"}]
    path = folder / "manifest.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_read_speech_and_rows_for_judging_are_left_out(tmp_path: Path) -> None:
    found = list(fitted_turns([manifest(tmp_path, 3)]))
    assert [(turn.id, given) for turn, given in found] == [("0", True), ("1", True), ("2", True)]
    assert {collection_of(turn) for turn, _ in found} == {"telephone"}


def test_limit_keeps_evenly_spaced_clips(tmp_path: Path) -> None:
    path = manifest(tmp_path, 10)
    assert [turn.id for turn, _ in fitted_turns([path, path], limit=3)] == ["0", "3", "6"] * 2


@pytest.mark.parametrize(
    ("transcript", "given"),
    [("I want the Operator [noise]", True), ("the operator is out", False), ("", False)],
    ids=["at the end", "before the end", "no words"],
)
def test_given_word_at_end_is_found(transcript: str, *, given: bool) -> None:
    row = {"source_repo": "wake-up-word/wuw-corpus-ii", "transcript": transcript}
    assert ends_with_given_word(row) is given
    assert not ends_with_given_word(row | {"source_repo": "x/y"})
