"""Tests manifests and room noise."""

import json
from pathlib import Path

import numpy as np
import pytest

from audio.units import REPLY_RATE_HZ
from bench.conversations.recordings import Recording, chosen, kind_of, read_recordings, room_of

SHIPPED = Path(__file__).parents[2] / "recordings" / "manifest.jsonl"
SPEECH = {"file": "a.wav", "speech_start_s": 0.5, "speech_end_s": 1.5}


KINDS: dict[str, tuple[dict[str, object], str | None]] = {
    "no more fields": ({}, "plain"),
    "short pause": ({"internal_pauses": [[0.7, 0.9]]}, "plain"),
    "long pause": ({"internal_pauses": [[0.7, 1.05]]}, "paused"),
    "tag hesitation": ({"tag": "hesitation"}, "paused"),
    "kind hesitation": ({"kind": "hesitation"}, "paused"),
    "uncertain end": ({"speech_end_uncertainty_ms": 61}, None),
    "unknown uncertainty": ({"speech_end_uncertainty_ms": None}, "plain"),
    "meeting": ({"kind": "meeting"}, None),
    "conversation": ({"tag": "conversation"}, None),
    "two speakers": ({"speaker": "a+b"}, None),
    "noise": ({"speech_end_s": None, "tag": "noise"}, "noise"),
    "noise with voices": ({"speech_end_s": None, "tag": "noise", "contains_voices": True}, None),
}


@pytest.mark.parametrize(("more", "kind"), KINDS.values(), ids=KINDS)
def test_kind_of_manifest_line(more: dict[str, object], kind: str | None) -> None:
    assert kind_of({**SPEECH, **more}) == kind


def test_shipped_recordings_are_usable() -> None:
    found = read_recordings(SHIPPED)
    assert {kind: len(chosen(found, kind, None)) for kind in ("plain", "paused", "noise")} == {
        "plain": 5,
        "paused": 1,
        "noise": 2,
    }
    assert all(len(one.pcm) / REPLY_RATE_HZ >= one.end_s - 0.05 for one in found)


def test_unusable_line_is_reported(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text(json.dumps(SPEECH) + "\n")
    with pytest.raises(SystemExit, match=r"manifest\.jsonl, line 1"):
        read_recordings(manifest)


def clip(name: str, *, start_s: float = 0.5, lead: int = 7) -> Recording:
    pcm = np.full(REPLY_RATE_HZ, 5000, np.int16)
    pcm[: int(start_s * REPLY_RATE_HZ)] = lead
    return Recording(name, "plain", "s", pcm, start_s, 1.0)


def test_clips_are_chosen_evenly() -> None:
    clips = [clip(str(number)) for number in range(10)]
    assert [one.id for one in chosen(clips, "plain", 3)] == ["0", "3", "6"]
    assert chosen(clips, "plain", 20) == clips
    assert chosen(clips, "noise", None) == []


def test_room_noise_is_the_sound_without_speech() -> None:
    assert set(room_of(clip("a")).tolist()) == {7}


def test_soft_noise_replaces_missing_room_noise() -> None:
    room = room_of(clip("a", start_s=0.1, lead=0))
    assert 0 < np.abs(room).max() < 3000
    assert np.array_equal(room, room_of(clip("a", start_s=0.1, lead=0)))


def test_speech_is_what_lies_between_the_pauses() -> None:
    paused = Recording("a", "paused", "s", np.zeros(10, np.int16), 0.5, 4.0, pauses=((1.0, 1.5), (2.0, 3.0)))
    assert paused.speech == ((0.5, 1.0), (1.5, 2.0), (3.0, 4.0))
