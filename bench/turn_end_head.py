"""Fits a head on the frames of Smart Turn's encoder and prints how well it tells ends of turns from pauses.

    python -m bench.turn_end_head --pauses DIR --field DIR            # each with manifest.jsonl
    python -m bench.turn_end_head --pauses DIR --field DIR --limit 20 # to try: 20 clips of each, nothing is kept

The program does not use the head (docs/lab/turn-taking.md). Each silence of 100 ms or more goes through the network
once as recorded and once changed: speed, room, noise, level, telephone band. The results are cached in
out/turn_end/head.npz: the first run takes about 20 minutes of one core. The areas under the curve are those of
held-out speakers and of held-out collections.

Rows for another use than "train" are left out. So are clips that are read aloud: they end anywhere.
"""

import argparse
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import soxr

from assistant.models.needs import installed
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Pcm, ms_of_samples, samples_of_ms, samples_of_s
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from bench.recordings import read_pcm
from bench.smart_turn_frames import SmartTurnFrames
from bench.turn_end_clips import Turn, silences, vad_results
from bench.turn_end_fit import Bools, Floats, area, folds
from bench.turn_end_manifest import rows_of, turns_of

CACHE = Path("out/turn_end/head.npz")

SPANS = ((0, 10), (10, 30), (30, 76))
"""Spans of encoder frames: the last 200 ms, the 400 ms before, and the 920 ms before that. 100 ms of it are silence."""

ASKED_AT_MS = 100
BEFORE_MS = 700.0
DIRECTIONS = 32
RIDGE, SMART_RIDGE = 800.0, 3.0
"""Of 200, 400 and 800 the last does best for held-out collections, and 200 for held-out speakers."""

GIVEN_WEIGHT = 0.25
"""Weight of pauses before a word that the speaker was asked to use, and of ends after it, which its sound reveals."""

SHORT_WEIGHT = 0.3
SHORT_SHIFT = 0.77
"""Offset of the logit with 4 s of audio, as in audio/end_of_turn/smart_turn/network.py."""

PAUSE_FROM_MS = 200.0
FOLDS, SEED = 5, 7

_GIVEN_WORDS = frozenset(["operator", "onword", "wildfire", "voyager", "thinkengine"])
_REMARKS = re.compile(r"[\[{(<][^\]})>]*[\]})>]+")


