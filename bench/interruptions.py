"""Measures how soon speech ducks and stops a reply, and the effect of noise; prints a table of docs/lab/experiments.md.

    python -m bench.interruptions [--manifest FILE]

The manifest is as in bench/recordings.py; noises are as in bench/beginnings.py. Runs the real VAD and turn taking on
virtual time during an endless reply. Speech comes after three seconds of its recording's room noise. Each recording is
played four times, shifted by 5 ms, because VAD windows may begin anywhere. Results are in whole frames of 20 ms; a
client also has the network delay in both directions.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soxr

from assistant.turns.effects import CommitTurn, DuckReply, InterruptReply, RequestTranscript
from assistant.turns.events import FrameProcessed, InterimTranscript, PlaybackProgress, ReplyId, ReplyRequested
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.frame import Frame
from audio.stt import Transcript
from audio.units import (
    FRAME_SAMPLES,
    MIC_RATE_HZ,
    REPLY_RATE_HZ,
    Pcm,
    Samples,
    ms_of_samples,
    samples_of_ms,
    samples_of_s,
)
from audio.vad import Vad
from audio.vad.silero.detector import SileroVad
from bench.beginnings import noises
from bench.recordings import Recording, read_recordings, room_of
from bench.vad import percentiles

ROOM_S = 3.0
SHIFTS_MS = (0, 5, 10, 15)
PERCENTILES = (50, 90, 95, 98)
SETTINGS = TurnSettings(interrupt_after_ms=40.0)  # the default of config.toml


@dataclass(slots=True)
class Interruptions:
    """Results of one set of recordings.

    Attributes:
        ducked_ms: Times from the labelled onset of speech to ducking.
        stopped_ms: Times to the interruption.
        too_soon: Recordings with ducking or an interruption before the onset, outside the first three seconds.
        never: Speech that did not stop the reply.
        ducks: Number of duckings by noise.
        stops: Number of interruptions by noise.
        voices: Number of speech recordings.
        audio_s: Duration of the sound.
    """

    ducked_ms: list[float] = field(default_factory=list)
    stopped_ms: list[float] = field(default_factory=list)
    too_soon: int = 0
    never: int = 0
    ducks: int = 0
    stops: int = 0
    voices: int = 0
    audio_s: float = 0.0

    def speech(self, vad: Vad, pcm: Pcm, onset: Samples) -> None:
        """Processes a recording whose speech begins at `onset`."""
        ducked, stopped, too_soon = None, None, False
        for at, effect in _into_replies(vad, pcm):
            if at < onset:
                too_soon = too_soon or at >= samples_of_s(ROOM_S)
                continue
            if isinstance(effect, DuckReply) and ducked is None:
                ducked = at
            if isinstance(effect, InterruptReply):
                stopped = at
                break
        self.voices += 1
        self.too_soon += too_soon
        self.audio_s += len(pcm) / MIC_RATE_HZ
        if stopped is None:
            self.never += 1
            return
        self.stopped_ms.append(ms_of_samples(stopped - onset))
        self.ducked_ms.append(ms_of_samples((stopped if ducked is None else ducked) - onset))

    def noise(self, vad: Vad, pcm: Pcm) -> None:
        """Processes a recording without speech to the assistant."""
        for _, effect in _into_replies(vad, pcm):
            self.ducks += isinstance(effect, DuckReply)
            self.stops += isinstance(effect, InterruptReply)
        self.audio_s += len(pcm) / MIC_RATE_HZ


def _into_replies(vad: Vad, pcm: Pcm) -> Iterator[tuple[Samples, DuckReply | InterruptReply]]:
    """Yields what a recording does to replies. After an interruption another reply starts behind the voice."""
    vad.reset()
    stopped = True
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        vad_result = vad.process(frame)
        if stopped and not vad_result.speaking:
            turns, reply = _replying(frame.start)
            stopped = False
        if stopped:
            continue
        turns.handle(PlaybackProgress(frame.start, reply, 1, audible=True))
        for effect in turns.handle(FrameProcessed(frame.end, vad_result)):
            if isinstance(effect, RequestTranscript):  # no transcripts in this bench
                turns.handle(
                    InterimTranscript(frame.end, Transcript(effect.segment, frame.end, ""), was_requested=True)
                )
            if isinstance(effect, DuckReply | InterruptReply):
                yield frame.end, effect
            stopped = stopped or isinstance(effect, InterruptReply)


def _replying(at: Samples) -> tuple[TurnTaking, ReplyId]:
    turns = TurnTaking(SETTINGS)
    (reply,) = [
        effect.reply
        for effect in turns.handle(ReplyRequested(at, "greeting", "Hello."))
        if isinstance(effect, CommitTurn)
    ]
    turns.handle(PlaybackProgress(at, reply, 1, audible=True))
    return turns, reply


def spoken(recording: Recording) -> tuple[Pcm, Samples]:
    """Returns the recording after its room noise, at MIC_RATE_HZ, and the first sample of its speech."""
    room = np.resize(room_of(recording), int(ROOM_S * REPLY_RATE_HZ))
    pcm = soxr.resample(np.concatenate([room, recording.pcm]), REPLY_RATE_HZ, MIC_RATE_HZ)
    return np.asarray(pcm, np.int16), samples_of_s(ROOM_S + recording.start_s)


def listened(recordings: Sequence[Recording], noise: Iterable[Pcm] = ()) -> Interruptions:
    """Processes speech and noise at all shifts."""
    found, vad = Interruptions(), SileroVad()
    for shift in map(samples_of_ms, SHIFTS_MS):
        for recording in recordings:
            pcm, onset = spoken(recording)
            found.speech(vad, pcm[shift:], Samples(onset - shift))
        for pcm in noise:
            found.noise(vad, pcm[shift:])
    return found


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description="Measures how soon speech during a reply lowers and stops the reply.")
    parser.add_argument("--manifest", type=Path, default=Path("tests/recordings/manifest.jsonl"))
    manifest = parser.parse_args().manifest
    found = listened([recording for recording in read_recordings(manifest) if recording.kind != "noise"])
    times = percentiles(found.ducked_ms, PERCENTILES), percentiles(found.stopped_ms, PERCENTILES)
    print("| voices | lowered after p50/90/95/98 ms | stopped after p50/90/95/98 ms | too soon | never |")
    print("|---" * 5 + "|")
    print(f"| {found.voices} | {times[0]} | {times[1]} | {found.too_soon} | {found.never} |\n")
    print("| noise | minutes | lowered | stopped |\n" + "|---" * 4 + "|")
    for name, voices in (("without voices", False), ("with voices in it", True)):
        found = listened([], list(noises(manifest, voices=voices)))
        print(f"| {name} | {found.audio_s / 60:.1f} | {found.ducks} | {found.stops} |")


if __name__ == "__main__":
    main()
