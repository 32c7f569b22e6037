"""Measures which VAD onsets begin a turn outside of speech; prints a table of docs/lab/vad.md.

    python -m bench.beginnings [--manifest FILE]

The manifest is that of `bench.vad`; a recording without a `tag` is speech. Before and after the speech
the recording has the noise of its room. A noise starts abruptly after silence, at its own level and 10 dB softer and
louder.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assistant.pipeline.transcript_requests import RecognizerRequest, TranscriptRequests
from assistant.turns.effects import TurnStarted
from assistant.turns.events import FinalTranscript, FrameProcessed
from assistant.turns.settings import TurnSettings
from assistant.turns.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.frame import Frame
from audio.stt import Transcript
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples
from audio.vad import Vad
from audio.vad.silero.detector import SileroVad
from bench.recordings import read_pcm
from bench.vad import padded, percentiles

LEVELS_DB = (-10, 0, 10)
SILENCE_S = 0.6


@dataclass(slots=True)
class Beginnings:
    """Result for one set of recordings.

    Attributes:
        opened: Number of VAD onsets while no turn was open.
        later_ms: For onsets that became part of a turn: delay of the turn's beginning.
        audio_s: Duration of the sound.
    """

    opened: int = 0
    later_ms: list[float] = field(default_factory=list)
    audio_s: float = 0.0

    def listen(self, vad: Vad, pcm: Pcm) -> None:
        """Processes a recording without any transcripts: each turn ends with its silence timeout."""
        vad.reset()
        turns = TurnTaking(TurnSettings())
        requests = TranscriptRequests(turns)
        waiting: list[tuple[Samples, Samples]] = []  # onsets not yet in a turn: position, and when it was reported
        speaking = False
        self.audio_s += len(pcm) / MIC_RATE_HZ
        for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
            vad_result, idle = vad.process(frame), turns.phase is Phase.IDLE
            if idle and vad_result.speaking and not speaking:
                waiting.append((vad_result.boundary, frame.end))
                self.opened += 1
            speaking = vad_result.speaking
            for effect in requests.handle(FrameProcessed(frame.end, vad_result)):
                if isinstance(effect, TurnStarted):
                    known = [known for edge, known in waiting if edge >= effect.onset]
                    self.later_ms.extend(ms_of_samples(frame.end - at) for at in known)
                    waiting.clear()
                if isinstance(effect, RecognizerRequest):
                    requests.handle(FinalTranscript(frame.end, effect.reply, Transcript(effect.segment, frame.end, "")))


def speech(manifest: Path) -> Iterator[Pcm]:
    """Yields the speech recordings with room noise around them."""
    for row in _rows(manifest):
        if row.get("tag", "speech") != "noise":
            yield padded(read_pcm(manifest.parent / str(row["file"])), seed=1)


def noises(manifest: Path, *, voices: bool) -> Iterator[Pcm]:
    """Yields each noise at all levels; either those with voices or those without."""
    for row in _rows(manifest):
        if row.get("tag") != "noise" or bool(row.get("contains_voices") or row.get("silero_speech_s")) != voices:
            continue
        pcm = read_pcm(manifest.parent / str(row["file"])).astype(np.float64)
        for level_db in LEVELS_DB:
            louder = (pcm * 10 ** (level_db / 20)).round().clip(-32_768, 32_767).astype(np.int16)
            yield np.concatenate([np.zeros(int(SILENCE_S * MIC_RATE_HZ), np.int16), louder])


def _rows(manifest: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]


def row_of(name: str, recordings: Sequence[Pcm]) -> str:
    """Returns one row of the table."""
    found, vad = Beginnings(), SileroVad()
    for pcm in recordings:
        found.listen(vad, pcm)
    return (
        f"| {name} | {len(recordings)}, {found.audio_s / 60:.1f} min | {found.opened} | {len(found.later_ms)} "
        f"| {percentiles(found.later_ms, (50, 95, 100))} |"
    )


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description="Measures which speech begins a turn.")
    parser.add_argument("--manifest", type=Path, default=Path("tests/recordings/manifest.jsonl"))
    manifest = parser.parse_args().manifest
    print("| set | recordings | detector onsets | of these in a turn | delay p50/95/max ms |\n" + "|---" * 5 + "|")
    sets = {
        "speech": list(speech(manifest)),
        "noise without voices": list(noises(manifest, voices=False)),
        "noise with voices in it": list(noises(manifest, voices=True)),
    }
    for name, recordings in sets.items():
        if recordings:
            print(row_of(name, recordings))


if __name__ == "__main__":
    main()
