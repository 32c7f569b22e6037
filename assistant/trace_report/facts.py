"""Extracts from the record of a turn the facts that reports count. Pure.

An attempt is a speculative reply: it begins before the end of the turn (EOT) is decided. An attempt is a hit if the
user heard it and it began before the EOT decision. It is wasted if it was dropped, unless it only requested the same
transcript again.
"""

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from assistant.skills.answers import REFUSED
from assistant.trace.latency import STAGES
from assistant.trace.record import FAILED
from assistant.trace_report.reading import Record
from assistant.trace_report.tokens import Tokens, tokens_of

CUT_IN_MS = 500.0
"""Maximum time from reply onset to interruption, in milliseconds, for the reply to count as a cut-in.

Speech this soon means that the user had not finished. The VAD needs about 300 ms to be sure of a voice, and the
remaining 200 ms are shorter than a human reaction to a sound.
"""

MODEL_STAGES = frozenset(("llm_network", "llm_first_token", "first_sentence"))
WORK_STAGES = MODEL_STAGES | {"stt", "queue", "tts"}

_WORK_PLACES = tuple(place for place, stage in enumerate(STAGES) if stage in WORK_STAGES)
_NO_TIME = {"ms": 0.0}
_every_stage = itemgetter(*STAGES)
_COUNTED = frozenset(("attempt", "drafted", "commit", "dropped", "retracted", "interrupt", "tried"))

_TRIED = re.compile(r"attempt \d+: (.+): ([a-z]+), ([a-z ]+) after (\d+) ms(?:, (\d+) tokens in vain)?")


class TurnFacts(NamedTuple):
    """Facts of one turn. All times are in milliseconds.

    Attributes:
        latency_ms: Response latency; None if there is none or the turn failed.
        apology_ms: Response latency of a turn that failed; None if there is none or the turn was answered.
        stages_ms: Stage durations in the order of STAGES; empty without a latency.
        given: Replies that were committed, including retracted ones.
        cut_ins: Replies among `given` that began before the user had finished: they were retracted, or interrupted
            within
            CUT_IN_MS.
        interrupted: Whether the user's voice interrupted the reply. A key, a client or the end of the conversation does
            not count.
        committed: Whether a committed reply remained at the end of the turn.
        ahead_ms: Time from the start of the heard attempt to the EOT decision. Negative if the attempt started later;
            None if unknown.
        hidden_ms: Work on the heard attempt that did not add to the latency.
        dropped: Attempts that were started and not used.
        confirmed: Attempts that requested the transcript again and got the same words.
        wasted_answers: Dropped attempts for which an LLM or the skills had started an answer.
        wasted_model_ms: Time spent on these answers, up to their first sentence or until they were dropped.
        words_ms: Time from the transcript request of the heard attempt to the transcript. None if a draft was enough.
        speech_ms: Duration of the user's speech, including pauses.
        model_ms: Time from the LLM request to the first token, including network and queue.
        voice_ms: Time from the first sentence to its first sound.
        refused: Whether the skills said that they cannot do what was asked. The turn counts as answered.
        answered_by: Name of what answered; "" if nothing did.
        tries: Every request to an endpoint, if several endpoints are configured.
        decoding_ms: Time spent waiting for transcripts, over all attempts.
        sound_ms: Duration of the synthesized sound, whether it was heard or not.
        voicing_ms: Time the TTS engine took to synthesize it.
        last_ms: Time of the last known event, on the conversation's clock.
        busy_others: Share of the processors that other programs used, if they kept the machine busy; else None.
        overlap_ms: Time for which a reply that was withdrawn was audible beside the user's speech; else None.
    """

    outcome: str
    latency_ms: float | None
    apology_ms: float | None
    stages_ms: tuple[float, ...]
    given: int
    cut_ins: int
    interrupted: bool
    committed: bool
    ahead_ms: float | None
    hidden_ms: float
    dropped: int
    confirmed: int
    wasted_answers: int
    wasted_model_ms: float
    words_ms: float | None
    speech_ms: float | None
    model_ms: float | None
    voice_ms: float | None
    answered_by: str
    recognizer: str
    voice: str
    failed: bool
    refused: bool
    tries: tuple["Try", ...]
    tokens: Tokens
    decoding_ms: float
    sound_ms: float
    voicing_ms: float
    last_ms: float
    busy_others: float | None
    overlap_ms: float | None


