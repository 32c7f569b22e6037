"""Plays the scenarios: what a user does, and what is measured. Times are in event loop seconds."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from assistant.commands.engine_bench.words import plain_words, word_errors
from assistant.trace.waterfall import nearest_rank
from bench.controlled_llm import LlmBehaviour
from bench.conversations.caller import Caller, CallLostError, calling
from bench.conversations.processes import Model
from bench.conversations.recordings import Recording, room_of
from bench.conversations.reply_listener import DUCK, SPEECH_STARTED, HeardReply, ReplyListener
from bench.serving.rows import Row, Scenario

SETTLE_S = 0.8
"""Room noise before the first clip, in seconds. The VAD and a client's clock need it to settle."""

GAP_S = 1.0
"""Gap between the end of a reply and the next clip, in seconds. The trace arrives within it."""

HUNG_UP_S = 0.5
"""Gap between two connections of one user, in seconds. A full server counts a closed one 30 ms longer (measured)."""

ANSWERED_WITHIN_S = 8.0

INTERRUPT_AFTER_S = 1.0
"""Time from the first audible sample of a reply to the speech onset of the interruption, in seconds."""

NOISE_AFTER_S = 0.5
NOISE_S = 1.5
"""Begin and length of noise over a reply, in seconds."""

STOPS_WITHIN_S = 3.0
"""Time limit for a stop after the end of an interruption, in seconds. Later it counts as missed."""

AFTER_NOISE_S = 2.0
"""Time after noise for its effects to end, in seconds."""

STAGGER_S = 0.37
"""Offset between the starts of simultaneous conversations, in seconds, so that they do not run in step."""

LONG_REPLY = (
    "Last word {last}, of {count}. The museum opens at nine in the morning and closes at six in the evening. "
    "The last entry is at a quarter past five, and tickets cost twelve euros for adults."
)
"""A reply of about eight seconds, long enough to interrupt."""

REPLY_BEGINS = "last word"


@dataclass(frozen=True, slots=True)
class Stage:
    """The server and LLM on which a scenario is played.

    Attributes:
        url: URL of the server.
        model: The LLM.
        behaviour: Settings of the LLM.
        scenario: Name of the scenario.
        session: Index of the session among simultaneous ones.
        start: Index of the server start.
        variant: Variant of the server's settings; "" for those of the run.
        answered_within_s: Time limit of an answer. Later it counts as missing.
    """

    url: str
    model: Model
    behaviour: LlmBehaviour
    scenario: Scenario
    session: int = 0
    start: int = 0
    variant: str = ""
    answered_within_s: float = ANSWERED_WITHIN_S

    def row(self, recording: Recording, number: int) -> Row:
        """Returns a row without any results."""
        return Row(
            self.scenario,
            recording.id,
            self.session,
            self.start,
            number,
            self.behaviour.ttft_ms,
            self.behaviour.tokens_per_s,
            variant=self.variant,
        )


Play = Callable[[Caller, Stage, Sequence[Recording]], AsyncIterator[Row]]
"""Plays a scenario on one connection."""


async def turns(stage: Stage, recordings: Sequence[Recording]) -> list[Row]:
    """Says each clip once, with one connection per speaker."""
    rows: list[Row] = []
    for speaker in dict.fromkeys(recording.speaker for recording in recordings):
        if rows:
            await asyncio.sleep(HUNG_UP_S)
        rows += await conversation(stage, [recording for recording in recordings if recording.speaker == speaker])
    return rows


async def several(stage: Stage, recordings: Sequence[Recording], sessions: int) -> list[Row]:
    """Runs simultaneous sessions, each with its own clip order and one connection per speaker."""

    async def run_session(session: int) -> list[Row]:
        await asyncio.sleep(session * STAGGER_S)
        first = session * len(recordings) // sessions
        return await turns(replace(stage, session=session), [*recordings[first:], *recordings[:first]])

    async with asyncio.TaskGroup() as people:
        tasks = [people.create_task(run_session(session)) for session in range(sessions)]
    return [row for task in tasks for row in task.result()]


async def conversation(stage: Stage, recordings: Sequence[Recording]) -> list[Row]:
    """Says each clip on one connection and waits for its answer."""
    return await _connection(stage, recordings, _turns)


async def bargeins(stage: Stage, recordings: Sequence[Recording]) -> list[Row]:
    """Says each clip, and says it again into its answer."""
    return await _connection(stage, recordings, _bargeins)


