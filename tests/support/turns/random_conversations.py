"""Simulates 340 random conversations and writes the events and effects of turn taking as compact lines.

The recognizer's adapter takes part: the lines hold what a session reports and what it performs.

`PYTHONPATH=.:tests python tests/support/turns/random_conversations.py` in the repository's root writes the golden file
anew; test_golden_conversations.py compares it. A change of the file is a change of behaviour.

Conversation `n` is drawn with `random.Random(n)`. From 200 on, transcripts settle late and arrive soon, so most of them
are requested again. From 260 on, words decide whether speech interrupts a reply.

A line holds the position in samples, an event with its fields, and the effects with theirs.
Names and modes are spelled here, so the file does not change when a class is renamed. Frames that change nothing share
a line: their number, the VAD result, and the position of the last.

    = 17                                     conversation 17
    ! client VOICE answers 400 40 60 ...     settings from here on
    41600 f12 1 38912 - 1                    12 frames up to 41600: speech since 38912, no possible end, probability 1
    41920 words 1.2 'yes' ; commit 1.2 'yes' 'yes' 38912 ; close 34112 1 ; S
                                             a transcript and its effects; the state afterwards, if it has changed
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from random import Random

from support.turns.simulated_session import Ignored, SimulatedSession

from assistant.end_of_turn.estimator import BALANCED, EAGER, PATIENT, EndOfTurnEstimate, EndOfTurnProfile
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, SessionEffects, TranscriptRequests
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    DuckReply,
    EndOfTurn,
    EndSegment,
    HoldPlayback,
    IdleTimedOut,
    InterruptReply,
    OpenSegment,
    OverlapDecided,
    PlayListeningSound,
    PrepareReply,
    ReleasePlayback,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    StopListeningSound,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
    FinalTranscript,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
    TranscriptFailed,
    VoiceJudged,
)
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, InterruptedBy, OverlapThresholds, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.stt import Transcript
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

GOLDEN_FILE = Path(__file__).parents[2] / "golden" / "turn-taking.txt.gz"
CONVERSATIONS = 340
LATE_SETTLING_FROM = 200
WORDS_DECIDE_FROM = 260

MAX_SILENT_FRAMES = 1500
"""Limit on the silent frames after the last speech: 30 s, longer than most waits."""

QUIET_FRAMES = 80
"""A conversation ends after this many frames in which nothing is pending: longer than the delay of a resumed reply."""

DELAYS_MS = [None, 0.0, 5.0, 60.0, 80.0, 80.0, 300.0, 700.0, 4000.0]
SHORT_DELAYS_MS = [None, 0.0, 5.0, 9.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0]
"""Delays of transcripts; None: recognition fails. Those divisible by 3 may be drafts."""

NAMES: dict[type, str] = {
    FrameProcessed: "f",
    InterimTranscript: "interim",
    DraftTranscript: "draft",
    VoiceJudged: "voice",
    EndOfTurnScored: "scored",
    FinalTranscript: "words",
    TranscriptFailed: "failed",
    PlaybackProgress: "playing",
    ReplyEnded: "played",
    ReplyRequested: "request",
    InputCommitted: "commit-input",
    KeyPressed: "press",
    InputCleared: "clear-input",
    ReplyCancelled: "cancel",
    OpenSegment: "open",
    EndSegment: "until",
    TurnStarted: "start",
    RecognizerRequest: "transcribe",
    RequestTranscript: "ask",
    PrepareReply: "prepare",
    PlayListeningSound: "mhm",
    StopListeningSound: "hush",
    EndOfTurn: "end",
    CommitTurn: "commit",
    CommitWithoutReply: "record",
    DropAttempt: "drop",
    RetractReply: "retract",
    InterruptReply: "interrupt",
    HoldPlayback: "hold",
    ReleasePlayback: "release",
    DuckReply: "duck",
    UnduckReply: "unduck",
    TurnDiscarded: "nothing",
    ResumeReply: "resume",
    OverlapDecided: "decided",
    IdleTimedOut: "idle",
}

ENDS_TURN = {
    "silence": EndsTurn.AUTO,
    "client": EndsTurn.AUTO,
    "manual": EndsTurn.CLIENT,
    "held": EndsTurn.PUSH_TO_TALK,
}
"""The party that ends turns, by the kind of conversation. With a client, turns may end by silence."""

PHASES = {Phase.IDLE: "I", Phase.USER_SPEAKING: "U", Phase.AWAITING_TRANSCRIPT: "A", Phase.REPLYING: "R"}


@dataclass
class Script:
    """Content of a random conversation, except the reactions to effects. Numbers of frames count from 0.

    Attributes:
        ends: What ends turns: silence, client, manual or held.
        settings: The settings from a frame on.
        speech: The speech probability of each frame; 0: silence.
        marks: "quiet" or "loud" for stretches of speech at the background level or above the noise.
        hold: Silent frames after which the VAD reports the offset.
        stirs: Silent frames with a possible onset.
        keys: Frames in which the push-to-talk key goes down, and those in which it goes up.
        acts: What the client does, or which words arrive, in a frame.
    """

    ends: str
    settings: dict[int, TurnSettings]
    speech: list[float]
    marks: list[str]
    hold: int
    stirs: set[int]
    keys: tuple[set[int], set[int]]
    acts: dict[int, list[str]] = field(default_factory=dict)


# ---- drawing a conversation ----


def random_settings(random: Random, ends: str) -> TurnSettings:
    by_name = ends == "silence" and random.random() < 0.25
    return TurnSettings(
        hangover_ms=random.choice([100.0, 400.0, 400.0, 700.0, 1200.0]),
        speculate_after_ms=random.choice([None, 40.0, 60.0, 200.0]),
        rechecks=RecheckThresholds(settle_ms=random.choice([0.0, 60.0, 160.0, 200.0])),
        interrupt_after_ms=random.choice([40.0, 90.0, 300.0]),
        max_turn_s=random.choice([1.0, 2.0, 30.0, 30.0]),
        stuck_after_s=random.choice([2.0, 10.0]),
        pre_roll_ms=random.choice([0.0, 300.0, 300.0]),
        profile=random_profile(random),
        ends_turn=ENDS_TURN[ends],
        answers=random.random() < 0.75,
        interrupted_by=interrupted_by(random, ends, by_name=by_name),
        has_client=ends in {"client", "manual"},
    )


def interrupted_by(random: Random, ends: str, *, by_name: bool) -> InterruptedBy:
    if by_name:
        return InterruptedBy.WAKE_PHRASE
    if random.random() < 0.7:
        return InterruptedBy.VOICE
    return InterruptedBy.CLIENT if ends in {"client", "manual"} else InterruptedBy.NOTHING


def random_profile(random: Random) -> EndOfTurnProfile | None:
    return random.choice([None, None, EAGER, BALANCED, PATIENT])


def random_script(random: Random) -> Script:
    ends = random.choice(["silence", "silence", "client", "client", "manual", "held"])
    speech, marks = random_speech(random)
    length = len(speech)
    settings = {0: random_settings(random, ends)}
    if random.random() < 0.2:
        settings[random.randrange(length)] = random_settings(random, random.choice(["client", "manual"]))
    downs = {random.randrange(length) for _ in range(3 if ends == "held" else 0)}
    ups = {down + random.randint(2, 150) for down in downs}
    downs |= {up + random.randint(6, 30) for up in ups if random.random() < 0.5}  # pressed again soon
    stirs = {
        first + place
        for first in (random.randrange(length + 100) for _ in range(random.randint(0, 5)))
        for place in range(random.randint(1, 15))
    }
    script = Script(ends, settings, speech, marks, random.randint(0, 5), stirs, (downs, ups))
    for act in random_acts(random, ends):
        script.acts.setdefault(random.randrange(length + 50), []).append(act)
    for act in random_burst(random) if ends in {"client", "manual"} else ():
        script.acts.setdefault(length // 2 + random.randrange(40), []).append(act)
    return script


def random_speech(random: Random) -> tuple[list[float], list[str]]:
    """Returns the speech probability of each frame, and the marks of loudness."""
    speech, marks = [], []
    noises = random.random() < 0.4  # short noises after the first words, most of them during a reply
    for place in range(random.randint(2, 9)):
        voiced, silent = random.choice([2, 5, 12, 20, 40, 120]), random.choice([2, 6, 12, 30, 30, 60, 90])
        probability = random.choice([1.0, 1.0, 0.9, 0.65, 0.58, 0.5])
        if noises:
            voiced, silent = random.choice([1, 3, 5, 16]) if place else 40, random.choice([6, 20, 40, 90]) + 20
        mark = random.choice(["", "", "", "quiet", "loud"])
        speech += [probability] * voiced + [0.0] * silent
        marks += [mark] * voiced + [""] * silent
    return speech, marks


def random_acts(random: Random, ends: str) -> list[str]:
    """Returns what the client does and which words arrive, in any order."""
    words = ["mhm", "interim", "interim", "low", "called", "echo", "scored", "scored", "scored", "scored"]
    acts = random.choices(words, k=random.randint(4, 12))
    acts += random.choices(["announce", "greet"], k=random.randint(0, 2))
    client = ["request", "request", "trailing", "repeat", "commit", "commit", "clear", "cancel", "cancel all", "press"]
    most = 8 if ends in {"client", "manual"} else 2
    return acts + random.choices(client, k=random.randint(0, most))


def random_burst(random: Random) -> list[str]:
    """Returns actions of the client that follow each other closely; mostly none."""
    bursts = [
        ["commit", "commit", "commit", "request", "request"],
        ["commit", "request", "cancel all", "request", "cancel all"],
        ["commit"] * 24,
    ]
    return random.choice([[], [], *bursts])


def settles_late(random: Random, settings: TurnSettings) -> TurnSettings:
    """Returns settings with which transcripts are requested early, and again."""
    speculate_ms, settle_ms = random.choice([40.0, 60.0]), random.choice([160.0, 200.0, 300.0])
    return replace(settings, speculate_after_ms=speculate_ms, rechecks=RecheckThresholds(settle_ms))


def words_decide(random: Random, settings: TurnSettings) -> TurnSettings:
    """Returns settings with which speech interrupts a reply with words only."""
    after_ms, first_word_until_ms = random.choice([100.0, 200.0, 300.0]), random.choice([0.0, 400.0])
    return replace(
        settings, overlap=OverlapThresholds(words_after_ms=after_ms, first_word_until_ms=first_word_until_ms)
    )


def random_session(random: Random, script: Script, delays_ms: list[float | None]) -> SimulatedSession:
    lengths_ms = [None, 0.0, 300.0, 1500.0, 2500.0, 4000.0]
    ignored: list[Ignored] = ["", "", "", "", "overheard", "called", "backchannel"]
    return SimulatedSession(
        TranscriptRequests(TurnTaking(script.settings[0])),
        random.choices(delays_ms, k=4),
        random.choices(lengths_ms, k=4),
        random.choices(["", "yes", "mhm", "what time is it", "what time is it", "stop"], k=random.choice([1, 4])),
        random.choices(ignored, k=4),
        PushToTalk() if script.ends == "held" else None,
        random.choices([False, False, False, True], k=4),
    )


# ---- performing it ----


@dataclass
class Performance:
    """Performs a script frame by frame, and records it."""

    random: Random
    script: Script
    session: SimulatedSession
    recording: "Recording"
    max_silent_frames: int = MAX_SILENT_FRAMES
    quiet_frames: int = 0

    def perform(self) -> None:
        speech, hold = self.script.speech, self.script.hold
        edge = onset = Samples(0)
        voiced_before, silent_frames = False, hold
        for number in range(len(speech) + self.max_silent_frames):
            probability = speech[number] if number < len(speech) else 0.0
            if number in self.script.settings:
                self.session.turns.settings = self.script.settings[number]
                self.recording.add_settings(self.script.settings[number])
            start, end = Samples(number * FRAME_SAMPLES), Samples((number + 1) * FRAME_SAMPLES)
            voiced = self.session.is_speech(start, voiced=probability > 0)
            if voiced != voiced_before:
                onset = start if voiced and silent_frames >= hold else onset
                edge, voiced_before = start, voiced
            silent_frames = 0 if voiced else silent_frames + 1
            self.session.advance_to(end)
            mark = self.script.marks[number] if voiced else ""
            if voiced:
                vad = VadResult(True, onset, probability, above_noise=mark == "loud", background_level=mark == "quiet")
            elif silent_frames > hold:
                vad = VadResult(False, edge, 0.0, possible_onset=number in self.script.stirs)
            else:
                vad = VadResult(True, onset, 0.1, possible_end=edge)
            self.session.handle(FrameProcessed(end, vad))
            self.session.process_key()
            for act in self.script.acts.get(number, ()):
                self.act(act, end, silent_frames)
            self.move_key(number, end)
            if number >= len(speech) + 50 and self.is_over():
                return

    def move_key(self, number: int, end: Samples) -> None:
        downs, ups = self.script.keys
        if self.session.key is not None and number in ups:
            self.session.key.release(end)
        if number in downs:
            self.session.press()

    def is_over(self) -> bool:
        session = self.session
        quiet = session.turns.phase is Phase.IDLE and session.open_segment is None and not session.is_waiting
        self.quiet_frames = self.quiet_frames + 1 if quiet else 0
        return self.quiet_frames >= QUIET_FRAMES

    def act(self, act: str, at: Samples, silent_frames: int) -> None:
        event = self.event_of(act, at, silent_frames)
        if event is not None:
            self.session.handle(event)

    def event_of(self, act: str, at: Samples, silent_frames: int) -> ReportedEvent | None:  # noqa: C901 - one return each
        turns, segment = self.session.turns, self.session.open_segment
        match act:
            case "mhm" | "interim" | "low" | "called" | "echo" if segment is not None:
                text = {"mhm": "mhm", "echo": ""}.get(act, "stop it")
                words = Transcript(segment, at, text, act == "low")
                return InterimTranscript(at, words, has_wake_phrase=act == "called", is_echo=act == "echo")
            case "draft" if segment is not None:
                return DraftTranscript(at, Transcript(segment, at, "stop it", is_draft=True), 1.0)
            case "scored" if segment is not None:
                estimate = EndOfTurnEstimate(self.random.random(), silent_frames * FRAME_MS, 400.0, "sound", 0.3)
                return EndOfTurnScored(at, segment, estimate)
            case "own" | "other" | "unsure":
                late = samples_of_ms(600 if at % samples_of_ms(40) else 60)
                return VoiceJudged(at, Samples(max(at - samples_of_ms(1000), 0)), Samples(max(at - late, 0)), act)
            case "announce":
                return ReplyRequested(at, "announcement", "a timer rings")
            case "greet":
                return ReplyRequested(at, "greeting", "Hello.")
            case "request":
                return ReplyRequested(at, "requested")
            case "trailing":
                trails = turns.replying is not None and not turns.has_overlap
                return ReplyRequested(at, "requested", after_current_reply=trails)
            case "repeat":
                return ReplyRequested(at, "repeated", "It is ten o'clock.")
            case "commit":
                behind = self.script.ends == "manual" and turns.has_overlap and self.random.random() < 0.5
                return InputCommitted(at, after_current_reply=behind)
            case "clear":
                return InputCleared(at)
            case "cancel":
                return ReplyCancelled(at)
            case "cancel all":
                return ReplyCancelled(at, including_request=True)
            case "key":
                return KeyPressed(at)
            case "press" if self.session.key is None:
                return KeyPressed(at)
        return None


# ---- lines ----


@dataclass
class Recording:
    """Records the events, effects and states of a conversation as lines."""

    turns: TurnTaking
    lines: list[str] = field(default_factory=list)
    _state: str = "I"
    _frames: int = 0
    _last: FrameProcessed | None = None

    def add_settings(self, settings: TurnSettings) -> None:
        self._flush()
        self.lines.append(f"! {settings_line(settings)}")

    def add(self, event: ReportedEvent, effects: SessionEffects) -> None:
        state = state_of(self.turns)
        told = [line_of(effect) for effect in effects] + ([state] if state != self._state else [])
        self._state = state
        if isinstance(event, FrameProcessed):
            if self._last is not None and event.vad != self._last.vad:
                self._flush()
            self._last, self._frames = event, self._frames + 1
            if told:
                self._flush(told)
            return
        self._flush()
        self.lines.append(" ; ".join([f"{event.position} {line_of(event, skip=1)}", *told]))

    def finish(self) -> list[str]:
        self._flush()
        return self.lines

    def _flush(self, told: list[str] | None = None) -> None:
        if self._last is None:
            return
        vad = self._last.vad
        marks = ("~" * vad.possible_onset) + ("+" * vad.above_noise) + ("-" * vad.background_level)
        heard = f"{vad.speaking:d}{marks} {vad.boundary} {value_of(vad.possible_end)} {vad.probability:g}"
        self.lines.append(" ; ".join([f"{self._last.position} f{self._frames} {heard}", *(told or ())]))
        self._last, self._frames = None, 0


def settings_line(settings: TurnSettings) -> str:
    ends = next(name for name, mode in ENDS_TURN.items() if mode is settings.ends_turn)
    interrupts = {InterruptedBy.VOICE: "voice", InterruptedBy.WAKE_PHRASE: "name"}.get(
        settings.interrupted_by, "nothing"
    )
    modes = [ends, interrupts, "answers" if settings.answers else "records", "client" * settings.has_client]
    profile = settings.profile
    numbers = [
        settings.hangover_ms,
        settings.speculate_after_ms,
        settings.rechecks.settle_ms,
        settings.interrupt_after_ms,
        settings.max_turn_s,
        settings.stuck_after_s,
        settings.pre_roll_ms,
        None if profile is None else profile.unfinished_ms,
    ]
    overlap = settings.overlap
    words = [f"words {overlap.words_after_ms:g} {overlap.first_word_until_ms:g}"] if overlap.words_after_ms else []
    return " ".join([*modes, *("-" if number is None else f"{number:g}" for number in numbers), *words])


def state_of(turns: TurnTaking) -> str:
    """Returns the phase and the other properties that a session reads."""
    flags = {
        "c": turns.has_overlap,
        "u": turns.pending_turn_lacks_reply_request,
        "o": turns.pending_turn_has_reply_request,
        "r": turns.resume_pending,
    }
    return PHASES[turns.phase] + "".join(flag for flag, present in flags.items() if present)


MARKS = (
    "foreseen",
    "guessed",
    "unrecognized",
    "clear_speech",
    "answer_expected",
    "calls_assistant",
    "has_effect",
    "called",
)
"""Fields that are written by their names, if they are true."""


def line_of(told: ReportedEvent | SessionEffect, skip: int = 0) -> str:
    """Returns the name and the fields of an event or effect. A segment that was not used is discarded."""
    if isinstance(told, CloseSegment):
        return f"{'close' if told.used else 'discard'} {told.segment} {told.turn}"
    omitted = MARKS if getattr(told, "end", 0) is not None else {*MARKS, "end"}
    values = [value_of(getattr(told, item.name)) for item in fields(told) if item.name not in omitted][skip:]
    return " ".join([NAMES[type(told)], *values, *(mark for mark in MARKS if getattr(told, mark, False))])


def value_of(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(int(value))
        case ReplyId():
            return f"{value.turn}.{value.attempt}"
        case Transcript():
            marks = "?" * value.low_confidence + "draft" * value.is_draft
            return f"{value.segment} {value.text!r}{marks}"
        case EndOfTurnEstimate():
            return f"{value.probability:.3f} {value.silence_ms:g}"
        case str():
            return repr(value)
        case _:
            return str(value)


def performance_of(number: int) -> Performance:
    """Returns conversation `number`, to be performed. Its recording is not connected yet."""
    random = Random(number)
    script, delays_ms = random_script(random), DELAYS_MS
    if number >= LATE_SETTLING_FROM:
        script.settings = {frame: settles_late(random, settings) for frame, settings in script.settings.items()}
        delays_ms = SHORT_DELAYS_MS
    if number >= WORDS_DECIDE_FROM:
        script.settings = {frame: words_decide(random, settings) for frame, settings in script.settings.items()}
    session = random_session(random, script, delays_ms)
    if number >= WORDS_DECIDE_FROM:
        session.texts = random.choices(["", "yes", "mhm", "I", "mom, wait", "what time is it", "stop"], k=5)
    return Performance(random, script, session, Recording(session.turns))


def lines_of_conversation(number: int) -> list[str]:
    """Simulates conversation `number` and returns its lines."""
    performance = performance_of(number)
    performance.session.observe = performance.recording.add
    performance.perform()
    return [f"= {number}", *performance.recording.finish()]


def conversations() -> Iterator[list[str]]:
    for number in range(CONVERSATIONS):
        yield lines_of_conversation(number)


def golden_conversations() -> list[list[str]]:
    """Returns the lines of the golden file, by conversation."""
    text = gzip.decompress(GOLDEN_FILE.read_bytes()).decode()
    return [["= " + head, *lines] for head, *lines in (part.splitlines() for part in text.split("= ")[1:])]


if __name__ == "__main__":
    text = "".join("\n".join(lines) + "\n" for lines in conversations())
    GOLDEN_FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
