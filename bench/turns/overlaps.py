"""Measures what sounds do to a running reply; prints the overlap panel of docs/lab/turn-taking.md.

    python -m bench.turns.overlaps [--field DIR] [--speech DIR] [--use train|judge] [--list FILE]

Runs the real VAD, the real recognizer and the real turn taking in virtual time during a reply that does not end. Each
sound begins 3 s after the reply (`bench.turns.overlap_clips`). A decode takes `--decode-ms` of virtual time,
whatever this machine does meanwhile; `--cache` keeps the decodes for the next run. Results are in whole frames of
20 ms; a client also has the network delay in both directions.
"""

import argparse
import asyncio
import hashlib
import pickle
import selectors
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, TranscriptRequests
from assistant.setup.derived_settings import BACKCHANNEL_RESUME_DELAY_MS, overlap_thresholds
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    DropAttempt,
    DuckReply,
    InterruptReply,
    OpenSegment,
    RequestTranscript,
    ResumeReply,
    RetractReply,
)
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
)
from assistant.turns.settings import RecheckThresholds, ReplyThresholds, TurnSettings
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.addressee import reason_to_ignore
from assistant.turns.words.backchannel import ignorable_probability, plain_words
from audio.frame import Frame
from audio.languages.conversation_language import ConversationLanguage
from audio.stt import RecognitionStream, Transcript
from audio.stt.whisper.decode_scheduler import ConversationShare, DecodeScheduler, ModelWorkers
from audio.stt.whisper.model import Decoded, LoadedWhisper, WhisperSettings
from audio.stt.whisper.shared_model import INTERIM_INTERVAL_SAMPLES
from audio.stt.whisper.stream import WhisperStream
from audio.stt.whisper.worker_threads import WhisperThread
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples, samples_of_ms
from audio.vad import CERTAIN_SPEECH, LIKELY_SPEECH
from audio.vad.silero.detector import SileroVad
from bench.turns.overlap_clips import SHORT_ANSWERS, Sound, Use, read_sounds
from bench.turns.overlap_table import Outcome, listing, table

T = TypeVar("T")

RESUME_TTS_MS = 150
"""Time from the request for the rest of a reply to its first sound, in ms; Piper on one thread."""

ASSENT = frozenset("yeah yep okay ok right sure great perfect alright all good oh mm mhm mmhmm hm uhhuh wow".split())
"""Words of real backchannels; with others, a short answer of a call is left out."""

SETTINGS = TurnSettings(
    hangover_ms=440.0,  # the longest silence timeout of the balanced profile in a sentence that sounds finished
    speculate_after_ms=40.0,
    interrupt_after_ms=40.0,
    rechecks=RecheckThresholds(settle_ms=160.0),
)
"""As `config.toml` and `assistant.setup.derived_settings` set them, but with a fixed silence timeout, and for a
recognizer whose words do not decide."""

WORDS_DECIDE = replace(
    SETTINGS,
    overlap=overlap_thresholds("faster-whisper"),
    replies=ReplyThresholds(backchannel_resume_delay_ms=BACKCHANNEL_RESUME_DELAY_MS),
)
"""The same for Whisper."""


# ---- virtual time ----


class _JumpingSelector(selectors.DefaultSelector):
    """Advances the loop's clock where the loop would wait."""

    now_s = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now_s += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


FIRST_WORD_SHARE = 0.4
"""Time of examining the first word, as a share of a decode."""


class VirtualThread(WhisperThread):
    """Runs a job at once and reports its result `seconds` of virtual time later, that of a first word sooner."""

    def __init__(self, seconds: float) -> None:
        super().__init__(workers=0)
        self._seconds = seconds

    def submit(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        result = job()
        short = isinstance(result, Decoded) and result.first_word is not None
        asyncio.get_running_loop().call_later(self._seconds * (FIRST_WORD_SHARE if short else 1.0), done, result)


class CachedWhisper(LoadedWhisper):
    """Keeps each decode in a folder."""

    folder: Path | None = None

    def decode(
        self,
        pcm: Pcm,
        language: str | None,
        *,
        retry: bool,
        is_wanted: Callable[[], bool] = lambda: True,
        with_tokens: bool = False,
        with_times: bool = False,
        prompt: str = "",
        languages: ConversationLanguage | None = None,
        thorough: bool = False,
    ) -> Decoded | None:
        """See `LoadedWhisper.decode`. A decode is never aborted, because it takes no time."""
        if self.folder is None:
            return super().decode(pcm, language, retry=retry)
        return self._cached(pcm, bytes([retry]), lambda: LoadedWhisper.decode(self, pcm, language, retry=retry))

    def first_word(self, pcm: Pcm, language: str) -> Decoded:
        """See `LoadedWhisper.first_word`."""
        if self.folder is None:
            return super().first_word(pcm, language)
        return self._cached(pcm, b"first word", lambda: LoadedWhisper.first_word(self, pcm, language))

    def _cached(self, pcm: Pcm, kind: bytes, decode: Callable[[], T]) -> T:
        assert self.folder is not None
        key = hashlib.blake2b(pcm.tobytes() + kind, digest_size=16).hexdigest()
        path = self.folder / key[:2] / key
        if path.exists():
            value: T = pickle.loads(path.read_bytes())
            return value
        decoded = decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(decoded))
        return decoded


