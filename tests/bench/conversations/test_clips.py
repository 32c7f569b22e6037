"""The recordings of the bench are complete, labelled and licensed."""

import json
from collections import Counter
from pathlib import Path

from bench.conversations.recordings import read_recordings
from bench.serve import MANIFEST

ROOT = Path(__file__).parents[3]
CLIPS = (ROOT / MANIFEST).parent
ROWS = [json.loads(line) for line in (ROOT / MANIFEST).read_text(encoding="utf-8").splitlines()]


def test_clips_include_plain_turns_paused_turns_and_noise() -> None:
    kinds = Counter(recording.kind for recording in read_recordings(ROOT / MANIFEST))
    assert kinds == {"plain": 11, "paused": 9, "noise": 2}


def test_each_clip_states_source_and_licence() -> None:
    for row in ROWS:
        assert all(row[name] for name in ("licence", "source_repo", "source_path", "source_commit", "kind")), row["id"]


def test_manifest_lists_every_recording_and_page_every_source() -> None:
    here = {row["file"]: row for row in ROWS if not row["file"].startswith("../")}
    assert {path.name for path in CLIPS.glob("*.wav")} == set(here)
    page = (CLIPS / "README.md").read_text(encoding="utf-8")
    for row in here.values():
        assert row["source_repo"] in page
        assert row["licence"].partition(" ")[0] in page
