"""Runs scripted conversations around the real session, in virtual time.

Everything that makes decisions is real: session, turns, reply, sentences, playout, recorder. Scripted are the user's
sound (loud or silent frames), the VAD, the transcripts, the LLM's tokens and the voice's tones.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pytest
from support.clocks.virtual_time import run_virtual

from assistant.end_of_turn.estimator import EndOfTurnEstimator
from assistant.events import ChunkSpoken, Problem, SessionEvent
from assistant.history.history import History
from assistant.history.items import Item
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel
from assistant.pipeline.engines import Engines, LanguageParts, SessionSettings
from assistant.pipeline.listening_sounds import ListeningSound
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.session import Session
from assistant.pipeline.speakers.voice_watch import EmbeddingSource
from assistant.skills.effects import SkillEffects
from assistant.speakers.focus import VoiceFocus
from assistant.tools import Tools
from assistant.trace.record import TurnRecord
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.wake_phrase import WakePhraseGate
from audio.clock import StreamClock
from audio.errors import EngineLoadError, SttError, TtsError, VadError
from audio.frame import Frame
from audio.frame_batching import MAX_BATCH_S
from audio.speaker import WavSpeaker
from audio.stt import FirstWord, SegmentId, Transcript
from audio.tts import Chunk, WordMark
from audio.units import FRAME_SAMPLES, REPLY_RATE_HZ, Pcm, ReplySamples, Samples, ms_of_samples, samples_of_ms
from audio.vad import VadResult
from audio.wake.listener import WakeWordListener
from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Finished, Message, RequestSent, SlotAcquired, Token
from llm.errors import LlmError

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

WORD_MS = 200
"""Duration of a word of the scripted voice."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """The user speaks from `start_ms` to `end_ms`; `words` is the transcript, in a `language` that is recognized."""

    start_ms: int
    end_ms: int
    words: str
    language: str = ""


DELAY_STEP_MS = 500
"""Time for which frames are late by the same time, before the next value of `late_ms` applies."""


class ScriptedMicrophone:
    """Yields loud frames during speech, in virtual real time. Frames may be late; `muted` ones are silent.

    Up to eight silent frames are batched, as in `MicrophoneLine`.

    `late_ms`: delays of the frames, each for half a second in sequence; a later frame waits for the delayed one.
    """

    def __init__(self, utterances: Sequence[Utterance], length_ms: int, late_ms: Sequence[int] = (0,)) -> None:
        self.clock = StreamClock()
        self.muted = False
        self.batches_silence = False
        self._utterances = utterances
        self._frames = length_ms // 20
        self._late_ms = late_ms

    async def frames(self) -> AsyncGenerator[Frame]:
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        loud, silent = np.full(FRAME_SAMPLES, 8000, np.int16), np.zeros(FRAME_SAMPLES, np.int16)
        muted: list[bool] = []  # as they are captured
        held: list[Frame] = []
        for number in range(self._frames):
            late_ms = self._late_ms[number * 20 // DELAY_STEP_MS % len(self._late_ms)]
            while len(muted) <= number + late_ms // 20:
                await asyncio.sleep(begin_s + (len(muted) + 1) * 0.02 - loop.time())
                muted.append(self.muted)
            self.clock.observe(Samples((number + 1) * FRAME_SAMPLES), begin_s + len(muted) * 0.02)
            middle_ms = number * 20 + 10
            spoken = not muted[number] and any(part.start_ms <= middle_ms < part.end_ms for part in self._utterances)
            held.append(Frame(Samples(number * FRAME_SAMPLES), loud if spoken else silent, is_inserted=muted[number]))
            max_wait_s = MAX_BATCH_S if self.batches_silence and not spoken else 0.0
            if len(held) >= max_wait_s * 50 or number == self._frames - 1:
                for frame in held:
                    yield frame
                held.clear()


class LoudnessVad:
    """Reports speech while frames are loud, and offset after 60 ms of silence, as real VADs do.

    `possible_onsets`: spans in ms in which silence may be a speech onset; `probability`: speech probability of
    loud frames.
    """

    end_bias_ms = 0.0

    def __init__(
        self,
        name: str = "loudness",
        fails_at_ms: float | None = None,
        possible_onsets: Sequence[tuple[int, int]] = (),
        probability: float = 1.0,
    ) -> None:
        self.name = name
        self._probability = probability
        self._fails_at_ms = fails_at_ms
        self._possible_onsets = possible_onsets
        self.reset()

    def reset(self) -> None:
        self._speaking, self._edge, self._loud_until = False, Samples(0), Samples(0)

    def process(self, frame: Frame) -> VadResult:
        if self._fails_at_ms is not None and ms_of_samples(frame.end) >= self._fails_at_ms:
            raise VadError("the detector's model is broken")
        loud = bool(frame.pcm[0])
        if loud:
            if not self._speaking:
                self._speaking, self._edge = True, frame.start
            self._loud_until = frame.end
        elif self._speaking and frame.end - self._loud_until >= samples_of_ms(60):
            self._speaking, self._edge = False, self._loud_until
        end_ms = ms_of_samples(frame.end)
        is_possible_onset = not self._speaking and any(
            since_ms < end_ms <= until_ms for since_ms, until_ms in self._possible_onsets
        )
        return VadResult(self._speaking, self._edge, loud * self._probability, possible_onset=is_possible_onset)


@dataclass(slots=True)
class ScriptedStream:
    """Knows the transcript of its input by the position of the sound."""

    segment: SegmentId
    recognizer: "ScriptedRecognizer"
    on_interim: Callable[[Transcript], None]
    fed_samples: int = 0
    is_closed: bool = False
    sound: list[Pcm] = field(default_factory=list)
    dips: list[int] = field(default_factory=list)

    def feed(self, pcm: Pcm) -> None:
        if self.recognizer.dead:
            raise SttError("the recognizer has died")
        self.fed_samples += len(pcm)
        if self.recognizer.word_by_word:
            self.sound.append(pcm.copy())
            if self.recognizer.partials and self.text():
                self.on_interim(Transcript(self.segment, Samples(self.segment + self.fed_samples), self.text()))

    def text(self) -> str:
        if self.recognizer.word_by_word:
            return " ".join(self._words_that_sounded())
        begin_ms, end_ms = ms_of_samples(self.segment), ms_of_samples(self.segment + self.fed_samples)
        parts = [part.words for part in self.recognizer.utterances if begin_ms <= part.start_ms < end_ms]
        return " ".join(part for part in parts if part)

    def _words_that_sounded(self) -> Iterator[str]:
        loud = np.concatenate(self.sound or [np.zeros(0, np.int16)]) != 0
        for part in self.recognizer.utterances:
            words = part.words.split()
            for number, word in enumerate(words):
                length = samples_of_ms(part.end_ms - part.start_ms) // len(words)
                start = samples_of_ms(part.start_ms) + number * length - self.segment
                if loud[max(start, 0) : max(start + length, 0)].sum() > length / 2:
                    yield word

    def probability_dip(self) -> None:
        if self.recognizer.fails_at_dip:
            raise SttError("the recognizer has lost its head")
        self.dips.append(self.fed_samples)

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        engine = self.recognizer
        if engine.dead:
            raise SttError("the recognizer has died")
        if engine.raises_bug:
            engine.raises_bug = False
            raise RuntimeError("what time is it")  # a defect whose text happens to hold words
        if engine.out_of_memory:
            raise MemoryError
        text = "" if engine.deaf else self.text()
        missing = engine.draft_missing_words if draft else None
        if missing is not None and (draft_text := " ".join(text.split()[: -missing or None])):
            return Transcript(self.segment, Samples(self.segment + self.fed_samples), draft_text, is_draft=True)
        if early and engine.early_missing_words:
            text = " ".join(text.split()[: -engine.early_missing_words])
        if engine.hangs:
            await asyncio.sleep(3600)
        await asyncio.sleep(engine.delay_ms / 1000)
        low_confidence, other = early and engine.early_low_confidence, engine.other_language
        text, guess = ("", text) if engine.takes_for_noise else (text, "")
        at = Samples(self.segment + self.fed_samples)
        language = self.language if text else ""
        return Transcript(self.segment, at, text, low_confidence, other_language=other, guess=guess, language=language)

    @property
    def language(self) -> str:
        begin_ms, end_ms = ms_of_samples(self.segment), ms_of_samples(self.segment + self.fed_samples)
        spoken = [part for part in self.recognizer.utterances if begin_ms <= part.start_ms < end_ms]
        return spoken[-1].language if spoken else ""

    async def first_word(self) -> FirstWord | None:
        await asyncio.sleep(self.recognizer.first_word_ms / 1000)
        return self.recognizer.first_word

    def close(self) -> None:
        self.is_closed = True

    def cancel(self) -> None:
        self.is_closed = True


@dataclass(slots=True)
class ScriptedRecognizer:
    """Returns the scripted transcripts after a delay; dies or hangs on request.

    Attributes:
        word_by_word: Whether a word is known once most of its own sound was heard; else all with the first sound.
        partials: Whether interim transcripts are reported at once.
        early_missing_words: Number of last words missing from early transcripts.
        early_low_confidence: Whether early transcripts have low confidence.
        draft_missing_words: Number of last words missing from an immediate draft; None for no draft.
        out_of_memory: Whether a transcript raises MemoryError.
        deaf: Whether all transcripts are empty.
        other_language: Another language of its words.
        takes_for_noise: Whether it takes the words for noise, so that transcripts have them as a guess only.
        first_word: What each first word may be; None: it cannot tell.
        first_word_ms: The delay of that.
    """

    utterances: Sequence[Utterance]
    delay_ms: float = 20.0
    word_by_word: bool = False
    partials: bool = False
    early_missing_words: int = 0
    early_low_confidence: bool = False
    draft_missing_words: int | None = None
    dead: bool = False
    hangs: bool = False
    raises_bug: bool = False
    out_of_memory: bool = False
    deaf: bool = False
    fails_at_dip: bool = False
    other_language: str = ""
    takes_for_noise: bool = False
    first_word: FirstWord | None = None
    first_word_ms: float = 10.0
    name: str = "scripted recognizer"
    detail: str = ""
    loads: int = 0
    load_s: float = 0.5
    failing_loads: int = 0
    streams: list[ScriptedStream] = field(default_factory=list)

    async def load(self) -> None:
        await asyncio.sleep(self.load_s)
        if self.failing_loads:
            self.failing_loads -= 1
            raise EngineLoadError("its model has gone")
        self.loads += 1
        self.dead = self.hangs = False

    @property
    def works(self) -> bool:
        return not self.dead

    def reset(self) -> bool:
        return True

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> ScriptedStream:
        if self.dead:
            raise SttError("the recognizer has died")
        self.streams.append(ScriptedStream(segment, self, on_interim))
        return self.streams[-1]

    async def aclose(self) -> None:
        pass


@dataclass(slots=True)
class ScriptedModel:
    """Answers with the scripted replies in order, at a rate. A reply may fail at a token."""

    replies: Sequence[str | LlmError | tuple[str, LlmError] | None]  # None: never answers
    first_token_ms: float = 100.0
    token_ms: float = 20.0
    name: str = "scripted model"
    detail: str = ""
    clean_up_s: float = 0.0
    finish_reason: str = "stop"
    unread_calls: int = 0
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    cancelled: int = 0

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        reply = self.replies[len(self.asked) % len(self.replies)]
        self.asked.append(tuple(messages))
        finished = False
        try:
            yield SlotAcquired()
            yield RequestSent(0.01)
            if reply is None:
                await asyncio.sleep(3600)
            await asyncio.sleep(self.first_token_ms / 1000)
            text, error = (
                reply if isinstance(reply, tuple) else (reply, None) if isinstance(reply, str) else ("", reply)
            )
            for number, word in enumerate(text.split(" ") if text else []):
                if number:
                    await asyncio.sleep(self.token_ms / 1000)
                yield Token(word if number == 0 else f" {word}")
            if error is not None:
                raise error
            yield Finished(self.finish_reason, unread_calls=self.unread_calls)
            finished = True
        finally:
            self.cancelled += not finished
            if self.clean_up_s and not finished:
                await asyncio.sleep(self.clean_up_s)


@dataclass(slots=True)
class ScriptedVoice:
    """Synthesizes a tone of 200 ms for each word, in chunks of 100 ms."""

    first_chunk_ms: float = 10.0
    fails: bool = False
    load_s: float = 0.0
    silent: Container[str] = ()
    name: str = "scripted voice"
    detail: str = ""
    spoken: list[str] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    aheads_s: list[float] = field(default_factory=list)
    loads: int = 0

    async def load(self) -> None:
        self.loads += 1
        await asyncio.sleep(self.load_s)
        self.fails = False

    async def aclose(self) -> None:
        pass

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        self.speeds.append(speed)
        self.aheads_s.append(ahead_s)
        await asyncio.sleep(self.first_chunk_ms / 1000)
        if self.fails:
            raise TtsError("the voice has died")
        if text in self.silent:
            return
        self.spoken.append(text)
        at = 0
        half = REPLY_RATE_HZ * WORD_MS // 2000
        tone = (6000 * np.sin(np.arange(half) * (2 * np.pi * 200 / REPLY_RATE_HZ))).astype(np.int16)
        for number, word in enumerate(text.split()):
            start = text.index(word, at)
            at = start + len(word)
            begin = ReplySamples(number * 2 * half)
            yield Chunk(tone, (WordMark(start, at, begin, ReplySamples(begin + 2 * half)),))
            yield Chunk(tone)


@dataclass(slots=True)
class SimulationResult:
    """Result of a simulation."""

    events: list[tuple[int, SessionEvent]]  # (ms after the start, event)
    records: list[TurnRecord]
    sound: list[tuple[float, Pcm]]  # speaker blocks: (ms after the start, sound)
    history: History

    def events_of(self, kind: type[SessionEvent]) -> list[SessionEvent]:
        return [event for _, event in self.events if isinstance(event, kind)]

    @property
    def problems(self) -> list[str]:
        return [event.text for _, event in self.events if isinstance(event, Problem)]

    @property
    def chunks(self) -> list[str]:
        return [event.text for _, event in self.events if isinstance(event, ChunkSpoken)]

    def sound_from_ms(self, after_ms: float = 0.0) -> float | None:
        """Returns when sound begins at or after `after_ms`, as a listener would hear it."""
        for start_ms, pcm in self.sound:
            loud = np.flatnonzero(np.abs(pcm) > 300)
            if len(loud) and start_ms + loud[0] / 24 >= after_ms:
                return float(start_ms + loud[0] / 24)
        return None


@dataclass(slots=True)
class Simulation:
    """The parts of a conversation, to be changed before `run`."""

    utterances: Sequence[Utterance]
    length_ms: int = 8000
    replies: Sequence[str | LlmError | tuple[str, LlmError] | None] = ("It is ten o'clock. Anything else?",)
    turns: TurnSettings = field(default_factory=TurnSettings)
    settings: SessionSettings = field(default_factory=SessionSettings)
    vad: LoudnessVad = field(default_factory=LoudnessVad)
    keep_words: bool = True
    tools: Tools | None = None
    on_answer_heard: Callable[[Sequence[Message]], None] = lambda _messages: None
    max_history_tokens: int = 100_000
    wake_phrase: WakePhraseGate = field(default_factory=WakePhraseGate)
    wake_word: WakeWordListener | None = None
    push_to_talk: PushToTalk | None = None
    end_of_turn: EndOfTurnEstimator | None = None
    audio_end_of_turn: AudioEndOfTurnModel | None = None
    listening_sound: ListeningSound | None = None
    summarizer: ChatModel | None = None
    focus: VoiceFocus | None = None
    speaker_embedder: EmbeddingSource | None = None
    languages: Mapping[str, LanguageParts] = field(default_factory=dict)
    late_ms: Sequence[int] = (0,)
    new_speaker: Callable[[Callable[[float, Pcm], None]], WavSpeaker] | None = None  # None: WavSpeaker
    microphone: ScriptedMicrophone = field(init=False)
    recognizer: ScriptedRecognizer = field(init=False)
    model: ScriptedModel = field(init=False)
    voice: ScriptedVoice = field(default_factory=ScriptedVoice)
    skill_effects: SkillEffects = field(default_factory=lambda: SkillEffects(lambda _messages: None, lambda: NOON))
    actions: list[tuple[int, Callable[[], object]]] = field(default_factory=list)
    events_with_history: list[tuple[int, SessionEvent, tuple[Item, ...]]] = field(
        default_factory=list
    )  # every event with the history at that time
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        self.microphone = ScriptedMicrophone(self.utterances, self.length_ms, self.late_ms)
        self.recognizer = ScriptedRecognizer(self.utterances)
        self.model = ScriptedModel(self.replies)

    def at(self, ms: int, do: Callable[[], object]) -> None:
        """Schedules an action."""
        self.actions.append((ms, do))

    def run(self) -> SimulationResult:
        """Runs the conversation and checks that every record adds up."""
        result = run_virtual(self.run_on_loop())
        for record in result.records:
            check_stages(record)
        return result

    async def run_on_loop(self) -> SimulationResult:
        """Runs the conversation on the running loop, which may be one in real time."""
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        events: list[tuple[int, SessionEvent]] = []
        records: list[TurnRecord] = []
        sound: list[tuple[float, Pcm]] = []
        speaker = (self.new_speaker or WavSpeaker)(lambda at_s, pcm: sound.append((at_s * 1000, pcm.copy())))

        def show(event: SessionEvent) -> None:
            events.append((round((loop.time() - start_s) * 1000), event))
            self.events_with_history.append((*events[-1], conversation.items))

        recorder = Recorder(
            conversation_id="simulation",
            started_at="2026-01-01T00:00:00+00:00",
            salt=b"salt",
            engines={"vad": self.vad.name},
            fallbacks=[],
            keep_words=self.keep_words,
            speech_end_bias_ms=0.0,
            counters=lambda: {"underruns": speaker.counts.underruns},
            write=records.append,
            on_event=show,
        )
        conversation = History("Be brief.", 20, self.max_history_tokens)
        self.session = Session(
            self.microphone,
            speaker,
            Engines(
                self.vad,
                LoudnessVad("spare"),
                self.recognizer,
                self.model,
                self.voice,
                self.skill_effects,
                end_of_turn=self.end_of_turn,
                audio_end_of_turn=self.audio_end_of_turn,
                tools=self.tools,
                listening_sound=self.listening_sound,
                on_answer_heard=self.on_answer_heard,
                summarizer=self.summarizer,
                speaker_embedder=self.speaker_embedder,
                languages=self.languages,
            ),
            TurnTaking(self.turns),
            conversation,
            recorder,
            self.settings,
            show,
            wake_phrase=self.wake_phrase,
            wake_word=self.wake_word,
            push_to_talk=self.push_to_talk,
            sound_output=speaker,
            focus=self.focus,
        )
        for ms, do in self.actions:
            loop.call_at(start_s + ms / 1000, do)
        await self._converse()
        assert all(stream.is_closed for stream in self.recognizer.streams), "a stream was left open"
        return SimulationResult(events, records, sound, conversation)

    async def _converse(self) -> None:
        await self.session.run()


def check_stages(record: TurnRecord) -> None:
    """Checks that the stages of a trace sum to the latency, and that a missing latency has a reason."""
    if record.response_latency_ms is None:
        assert record.no_latency_reason
        assert record.stages == {}
        return
    total_ms = sum(share.ms for share in record.stages.values())
    assert total_ms == pytest.approx(record.response_latency_ms, abs=0.01)
    assert record.speech_end_ms is not None
    assert record.playout_start_ms == pytest.approx(record.speech_end_ms + record.response_latency_ms, abs=0.01)
    assert all(share.ms >= 0 and share.slack_ms >= -1e-6 for share in record.stages.values())
    heard = [span for span in record.spans if not span.dropped]
    names = {span.name for span in heard}
    assert all(name in names for span in heard for name in span.after), "a span waited for something unknown"
    assert record.endpoint_ms is not None
    looked_ms = sum(span.end_ms - span.start_ms for span in heard if span.name == "look")
    waited_ms = record.endpoint_ms - record.speech_end_ms + looked_ms
    wait_ms = record.stages["endpoint_wait"].ms
    paid = "\n".join(f"{s.start_ms:9.1f} {s.end_ms:9.1f} {s.stage} {s.name} after {s.after}" for s in heard)
    assert wait_ms <= waited_ms + 1, f"work is billed to the wait for the endpoint: {wait_ms} of {waited_ms}\n{paid}"
