"""Measures the resume guard: how many answers it holds back that would begin while the user resumes speaking.

    python -m bench.turn_end_look --pauses DIR        # DIR/manifest.jsonl

An answer is assumed to be ready at each of READY_MS of every silence. If the user then resumes, the answer cuts in,
unless the guard holds it back until the VAD detects the speech. Some answers at true ends are held back needlessly. For
ends, only really recorded silence counts, without synthetic room noise.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.turns.resume_guard import ResumeGuard
from assistant.turns.settings import TurnSettings
from audio.frame import Frame
from audio.units import FRAME_MS, Samples, ms_of_samples, samples_of_ms
from audio.vad import VadResult
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from bench.turn_end_clips import Label, Silence, Turn, silences, vad_results, with_pauses
from bench.turn_end_manifest import turns

SETTINGS = TurnSettings()

READY_MS = (220, 250, 290, 330, 380, 440, 600, 840)

Heard = Sequence[tuple[Frame, VadResult]]


@dataclass(frozen=True, slots=True)
class Look:
    """Result at one moment of one silence.

    Attributes:
        held_ms: How long the answer was held.
        knew: Whether the VAD had detected by then that the user resumes.
    """

    label: Label
    held_ms: float
    knew: bool


def looks(turn: Turn, heard: Heard) -> Iterable[Look]:
    """Yields the result for every silence of a turn, at each time at which an answer may be ready."""
    by_end = {frame.end: vad_result for frame, vad_result in heard}
    real_until = samples_of_ms(turn.real_until_ms)
    for silence in silences(turn, heard)[1]:
        for ready_ms in READY_MS:
            ready = Samples(silence.edge + samples_of_ms(ready_ms))
            if silence.label == "end" and ready + samples_of_ms(SETTINGS.end.max_resume_wait_ms) > real_until:
                continue
            if silence.known_at <= ready < silence.until:
                yield _look(silence, ready, by_end)


def _look(silence: Silence, ready: Samples, by_end: dict[Samples, VadResult]) -> Look:
    look, step = ResumeGuard(), samples_of_ms(FRAME_MS)
    newest = Samples(ready // step * step)
    at = newest
    while at < silence.until and at in by_end:
        look.add_frame(at, by_end[at], SETTINGS)
        if not look.holds:
            break
        at = Samples(at + step)
    return Look(silence.label, ms_of_samples(Samples(at - newest)), silence.label != "end" and at >= silence.until)


def main() -> None:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description="Measures the benefit of the last check before a reply.")
    parser.add_argument("--pauses", type=Path, required=True, help="folder with manifest.jsonl")
    options = parser.parse_args()
    vad = SileroVad(SileroNetwork())
    found: list[Look] = []
    for turn in turns(options.pauses / "manifest.jsonl", "train"):
        for each in (turn, with_pauses(turn)):
            if each is not None:
                found += looks(each, vad_results(vad, each.pcm))
    count, knew = Counter(one.label for one in found), Counter(one.label for one in found if one.knew)
    print("| silence | replies that cut in | held back until the user was known to continue |\n|---|---|---|")
    for label in ("gap", "pause", "made"):
        if count[label]:
            print(f"| {label} | {count[label]} | {100 * knew[label] / count[label]:.1f} % |")
    held = [one.held_ms for one in found if one.label == "end"]
    if held:
        share, mean_ms = 100 * sum(ms > 0 for ms in held) / len(held), sum(held) / len(held)
        print(f"\nof {len(held)} at an end {share:.1f} % were held back; the mean of all is {mean_ms:.1f} ms")


if __name__ == "__main__":
    main()
