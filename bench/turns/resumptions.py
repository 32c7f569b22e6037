"""Measures how long a reply is heard by a person who goes on speaking after a pause. Virtual time.

    python -m bench.turns.resumptions --field DIR [--use train|judge] [--cache DIR] [--most N] [--list FILE]

Runs the real VAD, the real recognizer and the real turn taking (`bench.turns.overlaps`). Each case is a labelled pause
of a recording. A fixed silence timeout is chosen so that the reply becomes audible `LEADS_MS` before the person goes
on, or after it. Short sounds that are no speech are played into the first second of other replies: those go on.
"""

import argparse
import asyncio
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.pipeline.reply_production import MAX_HOLD_S
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, TranscriptRequests
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    HoldPlayback,
    InterruptReply,
    ReleasePlayback,
    RequestTranscript,
    RetractReply,
)
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    ReplyId,
    ReportedEvent,
)
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.backchannel import ignorable_probability
from audio.frame import Frame
from audio.stt import Transcript
from audio.stt.whisper.decode_scheduler import ConversationShare, DecodeScheduler, ModelWorkers
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.stt.whisper.stream import WhisperStream
from audio.units import FRAME_MS, FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult
from audio.vad.silero.detector import SileroVad
from bench.end_of_turn.clips import Turn, Use, room_noise
from bench.end_of_turn.manifest import turns
from bench.turns.overlap_clips import Sound, read_sounds
from bench.turns.overlaps import WORDS_DECIDE, CachedWhisper, VirtualLoop, VirtualThread

LEADS_MS = (400.0, 200.0, 0.0, -200.0)
"""Times from the first sound of the reply to the end of the pause, in ms."""

NOISE_AFTER_MS = (100.0, 350.0, 600.0)
"""Times from the first sound of the reply to a sound that is no speech, in ms."""

PAUSE_FROM_MS = 300.0
WORK_MS = 60.0
"""Time from the commit to the first sound of the reply, in ms."""

SHORTEST_TIMEOUT_MS = 240.0
LATEST_COMMIT_MS = 300.0
"""Time after the end of the pause, in ms, from which a commit is that of another pause."""

WORD_MS = 300.0
"""Length of each word of the reply, in ms."""

_NEVER = Samples(10**9)  # samples between interim transcripts: there are none

ROOM_S, REST_S = 1.0, 3.0
"""Room noise before a case, and what follows its pause, in seconds."""

NOISE = "noise"


@dataclass(frozen=True, slots=True)
class Case:
    """A pause of a turn, or a turn and a sound that is no speech.

    Attributes:
        group: Kind of speech, or `NOISE`.
        name: Identifies it in lists.
        pcm: The sound, int16, shape (n,), at MIC_RATE_HZ.
        resumes: Where the person, or the noise, begins after the pause.
        spans: The speech from there on, as (begin, end).
        timeout_ms: Silence timeout.
    """

    group: str
    name: str
    pcm: Pcm
    resumes: Samples
    spans: tuple[tuple[int, int], ...]
    timeout_ms: float


@dataclass(slots=True)
class Heard:
    """The result of a case. Times in ms are from the end of the pause.

    Attributes:
        group: As in the case.
        name: As in the case.
        audible_ms: When the reply became audible; None: it never was.
        possible_ms: When the VAD first reported a possible onset after the pause.
        speaking_ms: When it first reported speech.
        stopped_ms: When the reply was withdrawn or interrupted.
        stopped_by: "retracted", "interrupted"; "" for neither.
        overlap_ms: How long the reply was audible during the speech, or during the noise.
        paused_ms: How long the reply was held after its first sound.
    """

    group: str
    name: str
    audible_ms: float | None = None
    possible_ms: float | None = None
    speaking_ms: float | None = None
    stopped_ms: float | None = None
    stopped_by: str = ""
    overlap_ms: float = 0.0
    paused_ms: float = 0.0


