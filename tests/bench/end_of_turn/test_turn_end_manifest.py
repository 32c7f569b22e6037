"""Tests which turns a manifest yields, and that nothing is fitted on those for judging."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from audio.units import MIC_RATE_HZ, ms_of_samples
from bench.end_of_turn.clips import LEAD_S, TAIL_S, Turn
from bench.end_of_turn.evaluation import check_use
from bench.end_of_turn.manifest import MOST_OF_SPEAKER, rows_of, turns, turns_of
from bench.end_of_turn.moments import Moment

ROW = {
    "id": "one", "file": "one.wav", "speaker": "somebody", "kind": "command", "source_repo": "an/archive",
    "style": "dictating a given value in own rhythm", "content": "a phone number", "use": "train",
    "speech_start_s": 0.5, "speech_end_s": 2.0, "internal_pauses": [[1.0, 1.4]], "cut_at_end": False,
}  # fmt: skip


def manifest(folder: Path, *rows: Mapping[str, Any]) -> Path:
    """Writes a manifest of some rows and the clip that all of them name."""
    soundfile.write(folder / "one.wav", noise(3.0), MIC_RATE_HZ)
    path = folder / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def noise(length_s: float) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Returns noise of a length."""
    return np.random.default_rng(1).normal(0, 300, int(length_s * MIC_RATE_HZ)).astype(np.int16)


def only(row: Mapping[str, Any]) -> Turn:
    """Returns the one turn of a row."""
    (turn,) = turns_of(row, noise(3.0))
    return turn


def test_row_is_read_only_for_its_own_use(tmp_path: Path) -> None:
    path = manifest(tmp_path, ROW, {**ROW, "id": "two", "use": "judge"})
    assert [turn.id for turn in turns(path, "train")] == ["one"]
    assert [(turn.id, turn.use) for turn in turns(path, "judge")] == [("two", "judge")]


def test_row_without_use_takes_that_of_its_reader(tmp_path: Path) -> None:
    path = manifest(tmp_path, {key: value for key, value in ROW.items() if key != "use"})
    assert [turn.use for turn in turns(path, "judge")] == ["judge"]


def test_unknown_use_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be train or judge"):
        rows_of(manifest(tmp_path, {**ROW, "use": "test"}), "train")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "vocal burst"},
        {"kind": "meeting, mixed"},
        {"kind": "monologue (filler spliced in)"},
        {"speaker": "a+b"},
        {"tag": "noise"},
        {"end_check": "differs by +1.22 s"},
        {"speech_end_s": None},
    ],
)
def test_row_that_is_no_turn_is_left_out(tmp_path: Path, change: dict[str, Any]) -> None:
    assert rows_of(manifest(tmp_path, {**ROW, **change}), "train") == []


def test_clips_of_one_speaker_are_limited(tmp_path: Path) -> None:
    many = [{**ROW, "id": str(number)} for number in range(3 * MOST_OF_SPEAKER)]
    other = [{**ROW, "id": f"other {number}", "speaker": "another"} for number in range(3)]
    rows = rows_of(manifest(tmp_path, *many, *other), "train")
    assert len(rows) == MOST_OF_SPEAKER + 3
    assert int(rows[MOST_OF_SPEAKER - 1]["id"]) > 2.9 * MOST_OF_SPEAKER  # evenly spaced


def test_turn_has_labels_of_its_row() -> None:
    turn = only(ROW)
    assert (turn.group, turn.content, turn.ends) == ("dictation", "a phone number", True)
    assert turn.pauses == (((1.0 + LEAD_S) * 1000, (1.4 + LEAD_S) * 1000),)
    assert turn.end_ms == pytest.approx((2.0 + LEAD_S) * 1000)
    assert ms_of_samples(len(turn.pcm)) >= turn.end_ms + TAIL_S * 1000


def test_end_heard_by_a_person_counts_where_it_agrees() -> None:
    assert only({**ROW, "human_end_s": 2.02, "end_check": "agrees"}).end_ms == pytest.approx((2.02 + LEAD_S) * 1000)
    assert only({**ROW, "human_end_s": 2.02}).end_ms == pytest.approx((2.0 + LEAD_S) * 1000)


def test_pause_before_given_word_is_marked() -> None:
    turn = only({**ROW, "internal_pauses": [[0.7, 0.9], [1.0, 1.4]], "pauses_before_given_word": [[1.0, 1.4]]})
    assert turn.given == turn.pauses[1:]


def test_clip_cut_at_its_end_has_no_end() -> None:
    assert not only({**ROW, "cut_at_end": True}).ends


def test_dialogue_channel_is_cut_into_turns() -> None:
    row = {
        "id": "call", "speaker": "caller", "kind": "dialog channel", "style": "call-centre role play", "use": "judge",
        "turn_events": [
            {"start": 1.0, "end": 2.0, "type": "hold", "gap_s": 0.5},
            {"start": 2.5, "end": 4.0, "type": "shift", "gap_s": 0.3},
            {"start": 5.0, "end": 6.0, "type": "hold", "gap_s": 9.0},
            {"start": 15.0, "end": 16.0, "type": "shift", "gap_s": 0.3},
        ],
    }  # fmt: skip
    found = list(turns_of(row, noise(20.0)))
    assert [(turn.id, turn.ends, len(turn.pauses)) for turn in found] == [
        ("call#0", True, 1), ("call#1", False, 0), ("call#2", True, 0),
    ]  # fmt: skip
    assert found[0].real_until_ms == pytest.approx((LEAD_S + LEAD_S + 4.0) * 1000)  # up to the next speech
    assert found[0].pauses[0][1] - found[0].pauses[0][0] == pytest.approx(500)


def test_fit_on_recording_for_judging_is_an_error() -> None:
    moment = Moment(0, "s", "an/archive", "command", "end", False, 0, 100, 100.0, 900.0, {}, None, "", False)
    check_use([moment])
    judged = Moment(
        0, "s", "an/archive", "command", "end", False, 0, 100, 100.0, 900.0, {}, None, "", False, use="judge"
    )
    with pytest.raises(ValueError, match="may not be fitted on: an/archive"):
        check_use([moment, judged])
