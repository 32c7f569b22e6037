"""Simulates one turn with other settings: the events that turn taking would have received. Pure.

The user's behaviour is fixed: every frame, every interim transcript, every client request. The effects of turn taking's
own decisions are taken from the recording if the decision was the same at the same sample. Otherwise they are simulated
from the nearest recorded ones: a transcript takes as long and has the words recorded in that silence; an EOT estimate
stays the same; an answer takes as long from its transcript to its first sound. `TurnCourse.assumed` names what was
simulated.
"""

import copy
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, TranscriptRequests
from assistant.replay.course import Change, CommittedReply, ReplyTiming, TurnCourse, TurnRange
from assistant.replay.event_replay import (
    PlaybackReports,
    RecordedRequest,
    RecordingIndex,
    ScoredSilence,
    Source,
    sure_speech_end,
)
from assistant.replay.world import World
from assistant.turns.effects import (
    CommitTurn,
    DropAttempt,
    EndOfTurn,
    HoldPlayback,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    ReleasePlayback,
    RequestTranscript,
    RetractReply,
    TurnStarted,
)
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    ReplyEnded,
    ReplyId,
    ReportedEvent,
    TranscriptFailed,
)
from assistant.turns.log.event_entries import LoggedEvent
from assistant.turns.settings import TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

AFTER_THE_END_S = 4.0
"""Silence appended to a conversation, in seconds. Longer than any silence timeout, so that the last turn is decided."""

NO_SEGMENT = SegmentId(0)

UNDERSTOOD = samples_of_ms(100)
"""Time until a voice is known to have no words."""

FIRST_WORD = samples_of_ms(300)
"""Assumed time from audibility to the first whole word of a reply, if unknown."""


def run(
    recorded: RecordingIndex, before: TranscriptRequests, span: TurnRange, change: Change, pace: ReplyTiming | None
) -> TurnCourse:
    """Simulates a turn with other settings.

    Args:
        recorded: Its conversation.
        before: Turn taking in the state before the turn. It is not changed.
        span: Position of the turn.
        change: The change of settings.
        pace: Durations of the turn's answer; None if no answer was heard.
    """
    simulation = _Simulation(copy.deepcopy(before), recorded, span, change, pace)
    simulation.turns.settings = change(simulation.turns.settings)
    simulation.restore()
    for place in range(span.start, span.end):
        if place >= span.next and simulation.next_turn_began:
            return simulation.course
        simulation.process(place, recorded.steps[place].event)
    if span.end == span.steps:
        simulation.append_silence()
    return simulation.course


