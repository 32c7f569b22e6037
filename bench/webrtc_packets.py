"""Measures what loss and jitter do to the sound of a WebRTC call, at the packet level: no network, no real time.

    python -m bench.webrtc_packets [--loss 0,2,5,10] [--jitter-ms 0,30,60] [--clips 8] [--rounds 2]

Each clip is encoded with Opus as browsers do, its packets are lost or delayed at random (so they overtake each other,
which is worse than one path), and `web.webrtc.incoming` makes sound of them again. Word errors are those of Whisper
tiny.en. Kinds:

- `as called`: concealment, and the copy of a lost frame in the next packet (in-band FEC);
- `without copies`: concealment only;
- `nothing`: lost frames are silent.

Wait: from the time at which a packet would arrive without jitter until its sound is passed on.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soxr

from assistant.commands.engine_bench.words import word_errors
from assistant.models.needs import installed
from audio.stt.whisper.catalogue import TINY_EN
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm
from bench.recordings import Recording, read_recordings
from web.webrtc.incoming import IncomingAudio
from web.webrtc.jitter_buffer import JitterBuffer, OrderedPacket
from web.webrtc.opus import FRAME_SAMPLES, FRAME_TICKS, OpusDecoder, OpusEncoder

MANIFEST = Path(__file__).parent / "clips" / "manifest.jsonl"
FRAME_S = 0.02
LONGEST_S = 8.0
KINDS = ("as called", "without copies", "nothing")


class _WithoutCopies(OpusDecoder):
    def decode_copy(self, packet: bytes, samples: int) -> Pcm:
        return self.conceal(samples)


class _Silent(OpusDecoder):
    def decode_copy(self, packet: bytes, samples: int) -> Pcm:
        return np.zeros(samples, np.int16)

    def conceal(self, samples: int) -> Pcm:
        return np.zeros(samples, np.int16)


_DECODERS = dict(zip(KINDS, (OpusDecoder, _WithoutCopies, _Silent), strict=True))


class _NotedBuffer(JitterBuffer):
    """Notes the numbers of the packets that it passes on."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[int] = []

    def _taken(self, timestamp: int, payload: bytes) -> OrderedPacket:
        self.passed.append(timestamp // FRAME_TICKS)
        return super()._taken(timestamp, payload)


@dataclass(frozen=True, slots=True)
class Network:
    """A network and what is done about it; loss in percent."""

    loss: float
    jitter_ms: float
    kind: str


@dataclass(slots=True)
class Course:
    """Results of the clips in one network.

    Attributes:
        pairs: (reference, recognized text).
        waits_ms: Wait of each packet that was heard.
        lost: Frames without a packet, among `frames`.
    """

    pairs: list[tuple[str, str]] = field(default_factory=list)
    waits_ms: list[float] = field(default_factory=list)
    lost: int = 0
    frames: int = 0


def through(pcm: Pcm, network: Network, rng: random.Random, course: Course) -> Pcm:
    """Sends a clip through the network; notes what happened in `course`."""
    encoder, audio, buffer = OpusEncoder(), IncomingAudio(), _NotedBuffer()
    audio.buffer, audio._decoder = buffer, _DECODERS[network.kind]()
    heard: list[Pcm] = []
    padded = np.concatenate([pcm, np.zeros(-len(pcm) % FRAME_SAMPLES, np.int16)]).reshape(-1, FRAME_SAMPLES)
    arrivals = []
    for number, frame in enumerate(padded):
        packet = encoder.encode(frame)
        if number == 0 or rng.random() >= network.loss / 100:
            arrivals.append((number * FRAME_S + rng.uniform(0, network.jitter_ms / 1000), number, packet))

    def note(now_s: float) -> None:
        course.waits_ms += [(now_s - number * FRAME_S) * 1000 for number in buffer.passed]
        buffer.passed.clear()

    for now_s, number, packet in sorted(arrivals):
        while (due_s := buffer.due_s) is not None and due_s < now_s:
            heard += audio.on_time(due_s)
            note(due_s)
        heard += audio.push(number, number * FRAME_TICKS, packet, now_s)
        note(now_s)
    heard += audio.on_time(1e9)
    course.lost += len(padded) - buffer.received
    course.frames += len(padded)
    return np.concatenate(heard)


def clips(count: int) -> list[Recording]:
    """Returns short clips with a transcript."""
    known = [one for one in read_recordings(MANIFEST) if one.kind == "plain" and one.transcript]
    return [one for one in known if len(one.pcm) < LONGEST_S * REPLY_RATE_HZ][:count]


def row(whisper: LoadedWhisper, chosen: Sequence[Recording], network: Network, rounds: int) -> str:
    """Measures one network. Returns one line of the table."""
    rng, course = random.Random(5), Course()
    for _ in range(rounds):
        for clip in chosen:
            pcm = through(clip.pcm, network, rng, course)
            narrow = np.asarray(soxr.resample(pcm, REPLY_RATE_HZ, MIC_RATE_HZ), np.int16)
            decoded = whisper.decode(narrow, "en", retry=True)
            course.pairs.append((clip.transcript or "", decoded.text if decoded else ""))
    found = word_errors(course.pairs, "en")
    p50, p95, p99 = np.percentile(course.waits_ms, [50, 95, 99])
    lost = f"{100 * course.lost / course.frames:.1f}"
    waits = f"{p50:.0f} / {p95:.0f} / {p99:.0f}"
    errors = f"{100 * found.errors / found.said:.1f} ({found.errors} of {found.said})"
    return f"| {network.loss:g} | {network.jitter_ms:g} | {network.kind} | {lost} | {waits} | {errors} |"


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Measures WebRTC sound after loss and jitter, at the packet level.")
    parser.add_argument("--loss", default="0,2,5,10", help="percent")
    parser.add_argument("--jitter-ms", default="0,30,60")
    parser.add_argument("--clips", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    model = installed(TINY_EN)
    if model is None:
        raise SystemExit("this needs tiny.en: run repartee models pull tiny.en")
    whisper, chosen = LoadedWhisper(WhisperSettings(model)), clips(options.clips)
    print("| loss % | jitter ms | kind | frames without packet % | wait p50 / p95 / p99 ms | word errors % |")
    print("|---|---|---|---|---|---|", flush=True)
    for loss in map(float, options.loss.split(",")):
        for jitter_ms in map(float, options.jitter_ms.split(",")):
            for kind in options.kinds.split(",") if loss or jitter_ms else KINDS[:1]:
                print(row(whisper, chosen, Network(loss, jitter_ms, kind), options.rounds), flush=True)


if __name__ == "__main__":
    main()
