"""Measures the rules about dictation on recordings of people who dictate: who is talked over, how long others wait.

    python -m bench.dictation --field DIR --moments FILE [--use judge]

DIR/manifest.jsonl names the clips. FILE is a cache of moments with real transcripts (moments-smart.jsonl of
bench.turn_end). Each clip is a speaker's first turn. It is played three times: without the rules, with the rules, and
with the rules after a question that asks for what is dictated.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from assistant.end_of_turn.dictation import NOTHING, Dictation, DictationRules
from assistant.end_of_turn.estimator import (
    AUTO,
    BALANCED,
    EAGER,
    PATIENT,
    EndOfTurnEvidence,
    EndOfTurnProfile,
    fitted_turn_end,
    silence_timeout_ms,
)
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.end_of_turn.questions import NO_QUESTION, Question
from audio.end_of_turn.prosody_features import Prosody
from audio.stt import Punctuation
from bench.turn_end_curve import ended_at
from bench.turn_end_moments import Moment

QUESTIONS: Mapping[str, Question] = {
    "a name spelt letter by letter": Question("a spelling"),
    "a phone number": Question("a phone number"),
    "an address": Question("an address"),
    "digits in groups with pauses, from a script": Question("a number"),
}
"""The question that fits a clip, by the manifest's `content` or `style`."""

PROFILES: Mapping[str, EndOfTurnProfile] = {"auto": AUTO, "eager": EAGER, "balanced": BALANCED, "patient": PATIENT}
DRAWS, SEED = 1000, 1

Rules = Callable[[str, Question, Dictation], Dictation]


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip of one speaker.

    Attributes:
        id, speaker: As in the manifest.
        kind: Its `content` or `style`.
        silences: The moments of each silence, in order.
        has_end: Whether the end was recorded.
    """

    id: str
    speaker: str
    kind: str
    silences: Sequence[Sequence[Moment]]
    has_end: bool


@dataclass(frozen=True, slots=True)
class Played:
    """The result of one clip: whether the speaker was talked over, and the wait at the end in ms."""

    speaker: str
    cut: bool
    wait_ms: float


def clips(field: Path, moments: Path, use: str, sources: Sequence[str]) -> list[Clip]:
    """Returns the clips of a use whose source contains one of `sources`, with their moments."""
    rows = {row["id"]: row for row in map(json.loads, (field / "manifest.jsonl").read_text().splitlines())}
    found = []
    names = {each.name for each in fields(Moment)}
    for line in moments.read_text().splitlines():
        cached = json.loads(line)
        row = rows.get(cached["id"])
        if row is None or row["use"] != use or not any(source in row["source_repo"] for source in sources):
            continue
        silences: dict[int, list[Moment]] = defaultdict(list)
        for moment in cached["moments"]:
            kept = {name: value for name, value in moment.items() if name in names}
            silences[moment["number"]].append(Moment(**kept))
        kind = row.get("content") or row.get("style", "")
        found.append(Clip(row["id"], row["speaker"], kind, list(silences.values()), not row.get("cut_at_end")))
    return found


def play(clip: Clip, profile: EndOfTurnProfile, rules: Rules, question: Question) -> Played:
    """Plays a clip to the estimator, with the pauses so far as the speaker's only ones."""
    habits, cut, wait_ms, dictation = SpeakerPauseStats(), False, float("nan"), NOTHING
    for silence in clip.silences:
        known, dictation = habits, rules(silence[0].text, question, dictation)

        def wait(moment: Moment, known: SpeakerPauseStats = known, dictation: Dictation = dictation) -> float:
            return _timeout_ms(moment, known, profile, dictation, question)

        due_ms, first = ended_at(silence, wait), silence[0]
        if first.label == "end":
            wait_ms = due_ms if clip.has_end else wait_ms
            break
        # A turn without words gets no reply: nobody is talked over.
        cut = cut or (due_ms < first.lasts_ms and bool(first.text.strip()))
        habits = habits.with_pause(first.lasts_ms)
    return Played(clip.speaker, cut, wait_ms)


def _timeout_ms(
    moment: Moment, habits: SpeakerPauseStats, profile: EndOfTurnProfile, dictation: Dictation, question: Question
) -> float:
    known = moment.ends is not None and moment.goes_on is not None
    punctuation = Punctuation(moment.ends or 0.0, moment.goes_on or 0.0) if known else None
    evidence = EndOfTurnEvidence(
        moment.known_ms,
        Prosody(**moment.prosody),
        moment.text,
        punctuation,
        smart_turn=moment.smart,
        pause_stats=habits,
        expected=question.expected,
        dictation=dictation,
    )
    return silence_timeout_ms(fitted_turn_end().estimate(evidence), profile)


def row_of(played: Sequence[Played]) -> str:
    """Returns the share talked over with its interval over speakers, and p50 / p95 of the others' waits."""
    cut = np.array([one.cut for one in played])
    speakers = sorted({one.speaker for one in played})
    by_speaker = [cut[[one.speaker == speaker for one in played]] for speaker in speakers]
    rng = np.random.default_rng(SEED)
    drawn = [
        float(np.concatenate([by_speaker[pick] for pick in rng.integers(len(speakers), size=len(speakers))]).mean())
        for _ in range(DRAWS)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    waits = [one.wait_ms for one in played if not one.cut and one.wait_ms == one.wait_ms]
    p50, p95 = np.percentile(waits, [50, 95]) if waits else (float("nan"), float("nan"))
    return f"{100 * cut.mean():.0f} % ({100 * low:.0f}–{100 * high:.0f}); {p50:.0f} / {p95:.0f}"


def main() -> None:
    """Prints one table for each kind of clip."""
    parser = argparse.ArgumentParser(description="Measures the rules about dictation.")
    parser.add_argument("--field", type=Path, required=True, help="folder with manifest.jsonl")
    parser.add_argument("--moments", type=Path, required=True, help="cache of moments, with their transcripts")
    parser.add_argument("--use", default="judge", choices=("train", "judge"))
    parser.add_argument("--source", nargs="+", default=["alphanumeric"], help="parts of the sources' names")
    options = parser.parse_args()
    chosen = clips(options.field, options.moments, options.use, options.source)
    rules = lru_cache(maxsize=None)(DictationRules().dictation_of)
    ways: dict[str, tuple[Rules, bool]] = {
        "without rules": (lambda _text, _question, _earlier: NOTHING, False),
        "with rules": (rules, False),
        "with rules, question known": (rules, True),
    }
    kinds = sorted({clip.kind for clip in chosen})
    for kind in ("all", *kinds):
        some = [clip for clip in chosen if kind in ("all", clip.kind)]
        print(f"\n{kind}: {len(some)} turns of {len({clip.speaker for clip in some})} speakers\n")
        print("| profile | " + " | ".join(f"{way}: talked over; others p50 / p95 ms" for way in ways) + " |")
        print("|---" * (1 + len(ways)) + "|")
        for name, profile in PROFILES.items():
            cells = [
                row_of(
                    [
                        play(clip, profile, said, QUESTIONS.get(clip.kind, NO_QUESTION) if asked else NO_QUESTION)
                        for clip in some
                    ]
                )
                for said, asked in ways.values()
            ]
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
