"""Whole conversations between the client and the real server on loopback; scripted engines, real time."""

import asyncio
import math
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from support.conversations.simulation import ScriptedMicrophone, Utterance
from support.servers.session_server import ScriptedEngineLoader, SessionServer, eventually, session_server, settings_for

from assistant.events import (
    ChunkSpoken,
    Problem,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    TurnFinished,
    UserTurnCommitted,
    WordsTimed,
)
from audio.frame import Frame
from audio.level import audible_onset
from audio.sound_id import SoundId
from audio.speaker import WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, Samples, samples_of_ms
from audio.wake import WakeWordDetection
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener
from web.remote.address import address_of
from web.remote.sound.waking import Waking
from web.remote.talk import TOO_SHORT, RemoteTalk

pytestmark = [pytest.mark.slow, pytest.mark.real_time]

EventType = TypeVar("EventType")

TEN = "One two three. Four five six. Seven eight nine. Ten."
"""2 s."""


@dataclass
class TalkHarness:
    """A client, what it showed and what it played."""

    talk: RemoteTalk
    events: list[SessionEvent] = field(default_factory=list)
    sound: list[tuple[float, Pcm]] = field(default_factory=list)

    def events_of(self, kind: type[EventType]) -> list[EventType]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def problems(self) -> list[str]:
        return [problem.text for problem in self.events_of(Problem)]

    def heard(self) -> Pcm:
        """The played audio from the loudspeaker's sample 0; ticks that a busy machine missed are silence."""
        line = np.zeros(round(self.sound[-1][0] * REPLY_RATE_HZ) + len(self.sound[-1][1]), np.int16)
        for at_s, pcm in self.sound:
            first = round(at_s * REPLY_RATE_HZ)
            line[first : first + len(pcm)] = pcm
        return line


@asynccontextmanager
async def talking(
    folder: Path,
    *utterances: Utterance,
    answers: tuple[str, ...] = ("It is ten o'clock.",),
    waking: Waking | None = None,
) -> AsyncGenerator[tuple[TalkHarness, SessionServer, ScriptedEngineLoader]]:
    """Runs a conversation while the block runs."""
    sound: list[tuple[float, Pcm]] = []
    events: list[SessionEvent] = []
    speaker = WavSpeaker(lambda at_s, pcm: sound.append((at_s, pcm.copy())))
    engine_loader = ScriptedEngineLoader(settings_for(folder, "turn.hangover_ms=200"), os.environ, answers=answers)
    async with session_server(engine_loader) as server:
        address = address_of(f"ws://127.0.0.1:{server.port}")
        microphone = ScriptedMicrophone(utterances, 60_000)
        talk = RemoteTalk(address, None, microphone, speaker, events.append, waking=waking)
        async with asyncio.TaskGroup() as tasks:
            conversation = tasks.create_task(talk.run())
            yield TalkHarness(talk, events, sound), server, engine_loader
            talk.leave()
            await conversation
        await eventually(lambda: server.limits.current == 0)


async def test_question_is_answered_with_correct_latency(tmp_path: Path) -> None:
    utterances = [Utterance(600, 1500, "what time is it")]
    async with talking(tmp_path, *utterances) as (one, _, _):
        await eventually(lambda: bool(one.events_of(TurnFinished)))
    (taken,) = one.events_of(UserTurnCommitted)
    assert taken.text == "what time is it"
    assert [unit.text for unit in one.events_of(ChunkSpoken)] == ["It is ten o'clock."]
    assert one.events_of(WordsTimed)
    (finished,) = one.events_of(TurnFinished)
    record = finished.record
    assert record.outcome == "answered"
    assert record.response_latency_ms is not None
    # Microphone and loudspeaker share this machine's clock.
    begun_s = one.talk.speaker.begun_s  # type: ignore[attr-defined]
    onset = audible_onset(one.heard(), REPLY_RATE_HZ)
    assert onset is not None
    first_s = begun_s + onset / REPLY_RATE_HZ
    said_s = one.talk.microphone.clock.offset_s + 1.5
    assert record.response_latency_ms == pytest.approx((first_s - said_s) * 1000, abs=25)
    assert sum(share.ms for share in record.stages.values()) == pytest.approx(record.response_latency_ms, abs=0.1)
    assert {"transport", "playout"} <= {span.stage for span in record.spans}
    assert one.problems == []


async def test_typed_text_is_answered_and_reply_is_repeated(tmp_path: Path) -> None:
    async with talking(tmp_path) as (one, _, engine_loader):
        await eventually(lambda: one.talk.wire.open)
        assert not one.talk.repeat()
        one.talk.type("hello")
        await eventually(lambda: bool(one.events_of(TurnFinished)))
        assert engine_loader.models[0].asked[0][-1].content == "hello"
        played = int(np.count_nonzero(one.heard()))
        one.talk.repeat()
        await eventually(lambda: int(np.count_nonzero(one.heard())) >= 2 * played)
        assert len(engine_loader.models[0].asked) == 1
    assert [taken.text for taken in one.events_of(UserTurnCommitted)] == ["hello"]
    assert one.events_of(TurnFinished)[0].record.response_latency_ms is None


