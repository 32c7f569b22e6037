"""Writes the events of turn taking as short entries without their words, and parses them. No I/O, no clock.

Frames without changes share an entry. Of a text only what decisions depend on is kept: whether there are words, whether
they equal other words, and whether they are a backchannel.

    set {"hangover_ms":400,...}                       the settings in effect from here on
    frames 41600 12 1 38912 - /v39...                 12 frames up to 41600: state, start of the state, possible end,
                                                      probabilities of speech. State 0: silent; 1: speaking;
                                                      2: silent, possible onset; 3: speaking, clearly above the noise;
                                                      4: speaking, at background level
    interim 41600 34112 0 words                       interim transcript of a segment: low confidence or not; -,
                                                      backchannel, side-talk, beginning (of a backchannel), words,
                                                      called or echo; "requested" if it was requested
    interim 41600 34112 first 0.93                    the same if only the first word was examined: the probability that
                                                      it begins a backchannel or an echo, or is no word
    draft 41600 34112 41000 0.97 9d161719             words of a decode during speech: the end of its audio,
                                                      probability of a sentence end, salted hash
    estimate 41600 34112 0.49 160.0 650.0 0.2 sound   EOT estimate of a segment: probability, length of the silence,
                                                      mean excess of a pause, share of the speaker's turns with a pause,
                                                      sources; "dictates phone-number incomplete" if the user dictates
    words 41600 1 2 34112 0 9d161719                  final transcript for turn 1, attempt 2: low confidence or not; "-"
                                                      or a salted hash; why it is ignored, if so (called); "draft", if
                                                      it is one; "guess" and a hash, if some words were taken for noise;
                                                      "expected", if there are no words and the user expects an answer;
                                                      "phrase", if voices are judged and it has the wake phrase
    lost 41600 1 2 34112                              the transcript failed
    playing 41600 1 2 3 1                             three complete words of this reply were heard; it is audible;
                                                      "effect", if it has called a tool or changed something
    ended 41600 1 2                                   the reply has ended
    request 41600 greeting 1                          a reply was requested; 1: with a text to say; "behind" the current
                                                      one; "instead" of what goes on
    submitted|pressed|cleared|cancelled 41600         actions of the client
    asleep 41600                                      the conversation waits for its wake word, without frames
    voice 41600 34112 other                           whose voice the speech since a position is: own, other or unsure
    cancelled 41600 request                           cancelled including the request for a reply
"""

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, replace
from hashlib import blake2b
from typing import Any, Literal, assert_never

from assistant.end_of_turn.dictation.dictation_rules import KINDS, NOTHING, STATES, Dictation
from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnProfile
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
    FellAsleep,
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
from assistant.turns.settings import (
    AttemptThresholds,
    EndsTurn,
    FocusThresholds,
    InterruptedBy,
    ListeningSoundThresholds,
    OverlapThresholds,
    PushToTalkThresholds,
    RecheckThresholds,
    ReplyThresholds,
    TurnEndThresholds,
    TurnSettings,
    TurnStartThresholds,
    WakePhraseThresholds,
)
from assistant.turns.words.addressee import is_side_talk
from assistant.turns.words.backchannel import is_backchannel, may_become_backchannel, plain_words
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import VadResult

_POSSIBLE_ONSET, _ABOVE_NOISE, _BACKGROUND = "2", "3", "4"

_CLIENT_ENTRIES = {
    InputCommitted: "submitted",
    KeyPressed: "pressed",
    InputCleared: "cleared",
    ReplyCancelled: "cancelled",
    FellAsleep: "asleep",
}
"""Names of the client's actions, and of others that have a position only, in the trace. They are part of its format."""

_GROUPS: dict[str, type[Any]] = {
    "profile": EndOfTurnProfile,
    "start": TurnStartThresholds,
    "attempts": AttemptThresholds,
    "rechecks": RecheckThresholds,
    "end": TurnEndThresholds,
    "listening_sounds": ListeningSoundThresholds,
    "overlap": OverlapThresholds,
    "replies": ReplyThresholds,
    "push_to_talk": PushToTalkThresholds,
    "wake_phrase": WakePhraseThresholds,
    "focus": FocusThresholds,
}
"""Classes of the settings that have fields of their own."""