@dataclass(frozen=True, slots=True)
class EncoderHead:
    """A fitted head. Its logit is a weighted sum of the mean frames and of Smart Turn's logit.

    Attributes:
        weights: Weights of the mean frame of each span, shape (spans, width).
        smart_turn: Weight of Smart Turn's logit.
        bias: Bias of the logit.
    """

    weights: Floats
    smart_turn: float
    bias: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One silence that the network has heard.

    Attributes:
        speaker: As in the manifest.
        collection: Ends and pauses weigh the same within each, so that nothing is gained by recognizing it.
        ends: Whether the turn is over.
        given: Whether the pause stands before, or the end after a word that the speaker was asked to use.
        lasts_ms: Length of the silence.
        changed: Whether the sound was changed.
    """

    speaker: str
    collection: str
    ends: bool
    given: bool
    lasts_ms: float
    changed: bool


# ---- recordings ----


def fitted_turns(manifests: Sequence[Path], limit: int | None = None) -> Iterator[tuple[Turn, bool]]:
    """Yields the turns to fit on, and whether each ends with a word that the speaker was asked to use.

    Args:
        manifests: See `turn_end_manifest`.
        limit: Limit on clips of each manifest; those that are kept are evenly spaced.
    """
    for manifest in manifests:
        rows = [row for row in rows_of(manifest, "train") if row["kind"] != "read"]
        for row in rows if limit is None else rows[:: max(1, len(rows) // limit)][:limit]:
            for turn in turns_of(row, read_pcm(manifest.parent / row["file"])):
                yield turn, ends_with_given_word(row)


def collection_of(turn: Turn) -> str:
    """Returns the collection: the three with natural pauses, and the rest."""
    names = {"alphanumeric": "dictation", "wuw-corpus": "telephone", "moshi-finetune": "digits"}
    return next((name for part, name in names.items() if part in turn.source), "other")


def ends_with_given_word(row: Mapping[str, Any]) -> bool:
    """Returns whether the turn ends with a word that the speaker was asked to use."""
    if "wuw-corpus" not in row["source_repo"]:
        return False
    words = re.findall(r"[a-z']+", _REMARKS.sub("", str(row.get("transcript") or "").lower().replace("_", " ")))
    return bool(words) and words[-1] in _GIVEN_WORDS


# ---- sound ----


def changed(pcm: Pcm, rng: np.random.Generator) -> tuple[Pcm, float]:
    """Returns the sound at another speed, in a room, with noise, at another level and over a telephone.

    Each happens by chance. The second value is the speed.
    """
    sound = pcm / FULL_SCALE
    speed = float(rng.choice([1.0, 1.0, 0.9, 1.1]))
    if speed != 1.0:
        sound = soxr.resample(sound, MIC_RATE_HZ * speed, MIC_RATE_HZ)
    if rng.random() < 0.45:
        sound = _in_room(sound, rng)
    if rng.random() < 0.6:
        noise = _colored(len(sound), float(rng.choice([0, 1, 2])), rng)
        sound = sound + noise * _loudness(sound) / _loudness(noise) * 10 ** (-rng.uniform(8, 30) / 20)
    sound = np.clip(sound * 0.12 / _loudness(sound) * 10 ** (rng.uniform(-18, 6) / 20), -1, 1)
    line = rng.random()
    if line < 0.35:
        sound = _mu_law(_band(sound, 300, 3400))
    elif line < 0.5:
        sound = _band(sound, 0, 3400)
    elif line < 0.6:
        sound = _band(sound, 60, 6500)
    return np.clip(sound * FULL_SCALE, -FULL_SCALE, FULL_SCALE - 1).astype(np.int16), speed


def _in_room(sound: Floats, rng: np.random.Generator) -> Floats:
    count = samples_of_s(float(rng.uniform(0.12, 0.5)))
    echo = rng.normal(size=count) * np.exp(-6.9 * np.arange(count) / count)
    echo *= 10 ** (-rng.uniform(0, 12) / 20) / np.sqrt(np.square(echo).sum())
    echo[0] = 1.0
    size = 1 << (len(sound) + count).bit_length()
    heard: Floats = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(echo, size), size)[: len(sound)]
    return heard


def _colored(count: int, slope: float, rng: np.random.Generator) -> Floats:
    hz = np.maximum(np.fft.rfftfreq(count, 1 / MIC_RATE_HZ), 40)
    noise: Floats = np.fft.irfft(np.fft.rfft(rng.normal(size=count)) * hz ** (-slope / 2), count)
    return noise


def _loudness(sound: Floats) -> float:
    power = np.sort(np.square(sound))
    return float(np.sqrt(power[-len(power) // 3 :].mean())) + 1e-9


def _band(sound: Floats, low_hz: float, high_hz: float) -> Floats:
    hz = np.fft.rfftfreq(len(sound), 1 / MIC_RATE_HZ)
    passed = 1 / (1 + np.exp(np.clip((hz - high_hz) / 60, -50, 50)))
    if low_hz:
        passed = passed / (1 + np.exp(np.clip((low_hz - hz) / 30, -50, 50)))
    heard: Floats = np.fft.irfft(np.fft.rfft(sound) * passed, len(sound))
    return heard


def _mu_law(sound: Floats) -> Floats:
    levels = np.round(np.sign(sound) * np.log1p(255 * np.abs(sound)) / np.log(256) * 128) / 128
    heard: Floats = np.sign(levels) * (256 ** np.abs(levels) - 1) / 255
    return heard


# ---- encoder passes ----


def span_means(frames: "np.ndarray[Any, np.dtype[np.float32]]") -> Floats:
    """Returns the mean frame of each span, shape (spans, width)."""
    return np.stack([frames[::-1][begin:end].mean(axis=0) for begin, end in SPANS]).astype(np.float64)


def heard(manifests: Sequence[Path], limit: int | None = None) -> Iterator[tuple[Sample, Floats, float]]:
    """Yields each silence with the means of its frames and Smart Turn's logit: as recorded, then changed."""
    path = installed(SMART_TURN)
    if path is None:
        raise SystemExit("Smart Turn is needed: run repartee models pull smart-turn-v3.2")
    full, short, vad = SmartTurnFrames(path), SmartTurnFrames(path, short=True), SileroVad(SileroNetwork())
    for turn, ends_given in fitted_turns(manifests, limit):
        onset, found = silences(turn, vad_results(vad, turn.pcm))
        rng = np.random.default_rng(zlib.crc32(f"{turn.id}A".encode()))
        other, speed = changed(turn.pcm, rng)
        for silence in found:
            ends = silence.label == "end"
            due = -(-(silence.edge + samples_of_ms(ASKED_AT_MS)) // FRAME_SAMPLES) * FRAME_SAMPLES
            now = max(int(silence.known_at), due)
            if silence.label == "gap" or (ends and not turn.ends) or now >= silence.until:
                continue
            about = Sample(
                speaker=turn.speaker,
                collection=collection_of(turn),
                ends=ends,
                given=ends_given if ends else silence.span in turn.given,
                lasts_ms=ms_of_samples(silence.until - silence.edge),
                changed=False,
            )
            yield about, *_asked(full, turn.pcm, onset, now)
            later = int(min(now / speed + int(rng.integers(0, 4)) * FRAME_SAMPLES, silence.until / speed))
            means, logit = _asked(short, other, int(onset / speed), later)
            yield replace(about, changed=True), means, logit + SHORT_SHIFT


def _asked(network: SmartTurnFrames, pcm: Pcm, onset: int, now: int) -> tuple[Floats, float]:
    logit, frames = network.heard(pcm[max(0, onset - samples_of_ms(BEFORE_MS)) : now])
    return span_means(frames), logit


Heard = tuple[list[Sample], Floats, Floats]
"""The samples, the means of their frames, shape (n, spans, width), and Smart Turn's logits, shape (n,)."""


def collected(found: Iterable[tuple[Sample, Floats, float]]) -> Heard:
    """Returns what `heard` yields as arrays."""
    samples, means, logits = zip(*found, strict=True)
    return list(samples), np.stack(means), np.array(logits)


def load(manifests: Sequence[Path]) -> Heard:
    """Returns all silences, from the cache if it is there."""
    if not CACHE.exists():
        samples, means, logits = collected(heard(manifests))
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        np.savez(CACHE, about=json.dumps([asdict(one) for one in samples]), means=means, smart=logits)
    found = np.load(CACHE)
    return [Sample(**row) for row in json.loads(str(found["about"]))], found["means"], found["smart"]


# ---- the fit ----


def weights_of(samples: Sequence[Sample]) -> Floats:
    """Returns the weight of each sample. Ends and pauses weigh the same in a collection."""
    own = np.array([(GIVEN_WEIGHT if s.given else 1.0) * _length_weight(s) for s in samples])
    sums, totals = Counter[tuple[str, bool]](), Counter[str]()
    for sample, weight in zip(samples, own, strict=True):
        sums[sample.collection, sample.ends] += weight
        totals[sample.collection] += weight
    found: Floats = np.array(
        [w * totals[s.collection] ** 0.5 / sums[s.collection, s.ends] for s, w in zip(samples, own, strict=True)]
    )
    found /= found.mean()
    return found


def _length_weight(sample: Sample) -> float:
    return SHORT_WEIGHT if not sample.ends and sample.lasts_ms < PAUSE_FROM_MS else 1.0


def directions_of(means: Floats) -> tuple[Floats, Floats]:
    """Returns mean and principal directions of the frames, scaled to unit variance, shapes (width,), (width, n)."""
    flat = means.reshape(-1, means.shape[-1])
    center = flat.mean(axis=0)
    power, axes = np.linalg.eigh(np.cov((flat - center).T))
    return center, axes[:, ::-1][:, :DIRECTIONS] / np.sqrt(power[::-1][:DIRECTIONS] + 1e-6)


def fit(means: Floats, smart: Floats, ends: Bools, weights: Floats) -> EncoderHead:
    """Fits a logistic regression on the principal directions of each span and on Smart Turn's logit."""
    center, axes = directions_of(means)
    features = np.column_stack([smart, ((means - center) @ axes).reshape(len(means), -1)])
    mean = np.average(features, axis=0, weights=weights)
    deviation = np.sqrt(np.average(np.square(features - mean), axis=0, weights=weights)) + 1e-6
    rows = np.column_stack([(features - mean) / deviation, np.ones(len(features))])
    penalty = np.array([SMART_RIDGE, *[RIDGE] * (features.shape[1] - 1), 1e-6])
    found = np.zeros(rows.shape[1])
    for _ in range(15):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weights * (ends - chance)) - penalty * found
        found += np.linalg.solve((rows * (weights * chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty), slope)
    scaled = found[:-1] / deviation
    per_span = scaled[1:].reshape(len(SPANS), -1) @ axes.T
    bias = float(found[-1] - scaled @ mean - (per_span @ center).sum())
    return EncoderHead(per_span, float(scaled[0]), bias)


def logits_of(head: EncoderHead, means: Floats, smart: Floats) -> Floats:
    """Returns the head's logit of each sample, shape (n,)."""
    logits: Floats = head.bias + head.smart_turn * smart + np.einsum("nsw,sw->n", means, head.weights)
    return logits


def print_areas(samples: Sequence[Sample], means: Floats, smart: Floats) -> None:
    """Prints the area under the curve of each collection, at the sounds as recorded."""
    ends = np.array([sample.ends for sample in samples])
    weights = weights_of(samples)
    collections = np.array([sample.collection for sample in samples])
    shown = np.array([not s.changed and (s.ends or s.lasts_ms >= PAUSE_FROM_MS) for s in samples])
    splits = {"speakers": folds([s.speaker for s in samples], FOLDS, SEED), "collections": collections}
    scores = {"Smart Turn": smart}
    for what, split in splits.items():
        held_out = np.zeros(len(samples))
        for part in np.unique(split):
            inside = split == part
            head = fit(means[~inside], smart[~inside], ends[~inside], weights[~inside])
            held_out[inside] = logits_of(head, means[inside], smart[inside])
        scores[f"head, held-out {what}"] = held_out
    names = sorted(set(collections.tolist()))
    print("| source | " + " | ".join(names) + " |\n|---" + "|---" * len(names) + "|")
    for source, score in scores.items():
        rows = [shown & (collections == name) for name in names]
        print(f"| {source} | " + " | ".join(f"{area(score[row], ends[row]):.3f}" for row in rows) + " |")


def main() -> None:
    """Fits the head and prints its areas."""
    parser = argparse.ArgumentParser(description="Fits a head on Smart Turn's encoder.")
    parser.add_argument("--pauses", type=Path, required=True, help="folder with manifest.jsonl")
    parser.add_argument("--field", type=Path, required=True, help="folder with manifest.jsonl whose rows say their use")
    parser.add_argument("--limit", type=int, help="to try: clips of each folder; nothing is kept")
    options = parser.parse_args()
    manifests = [options.pauses / "manifest.jsonl", options.field / "manifest.jsonl"]
    samples, means, smart = collected(heard(manifests, options.limit)) if options.limit else load(manifests)
    print_areas(samples, means, smart)


if __name__ == "__main__":
    main()
