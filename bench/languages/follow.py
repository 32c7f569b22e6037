"""Judges how the language of each utterance is followed, with the model base.

    python -m bench.languages.follow collect FILE --use fit|judge|everyday [--sentences 50] [--recorded FOLDER …]
    python -m bench.languages.follow judge FILE
    python -m bench.languages.follow cost

`collect` computes the evidence of utterances, which takes minutes; `judge` applies the policy to it; `cost` measures
what the decision adds to a decode. A FOLDER has recorded English speech and a manifest.jsonl.
"""

import argparse
import statistics
import time
from itertools import chain
from pathlib import Path

from audio.languages.conversation_language import ConversationLanguage
from audio.stt.whisper.encoder_window import encoder_frames
from audio.units import MIC_RATE_HZ
from bench.languages.evidence import evidence_of, loaded, read, store
from bench.languages.judgement import compared_turns, followed_changes, where, wrong_changes
from bench.languages.utterances import LANGUAGES, recorded, run_all, utterances

DIALOGUES, TURNS = 100, 12


def main() -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("collect", "judge", "cost"))
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--use", choices=("fit", "judge", "everyday"), default="everyday")
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--recorded", type=Path, nargs="*", default=[])
    parser.add_argument("--most", type=int, default=120, help="recorded turns of each folder")
    given = parser.parse_args()
    if given.action == "collect":
        use = "train" if given.use == "fit" else "judge"
        skipped = given.most if given.use == "everyday" else 0  # the set "judge" has them
        clips = [recorded(folder, use, given.most, skipped) for folder in given.recorded]
        pairs = chain(run_all(utterances(given.use, given.sentences)), *clips)
        store(given.file, evidence_of(loaded(), pairs))
    elif given.action == "judge":
        _judge(given.file)
    else:
        _cost()


def _judge(path: Path) -> None:
    evidence = read(path)
    for name, kinds in (("recorded English", {"recorded"}), ("sentences", {"sentence"}), ("short", {"short", "name"})):
        share, wrong = wrong_changes(where(evidence, lambda one, kinds=kinds: one.utterance.kind in kinds))  # type: ignore[misc]
        print(f"wrong changes, {name}: {share}")
        for one in wrong:
            print(f"  {one.utterance.voice}: {one.utterance.text} -> {one.words}")
    share, _ = wrong_changes(evidence)
    print(f"wrong changes, all: {share}; recognized in two languages: {compared_turns(evidence)}")
    sentences = where(evidence, lambda one: one.utterance.kind == "sentence")
    for name, robotic in (("without espeak-ng", False), ("espeak-ng", True)):
        of_voices = where(sentences, lambda one, robotic=robotic: one.utterance.voice.startswith("espeak") == robotic)  # type: ignore[misc]
        share, then, missed = followed_changes(of_voices, DIALOGUES, TURNS)
        print(f"changes followed, voices {name}: {share}; after a missed one: {then}")
        for text in sorted(set(missed))[:20]:
            print(f"  {text}")


def _cost() -> None:
    """Prints the processor time of a decode, of the detection, and how often the detection is left out."""
    model = loaded()
    state = ConversationLanguage(LANGUAGES, "en", is_first=False)
    pairs = run_all([one for one in utterances("fit", 12) if one.language == "en" and one.kind == "sentence"])
    times: dict[str, list[float]] = {"encode": [], "detect": [], "decode": []}
    for _utterance, pcm in pairs:
        features = model.features(pcm)
        began_s = time.process_time()
        encoded = model.encode(features, encoder_frames(len(pcm), "adaptive"))
        times["encode"].append(time.process_time() - began_s)
        began_s = time.process_time()
        model.language_probabilities(encoded)
        times["detect"].append(time.process_time() - began_s)
        began_s = time.process_time()
        model.generate(encoded, "en", len(pcm))
        times["decode"].append(time.process_time() - began_s)
        half = model.decode(pcm[: round(0.6 * len(pcm))], "en", retry=False, languages=state)
        sure = half is not None and half.sure_of_current
        print(f"{len(pcm) / MIC_RATE_HZ:.1f} s: {'sure' if sure else 'examined again'} after 60 %")
    for name, values in times.items():
        print(f"{name}: p50 {1000 * statistics.median(values):.1f} ms of {len(values)}")


if __name__ == "__main__":
    main()
