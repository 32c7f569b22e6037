"""What the bench speaks with: everything is there, labelled and licensed."""

import json
from collections import Counter
from pathlib import Path

from bench.recordings import read_recordings
from bench.serve import MANIFEST

ROOT = Path(__file__).parent.parent.parent
CLIPS = (ROOT / MANIFEST).parent
ROWS = [json.loads(line) for line in (ROOT / MANIFEST).read_text(encoding="utf-8").splitlines()]


def test_there_are_turns_with_and_without_a_pause_and_noise() -> None:
    kinds = Counter(recording.kind for recording in read_recordings(ROOT / MANIFEST))
    assert kinds == {"plain": 11, "paused": 9, "noise": 2}


def test_each_says_where_it_comes_from_and_under_which_licence() -> None:
    for row in ROWS:
        assert all(row[name] for name in ("licence", "source_repo", "source_path", "source_commit", "kind")), row["id"]


def test_every_recording_in_the_folder_is_in_the_manifest_and_its_source_on_the_page() -> None:
    here = {row["file"]: row for row in ROWS if not row["file"].startswith("../")}
    assert {path.name for path in CLIPS.glob("*.wav")} == set(here)
    page = (CLIPS / "README.md").read_text(encoding="utf-8")
    for row in here.values():
        assert row["source_repo"] in page
        assert row["licence"].partition(" ")[0] in page