async def holds(stage: Stage, question: Recording, noises: Sequence[Recording]) -> list[Row]:
    """Says a question repeatedly, and plays a noise into each answer."""

    async def play_noises(caller: Caller, stage: Stage, _: Sequence[Recording]) -> AsyncIterator[Row]:
        for number, noise in enumerate(noises, start=1):
            yield await _hold(caller, stage.row(noise, number), question, noise)

    return await _connection(stage, [question], play_noises)


async def noises(stage: Stage, recordings: Sequence[Recording]) -> list[Row]:
    """Plays each noise alone, in its own connection."""
    return [row for recording in recordings for row in await _connection(stage, [recording], _noises)]


async def _connection(stage: Stage, recordings: Sequence[Recording], play: Play) -> list[Row]:
    """Plays on one connection. If the server disconnects, a row states it for the rest."""
    rows: list[Row] = []
    late_ms: list[float] = []
    try:
        async with calling(stage.url, room_of(recordings[0])) as caller:
            late_ms = caller.late_ms
            await asyncio.sleep(SETTLE_S)
            async for row in play(caller, stage, recordings):
                rows += [row]  # one by one: keeps what was measured if the server disconnects
    except (CallLostError, OSError) as error:
        rows.append(replace(stage.row(recordings[0], len(rows) + 1), lost=str(error)))
    late = nearest_rank(late_ms, 99) if late_ms else 0.0
    return [replace(row, late_ms=round(late, 1)) for row in rows]


async def _turns(caller: Caller, stage: Stage, recordings: Sequence[Recording]) -> AsyncIterator[Row]:
    for number, recording in enumerate(recordings, start=1):
        yield await _turn(caller, stage, stage.row(recording, number), recording)


async def _turn(caller: Caller, stage: Stage, row: Row, recording: Recording) -> Row:
    began_s, wall_s = asyncio.get_running_loop().time(), datetime.now(UTC).timestamp()
    before = len(caller.listener.replies)
    begin_s, end_s = caller.say(recording)
    clip_s = begin_s - recording.start_s
    await caller.until(lambda: _answer(caller, before, end_s) is not None, end_s + stage.answered_within_s)
    await caller.until_silent(GAP_S)
    replies = caller.listener.replies[before:]
    answer = _answer(caller, before, end_s)
    heard = [words for at_s, words in caller.listener.transcripts if at_s >= began_s]
    spoken = " ".join(heard)
    errors = word_errors([(recording.transcript, spoken)] if recording.transcript else [], "en")
    asked = [answered.asked for answered in stage.model.answers_since(wall_s)]
    return replace(
        row,
        latency_ms=None if answer is None or answer.audible_s is None else (answer.audible_s - end_s) * 1000,
        cut_in=any(reply.audible_s is not None and begin_s < reply.audible_s <= end_s for reply in replies),
        overlap_ms=sum(
            reply.audible_ms(clip_s + since_s, clip_s + until_s)
            for reply in replies
            for since_s, until_s in recording.speech
        ),
        replies=sum(reply.status != "cancelled" for reply in replies),
        leading_ms=0.0 if answer is None else answer.leading_ms,
        wrong_reply=answer is not None and not answer.text.lower().startswith(REPLY_BEGINS),
        other_words=answer is not None and not was_asked(heard, asked),
        errors=errors.errors,
        words=errors.reference_words,
        traces=_traces(caller, began_s),
    )


def was_asked(heard: Sequence[str], asked: Sequence[str]) -> bool:
    """Returns whether the LLM was asked exactly the recognized words: the last ones, alone or with earlier ones."""
    questions = {plain_words(question, "en") for question in asked}
    return any(plain_words(" ".join(heard[first:]), "en") in questions for first in range(len(heard)))


def _answer(caller: Caller, before: int, end_s: float) -> HeardReply | None:
    """Returns the first reply that became audible after the end of speech."""
    replies = caller.listener.replies[before:]
    return next((reply for reply in replies if reply.audible_s is not None and reply.audible_s > end_s), None)


async def _bargeins(caller: Caller, stage: Stage, recordings: Sequence[Recording]) -> AsyncIterator[Row]:
    for number, recording in enumerate(recordings, start=1):
        yield await _bargein(caller, stage.row(recording, number), recording)