_TEXTS = {
    "-": "",
    "echo": "",
    "backchannel": "mhm",
    "side-talk": "Mom, wait.",
    "beginning": "I",
    "words": "words",
    "called": "words",
}
"""A text for each kind of words in the entry of an interim transcript."""

_OLD_NAMES = {"hear": "frames", "partial": "interim", "judged": "estimate", "asked": "request"}
_OLD_VALUES = {"mhm": "backchannel", "aside": "side-talk", "begin": "beginning", "asked": "requested"}
"""Names of entries, and values of interim transcripts, in traces of schema 1 and 2, with the present ones."""

_FORMER: dict[str, dict[str, Any]] = {
    "start": {"background_certain_ms": 0.0},
    "overlap": {"early_ms": 700.0, "max_early_hold_ms": 0.0},
}
"""Thresholds by group with the values that traces had before they recorded them."""

_RECHECKS = tuple(each.name for each in fields(RecheckThresholds))
"""Names of the thresholds of rechecks. In the trace they are fields of the settings and of the group `attempts`."""

LoggedEvent = ReportedEvent | TurnSettings

SingleEvent = (
    InterimTranscript | DraftTranscript | EndOfTurnScored | FinalTranscript | TranscriptFailed | PlaybackProgress
    | ReplyEnded | ReplyRequested | InputCommitted | KeyPressed | InputCleared | ReplyCancelled
    | VoiceJudged | FellAsleep
)  # fmt: skip
"""Events with one entry each. Frames share entries."""


# ---- to entries ----


def settings_entry(settings: TurnSettings) -> str:
    """Returns the entry of the settings that are in effect from here on."""
    return f"set {json.dumps(_recorded(settings), separators=(',', ':'))}"


def _recorded(settings: TurnSettings) -> dict[str, object]:
    """Returns the settings as they are recorded. The trace format calls the profile "patience"."""
    recorded = {"patience" if name == "profile" else name: value for name, value in asdict(settings).items()}
    rechecks = recorded.pop("rechecks")
    recorded["settle_ms"] = rechecks.pop("settle_ms")
    recorded["attempts"] |= rechecks
    for name in ("idle_timeout_ms", "focus"):  # only sessions that use them record them
        if recorded[name] is None:
            del recorded[name]
    return recorded


def frames_entry(last: FrameProcessed, frames: int, sure: bytes) -> str:
    """Returns the entry of frames that differ only in their probability of speech.

    Args:
        last: The last frame.
        frames: Their number.
        sure: The probability of each frame by `probability_byte`; empty for silence.
    """
    vad = last.vad
    possible_end = "-" if vad.possible_end is None else str(vad.possible_end)
    marked = (
        _POSSIBLE_ONSET
        if vad.possible_onset
        else _ABOVE_NOISE
        if vad.above_noise
        else _BACKGROUND
        if vad.background_level
        else ""
    )
    state = marked or f"{vad.speaking:d}"
    entry = f"frames {last.position} {frames} {state} {vad.boundary} {possible_end}"
    return f"{entry} {base64.b64encode(sure).decode()}" if sure else entry


