"""Measures how long a turn waits for the recognizer, and what it waits for, without the noise of a machine.

    python -m bench.sound.recognizer_share --manifest FILE [--model tiny.en base] [--factor 1 2] [--clips N]
        [--cache DIR]

Runs the real VAD, the real recognizer with its scheduler, and the real turn taking in virtual time: a decode takes the
time of its encoder window and of its tokens, times `--factor` for a machine that is busy. The silence that ends a turn
is fixed. The share is the response latency less that of a recognizer that takes no time.
"""

import argparse
import asyncio
import hashlib
import json
import pickle
import random
import wave
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, TranscriptRequests
from assistant.setup.derived_settings import overlap_thresholds
from assistant.trace.waterfall import nearest_rank
from assistant.turns.effects import CloseSegment, CommitTurn, DropAttempt, OpenSegment, PrepareReply
from assistant.turns.events import FinalTranscript, FrameProcessed, InterimTranscript, ReplyId, ReportedEvent
from assistant.turns.settings import RecheckThresholds, TurnSettings
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.addressee import reason_to_ignore
from audio.frame import Frame
from audio.stt import RecognitionStream, Transcript
from audio.stt.whisper.decode_scheduler import ConversationShare, DecodeScheduler, ModelWorkers
from audio.stt.whisper.model import Decoded, LoadedWhisper, WhisperSettings
from audio.stt.whisper.shared_model import INTERIM_INTERVAL_SAMPLES
from audio.stt.whisper.stream import WhisperStream
from audio.stt.whisper.worker_threads import WhisperThread
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples
from audio.vad import CERTAIN_SPEECH, LIKELY_SPEECH
from audio.vad.silero.detector import SileroVad
from bench.turns.overlaps import VirtualLoop

T = TypeVar("T")

REPLY_MS = 165.0
"""Time from a transcript to the first sound of the reply: 100 ms to the first token, and the first chunk."""

SETTINGS = TurnSettings(
    hangover_ms=300.0,
    speculate_after_ms=40.0,
    interrupt_after_ms=40.0,
    rechecks=RecheckThresholds(settle_ms=160.0),
    overlap=overlap_thresholds("faster-whisper"),
)
"""As of a conversation, but with a fixed silence timeout."""

MOST_S = 12.0
"""Longest recording, in seconds."""

AFTER_S = 5.0
"""Room noise after the recording: a loop of its last quiet moments."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of the parts of a decode on one thread of a free machine, in ms.

    Attributes:
        encoder: A window of 10 s.
        start: The first step of the decoder.
        token: Each further token.
    """

    encoder: float
    start: float
    token: float


WORDS = Decoded("what time is it", "", "en", language_sure=False)
"""Result of a recognizer that takes no time: the silence timeout is fixed, so the words do not matter."""

COSTS = {"tiny.en": Cost(48.0, 6.0, 2.8), "base": Cost(100.0, 10.0, 6.0)}


class MeteredWhisper(LoadedWhisper):
    """Computes the virtual time of each decode, and keeps decodes in a folder.

    Attributes:
        encoded_ms: Virtual time at which the last decode could be aborted.
        total_ms: Virtual time of the last decode.
        is_wanted: Whether the last decode is still wanted.
        is_free: Whether decodes take no time and have words of no meaning.
    """

    encoded_ms = total_ms = 0.0
    is_free = False

    def __init__(self, settings: WhisperSettings, cache: Path, cost: Cost) -> None:
        """Loads the model."""
        self._cache, self._cost = cache, cost
        self._encodes: list[int] = []
        self._tokens: list[int] = []
        self.is_wanted: Callable[[], bool] = lambda: True
        super().__init__(settings)

    def decode(
        self,
        pcm: Pcm,
        language: str | None,
        *,
        retry: bool,
        is_wanted: Callable[[], bool] = lambda: True,
        **_given: Any,
    ) -> Decoded | None:
        """See `LoadedWhisper.decode`. It takes no time; `MeteredThread` waits and aborts."""
        self.is_wanted = is_wanted
        if self.is_free:
            self.encoded_ms = self.total_ms = 0.0
            return WORDS
        path = self._cache / hashlib.blake2b(pcm.tobytes() + bytes([retry]), digest_size=16).hexdigest()
        if path.exists():
            kept: tuple[Decoded | None, list[int], list[int]] = pickle.loads(path.read_bytes())
            decoded, encodes, tokens = kept
        else:
            self._encodes, self._tokens = [], []
            result = super().decode(pcm, language, retry=retry)
            decoded = None if result is None else replace(result, encoded=None)  # it cannot be kept
            encodes, tokens = self._encodes, self._tokens
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(pickle.dumps((decoded, encodes, tokens)))
        self.encoded_ms = self._cost.encoder * encodes[0] / 1000 if encodes else 0.0
        self.total_ms = sum(self._cost.encoder * encode / 1000 for encode in encodes)
        self.total_ms += sum(self._cost.start + self._cost.token * token for token in tokens)
        return decoded

    def encode(self, features: Any, frames: int) -> Any:
        """See `LoadedWhisper.encode`."""
        self._encodes.append(frames)
        return super().encode(features, frames)

    def generate(self, encoded: Any, language: str, samples: int, **given: Any) -> Any:
        """See `LoadedWhisper.generate`."""
        result = super().generate(encoded, language, samples, **given)
        self._tokens.append(len(self._tokenizer(language).encode(result.text)))
        return result