class _Resumed:
    """A conversation in which the person goes on during the reply. Performs the effects as a session does."""

    def __init__(self, case: Case, settings: TurnSettings, model: LoadedWhisper, decode_s: float) -> None:
        self.case, self.heard = case, Heard(case.group, case.name)
        self._requests = TranscriptRequests(TurnTaking(settings))
        self._scheduler = DecodeScheduler()
        self._scheduler.install(ModelWorkers(model, VirtualThread(decode_s)))
        self._share, self._decode_s = ConversationShare("en"), decode_s
        self._overlap: asyncio.Task[None] | None = None
        self._position = Samples(0)
        self._reply_id: ReplyId | None = None
        self._plays_from = Samples(0)
        self._held_since: Samples | None = None
        self._played = 0

    async def play(self, tasks: asyncio.TaskGroup) -> Heard:
        """Plays the case until the reply is stopped, or to its end."""
        self._tasks, vad, pcm = tasks, SileroVad(), self.case.pcm
        for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            await asyncio.sleep(FRAME_SAMPLES / MIC_RATE_HZ)
            frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
            self._position = frame.end
            result = vad.process(frame)
            self._note_detection(result)
            self._play_frame()
            self._handle(FrameProcessed(frame.end, result))
            if self.heard.stopped_by:
                break
        if self._overlap is not None:
            self._overlap.cancel()
        return self.heard

    def _since_resumption_ms(self) -> float:
        return ms_of_samples(Samples(self._position - self.case.resumes))

    def _note_detection(self, vad: VadResult) -> None:
        since_ms, heard = self._since_resumption_ms(), self.heard
        if since_ms <= 0:
            return
        if heard.possible_ms is None and (vad.possible_onset or vad.speaking):
            heard.possible_ms = since_ms
        if heard.speaking_ms is None and vad.speaking:
            heard.speaking_ms = since_ms

    def _play_frame(self) -> None:
        """Plays 20 ms of the reply, unless it is held."""
        position = self._position
        if self._reply_id is None or position < self._plays_from + FRAME_SAMPLES:
            return
        since = self._held_since
        if since is not None and (self._played or position - since < samples_of_s(MAX_HOLD_S)):
            self.heard.paused_ms += FRAME_MS if self._played else 0
            return
        begins = position - FRAME_SAMPLES
        if not self._played:
            self.heard.audible_ms = self._since_resumption_ms() - FRAME_MS
        self._played += FRAME_SAMPLES
        spoken = sum(max(0, min(position, end) - max(begins, begin)) for begin, end in self.case.spans)
        self.heard.overlap_ms += ms_of_samples(Samples(spoken))
        words = int(ms_of_samples(Samples(self._played)) // WORD_MS)
        self._handle(PlaybackProgress(position, self._reply_id, words, audible=True))

    def _handle(self, event: ReportedEvent) -> None:
        for effect in self._requests.handle(event):
            self._apply(effect)

    def _apply(self, effect: SessionEffect) -> None:
        match effect:
            case CloseSegment() if self._overlap is not None:
                self._overlap.cancel()
                self._overlap = None
            case RequestTranscript():
                if self._overlap is not None:
                    self._overlap.cancel()
                self._overlap = self._tasks.create_task(self._words_of_overlap(effect))
            case RecognizerRequest():
                asyncio.get_running_loop().call_later(self._decode_s, self._answer, effect)
            case CommitTurn() if self._reply_id is None and self._since_resumption_ms() < LATEST_COMMIT_MS:
                self._reply_id = effect.reply_id
                self._plays_from = Samples(self._position + samples_of_ms(WORK_MS))
            case HoldPlayback():
                self._held_since = self._position
            case ReleasePlayback():
                self._held_since = None
            case RetractReply():
                self._stop("retracted")
            case InterruptReply():
                self._stop("interrupted")
            case _:
                pass

    def _stop(self, how: str) -> None:
        """Notes how the reply ended. One that ended unheard in an earlier pause does not end the case."""
        self._reply_id = self._held_since = None
        if self._played or self._since_resumption_ms() > 0:
            self.heard.stopped_by, self.heard.stopped_ms = how, self._since_resumption_ms()

    def _answer(self, effect: RecognizerRequest) -> None:
        """Answers with fixed words: what was said does not matter here."""
        words = Transcript(effect.segment, effect.speech_end, "something was said", is_draft=effect.draft)
        self._handle(FinalTranscript(self._position, effect.reply_id, words))

    async def _words_of_overlap(self, effect: RequestTranscript) -> None:
        """See `AudioInput.transcribe_overlap`."""
        stream = WhisperStream(self._scheduler, self._share, effect.segment, _NEVER, lambda _: None)
        stream.feed(self.case.pcm[effect.segment : self._position])
        first = await stream.first_word() if effect.first_word else None
        if first is not None:
            ignorable = ignorable_probability(first, "")
            transcript = Transcript(effect.segment, self._position, "")
        else:
            ignorable, transcript = None, await stream.transcript(effect.speech_end, early=True)
            if transcript.text and transcript.low_confidence and not effect.so_far:
                transcript = await stream.transcript(effect.speech_end, early=False)
        stream.cancel()
        self._overlap = None
        self._handle(InterimTranscript(self._position, transcript, was_requested=True, ignorable=ignorable))


def pauses_of(turn: Turn, leads_ms: Sequence[float] = LEADS_MS) -> Iterator[Case]:
    """Yields the cases of a turn: each pause with each lead that it is long enough for."""
    edges = [turn.start_ms, *(edge for pause in turn.pauses for edge in pause), turn.end_ms]
    spans = [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if end > begin]
    for place, (begin, end) in enumerate(turn.pauses):
        if end - begin < PAUSE_FROM_MS:
            continue
        first = turn.pauses[place - 1][1] - 100 if place else turn.start_ms - 100
        cut = samples_of_ms(max(0.0, first)), samples_of_ms(end) + samples_of_s(REST_S)
        room = room_noise(turn.pcm, samples_of_s(ROOM_S), zlib.crc32(turn.id.encode()))
        shift = len(room) - cut[0]
        pcm = np.concatenate([room, turn.pcm[cut[0] : cut[1]]])
        after = tuple(
            (samples_of_ms(since) + shift, samples_of_ms(until) + shift) for since, until in spans if since >= end - 1
        )
        for lead_ms in leads_ms:
            timeout_ms = end - begin - lead_ms - WORK_MS
            if timeout_ms >= SHORTEST_TIMEOUT_MS:
                name = f"{turn.id} {begin:.0f} {lead_ms:+.0f}"
                yield Case(turn.group, name, pcm, Samples(samples_of_ms(end) + shift), after, timeout_ms)


def noises_in(turn: Turn, number: int, sounds: Sequence[Sound]) -> Iterator[Case]:
    """Yields cases in which a sound that is no speech follows the turn, in its first second of the reply."""
    timeout_ms, sound = 400.0, sounds[number % len(sounds)]
    room = room_noise(turn.pcm, samples_of_s(ROOM_S + REST_S), zlib.crc32(turn.id.encode()))
    end_ms = turn.pauses[0][0] if turn.pauses else turn.end_ms
    said = turn.pcm[samples_of_ms(turn.start_ms - 100) : samples_of_ms(end_ms)]
    burst = sound.pcm[sound.onset : sound.end]
    after_ms = timeout_ms + WORK_MS + NOISE_AFTER_MS[number % len(NOISE_AFTER_MS)]
    quiet = np.resize(room, samples_of_ms(after_ms))
    pcm = np.concatenate([room[: samples_of_s(ROOM_S)], said, quiet, burst, np.resize(room, samples_of_s(REST_S))])
    begins = samples_of_s(ROOM_S) + len(said) + len(quiet)
    spans = ((begins, begins + len(burst)),)
    yield Case(f"{NOISE}: {sound.group}", f"{sound.name} {after_ms:.0f}", pcm, Samples(begins), spans, timeout_ms)


def resumed(cases: Sequence[Case], settings: TurnSettings, model: LoadedWhisper, decode_s: float) -> list[Heard]:
    """Plays each case."""

    async def play(case: Case) -> Heard:
        async with asyncio.TaskGroup() as tasks:
            return await _Resumed(case, replace(settings, hangover_ms=case.timeout_ms), model, decode_s).play(tasks)
        raise AssertionError("the task group was cancelled")

    heard = []
    for case in cases:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            heard.append(runner.run(play(case)))
    return heard


# ---- the table ----


def table(heard: Sequence[Heard]) -> str:
    """Returns a line for each group: what was heard of the replies that were audible."""
    lines = [
        "| group | audible | overlap p50 / p95 ms | p50 / p95 after possible, speech, stop | retracted "
        "| interrupted | not stopped | held ms, mean |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups = sorted({case.group for case in heard}, key=lambda name: (name.startswith(NOISE), name))
    for group in ["all", *groups]:
        some = [
            case
            for case in heard
            if case.audible_ms is not None
            and (case.group == group or (group == "all" and not case.group.startswith(NOISE)))
        ]
        if some:
            lines.append(_line(group, some))
    return "\n".join(lines)


def _line(group: str, some: Sequence[Heard]) -> str:
    counts = [sum(case.stopped_by == how for case in some) for how in ("retracted", "interrupted", "")]
    held_ms = sum(case.paused_ms for case in some) / len(some)
    times = (
        [case.possible_ms for case in some],
        [case.speaking_ms for case in some],
        [case.stopped_ms for case in some],
    )
    parts = ", ".join(_spread([ms for ms in values if ms is not None]) for values in times)
    cells = [group, len(some), _spread([case.overlap_ms for case in some]), parts, *counts, f"{held_ms:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    p50, p95 = np.percentile(values, [50, 95])
    return f"{p50:.0f} / {p95:.0f}"


def read_cases(folder: Path, use: Use, most: int) -> list[Case]:
    """Returns the pauses of a folder, at most `most` of a speaker, and as many noises as there are."""
    said = [turn for turn in turns(folder / "manifest.jsonl", use) if turn.group in {"dictation", "telephone sentence"}]
    cases: list[Case] = []
    counts: dict[str, int] = {}
    for turn in said:
        if counts.setdefault(turn.speaker, 0) < most:
            found = list(pauses_of(turn))
            counts[turn.speaker] += bool(found)
            cases += found
    silent = {"vocal bursts", "knocks"}
    sounds = [sound for sound in read_sounds(folder, None, use) if sound.group in silent]
    for number, turn in enumerate(said[: len(sounds)]):
        cases += noises_in(turn, number, sounds)
    return cases


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description="Measures how long a reply is heard by a person who goes on.")
    parser.add_argument("--field", type=Path, required=True, help="folder with a manifest.jsonl of recordings")
    parser.add_argument("--use", choices=("train", "judge"), default="train")
    parser.add_argument("--model", default="tiny.en")
    parser.add_argument("--decode-ms", type=float, default=80.0)
    parser.add_argument("--cache", type=Path, help="folder that keeps the decodes")
    parser.add_argument("--list", type=Path, help="file for one JSON line a case")
    parser.add_argument("--most", type=int, default=5, help="largest number of turns of one speaker")
    given = parser.parse_args()
    folder = installed(MODELS[given.model])
    if folder is None:
        raise SystemExit(f"{given.model} is not installed: repartee models pull {given.model}")
    whisper = CachedWhisper(WhisperSettings(folder, cpu_threads=1))
    whisper.folder = given.cache
    heard = resumed(read_cases(given.field, given.use, given.most), WORDS_DECIDE, whisper, given.decode_ms / 1000)
    print(table(heard))
    if given.list is not None:
        lines = [json.dumps(asdict(case)) for case in heard]
        given.list.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
