"""Every package is in docs/data/licence-table.tsv, every shipped recording in assistant/recordings/LICENCES.md."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import packages
from support.generated import licence_table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
SHIPPED = ROOT / "assistant" / "recordings"
RECORDINGS_PAGE = (SHIPPED / "LICENCES.md").read_text(encoding="utf-8")
PACKAGES_TABLE = licence_table.TABLE_FILE.read_text(encoding="utf-8")
TESTED = ROOT / "tests" / "recordings"

# Licences of parts that may be combined into a GPL-3.0-or-later program. All others need a review first.
GOES_WITH_GPL_3 = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 GPL-3.0-or-later ISC LGPL-2.1-or-later "
    "MIT MIT-0 MIT-CMU MPL-2.0 PSF-2.0 Zlib".split()
)


def rows_under(head: str, page: str) -> Iterator[list[str]]:
    """Yields the cells of each row of the table whose first line begins with these cells."""
    _, found, rest = page.partition(f"\n| {head} |")
    assert found, head
    lines = rest.split("\n")[2:]
    for line in lines[: next(n for n, line in enumerate(lines) if not line.startswith("|"))]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


PACKAGES = [line.split("\t") for line in PACKAGES_TABLE.splitlines()[1:]]
RECORDINGS = {row[0].strip("`"): row for row in rows_under("file | source: repository, path, commit", RECORDINGS_PAGE)}


def test_table_lists_packages_of_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = [line.split(" ")[0].split("==") for line in lock.split("\n") if re.match(r"\w", line)]
    assert len(pins) > 30
    assert [row[:2] for row in PACKAGES] == pins, "write it anew: python tests/support/generated/licence_table.py"


def test_table_matches_package_metadata() -> None:
    assert licence_table.table() == PACKAGES_TABLE, "write: python tests/support/generated/licence_table.py"


def test_every_licence_is_compatible_with_ours() -> None:
    for name, _, licence, _ in PACKAGES:
        alternatives = [set(alternative.split(" AND ")) for alternative in licence.split(" OR ")]
        assert any(alternative <= GOES_WITH_GPL_3 for alternative in alternatives), f"{name}: {licence}"


def test_every_package_is_required() -> None:
    assert [name for name, _, _, use in PACKAGES if use.partition(" (")[0] in {"", "pulled in by"}] == []


@pytest.mark.parametrize(
    "rows",
    [
        PACKAGES,
        list(rows_under("what | inside | licence", PAGE)),
        list(rows_under("file | source: repository, path, commit", RECORDINGS_PAGE)),
    ],
    ids=["packages", "shipped files", "recordings"],
)
def test_no_cell_is_empty(rows: list[list[str]]) -> None:
    assert len(rows) > 5
    assert [row for row in rows if not all(row)] == []


def test_exactly_the_shipped_recordings_are_listed() -> None:
    folders = [ROOT / name for name in (*packages.PACKAGES, "bench", "docs", "tests")]
    sounds = [path for folder in folders for path in folder.rglob("*.wav")] + list(SHIPPED.glob("*.flac"))
    found = {path.relative_to(ROOT).as_posix() for path in sounds}
    assert len(found) > 5
    assert found == RECORDINGS.keys()


def test_sources_match_manifest() -> None:
    lines = (TESTED / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    clips = [json.loads(line) for line in lines]
    assert {clip["file"] for clip in clips} == {path.name for path in TESTED.glob("*.wav")}
    for clip in clips:
        _, source, licence, _, _ = RECORDINGS[f"tests/recordings/{clip['file']}"]
        assert source == f"{clip['source_repo']}, `{clip['source_path']}`, {clip['source_commit'][:12]}"
        assert clip["licence"].lower().startswith(licence.lower())


@pytest.mark.parametrize("path", RECORDINGS)
def test_licence_text_of_each_recording_is_included(path: str) -> None:
    _, source, licence, _, _ = RECORDINGS[path]
    if licence == "public domain":
        return
    _, found, section = RECORDINGS_PAGE.partition(f"\n### {licence}\n")
    assert found, licence
    text = section.partition("\n### ")[0]
    assert source.partition(",")[0] in text
    assert "WARRANTIES" in text.upper()


@pytest.mark.parametrize(("name", "head"), [("conversation.wav", "request from, s"), ("demo.flac", "speech from, s")])
def test_readme_describes_labels_of_recording(name: str, head: str) -> None:
    labels = json.loads((SHIPPED / name).with_suffix(".json").read_text(encoding="utf-8"))
    readme = (SHIPPED / "README.md").read_text(encoding="utf-8")
    rows = list(rows_under(f"{head} | to, s | end known to, ms | words", readme))
    assert len(labels) == len(rows) == 5
    for label, (start, end, uncertainty, words, clip) in zip(labels, rows, strict=True):
        assert (float(start), float(end)) == (label["start_s"], label["end_s"])
        assert uncertainty == f"±{label['end_uncertainty_ms']}"
        assert label["words"] is None or words == label["words"]
        assert clip == "synthetic" or clip in RECORDINGS[f"assistant/recordings/{name}"][1]