def event_entry(event: SingleEvent, salt: bytes) -> str:  # noqa: C901, PLR0911, PLR0912 - one return for each kind of event
    """Returns the entry of an event. `salt`: the key for hashes of words."""
    match event:
        case InterimTranscript():
            return f"interim {event.position} {event.transcript.segment} {_words_so_far(event)}"
        case DraftTranscript(position, words, sentence_end):
            return f"draft {position} {words.segment} {words.until} {sentence_end!r} {_hashed(words.text, salt)}"
        case EndOfTurnScored():
            estimate = event.estimate
            numbers = (
                f"{estimate.probability!r} {estimate.silence_ms!r} {estimate.pause_excess_ms!r} {estimate.pausing!r}"
                f" {estimate.speaker_shift!r}"
            )
            sources = f"{estimate.sources or '-'}{_dictated(estimate.dictation)}"
            return f"estimate {event.position} {event.segment} {numbers} {sources}"
        case FinalTranscript():
            words = event.transcript
            void = f" {event.ignored_because}" if event.ignored_because else ""
            hashed = _hashed(words.text, salt)
            draft = " draft" if words.is_draft else ""
            guess = f" guess {_hashed(words.guess, salt)}" if words.guess else ""
            expected = " expected" if event.answer_expected and not words.text else ""
            phrase = " phrase" if event.calls_assistant else ""
            words_field = f"{words.low_confidence:d} {hashed}{void}{draft}{guess}{expected}{phrase}"
            return f"words {event.position} {_id(event.reply_id)} {words.segment} {words_field}"
        case VoiceJudged(position, since, until, verdict):
            return f"voice {position} {since} {until} {verdict}"
        case TranscriptFailed():
            return f"lost {event.position} {_id(event.reply_id)} {event.segment}"
        case PlaybackProgress():
            effect = " effect" if event.has_effect else ""
            return f"playing {event.position} {_id(event.reply_id)} {event.words_heard} {event.audible:d}{effect}"
        case ReplyEnded():
            return f"ended {event.position} {_id(event.reply_id)}"
        case ReplyRequested():
            behind = " behind" if event.after_current_reply else ""
            instead = " instead" if event.at_once else ""
            return f"request {event.position} {event.origin} {bool(event.text):d}{behind}{instead}"
        case InputCommitted(position, after_current_reply=True):
            return f"submitted {position} behind"
        case ReplyCancelled(position, including_request=True):
            return f"cancelled {position} request"
        case InputCommitted() | KeyPressed() | InputCleared() | ReplyCancelled() | FellAsleep():
            return f"{_CLIENT_ENTRIES[type(event)]} {event.position}"
        case _:
            assert_never(event)


def probability_byte(probability: float) -> int:
    """Maps a probability 0..1 to 0..255, the precision of the trace."""
    return round(min(max(probability, 0.0), 1.0) * 255)


def _id(reply_id: ReplyId) -> str:
    return f"{reply_id.turn} {reply_id.attempt}"


def _words_so_far(event: InterimTranscript) -> str:
    if event.ignorable is not None:
        return f"first {event.ignorable}"
    kind = "echo" if event.is_echo else "called" if event.has_wake_phrase else _kind_of_words(event)
    requested = " requested" if event.was_requested else ""
    return f"{event.transcript.low_confidence:d} {kind}{requested}"


def _kind_of_words(event: InterimTranscript) -> str:
    text = event.transcript.text
    if not text:
        return "-"
    if event.after_question:
        return "words"
    if is_backchannel(text):
        return "backchannel"
    if is_side_talk(text):
        return "side-talk"
    return "beginning" if may_become_backchannel(text) else "words"


def _dictated(dictation: Dictation) -> str:
    return "" if dictation == NOTHING else f" dictates {dictation.kind.replace(' ', '-')} {dictation.state}"


def _hashed(text: str, salt: bytes) -> str:
    if not text.strip():
        return "-"
    plain = plain_words(text)
    return blake2b(plain.encode(), key=salt, digest_size=4).hexdigest() if plain else "?"


# ---- and back ----


def parse_entries(entries: Iterable[str]) -> Iterator[LoggedEvent]:
    """Yields the events and settings of the entries in order. Raises ValueError for a malformed entry."""
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if kind == "set":
            yield settings_of(json.loads(rest))
        elif (name := _OLD_NAMES.get(kind, kind)) == "frames":
            yield from _frames_of(rest.split())
        else:
            values = rest.split()
            if name == "interim":
                values = [_OLD_VALUES.get(value, value) for value in values]
            yield _event_of(name, values)


