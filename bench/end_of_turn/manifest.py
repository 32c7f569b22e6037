"""Reads the turns of a manifest, with what the recordings may be used for.

A manifest is JSON Lines: `id`, `file` (beside it), `speaker`, `kind`, `source_repo`, `speech_start_s`, `speech_end_s`,
`internal_pauses`. Rows with a `tag` other than "speech" are left out. Optional: `use` ("train" or "judge"), `style`,
`content`, `cut_at_end`, `human_end_s`, `end_check`, `pauses_before_given_word`. A channel of a dialogue has
`turn_events` instead, and its turns are cut out of it.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np

from audio.units import FRAME_SAMPLES, Pcm, ms_of_samples, samples_of_s
from bench.conversations.recordings import SEVERAL_VOICES, read_pcm
from bench.end_of_turn.clips import LEAD_S, TAIL_S, Span, Turn, Use, room_noise

MOST_OF_SPEAKER = 40
"""Limit on clips of one speaker. One speaker has 200 dictations and one 116 descriptions."""

NO_TURNS = SEVERAL_VOICES | {
    "vocal burst",
    "meeting, mixed",
    "dialog, both speakers mixed",
    "echo and double talk",
    "monologue (filler spliced in)",  # its pauses were made by the splice
}
"""Kinds of clips that are no turn of one speaker."""

_LONGEST_HOLD_S = 3.0
"""A longer silence before the same side goes on is neither a pause nor an end."""

_STYLES = (
    ("dictating", "dictation"),
    ("digits in groups", "dictation"),
    ("made up on the spot", "telephone sentence"),
    ("single given word", "single word"),
    ("call-centre", "call"),
    ("descriptions", "description"),
)

FIELD_GROUPS = frozenset(group for _, group in _STYLES)
"""Groups of recordings with natural pauses. No pauses are added to them."""


def rows_of(manifest: Path, use: Use, most: int = MOST_OF_SPEAKER) -> list[dict[str, Any]]:
    """Returns the rows of a manifest with turns of one speaker.

    Args:
        manifest: JSON Lines.
        use: What the turns are for. Rows that name another use are left out; rows without a use take this one.
        most: Limit on clips of one speaker; the kept clips are evenly spaced.

    Raises ValueError for an unknown use.
    """
    rows = []
    for line in manifest.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("tag", "speech") != "speech":
            continue
        if (named := row.setdefault("use", use)) not in get_args(Use):
            raise ValueError(f"{manifest}: the use of {row.get('id')} is {named!r}, but must be train or judge")
        if named == use and _is_turn(row):
            rows.append(row)
    return _thinned(rows, most)


def turns(manifest: Path, use: Use, most: int = MOST_OF_SPEAKER) -> Iterator[Turn]:
    """Yields the single-speaker turns of a manifest. Arguments as in `rows_of`."""
    for row in rows_of(manifest, use, most):
        yield from turns_of(row, read_pcm(manifest.parent / row["file"]))


def turns_of(row: Mapping[str, Any], pcm: Pcm) -> Iterator[Turn]:
    """Yields the turns of one row: one, or for a channel of a dialogue all."""
    if "turn_events" in row:
        for number, (events, limit_s) in enumerate(_dialogue_turns(row["turn_events"])):
            start_s = max(0.0, events[0]["start"] - LEAD_S)
            until_s = min(events[-1]["end"] + TAIL_S, limit_s)
            spoken = [(event["start"] - start_s, event["end"] - start_s) for event in events]
            piece = {
                "speech_start_s": spoken[0][0],
                "speech_end_s": spoken[-1][1],
                "internal_pauses": [(a[1], b[0]) for a, b in pairwise(spoken)],
                "cut_at_end": events[-1]["type"] != "shift",
            }
            yield _padded(f"{row['id']}#{number}", {**row, **piece}, pcm[samples_of_s(start_s) : samples_of_s(until_s)])
    else:
        yield _padded(row["id"], row, pcm)


def group_of(row: Mapping[str, Any]) -> str:
    """Returns the group in which a clip is reported, for example "dictation"; its kind if it has no known style."""
    style = str(row.get("style", ""))
    return next((group for part, group in _STYLES if part in style), str(row["kind"]))


def _is_turn(row: Mapping[str, Any]) -> bool:
    if row["kind"] in NO_TURNS or "+" in str(row.get("speaker", "")):
        return False
    if str(row.get("end_check") or "").startswith("differs"):
        return False  # a person and the detector disagree about the end
    return bool(row.get("turn_events")) or row.get("speech_end_s") is not None


def _thinned(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Returns at most `most` rows of each speaker, evenly spaced."""
    counts = Counter(str(row["speaker"]) for row in rows)
    seen = Counter[str]()
    kept_rows = []
    for row in rows:
        speaker, number = str(row["speaker"]), seen[str(row["speaker"])]
        seen[speaker] += 1
        share = min(1.0, most / counts[speaker])
        if int((number + 1) * share) > int(number * share):
            kept_rows.append(row)
    return kept_rows


def _dialogue_turns(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[list[Mapping[str, Any]], float]]:
    """Yields the events of each turn of a channel, and the time of the next speech on it in s."""
    turn: list[Mapping[str, Any]] = []
    ordered = list(events)
    for number, event in enumerate(ordered):
        turn.append(event)
        following = ordered[number + 1]["start"] if number + 1 < len(ordered) else float("inf")
        if event["type"] == "hold" and event["gap_s"] <= _LONGEST_HOLD_S:
            continue
        yield turn, following
        turn = []


def _padded(name: str, row: Mapping[str, Any], pcm: Pcm) -> Turn:
    seed = zlib.crc32(name.encode())
    agreed = str(row.get("end_check") or "") == "agrees"
    end_s = float(row["human_end_s"] if agreed else row["speech_end_s"])
    short = max(0, samples_of_s(end_s + TAIL_S) - len(pcm))
    room = room_noise(pcm, samples_of_s(LEAD_S) + short + FRAME_SAMPLES, seed)
    lead = samples_of_s(LEAD_S)
    return Turn(
        id=name,
        speaker=str(row["speaker"]),
        source=str(row.get("source_repo", "")),
        kind=str(row["kind"]),
        pcm=np.concatenate([room[:lead], pcm, room[lead : lead + short]]),
        start_ms=(float(row["speech_start_s"]) + LEAD_S) * 1000,
        end_ms=(end_s + LEAD_S) * 1000,
        pauses=_spans(row.get("internal_pauses")),
        made=(),
        real_until_ms=ms_of_samples(lead + len(pcm)),
        group=group_of(row),
        use=row.get("use", "train"),
        given=_spans(row.get("pauses_before_given_word")),
        ends=not row.get("cut_at_end"),
        content=str(row.get("content", "")),
    )


def _spans(spans: Sequence[Sequence[float]] | None) -> tuple[Span, ...]:
    return tuple(((float(begin) + LEAD_S) * 1000, (float(end) + LEAD_S) * 1000) for begin, end in spans or ())