class Try(NamedTuple):
    """One request to an LLM endpoint and its outcome.

    Attributes:
        why: "first", "failover", "hedge" or "look".
        outcome: "answered", "overtaken", "failed" or "given up".
        took_ms: Time until the first token, the error, or the end of the connection.
        tokens_in_vain: Unused tokens, as far as they are known.
    """

    endpoint: str
    why: str
    outcome: str
    took_ms: float
    tokens_in_vain: int


class _Events(NamedTuple):
    heard: int  # the attempt that was committed and not retracted; 0: none
    asked_ms: float | None  # when the transcript of that attempt was requested
    given: int
    dropped: int
    confirmed: int
    retracted: int
    interrupt_ms: float | None  # when the user's voice interrupted the reply
    tries: tuple[Try, ...]
    last_ms: float
    drafted: bool  # whether the heard attempt was started with a draft transcript


class _Work(NamedTuple):
    total_ms: float
    words_ms: float | None
    model_ms: float | None
    voice_ms: float | None
    wasted_answers: int
    wasted_model_ms: float
    decoding_ms: float


def facts_of(record: Record) -> TurnFacts:
    """Returns the facts of a record.

    Raises KeyError, TypeError or ValueError if the record is not the record of a turn.
    """
    events = _events(record)
    work = _work(record, events.heard)
    latency_ms, endpoint_ms = record["response_latency_ms"], record["endpoint_ms"]
    has_failed = failed(record)
    shares = () if has_failed else _stage_durations(record["stages"])
    paid_ms = sum([shares[place] for place in _WORK_PLACES]) if shares else 0.0
    began_ms, ended_ms = record.get("speech_start_ms"), record["speech_end_ms"]
    playout_ms = record.get("playout_start_ms")
    soon = (
        events.interrupt_ms is not None
        and playout_ms is not None
        and events.interrupt_ms - playout_ms <= CUT_IN_MS
    )  # fmt: skip
    engines, answers = record["engines"], record.get("answers", ())
    asked_ms = events.asked_ms
    return TurnFacts(
        outcome=record["outcome"],
        latency_ms=None if has_failed else latency_ms,
        apology_ms=latency_ms if has_failed else None,
        stages_ms=shares,
        given=events.given,
        cut_ins=events.retracted + soon,
        interrupted=events.interrupt_ms is not None,
        committed=events.heard > 0,
        ahead_ms=None if endpoint_ms is None or asked_ms is None else endpoint_ms - asked_ms,
        hidden_ms=max(0.0, work.total_ms - paid_ms) if shares else 0.0,
        dropped=events.dropped,
        confirmed=events.confirmed,
        wasted_answers=work.wasted_answers,
        wasted_model_ms=work.wasted_model_ms,
        words_ms=None if events.drafted else work.words_ms,
        speech_ms=None if began_ms is None or ended_ms is None else ended_ms - began_ms,
        model_ms=None if has_failed else work.model_ms,
        voice_ms=work.voice_ms,
        answered_by=engines.get("answered_by", ""),
        recognizer=engines.get("stt", ""),
        voice=engines.get("tts", ""),
        failed=has_failed,
        refused=not has_failed and refused(record),
        tries=events.tries,
        tokens=tokens_of(record),
        decoding_ms=work.decoding_ms,
        sound_ms=sum([answer["sound_ms"] for answer in answers]),
        voicing_ms=sum([answer["voice_ms"] for answer in answers]),
        last_ms=events.last_ms,
        busy_others=record.get("busy_others"),
        overlap_ms=record.get("overlap_ms"),
    )