def settings_of(entry: dict[str, object]) -> TurnSettings:
    """Returns the recorded settings of any schema. Unknown fields of newer versions are ignored.

    Raises TypeError, ValueError.
    """
    known = {name: value for name, value in entry.items() if name in TurnSettings.__dataclass_fields__}
    known["profile"] = entry.get("patience")
    rechecks = {**_group_of(entry, "attempts"), **entry}
    known["rechecks"] = {name: rechecks[name] for name in _RECHECKS if name in rechecks}
    if "manual" in entry:
        known |= _modes_of_schema_1(entry)
    for name, mode in (("ends_turn", EndsTurn), ("interrupted_by", InterruptedBy)):
        if name in known:
            known[name] = mode(str(known[name]))
    for name, value in ({name: {} for name in _FORMER} | known).items():
        if isinstance(value, dict):
            group = _GROUPS[name]
            names = {each.name for each in fields(group)}
            recorded = {key: each for key, each in value.items() if key in names}
            known[name] = group(**(_FORMER.get(name, {}) | recorded))
    return TurnSettings(**known)  # type: ignore[arg-type]


def _group_of(entry: dict[str, object], name: str) -> dict[str, object]:
    group = entry.get(name)
    return group if isinstance(group, dict) else {}


def _modes_of_schema_1(entry: dict[str, object]) -> dict[str, object]:
    """Returns the modes of a trace of schema 1, which recorded them as six flags."""
    key_or_silence = EndsTurn.PUSH_TO_TALK if entry.get("held") else EndsTurn.AUTO
    ends = EndsTurn.CLIENT if entry.get("manual") else key_or_silence
    if entry.get("interruptible", True):
        interrupted_by = InterruptedBy.VOICE
    elif entry.get("by_name"):
        interrupted_by = InterruptedBy.WAKE_PHRASE
    else:
        interrupted_by = InterruptedBy.CLIENT if entry.get("by_client") else InterruptedBy.NOTHING
    return {"ends_turn": ends, "interrupted_by": interrupted_by, "has_client": bool(entry.get("by_client"))}


def _frames_of(fields: list[str]) -> Iterator[FrameProcessed]:
    position, count, state, boundary, end_field, *encoded = fields
    probabilities = base64.b64decode(encoded[0]) if encoded else bytes(int(count))
    if len(probabilities) != int(count):
        raise ValueError(f"{count} frames, {len(probabilities)} probabilities")
    for number, probability in enumerate(probabilities, 1):
        end = Samples(int(position) - (int(count) - number) * FRAME_SAMPLES)
        possible_end = None if end_field == "-" else Samples(int(end_field))
        speaking, possible_onset = state in {"1", _ABOVE_NOISE, _BACKGROUND}, state == _POSSIBLE_ONSET
        # Older traces have no background level.
        above_noise, background = state == _ABOVE_NOISE, state == _BACKGROUND
        yield FrameProcessed(
            end,
            VadResult(
                speaking,
                Samples(int(boundary)),
                probability / 255,
                possible_end,
                possible_onset,
                above_noise,
                background,
            ),
        )