async def _bargein(caller: Caller, row: Row, recording: Recording) -> Row:
    listener = caller.listener
    began_s, before = asyncio.get_running_loop().time(), len(listener.replies)
    _, end_s = caller.say(recording)
    if not await caller.until(lambda: _answer(caller, before, end_s) is not None, end_s + ANSWERED_WITHIN_S):
        await caller.until_silent(GAP_S)
        return replace(row, why="no reply to interrupt", traces=_traces(caller, began_s))
    playing = _answer(caller, before, end_s)
    assert playing is not None
    assert playing.audible_s is not None
    await caller.pause_until(playing.audible_s + INTERRUPT_AFTER_S - recording.start_s)
    asked_s = asyncio.get_running_loop().time()
    begin_s, end_s = caller.say(recording)
    await caller.until(lambda: listener.first(SPEECH_STARTED, begin_s) is not None, end_s + STOPS_WITHIN_S)
    row = interrupted(row, listener, playing, asked_s, begin_s)
    second = len(listener.replies)
    await caller.until(lambda: _answer(caller, second, end_s) is not None, end_s + ANSWERED_WITHIN_S)
    await caller.until_silent(GAP_S)
    answer = _answer(caller, second, end_s)
    return replace(
        row,
        latency_ms=None if answer is None or answer.audible_s is None else (answer.audible_s - end_s) * 1000,
        traces=_traces(caller, began_s),
    )


def interrupted(row: Row, listener: ReplyListener, playing: HeardReply, asked_s: float, begin_s: float) -> Row:
    """Returns the row of an interruption with the server's reaction. Pure.

    Args:
        row: A row without results.
        listener: Events until some time after the interruption.
        playing: The reply that was interrupted.
        asked_s: When the clip of the interruption began.
        begin_s: Its speech onset.
    """
    stop_s, duck_s = listener.first(SPEECH_STARTED, begin_s), listener.first(DUCK, begin_s)
    too_soon = listener.count(SPEECH_STARTED, asked_s, begin_s) + listener.count(DUCK, asked_s, begin_s) > 0
    # A reply that was stopped too soon has also ended before, but it did not play to its end.
    over = playing.plays_until_s < begin_s and not too_soon
    return replace(
        row,
        lost="the reply had already ended" if over else "",
        why="stopped before any speech" if too_soon else "",
        stop_ms=None if stop_s is None or too_soon else (stop_s - begin_s) * 1000,
        duck_ms=None if duck_s is None else (duck_s - begin_s) * 1000,
    )


async def _hold(caller: Caller, row: Row, question: Recording, noise: Recording) -> Row:
    began_s, before = asyncio.get_running_loop().time(), len(caller.listener.replies)
    _, end_s = caller.say(question)
    if not await caller.until(lambda: _answer(caller, before, end_s) is not None, end_s + ANSWERED_WITHIN_S):
        await caller.until_silent(GAP_S)
        return replace(row, why="no reply during the noise", held=False, traces=_traces(caller, began_s))
    playing = _answer(caller, before, end_s)
    assert playing is not None
    assert playing.audible_s is not None
    await caller.pause_until(playing.audible_s + NOISE_AFTER_S)
    noise_s = asyncio.get_running_loop().time()
    caller.say(noise, noise.pcm[: round(NOISE_S * len(noise.pcm) / noise.end_s)])
    caller.microphone.enter(room_of(question))
    await caller.until_silent(GAP_S)
    return replace(
        row,
        held=playing.status == "completed" and not playing.cut,
        starts=caller.listener.count(SPEECH_STARTED, noise_s),
        seconds=NOISE_S,
        traces=_traces(caller, began_s),
    )


async def _noises(caller: Caller, stage: Stage, recordings: Sequence[Recording]) -> AsyncIterator[Row]:
    for number, recording in enumerate(recordings, start=1):
        began_s, before = asyncio.get_running_loop().time(), len(caller.listener.replies)
        _, end_s = caller.say(recording)
        await caller.pause_until(end_s + AFTER_NOISE_S)
        await caller.until_silent(GAP_S)
        yield replace(
            stage.row(recording, number),
            seconds=recording.end_s,
            starts=caller.listener.count(SPEECH_STARTED, began_s),
            replies=len(caller.listener.replies) - before,
            traces=_traces(caller, began_s),
        )


def _traces(caller: Caller, since_s: float) -> tuple[dict[str, object], ...]:
    return tuple(trace for at_s, trace in caller.listener.traces if at_s >= since_s)
