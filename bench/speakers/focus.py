"""Measures what `voice.focus = "first"` does beside another person, a television and babble. Virtual time.

    python -m bench.speakers.focus --field DIR [--use train|judge] [--most SPEAKERS] [--seed N]

Each conversation begins with a recording of the user, whose voice becomes that of the conversation. Then comes a second
recording of the user, of the same call if there is one, another voice, or both. The real VAD, embedder and turn taking
run; see `conversation.py`. Other voices are of the same band as the user, chosen by a fixed random order.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assistant.models.needs import installed
from assistant.pipeline.speakers.voice_watch import STEP, WINDOW
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.speaker_embedding.embedder import SpeakerEmbedder
from audio.units import MIC_RATE_HZ, Pcm, ms_of_samples, s_of_samples
from audio.vad import VadResult
from bench.speakers.conversation import Conversation, Outcome, vad_results
from bench.speakers.figures import equal_error_rate, reduction, share
from bench.speakers.recordings import Clip, at_db, joined, mixed, read_clips, room_noise

PAUSE = MIC_RATE_HZ * 3 // 2
"""Silence, in samples, between the first turn and what follows, and after it."""

LATE_WORD_MS = 150.0
"""A turn that begins later after its first word, in ms, has lost it. Segments begin 300 ms before the onset."""

Cases = dict[str, list[int]]


def scene(first: Clip, then: Pcm, seed: int) -> tuple[Pcm, int, int]:
    """Returns the sound of a conversation, and where its second part begins and ends."""
    lead = MIC_RATE_HZ // 2
    begin = lead + len(first.pcm) + PAUSE
    total = room_noise(begin + len(then) + PAUSE, seed)
    total = mixed(mixed(total, first.pcm, lead), then, begin)
    return total, begin, begin + len(then)


def answered(outcome: Outcome, begin: int, end: int) -> int:
    """Returns how many turns with speech in this span were answered."""
    return sum(begin < turn.speech_end and turn.segment < end and turn.at > begin for turn in outcome.committed)


def first_word_lost(outcome: Outcome, begin: int, end: int) -> bool:
    """Returns whether the first answered turn in this span begins after its first word. `begin`: 0.2 s before it."""
    turns = [turn for turn in outcome.committed if begin < turn.speech_end and turn.at > begin and turn.segment < end]
    onset = begin + MIC_RATE_HZ // 5
    return bool(turns) and ms_of_samples(turns[0].segment) > ms_of_samples(type(turns[0].segment)(onset)) + LATE_WORD_MS


class Bench:
    """Plays the scenes of all speakers, each with the focus and without.

    Attributes:
        answered: Answered turns in the second part of each scene, by its name and whether there is a focus.
        late: Whether the first word of an answered own turn was lost, likewise.
        delays: Times in ms from the onset of the own voice to the end of a reply, likewise.
    """

    def __init__(self, embedder: SpeakerEmbedder, clips: dict[str, list[Clip]], seed: int, most: int) -> None:
        self.embedder, self.clips = embedder, clips
        self.random = np.random.default_rng(seed)
        self.answered: dict[str, dict[bool, Cases]] = defaultdict(lambda: {False: {}, True: {}})
        self.late: dict[bool, Cases] = {False: {}, True: {}}
        self.delays: dict[bool, list[float]] = {False: [], True: []}
        self.most, self.played = most, 0

    def run(self) -> None:
        """Plays all speakers, in an order that mixes the bands; an interrupt ends it with the figures so far."""
        try:
            for number, speaker in enumerate(list(self.clips)[: self.most], 1):
                self.play_speaker(speaker)
                self.played = number
        except KeyboardInterrupt:
            print(f"interrupted after {self.played} speakers")

    def others(self, speaker: str, count: int) -> list[Clip]:
        """Returns recordings of other people in the same band."""
        band = self.clips[speaker][0].band
        names = [name for name in self.clips if name != speaker and self.clips[name][0].band == band]
        chosen = self.random.choice(len(names), min(count, len(names)), replace=False)
        return [self.clips[names[number]][0] for number in chosen]

    def play_speaker(self, speaker: str) -> None:
        first, *more = self.clips[speaker]
        own = [clip for clip in more if clip.call == first.call] or more
        others = self.others(speaker, 9)
        self.play("own", speaker, first, own[0].pcm, own=True)
        self.play("other", speaker, first, others[0].pcm)
        self.play("television", speaker, first, television(others[1:3]), reply_s=3.0)
        self.play("babble", speaker, first, babble(others[3:9]))
        for ratio_db in (0, 5, 10):
            beside = at_db(joined([clip.pcm for clip in others[1:3]], 0.3), -ratio_db)
            self.play(
                f"own over other {ratio_db}", speaker, first, mixed(own[0].pcm, beside[: len(own[0].pcm)]), own=True
            )
        self.interrupt(speaker, first, own[0])

    def play(self, name: str, speaker: str, first: Clip, then: Pcm, *, own: bool = False, reply_s: float = 0.3) -> None:
        pcm, begin, end = scene(first, then, len(name))
        detected = vad_results(pcm)
        for focus in (False, True):
            outcome = self.converse(pcm, detected, focus=focus, reply_s=reply_s)
            self.answered[name][focus].setdefault(speaker, []).append(answered(outcome, begin, end))
            if own and answered(outcome, begin, end):
                self.late[focus].setdefault(speaker, []).append(first_word_lost(outcome, begin, end))

    def converse(self, pcm: Pcm, detected: Sequence[VadResult], *, focus: bool, reply_s: float) -> Outcome:
        return Conversation(self.embedder if focus else None, reply_s).play(pcm, detected)

    def interrupt(self, speaker: str, first: Clip, clip: Clip) -> None:
        """Interrupts a reply that goes on."""
        pcm, begin, _ = scene(first, clip.pcm, 0)
        detected = vad_results(pcm)
        for focus in (False, True):
            outcome = self.converse(pcm, detected, focus=focus, reply_s=60.0)
            after = [at for at in outcome.interrupted if at > begin]
            if after:
                self.delays[focus].append(ms_of_samples(type(after[0])(after[0] - begin)) - 200)


def television(clips: Sequence[Clip]) -> Pcm:
    """Returns people who speak in turn, with little silence, and noise."""
    sound = joined([clip.pcm for clip in clips], 0.15)
    return mixed(sound, room_noise(len(sound), 1, 60.0))


def babble(clips: Sequence[Clip]) -> Pcm:
    """Returns people who speak at once, each at a level of -8 dB."""
    total = np.zeros(0, np.int16)
    for clip in clips:
        total = mixed(total, at_db(clip.pcm, -8))
    return total


def similarities(
    embedder: SpeakerEmbedder, clips: dict[str, list[Clip]], pair: Callable[[Clip, Clip], bool], seconds: float
) -> tuple[list[float], list[float]]:
    """Returns the similarities of whole recordings with so many seconds of others: of one speaker, of two."""
    whole = {id(clip): embedder.embedding(clip.speech) for known in clips.values() for clip in known[:2]}
    parts = {
        id(c): embedder.embedding(c.speech[: int(seconds * MIC_RATE_HZ)]) for known in clips.values() for c in known[:2]
    }
    flat = [clip for known in clips.values() for clip in known[:2]]
    same, others = list[float](), list[float]()
    for one in flat:
        for two in flat:
            if one is two or one.band != two.band:
                continue
            similarity = float(whole[id(one)] @ parts[id(two)])
            if one.speaker != two.speaker:
                others.append(similarity)
            elif pair(one, two):
                same.append(similarity)
    return same, others


def print_error_rates(embedder: SpeakerEmbedder, clips: dict[str, list[Clip]]) -> None:
    for band in ("telephone", "wideband"):
        of_band = {name: known for name, known in clips.items() if known[0].band == band}
        for session, pair in (("same", _same_call), ("other", _other_call)):
            same, others = similarities(embedder, of_band, pair, 2.0)
            if len(same) >= 20:
                rate, limit = equal_error_rate(same, others)
                about = f"n {len(same)}, {len(of_band)} speakers"
                print(f"EER, {band}, {session} session, 2 s: {100 * rate:.1f} % at {limit:.2f} ({about})")


def _same_call(one: Clip, two: Clip) -> bool:
    return one.call == two.call


def _other_call(one: Clip, two: Clip) -> bool:
    return one.call != two.call


def print_cpu(embedder: SpeakerEmbedder, clips: dict[str, list[Clip]]) -> None:
    pcm = next(iter(clips.values()))[0].speech[:WINDOW]
    begun_s, runs = time.thread_time(), 40
    for _ in range(runs):
        embedder.embedding(pcm)
    window_ms = 1000 * (time.thread_time() - begun_s) / runs
    print(f"CPU: {window_ms:.1f} ms a window, {window_ms / s_of_samples(STEP):.0f} ms a second of speech")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", type=Path, required=True)
    parser.add_argument("--use", choices=["train", "judge"], default="train")
    parser.add_argument("--most", type=int, default=1000, help="number of speakers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    embedder = SpeakerEmbedder.load(given.model or installed(SPEAKER_EMBEDDER))
    clips = dict(read_clips(given.field, given.use, 3))
    print(f"{given.use}: {len(clips)} speakers", flush=True)
    bench = Bench(embedder, clips, given.seed, given.most)
    bench.run()
    for name, by_focus in bench.answered.items():
        before, after = by_focus[False], by_focus[True]
        print(
            f"{name}: answered {share(before)}, with focus {share(after)}, fall {reduction(before, after)}", flush=True
        )
    own = bench.answered["own"]
    lost = {
        name: [was and not kept for was, kept in zip(own[False][name], own[True][name], strict=True)]
        for name in own[True]
    }
    print(f"own turns lost: {share(lost)}")
    print(f"first word lost: off {share(bench.late[False])}, first {share(bench.late[True])}")
    for focus, delays in bench.delays.items():
        p50, p95 = np.quantile(delays or [np.nan], [0.5, 0.95])
        print(f"interruption by the own voice, focus {focus}: p50 {p50:.0f} ms, p95 {p95:.0f} ms (n {len(delays)})")
    print_cpu(embedder, clips)
    print_error_rates(embedder, clips)


if __name__ == "__main__":
    main()