def _event_of(kind: str, fields: list[str]) -> ReportedEvent:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
    position, *rest = fields  # raises ValueError without fields
    sample = Samples(int(position))
    match kind, rest:
        case "words", all_words:
            flags: list[str] = []
            while all_words and all_words[-1] in {"phrase", "expected"}:
                flags.append(all_words.pop())
            words_event = _final_transcript(sample, all_words)
            return replace(words_event, calls_assistant="phrase" in flags, answer_expected="expected" in flags)
        case "interim", [segment, "first", probability]:
            words = Transcript(SegmentId(int(segment)), sample, "")
            return InterimTranscript(sample, words, was_requested=True, ignorable=float(probability))
        case "interim", [segment, low_confidence, words_field, *requested] if requested in ([], ["requested"]):
            text = _TEXTS[words_field]
            words = Transcript(SegmentId(int(segment)), sample, text, low_confidence == "1")
            return InterimTranscript(
                sample,
                words,
                has_wake_phrase=words_field == "called",
                was_requested=bool(requested),
                is_echo=words_field == "echo",
            )
        case "estimate", [
            segment,
            probability,
            silence_ms,
            excess_ms,
            *pausing,
            sources,
            "dictates",
            dictated,
            state,
        ] if len(pausing) <= 2:
            dictation = _dictation_of(dictated, state)
            estimate = _estimate_of([probability, silence_ms, excess_ms], pausing, sources, dictation)
            return EndOfTurnScored(sample, SegmentId(int(segment)), estimate)
        case "draft", [segment, until, sentence_end, words_field]:
            text = "" if words_field == "-" else words_field
            words = Transcript(SegmentId(int(segment)), Samples(int(until)), text, is_draft=True)
            return DraftTranscript(sample, words, float(sentence_end))
        case "estimate", [segment, probability, silence_ms, excess_ms, *pausing, sources] if len(pausing) <= 2:
            estimate = _estimate_of([probability, silence_ms, excess_ms], pausing, sources, NOTHING)
            return EndOfTurnScored(sample, SegmentId(int(segment)), estimate)
        case "lost", [turn, attempt, segment]:
            return TranscriptFailed(sample, _reply(turn, attempt), SegmentId(int(segment)))
        case "playing", [turn, attempt, words, audible, *effect] if effect in ([], ["effect"]):
            return PlaybackProgress(sample, _reply(turn, attempt), int(words), audible == "1", bool(effect))
        case "ended", [turn, attempt]:
            return ReplyEnded(sample, _reply(turn, attempt))
        case "request", [
            ("greeting" | "announcement" | "ring" | "requested" | "repeated" | "resumed") as origin,
            worded,
            *when,
        ] if when in ([], ["behind"], ["instead"]):
            text = "words" if worded == "1" else ""
            return ReplyRequested(sample, origin, text, when == ["behind"], when == ["instead"])
        case "submitted", [*after_current_reply] if after_current_reply in ([], ["behind"]):
            return InputCommitted(sample, bool(after_current_reply))
        case "voice", [since, *until, ("own" | "other" | "unsure") as verdict] if len(until) <= 1:
            end = Samples(int(until[0])) if until else sample  # older traces have no end
            return VoiceJudged(sample, Samples(int(since)), end, verdict)
        case "asleep", []:
            return FellAsleep(sample)
        case "pressed", []:
            return KeyPressed(sample)
        case "cleared", []:
            return InputCleared(sample)
        case "cancelled", []:
            return ReplyCancelled(sample)
        case "cancelled", ["request"]:
            return ReplyCancelled(sample, including_request=True)
        case _:
            raise ValueError(f"no event of turn taking: {kind} with {len(fields)} fields")


def _estimate_of(numbers: list[str], pausing: list[str], sources: str, dictation: Dictation) -> EndOfTurnEstimate:
    probability, silence_ms, excess_ms = map(float, numbers)
    share, shift, *_ = (*map(float, pausing), 0.0, 0.0)  # older traces do not have them
    return EndOfTurnEstimate(probability, silence_ms, excess_ms, sources.replace("-", ""), share, dictation, shift)


def _dictation_of(kind: str, state: str) -> Dictation:
    for known in KINDS:
        for whole in STATES:
            if (known.replace(" ", "-"), whole) == (kind, state):
                return Dictation(known, whole)
    raise ValueError(f"nothing that can be dictated: {kind} {state}")


def _final_transcript(position: Samples, words: list[str]) -> FinalTranscript:
    turn, attempt, segment, low_confidence, words_field, *rest = words  # raises ValueError with fewer fields
    guess = ""
    if len(rest) > 1 and rest[-2] == "guess":
        *rest, _, guess = rest
    is_draft = rest[-1:] == ["draft"]
    match rest[:-1] if is_draft else rest:
        case []:
            void: Literal["", "overheard", "called", "backchannel"] = ""
        case [("overheard" | "called" | "backchannel") as reason]:
            void = reason
        case _:
            raise ValueError(f"no transcript: {len(words)} fields")
    text = "" if words_field == "-" else words_field
    transcript = Transcript(
        SegmentId(int(segment)), position, text, low_confidence == "1", is_draft=is_draft, guess=guess
    )
    return FinalTranscript(position, _reply(turn, attempt), transcript, void)


def _reply(turn: str, attempt: str) -> ReplyId:
    return ReplyId(int(turn), int(attempt))