# ---- one sound ----


class _Reply:
    """A conversation in which a reply plays, and one sound. Performs the effects as a session does."""

    def __init__(self, sound: Sound, settings: TurnSettings, model: LoadedWhisper, decode_s: float) -> None:
        self.outcome = Outcome(sound)
        self._requests = TranscriptRequests(TurnTaking(settings))
        self._scheduler = DecodeScheduler()
        self._scheduler.install(ModelWorkers(model, VirtualThread(decode_s)))
        self._share = ConversationShare("en")
        self._stream: RecognitionStream | None = None
        self._position = Samples(0)
        self._reply_id: ReplyId | None = None
        self._audible_from = Samples(0)
        self._transcriptions: dict[ReplyId, asyncio.Task[None]] = {}
        self._overlap: asyncio.Task[None] | None = None

    async def play_sound(self, tasks: asyncio.TaskGroup) -> Outcome:
        """Plays the sound."""
        self._tasks = tasks
        vad, pcm, probability = SileroVad(), self.outcome.sound.pcm, 0.0
        self._handle(ReplyRequested(self._position, "greeting", "Hello."))
        for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            await asyncio.sleep(FRAME_SAMPLES / MIC_RATE_HZ)
            frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
            self._position = frame.end
            if self._stream is not None:
                self._stream.feed(frame.pcm)
            result, before = vad.process(frame), probability
            probability = result.probability
            dips = any(probability < dip <= before for dip in (CERTAIN_SPEECH, LIKELY_SPEECH))
            if self._stream is not None and dips:
                self._stream.probability_dip()
            if self._reply_id is not None and self._position >= self._audible_from:
                self._handle(PlaybackProgress(self._position, self._reply_id, 1, audible=True))
            self._handle(FrameProcessed(frame.end, result))
            if self.outcome.answered or (
                self.outcome.sound.expected == "stops" and self.outcome.stopped_ms is not None
            ):
                break
        for task in [*self._transcriptions.values(), *([self._overlap] if self._overlap else [])]:
            task.cancel()
        return self.outcome

    def _handle(self, event: ReportedEvent) -> None:
        for effect in self._requests.handle(event):
            self._apply(effect)

    def _apply(self, effect: SessionEffect) -> None:  # noqa: C901, PLR0912 - one case for each kind of effect
        sound, outcome = self.outcome.sound, self.outcome
        match effect:
            case OpenSegment(segment):
                if self._stream is not None:
                    self._stream.cancel()
                self._stream = WhisperStream(
                    self._scheduler, self._share, segment, INTERIM_INTERVAL_SAMPLES, self._interim
                )
                self._stream.feed(sound.pcm[segment : self._position])
            case CloseSegment():
                if self._overlap is not None:
                    self._overlap.cancel()
                    self._overlap = None
                if self._stream is not None:
                    self._stream.close()
                    self._stream = None
            case RequestTranscript():
                if self._overlap is not None:
                    self._overlap.cancel()
                self._overlap = self._tasks.create_task(self._words_of_overlap(effect))
            case RecognizerRequest():
                self._transcriptions[effect.reply_id] = self._tasks.create_task(self._words_of_turn(effect))
            case DropAttempt(reply_id) if reply_id in self._transcriptions:
                self._transcriptions.pop(reply_id).cancel()
            case InterruptReply() | RetractReply():
                self._reply_id = None
                if outcome.stopped_ms is None:
                    outcome.stopped_ms = ms_of_samples(self._position - sound.onset)
            case DuckReply() if outcome.ducked_ms is None:
                outcome.ducked_ms = ms_of_samples(self._position - sound.onset)
            case CommitTurn(origin="greeting"):
                self._reply_id = effect.reply_id
            case CommitTurn(origin="resumed"):
                self._reply_id, self._audible_from = (
                    effect.reply_id,
                    Samples(self._position + samples_of_ms(RESUME_TTS_MS)),
                )
                if outcome.resumed_ms is None:
                    outcome.resumed_ms = ms_of_samples(self._audible_from - sound.end)
            case CommitTurn():
                outcome.answered = True
            case ResumeReply():
                self._handle(ReplyRequested(self._position, "resumed", "The rest."))
            case _:
                pass

    def _interim(self, transcript: Transcript) -> None:
        if self._overlap is None:
            self._handle(InterimTranscript(self._position, transcript))

    async def _words_of_overlap(self, effect: RequestTranscript) -> None:
        """See `AudioInput.transcribe_overlap`."""
        stream = self._stream
        if stream is None:
            return
        first = await stream.first_word() if effect.first_word else None
        if first is not None:
            self._overlap = None
            probability, nothing = ignorable_probability(first, ""), Transcript(effect.segment, self._position, "")
            self.outcome.words.append(
                f"[{ms_of_samples(self._position - self.outcome.sound.onset):.0f} {probability:.3f}]"
            )
            self._handle(InterimTranscript(self._position, nothing, was_requested=True, ignorable=probability))
            return
        transcript = await stream.transcript(effect.speech_end, early=True)
        if transcript.text and transcript.low_confidence and not effect.so_far:
            transcript = await stream.transcript(effect.speech_end, early=False)
        self._overlap = None
        self.outcome.words.append(
            f"[{ms_of_samples(self._position - self.outcome.sound.onset):.0f} {transcript.text}"
            f"{' ?' if transcript.low_confidence else ''}]"
        )
        self._handle(InterimTranscript(self._position, transcript, was_requested=True))

    async def _words_of_turn(self, effect: RecognizerRequest) -> None:
        stream = self._stream
        if stream is None:
            return
        transcript = await stream.transcript(effect.speech_end, early=effect.early, draft=effect.draft)
        self.outcome.words.append(f"({transcript.text})")
        self._handle(
            FinalTranscript(
                self._position, effect.reply_id, transcript, reason_to_ignore(transcript.text, reply_was_question=False)
            )
        )