@dataclass(slots=True)
class _Simulation(World):
    recorded: RecordingIndex
    span: TurnRange
    change: Change
    pace: ReplyTiming | None
    course: TurnCourse = field(default_factory=TurnCourse)
    place: int = 0
    silence: Samples = Samples(0)
    spoken_into: ReplyId | None = None  # the reply that was active when the turn began
    next_turn_began: bool = False  # whether another turn has begun since the last answer
    begun: tuple[Samples, Samples] = (Samples(-1), Samples(-1))  # when the last turn start was reported, and its onset
    last: FrameProcessed | None = None
    segment: SegmentId = NO_SEGMENT
    ordinal: int = 0
    # Recorded id → simulated id, for replies that are the same.
    simulated_ids: dict[ReplyId, ReplyId] = field(default_factory=dict)
    # Request of a silence → whether it is the same as recorded.
    asked: dict[tuple[Samples, int], bool] = field(default_factory=dict)
    prepared: dict[ReplyId, tuple[Samples, int]] = field(default_factory=dict)
    dropped: set[ReplyId] = field(default_factory=set)
    held: list[ReportedEvent] = field(default_factory=list)  # playback of a reply whose first sound is held

    # ---- recorded events ----

    def process(self, place: int, item: LoggedEvent) -> None:
        """Processes the next recorded event."""
        self.place = place
        match item:
            case TurnSettings():
                self.turns.settings = self.change(item)
            case FrameProcessed():
                self._send_due(item.position)
                self._process_frame(item)
            case InterimTranscript():
                self.handle(replace(item, transcript=replace(item.transcript, segment=self.segment)))
            case DraftTranscript():
                self._process_draft(item)
            case EndOfTurnScored():
                self._process_estimate(item)
            case FinalTranscript(reply_id=reply_id):
                if reply_id in self.simulated_ids:
                    self.handle(replace(item, reply_id=self.simulated_ids[reply_id]))
            case TranscriptFailed(position, reply_id, _):
                if reply_id in self.simulated_ids:
                    self.handle(TranscriptFailed(position, self.simulated_ids[reply_id], self.segment))
            case PlaybackProgress() | ReplyEnded():
                if (here := self._simulated_id(item.reply_id)) is not None:
                    self.handle(replace(item, reply_id=here))
            case _:
                self.handle(item)

    def restore(self) -> None:
        """Restores the reply that was spoken into, and the silence in which the turn begins with its requests."""
        self.spoken_into = self.turns.replying
        for place in range(self.span.start - 1, -1, -1):
            logged, effects = self.recorded.steps[place]
            asked = [effect.reply_id for effect in effects if isinstance(effect, RecognizerRequest)]
            self.simulated_ids |= {reply_id: reply_id for reply_id in asked}
            self.ordinal += len(asked)
            if (position := sure_speech_end(logged)) is not None:
                self.silence = position
                break
        self.segment = self._segment_before(self.span.start)
        self.asked = dict.fromkeys(((self.silence, ordinal) for ordinal in range(self.ordinal)), True)

    def _segment_before(self, place: int) -> SegmentId:
        """Returns the last segment before the turn. An unconfirmed onset may have become this turn."""
        for _, effects in reversed(self.recorded.steps[:place]):
            for effect in reversed(effects):
                if isinstance(effect, OpenSegment | RecognizerRequest | RequestTranscript):
                    return effect.segment
        return NO_SEGMENT

    def append_silence(self) -> None:
        """Appends silence after the end of the trace."""
        last = self.last
        if last is None or last.vad.speaking or not self._undecided():
            return
        known = len(self.course.decisions)
        for _ in range(samples_of_s(AFTER_THE_END_S) // FRAME_SAMPLES):
            self.place += 1
            end = Samples(self.now + FRAME_SAMPLES)
            self._send_due(end)
            self._process_frame(FrameProcessed(end, VadResult(False, last.vad.boundary, 0.0)))
        if len(self.course.decisions) > known:
            self.course.assumed.add("silence after the end")

    def _undecided(self) -> bool:
        return self.turns.phase is not Phase.IDLE and not self.course.given and not self.next_turn_began

    def _process_frame(self, heard: FrameProcessed) -> None:
        self.now, self.last = heard.position, heard
        position = sure_speech_end(heard)
        if position is not None:
            self.silence, self.ordinal = position, 0
            self.take(lambda event: isinstance(event, EndOfTurnScored))  # they were for the previous silence
        self.handle(heard)

    def _process_draft(self, item: DraftTranscript) -> None:
        """Processes a draft. The attempt that begins with it is the recorded one, if that began with it as well."""
        recorded = [effect.reply_id for effect in self.recorded.steps[self.place].effects if _is_foreseen(effect)]
        for effect in self.handle(replace(item, transcript=replace(item.transcript, segment=self.segment))):
            if isinstance(effect, PrepareReply) and recorded:
                self.simulated_ids[recorded[0]] = effect.reply_id

    def _process_estimate(self, item: EndOfTurnScored) -> None:
        estimate = self.recorded.estimates.get(self.place)
        if estimate is None or estimate.silence != self.silence:
            return
        if self.asked.get((estimate.silence, estimate.ordinal)):
            self.handle(EndOfTurnScored(item.position, self.segment, item.estimate))

    def _simulated_id(self, reply_id: ReplyId) -> ReplyId | None:
        """Returns the simulated id of a recorded reply, if it was committed in the same way."""
        if reply_id == self.spoken_into:
            return reply_id
        here = self.simulated_ids.get(reply_id)
        return here if any(given.same and given.commit.reply_id == here for given in self.course.given) else None

    # ---- simulated events ----

    def _send_due(self, before: Samples) -> None:
        """Sends the simulated events that are due before the end of the next frame. Notes what they assume."""
        for event in self.take_due(before):
            match event:
                case EndOfTurnScored():
                    self.course.assumed.add("judgement")
                case FinalTranscript(reply_id=reply_id) | TranscriptFailed(reply_id=reply_id):
                    if reply_id not in self.dropped and reply_id.turn == self.span.turn:  # pending, of the current turn
                        self.course.assumed.add("words")
            self.handle(replace(event, position=self.now))

    def perform(self, effect: SessionEffect) -> None:
        """Performs an effect of turn taking."""
        self.course.decisions.append((self.place, self.now, effect))
        match effect:
            case TurnStarted(turn, onset):
                self.next_turn_began = self.next_turn_began or bool(self.course.given) or turn != self.span.turn
                self.begun = self.now, onset
            case DropAttempt(reply_id):
                self.dropped.add(reply_id)
            case OpenSegment(segment):
                self.segment = segment
            case RecognizerRequest():
                self._handle_request(effect)
            case RequestTranscript(segment):
                self._handle_onset_request(segment)
            case PrepareReply(reply_id):
                self.course.prepared += 1
                self.prepared[reply_id] = (self.now, self.place)
            case EndOfTurn():
                self._endpoint()
            case CommitTurn():
                self._commit(effect)
            case HoldPlayback(reply_id):
                self._hold(reply_id)
            case ReleasePlayback(reply_id):
                self._release(reply_id)
            case RetractReply(reply_id) | InterruptReply(reply_id, "voice"):
                self._mark_interrupted(reply_id, retracted=isinstance(effect, RetractReply))
            case _:
                pass

    def _endpoint(self) -> None:
        if self.place < self.span.next:
            self.course.endpoints.append((self.now, self.place))
            silent = self.now > self.silence  # and the segment was not ended by its length during speech
            if silent and self.turns.settings.profile is not None and not self.recorded.estimates_in(self.silence):
                self.course.assumed.add("fixed silence")

    def _handle_request(self, effect: RecognizerRequest) -> None:
        self.course.asked += 1
        ordinal, self.ordinal = self.ordinal, self.ordinal + 1
        self.segment = effect.segment  # it may have been opened before this turn began
        then = self.recorded.requests.get(self.place)
        key = (self.silence, ordinal)
        self.asked[key] = then is not None and (then.silence, then.ordinal, then.position) == (*key, self.now)
        if then is None or not self.asked[key]:
            self._simulate_result(effect, ordinal, self.now)
            return
        effects = self.recorded.steps[self.place].effects
        recorded = next(was.reply_id for was in effects if isinstance(was, RecognizerRequest))
        self.simulated_ids[recorded] = effect.reply_id
        if then.answer is None and then.dropped is not None:
            # It was dropped in the recording, and may not be dropped here.
            self._simulate_transcript(effect, ordinal, Samples(then.dropped + 1))

    def _handle_onset_request(self, segment: SegmentId) -> None:
        """Handles the transcript request of an unconfirmed onset. Without a recorded request it has no words."""
        self.segment = segment
        timeout = samples_of_ms(self.turns.settings.start.max_transcript_wait_ms)
        for logged, _ in self.recorded.steps[self.place + 1 :]:
            if isinstance(logged, InterimTranscript) and logged.was_requested:
                return
            if isinstance(logged, FrameProcessed) and logged.position - self.now > timeout:
                break
        position = Samples(self.now + UNDERSTOOD)
        self.schedule(InterimTranscript(position, Transcript(segment, position, ""), was_requested=True))

    def _simulate_result(self, effect: RecognizerRequest, ordinal: int, earliest: Samples) -> None:
        """Simulates the transcript and EOT estimates of a request that was not recorded."""
        self._simulate_estimate(effect.segment, self.now, "asked", ordinal)
        self._simulate_transcript(effect, ordinal, earliest)
        if ordinal == 0 and (heard := self._recorded_estimate("listener", 0)) is not None:
            self._simulate_estimate(effect.segment, Samples(self.now + heard.delay), "listener", 0)

    def _simulate_transcript(self, effect: RecognizerRequest, ordinal: int, earliest: Samples) -> None:
        reply_id, segment, then = effect.reply_id, effect.segment, self._similar_request(ordinal, draft=effect.draft)
        position = Samples(max(earliest, self.now + (0 if then is None else self._delay(then, ordinal))))
        logged = None if then is None or then.answer is None else self.recorded.steps[then.answer].event
        if isinstance(logged, TranscriptFailed):
            self.schedule(TranscriptFailed(position, reply_id, segment))
            return
        # Without any recorded words there are none here: a cough that interrupts now but did not in the recording.
        words = (
            replace(logged.transcript, segment=segment)
            if isinstance(logged, FinalTranscript)
            else Transcript(segment, position, "")
        )
        if not words.is_draft:  # which never triggers an EOT estimate
            self._simulate_estimate(segment, position, "words", ordinal)
        void = logged.ignored_because if isinstance(logged, FinalTranscript) else ""
        self.schedule(FinalTranscript(position, reply_id, words, void))

    def _simulate_estimate(self, segment: SegmentId, position: Samples, source: Source, ordinal: int) -> None:
        estimate = self._recorded_estimate(source, ordinal)
        if estimate is not None:
            self.schedule(EndOfTurnScored(position, segment, estimate.estimate))

    def _similar_request(self, ordinal: int, *, draft: bool) -> RecordedRequest | None:
        """Returns the most similar recorded request: of the same silence, or else the nearest of the same turn.

        Without `draft`, only requests that were not answered with a draft count.
        """
        here = [ask for ask in self.recorded.requests_in(self.silence) if self._is_usable(ask, draft=draft)]
        if here:
            return min(here, key=lambda ask: abs(ask.ordinal - ordinal))
        answered = [place for place, commit in self.recorded.commits.items() if commit.reply_id.turn == self.span.turn]
        if answered and self.place > answered[-1]:
            return None  # a cough during the answer: its transcript was never requested
        near = [ask for ask in self.recorded.requests_of(self.span.turn) if self._is_usable(ask, draft=draft)]
        return min(near, key=lambda ask: abs(ask.position - self.now), default=None)

    def _delay(self, ask: RecordedRequest, ordinal: int) -> int:
        """Returns the delay until the transcript. A request that gets no draft first waits for the draft's time."""
        before = (other for other in self.recorded.requests_in(ask.silence) if other.ordinal == ask.ordinal - 1)
        draft = next((other for other in before if not self._is_usable(other, draft=False)), None)
        return ask.delay + (
            draft.delay if draft is not None and draft.answer is not None and ask.ordinal > ordinal else 0
        )

    def _is_usable(self, ask: RecordedRequest, *, draft: bool) -> bool:
        logged = None if ask.answer is None else self.recorded.steps[ask.answer].event
        return logged is not None and (
            draft or not (isinstance(logged, FinalTranscript) and logged.transcript.is_draft)
        )

    def _recorded_estimate(self, source: Source, ordinal: int) -> ScoredSilence | None:
        here = [estimate for estimate in self.recorded.estimates_in(self.silence) if estimate.source == source]
        return min(here, key=lambda estimate: abs(estimate.ordinal - ordinal), default=None)

    # ---- an answer ----

    def _commit(self, commit: CommitTurn) -> None:
        if commit.speech_end is None or (self.place >= self.span.next and self.next_turn_began):
            return
        prepared, prepared_place = self.prepared.get(commit.reply_id, (self.now, self.place))
        then = self.recorded.commits.get(self.place)
        same = (
            then is not None
            and then.speech_end == commit.speech_end
            and self.simulated_ids.get(then.reply_id) == commit.reply_id
        )
        given = CommittedReply(commit, self.place, self.now, prepared, prepared_place, same)
        self.course.given.append(given)
        self.next_turn_began = False
        if same and then is not None:
            played = self.recorded.played.get(then.reply_id)
            given.audible = None if played is None else played.audible
            return
        self._schedule_playback(given)

    def _schedule_playback(self, given: CommittedReply) -> None:
        """Schedules when an answer is heard that was committed at another moment, or not at all, in the recording."""
        if self.pace is None:
            return
        self.course.assumed.add("answer")
        reply_id, ready = given.commit.reply_id, given.prepared + self.pace.prepare
        given.ready = Samples(max(given.position, ready)), self.pace.playout
        given.audible = audible = Samples(sum(given.ready))
        played = self._recorded_playback()
        if played is None or played.audible is None:
            played = PlaybackReports(((Samples(0), 0, True), (FIRST_WORD, 1, True)), None)
        self.schedule_playback(reply_id, played, audible - (played.audible or 0))

    def _hold(self, reply_id: ReplyId) -> None:
        """Holds the first sound of a reply, if it has not left yet."""
        self.held = []
        ready = next((given.ready for given in self.course.given if given.commit.reply_id == reply_id), None)
        if ready is None or ready[0] < self.now:
            self.course.assumed.add("hold")
            return
        self.held = self.take(
            lambda event: isinstance(event, PlaybackProgress | ReplyEnded) and event.reply_id == reply_id
        )

    def _release(self, reply_id: ReplyId) -> None:
        """Releases the reply: it leaves now if it is ready; later events shift by the same delay."""
        held, self.held = self.held, []
        for given in self.course.given:
            if given.commit.reply_id == reply_id and given.ready is not None and held:
                ready, playout = given.ready
                late = max(0, self.now - ready)
                given.ready = Samples(ready + late), playout
                given.audible = Samples(ready + late + playout)
                for event in held:
                    self.schedule(replace(event, position=Samples(event.position + late)))

    def _recorded_playback(self) -> PlaybackReports | None:
        """Returns how the recorded answer to this turn was heard."""
        commits = [
            commit
            for place, commit in self.recorded.commits.items()
            if self.span.start <= place < self.span.next and commit.reply_id.turn == self.span.turn
        ]
        return self.recorded.played.get(commits[-1].reply_id) if commits else None

    def _mark_interrupted(self, reply_id: ReplyId, *, retracted: bool) -> None:
        for given in self.course.given:
            if given.commit.reply_id == reply_id:
                given.retracted = retracted
                given.interrupted = None if retracted else self.now
                position, onset = self.begun
                if given.interrupted == position:  # the interrupting speech is reported first
                    given.voice = onset


def _is_foreseen(effect: SessionEffect) -> TypeGuard[PrepareReply]:
    return isinstance(effect, PrepareReply) and effect.foreseen