def failed(record: Record) -> bool:
    """Returns whether the turn failed. Same rule as `TurnRecord.failed`."""
    return record["error"] is not None or record["outcome"] in FAILED


def refused(record: Record) -> bool:
    """Returns whether the skills refused. Same rule as `TurnRecord.refused`."""
    return any(answer["reason"] == REFUSED and not answer["dropped"] for answer in record.get("answers", ()))


def _stage_durations(stages: Mapping[str, Mapping[str, float]]) -> tuple[float, ...]:
    """Returns the stage durations in the order of STAGES; () without stages."""
    if not stages:
        return ()
    try:
        durations = _every_stage(stages)
    except KeyError:  # record of another version
        durations = tuple(stages.get(stage, _NO_TIME) for stage in STAGES)
    return tuple([share["ms"] for share in durations])


def _events(record: Record) -> _Events:
    heard = given = dropped = confirmed = retracted = 0
    interrupt_ms = None
    asked_ms: dict[int, float] = {}
    tries: list[Try] = []
    last_ms = 0.0
    drafted: set[int] = set()
    for event in record["events"]:
        name, at_ms = event["name"], event["at_ms"]
        if at_ms > last_ms:  # noqa: PLR1730 - a call of max, eleven times a turn, is felt over a million turns
            last_ms = at_ms
        if name not in _COUNTED:
            continue
        match name:
            case "attempt":
                asked_ms[int(event["detail"])] = at_ms
            case "drafted":
                drafted.add(attempt_of(event["detail"]))
            case "commit":
                heard, given = attempt_of(event["detail"]), given + 1
            case "dropped" if event["detail"].endswith(": same words"):
                confirmed += 1
            case "dropped":
                dropped += 1
            case "retracted":
                heard, dropped, retracted = 0, dropped + 1, retracted + 1
            case "interrupt" if event["detail"] == "voice":
                interrupt_ms = at_ms
            case "tried":
                tries += [tried] if (tried := try_of(event["detail"])) is not None else []
    asked, draft = asked_ms.get(heard), heard in drafted
    return _Events(heard, asked, given, dropped, confirmed, retracted, interrupt_ms, tuple(tries), last_ms, draft)


def attempt_of(detail: str) -> int:
    """Returns the attempt number: 2 for "attempt 2: other words". Raises ValueError if there is none."""
    return int(detail.removeprefix("attempt ").partition(":")[0])


def try_of(detail: str) -> Try | None:
    """Parses the detail of a "tried" event. Returns None if another version formats it differently."""
    match = _TRIED.match(detail)
    if match is None:
        return None
    endpoint, why, outcome, took_ms, tokens = match.groups()
    return Try(endpoint, why, outcome, float(took_ms), int(tokens or 0))


def _work(record: Record, heard: int) -> _Work:
    words_ms = voice_ms = None
    total_ms = wasted_ms = model_ms = decoding_ms = 0.0
    asked_model = False
    wasted: set[int] = set()
    for span in record["spans"]:
        name, stage, took_ms = span["name"], span["stage"], span["end_ms"] - span["start_ms"]
        if name == "stt":
            decoding_ms += took_ms
        if span["dropped"]:
            if stage in MODEL_STAGES:
                wasted.add(span["attempt"])
                wasted_ms += took_ms
            continue
        if span["attempt"] != heard:
            continue
        # "asked …" spans are endpoint requests that were not used; "part …" spans run beside the reply's own.
        if stage not in WORK_STAGES or name == "commit" or name.startswith(("asked ", "part ")):
            continue
        total_ms += took_ms
        if name != stage:
            continue  # attempts that requested the same words again, and follow-up requests after tools
        if stage == "stt":
            words_ms = took_ms
        elif stage == "tts":
            voice_ms = took_ms
        elif stage != "first_sentence":
            model_ms += took_ms
            asked_model = True
    return _Work(
        total_ms, words_ms, model_ms if asked_model else None, voice_ms, len(wasted), wasted_ms, decoding_ms
    )  # fmt: skip