# ---- all sounds ----


def played(sounds: Iterable[Sound], settings: TurnSettings, model: LoadedWhisper, decode_s: float) -> list[Outcome]:
    """Plays each sound into a reply of its own."""

    async def play_sound(sound: Sound) -> Outcome:
        async with asyncio.TaskGroup() as tasks:
            return await _Reply(sound, settings, model, decode_s).play_sound(tasks)
        raise AssertionError("the task group was cancelled")

    outcomes = []
    for sound in sounds:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            outcomes.append(runner.run(play_sound(sound)))
    return outcomes


def overlap_panel(
    field: Path | None,
    speech: Path | None,
    use: Use,
    *,
    settings: TurnSettings = WORDS_DECIDE,
    model: str = "tiny.en",
    decode_ms: float = 80.0,
    cache: Path | None = None,
    most: int | None = None,
) -> list[Outcome]:
    """Plays all sounds of a use into replies.

    Args:
        field: Folder of recordings from the field; None: without them.
        speech: Folder of clean speech and noise; only used to judge.
        use: The part of `field`.
        settings: The settings of turn taking.
        model: The Whisper model, decoded on one thread.
        decode_ms: Virtual time of a decode.
        cache: Folder of decodes.
        most: Largest number of sounds of each group, evenly spaced.
    """
    folder = installed(MODELS[model])
    if folder is None:
        raise SystemExit(f"{model} is not installed: repartee models pull {model}")
    whisper = CachedWhisper(WhisperSettings(folder, cpu_threads=1))
    whisper.folder = cache
    all_sounds = read_sounds(field, speech, use)
    sounds = _thinned(
        [sound for sound in all_sounds if sound.group != SHORT_ANSWERS or is_assent(sound, whisper)], most
    )
    return played(sounds, settings, whisper, decode_ms / 1000)


def is_assent(sound: Sound, model: LoadedWhisper) -> bool:
    """Returns whether the recognizer, which gets the whole sound, writes only words of assent."""
    decoded = model.decode(sound.pcm[sound.onset - 4800 : sound.end + 4800], "en", retry=True)
    words = plain_words("" if decoded is None else decoded.text).split()
    return bool(words) and ASSENT.issuperset(words)


def _thinned(sounds: Sequence[Sound], most: int | None) -> list[Sound]:
    groups: dict[str, list[Sound]] = defaultdict(list)
    for sound in sounds:
        groups[sound.group].append(sound)
    if most is None:
        return list(sounds)
    return [
        group[place * len(group) // min(most, len(group))]
        for group in groups.values()
        for place in range(min(most, len(group)))
    ]


def main() -> None:
    """Measures and prints the panel."""
    parser = argparse.ArgumentParser(description="Measures what sounds do to a running reply.")
    parser.add_argument("--field", type=Path, help="folder with a manifest.jsonl of recordings from the field")
    parser.add_argument("--speech", type=Path, help="folder with a manifest.jsonl of clean speech and noise")
    parser.add_argument("--use", choices=("train", "judge"), default="judge")
    parser.add_argument("--model", default="tiny.en")
    parser.add_argument("--decode-ms", type=float, default=80.0)
    parser.add_argument("--cache", type=Path, help="folder that keeps the decodes")
    parser.add_argument("--list", type=Path, help="file for one JSON line a sound")
    parser.add_argument("--most", type=int, help="largest number of sounds of each row")
    parser.add_argument("--speech-alone", action="store_true", help="speech interrupts without a word")
    given = parser.parse_args()
    settings = SETTINGS if given.speech_alone else WORDS_DECIDE
    outcomes = overlap_panel(
        given.field,
        given.speech,
        given.use,
        settings=settings,
        model=given.model,
        decode_ms=given.decode_ms,
        cache=given.cache,
        most=given.most,
    )
    print(table(outcomes))
    if given.list is not None:
        given.list.write_text(listing(outcomes) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