class MeteredThread(WhisperThread):
    """Runs a job at once and reports its result, or that it was aborted, when it would have ended."""

    def __init__(self, model: MeteredWhisper, factor: float) -> None:
        super().__init__(workers=0)
        self._model = model
        self._factor = factor

    def submit(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        result, model, loop = job(), self._model, asyncio.get_running_loop()
        is_wanted, first_s = model.is_wanted, self._factor * model.encoded_ms / 1000
        rest_s = self._factor * model.total_ms / 1000 - first_s

        def encoded() -> None:
            if is_wanted():
                loop.call_later(rest_s, done, result)
            else:
                done(None)  # type: ignore[arg-type]

        loop.call_later(first_s, encoded)


@dataclass(slots=True)
class Outcome:
    """Results of one turn; times in ms from the labelled end of speech."""

    latency_ms: float | None = None
    text: str = ""
    prepared_ms: float = 0.0
    committed_ms: float = 0.0
    requests: list[tuple[float, float, str]] = field(default_factory=list)


class _Turn:
    """A conversation with one turn. Performs the effects as a session does."""

    def __init__(self, pcm: Pcm, end: Samples, model: MeteredWhisper, factor: float, spare: int) -> None:
        self.outcome = Outcome()
        self._pcm, self._end = pcm, end
        self._requests = TranscriptRequests(TurnTaking(SETTINGS))
        self._scheduler = DecodeScheduler()
        self._scheduler.install(ModelWorkers(model, MeteredThread(model, factor), spare=spare))
        self._share = ConversationShare("en")
        self._stream: RecognitionStream | None = None
        self._position = Samples(0)
        self._prepared: dict[ReplyId, float] = {}
        self._transcriptions: dict[ReplyId, asyncio.Task[None]] = {}

    @property
    def _now_ms(self) -> float:
        return (asyncio.get_running_loop().time() - self._began_s) * 1000 - ms_of_samples(self._end)

    async def play_recording(self) -> Outcome:
        """Plays the recording and the silence after it."""
        vad, probability = SileroVad(), 0.0
        self._began_s = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as self._tasks:
            for start in range(0, len(self._pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
                await asyncio.sleep(self._began_s + (start + FRAME_SAMPLES) / MIC_RATE_HZ - _now_s())
                frame = Frame(Samples(start), self._pcm[start : start + FRAME_SAMPLES])
                self._position = frame.end
                if self._stream is not None:
                    self._stream.feed(frame.pcm)
                result, before = vad.process(frame), probability
                probability = result.probability
                if self._stream is not None and any(
                    probability < dip <= before for dip in (CERTAIN_SPEECH, LIKELY_SPEECH)
                ):
                    self._stream.probability_dip()
                self._handle(FrameProcessed(frame.end, result))
                if self.outcome.latency_ms is not None:
                    break
            for task in self._transcriptions.values():
                task.cancel()
        return self.outcome

    def _handle(self, event: ReportedEvent) -> None:
        for effect in self._requests.handle(event):
            self._apply(effect)

    def _apply(self, effect: SessionEffect) -> None:
        match effect:
            case OpenSegment(segment):
                if self._stream is not None:
                    self._stream.cancel()
                self._stream = WhisperStream(
                    self._scheduler, self._share, segment, INTERIM_INTERVAL_SAMPLES, self._interim
                )
                self._stream.feed(self._pcm[segment : self._position])
            case CloseSegment() if self._stream is not None:
                self._stream.close()
                self._stream = None
            case RecognizerRequest():
                self._transcriptions[effect.reply_id] = self._tasks.create_task(self._words(effect))
            case DropAttempt(reply_id) if reply_id in self._transcriptions:
                self._transcriptions.pop(reply_id).cancel()
            case PrepareReply():
                self._prepared[effect.reply_id] = self._now_ms
            case CommitTurn():
                outcome = self.outcome
                outcome.prepared_ms, outcome.committed_ms = (
                    self._prepared.get(effect.reply_id, self._now_ms),
                    self._now_ms,
                )
                outcome.latency_ms, outcome.text = (
                    max(outcome.prepared_ms + REPLY_MS, outcome.committed_ms),
                    effect.text,
                )
            case _:
                pass

    def _interim(self, transcript: Transcript) -> None:
        self._handle(InterimTranscript(self._position, transcript))

    async def _words(self, effect: RecognizerRequest) -> None:
        stream, began_ms = self._stream, self._now_ms
        if stream is None:
            return
        words = await stream.transcript(effect.speech_end, early=effect.early, draft=effect.draft)
        kind = "draft" if words.is_draft else "early" if effect.early else "settled"
        self.outcome.requests.append((began_ms, self._now_ms, kind))
        ignored = reason_to_ignore(words.text, reply_was_question=False)
        self._handle(FinalTranscript(self._position, effect.reply_id, words, ignored))


def _now_s() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording of one turn: its sound with silence after it, the end of speech, and its words if they are known."""

    name: str
    pcm: Pcm
    end: Samples
    words: str


def read_clips(manifest: Path, most: int) -> list[Clip]:
    """Returns recordings of one person with a known end and no pause, in an order that is always the same."""
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if _is_plain(row)]
    random.Random(7).shuffle(kept)
    return [_clip(manifest.parent / row["file"], row) for row in kept[:most]]


def _is_plain(row: dict[str, Any]) -> bool:
    one_person = row.get("kind") not in {"meeting", "conversation"} and row.get("lang", "en").startswith("en")
    known = bool(row.get("speech_end_s")) and not row.get("internal_pauses")
    return known and one_person and float(row.get("duration_s", row["speech_end_s"])) < MOST_S


def _clip(path: Path, row: dict[str, Any]) -> Clip:
    with wave.open(str(path)) as file:
        rate_hz, pcm = file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), np.int16)
    assert rate_hz == MIC_RATE_HZ
    end = round(row["speech_end_s"] * MIC_RATE_HZ)
    lead = np.zeros(MIC_RATE_HZ // 2, np.int16)
    quiet = pcm[: max(1, round(row.get("speech_start_s", 0.1) * MIC_RATE_HZ) - 800)]
    level = max(1.0, float(np.std(quiet[:8000])) if len(quiet) > 800 else 3.0)
    noise = np.random.default_rng(1).normal(0, min(level, 300.0), round(AFTER_S * MIC_RATE_HZ)).astype(np.int16)
    return Clip(str(row["id"]), np.concatenate([lead, pcm[:end + 1600], noise]), Samples(end + len(lead)),
                row.get("transcript") or "")  # fmt: skip


async def _played(clip: Clip, model: MeteredWhisper, factor: float, spare: int) -> Outcome:
    return await _Turn(clip.pcm, clip.end, model, factor, spare).play_recording()


def played(clips: Sequence[Clip], model: MeteredWhisper, factor: float, spare: int = 0) -> list[Outcome]:
    """Plays each clip as a turn of its own."""
    outcomes = []
    for clip in clips:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            outcomes.append(runner.run(_played(clip, model, factor, spare)))
    return outcomes


def figures(values: Sequence[float]) -> str:
    """Formats p50 and p95."""
    return f"{nearest_rank(list(values), 50):.0f} / {nearest_rank(list(values), 95):.0f}"


def main() -> None:
    """Measures and prints one row for each model and factor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--model", nargs="+", default=["tiny.en", "base"])
    parser.add_argument("--factor", help="time of a decode, as a multiple", nargs="+", type=float, default=[1.0, 2.0])
    parser.add_argument("--spare", nargs="+", type=int, default=[0, 1], help="spare workers, see ModelWorkers")
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--cache", type=Path, default=Path("out/decodes"))
    parser.add_argument("--list", type=Path, help="file for one JSON line a turn")
    given = parser.parse_args()
    clips = read_clips(given.manifest, given.clips)
    print("| model, times, spare workers | turns | share p50 / p95 ms | first words after | commit after |")
    rows = []
    for name in given.model:
        folder = installed(MODELS[name])
        assert folder is not None, f"repartee models pull {name}"
        model = MeteredWhisper(WhisperSettings(folder, cpu_threads=1), given.cache / name, COSTS[name])
        model.is_free = True
        free = played(clips, model, 1.0)
        model.is_free = False
        for factor, spare in product(given.factor, given.spare):
            outcomes = played(clips, model, factor, spare)
            both = [
                (outcome, none)
                for outcome, none in zip(outcomes, free, strict=True)
                if outcome.latency_ms and none.latency_ms
            ]
            shares = [outcome.latency_ms - none.latency_ms for outcome, none in both]  # type: ignore[operator]
            rows += [
                asdict(outcome)
                | {"clip": clip.name, "model": name, "factor": factor, "spare": spare, "said": clip.words}
                | {"free_ms": none.latency_ms}
                for clip, outcome, none in zip(clips, outcomes, free, strict=True)
            ]
            prepared, committed = (
                [outcome.prepared_ms for outcome, _ in both],
                [outcome.committed_ms for outcome, _ in both],
            )
            print(f"| `{name}`, {factor:g}, {spare} | {len(both)} | {figures(shares)} | {figures(prepared)} "
                  f"| {figures(committed)} |", flush=True)  # fmt: skip
    if given.list is not None:
        given.list.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
