"""Fits the weights of `audio/articulation.py` and prints what they find; writes audio/articulation_weights.py.

    python -m bench.turn_taking_articulation --field DIR --pauses DIR [--speech DIR] [--write]

Fitted on the `train` part of `--field`, all of `--pauses` and sounds of espeak-ng; judged on the `judge` part,
`--speech` and a Piper voice (manifests: bench/turn_taking_overlap_clips.py). Each kind of sound has a fixed share of
the weight, and the cross-validation keeps the sounds of a speaker, and of a text, together.
"""

import argparse
import asyncio
import pickle
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audio import articulation
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm, Samples
from audio.vad.silero import SileroVad
from bench.turn_taking_overlap_clips import Sound, Use, commands, read_sounds, read_speech

Floats = npt.NDArray[np.float64]

SHARES = {
    "vocal bursts": 0.45, "backchannels": 0.45, "hums": 0.1, "sentences by telephone": 0.2,
    "single words by telephone": 0.15, "dictation": 0.15, "monologue": 0.1, "clean speech": 0.25, "commands": 0.25,
}  # fmt: skip
"""Weight of each kind of sound; those without words and those with words have the same sum, about."""

RIDGE = 10.0
FOLDS = 5
WEIGHTS_FILE = Path("audio/articulation_weights.py")


@dataclass(frozen=True, slots=True)
class Example:
    """A scored sound: its group, speaker, whether it is to stop the reply, and its features."""

    group: str
    speaker: str
    words: bool
    features: Floats


def examples(sounds: Sequence[Sound]) -> Iterator[Example]:
    """Yields the examples of the sounds that the VAD detects within 800 ms."""
    for sound in sounds:
        if sound.group in SHARES and (found := _features(sound.pcm, sound.onset)) is not None:
            yield Example(sound.group, sound.speaker, sound.wanted == "stops", found)


def _features(pcm: Pcm, onset: Samples) -> Floats | None:
    vad, probabilities, boundary = SileroVad(), [], None
    first = max(0, onset - 16_000) // FRAME_SAMPLES * FRAME_SAMPLES
    for start in range(first, min(len(pcm), onset + 24_000) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        result = vad.process(Frame(Samples(start - first), pcm[start : start + FRAME_SAMPLES]))
        probabilities.append(result.probability)
        if boundary is None and result.speaking and start >= onset - 4000:
            boundary = int(result.boundary)
        if boundary is not None and start + FRAME_SAMPLES - first - boundary >= articulation._SPAN:
            spoken = probabilities[boundary // FRAME_SAMPLES :]
            begin = first + boundary - articulation._HOP
            return articulation.features(pcm[begin : begin + articulation._SPAN + articulation._HOP], spoken)
    return None


def fitted(examples: Sequence[Example]) -> tuple[float, Floats, Floats]:
    """Returns intercept, means and weights of a logistic regression with a ridge."""
    x, y, share = (
        np.array([each.features for each in examples]),
        np.array([each.words for each in examples]),
        _share(examples),
    )
    means = np.average(x, axis=0, weights=share)
    scales = np.sqrt(np.average((x - means) ** 2, axis=0, weights=share)) + 1e-9
    z = np.c_[np.ones(len(x)), (x - means) / scales]
    weight, beta, ridge = share / share.sum() * len(x), np.zeros(z.shape[1]), np.eye(z.shape[1]) * RIDGE
    ridge[0, 0] = 1e-6
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ beta))
        hessian = (z * (weight * p * (1 - p))[:, np.newaxis]).T @ z + ridge
        beta += np.linalg.solve(hessian, z.T @ (weight * (y - p)) - ridge @ beta)
    return float(beta[0]), means, beta[1:] / scales


def _share(examples: Sequence[Example]) -> Floats:
    groups = [each.group for each in examples]
    return np.array([SHARES[group] / groups.count(group) for group in groups])


def _logits(model: tuple[float, Floats, Floats], examples: Sequence[Example]) -> Floats:
    intercept, means, weights = model
    return np.array([intercept + (each.features - means) @ weights for each in examples])


def cross_validated(examples: Sequence[Example]) -> Floats:
    """Returns the logit of each example by a model that has not seen its speaker."""
    fold = np.array([zlib.crc32(each.speaker.encode()) % FOLDS for each in examples])
    logits = np.zeros(len(examples))
    for number in range(FOLDS):
        model = fitted([each for each, own in zip(examples, fold, strict=True) if own != number])
        logits[fold == number] = _logits(
            model, [each for each, own in zip(examples, fold, strict=True) if own == number]
        )
    return logits


def report(examples: Sequence[Example], logits: Floats) -> None:
    """Prints the share of each group above several probabilities."""
    groups = np.array([each.group for each in examples])
    limits = (0.7, 0.8, 0.85, 0.9, 0.93, 0.95)
    print("| sound, n | " + " | ".join(f"≥ {limit}" for limit in limits) + " |\n" + "|---" * (len(limits) + 1) + "|")
    for group in SHARES:
        own = 1 / (1 + np.exp(-logits[groups == group]))
        if len(own):
            print(f"| {group}, {len(own)} | " + " | ".join(f"{(own >= limit).mean():.2f}" for limit in limits) + " |")


def _sounds(use: Use, field: Path, speech: Path | None) -> list[Sound]:
    clean = list(read_speech(speech)) if speech is not None else []
    return [*read_sounds(field, None, use), *clean, *asyncio.run(commands(use))]


def main() -> None:
    """Fits, prints and writes."""
    parser = argparse.ArgumentParser(description="Fits the weights of audio/articulation.py.")
    parser.add_argument("--field", type=Path, required=True)
    parser.add_argument("--pauses", type=Path, required=True)
    parser.add_argument("--speech", type=Path)
    parser.add_argument("--cache", type=Path, help="folder that keeps the features")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    train = _cached(given.cache, "train", given.field, given.pauses)
    print("Cross-validated by speaker:\n")
    report(train, cross_validated(train))
    model = fitted(train)
    if given.speech is not None:
        judged = _cached(given.cache, "judge", given.field, given.speech)
        print("\nNot used for fitting:\n")
        report(judged, _logits(model, judged))
    if given.write:
        _write(model)


def _cached(folder: Path | None, use: Use, field: Path, speech: Path | None) -> list[Example]:
    path = None if folder is None else folder / f"articulation_{use}.pkl"
    if path is not None and path.exists():
        found: list[Example] = pickle.loads(path.read_bytes())
        return found
    found = list(examples(_sounds(use, field, speech)))
    if path is not None:
        path.write_bytes(pickle.dumps(found))
    return found


def _write(model: tuple[float, Floats, Floats]) -> None:
    intercept, means, weights = model
    lines = [
        '"""Weights of `audio/articulation.py`. Written by `bench/turn_taking_articulation.py`."""\n',
        "import numpy as np\n",
        f"INTERCEPT = {intercept:.4f}",
        *(_lines(name, values) for name, values in (("MEANS", means), ("WEIGHTS", weights))),
    ]
    WEIGHTS_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(name: str, values: Floats) -> str:
    text = textwrap.fill(
        ", ".join(f"{value:.5g}" for value in values), 112, initial_indent=" " * 8, subsequent_indent=" " * 8
    )
    return f"{name} = np.array(\n    [\n{text}\n    ]\n)  # fmt: skip"


if __name__ == "__main__":
    main()