async def test_unheard_words_are_not_in_server_history(tmp_path: Path) -> None:
    """The loudspeaker disappears after 700 ms, when three words were completely heard."""
    async with talking(tmp_path, answers=(TEN, "Yes.")) as (one, _, engine_loader):
        told = one.talk.speaker.on_played

        def gone(sound_id: SoundId, total: ReplySamples, leaves_at_s: float, finished: bool) -> None:
            told(sound_id, total, math.inf if total > 0.7 * REPLY_RATE_HZ else leaves_at_s, finished)

        one.talk.speaker.on_played = gone
        await eventually(lambda: one.talk.wire.open)
        one.talk.type("count")
        await eventually(lambda: (one.talk.playback.played_ms or 0) > 1200)
        one.talk.interrupt()
        await eventually(lambda: bool(one.events_of(TurnFinished)) and bool(one.events_of(ReplyStopped)))
        await asyncio.sleep(0.1)
        one.talk.type("go on")
        await eventually(lambda: len(engine_loader.models[0].asked) == 2)
        said = [message.content for message in engine_loader.models[0].asked[1] if message.role == "assistant"]
        assert said == ["One two three."]
    assert [(cut.reason, cut.heard) for cut in one.events_of(ReplyStopped)][:1] == [("unheard", "One two three.")]


async def test_push_to_talk_sends_audio_only_while_key_is_down(tmp_path: Path) -> None:
    utterances = [Utterance(300, 1000, "not for you"), Utterance(1500, 2200, "what time is it")]
    async with talking(tmp_path, *utterances) as (one, _, _):
        one.talk.push_to_talk = True
        clock = one.talk.microphone.clock
        await eventually(lambda: clock.running and clock.to_position(asyncio.get_running_loop().time()) > 1.3 * 16_000)
        one.talk.set_push_to_talk(True)
        one.talk.set_push_to_talk(False)
        await eventually(lambda: one.problems == [TOO_SHORT])
        one.talk.set_push_to_talk(True)
        await eventually(lambda: clock.to_position(asyncio.get_running_loop().time()) > 2.2 * 16_000)
        one.talk.set_push_to_talk(False)
        await eventually(lambda: any(done.record.outcome == "answered" for done in one.events_of(TurnFinished)))
    assert [taken.text for taken in one.events_of(UserTurnCommitted)] == ["what time is it"]
    # The client requests the answer before the transcript arrives: it is the answer to it.
    record = one.events_of(TurnFinished)[-1].record
    assert record.no_latency_reason is None
    # From the end of the speech, not from the key release.
    begun_s = one.talk.speaker.begun_s  # type: ignore[attr-defined]
    first_s = begun_s + next(at_s for at_s, pcm in one.sound if pcm.any())
    said_s = one.talk.microphone.clock.offset_s + 2.2
    assert record.response_latency_ms == pytest.approx((first_s - said_s) * 1000, abs=40)
    assert sum(share.ms for share in record.stages.values()) == pytest.approx(record.response_latency_ms, abs=0.1)


class WordAt:
    """Detects a wake word that ends at this time."""

    def __init__(self, end_ms: int) -> None:
        self._end = samples_of_ms(end_ms)

    def process(self, frame: Frame) -> WakeWordDetection | None:
        detected = frame.start <= self._end + samples_of_ms(100) < frame.end
        return WakeWordDetection("okay_nabu", Samples(self._end)) if detected else None


async def test_server_hears_only_what_follows_the_wake_word(tmp_path: Path) -> None:
    said = [
        Utterance(300, 1200, "not for you"),
        Utterance(1700, 2300, "okay nabu"),
        Utterance(2500, 3300, "what time is it"),
    ]
    gate = WakeWordGate(samples_of_ms(5000), samples_of_ms(500))
    waking = Waking(WakeWordListener(WordAt(2300), gate), {"okay_nabu": "okay nabu"})
    async with talking(tmp_path, *said, waking=waking) as (one, _, _):
        await eventually(lambda: bool(one.events_of(TurnFinished)))
        await eventually(lambda: one.talk.floor == "asleep")
    assert [taken.text for taken in one.events_of(UserTurnCommitted)] == ["what time is it"]
    assert one.events_of(TurnFinished)[0].record.outcome == "answered"
    assert one.problems == []


async def test_reply_is_complete_after_reconnect(tmp_path: Path) -> None:
    async with talking(tmp_path, answers=(TEN,)) as (one, server, _):
        await eventually(lambda: one.talk.wire.open)
        one.talk.type("count")
        await eventually(lambda: (one.talk.playback.played_ms or 0) > 300)
        (conversation,) = server.connections._conversations.values()
        assert conversation.client_socket is not None
        await conversation.client_socket.socket.close(1011)
        await eventually(lambda: bool(one.events_of(TurnFinished)))
    assert len(one.events_of(ReplyStarted)) == 1
    assert " ".join(unit.text for unit in one.events_of(ChunkSpoken)) == TEN
    record = one.events_of(TurnFinished)[0].record
    assert record.outcome == "answered"
    assert np.count_nonzero(one.heard()) == pytest.approx(
        2 * REPLY_RATE_HZ * 59 / 60, rel=0.01
    )  # its tone is 0 in one of 60
    assert len(one.problems) == 1
    assert one.problems[0].endswith("Trying again.")
