"""Audio requests beside conversations, in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.web_server import ScriptedEnginePool

from audio.units import MIC_RATE_HZ, Pcm, samples_of_s
from web.client_audio.recording_segments import SEGMENT_S, cut, quietest
from web.http_api import transcriptions
from web.http_api.bodies import BodyReader
from web.http_api.serving import GIVE_WAY_S, AudioSlots, ServerState
from web.http_api.speech import AHEAD_S, Speech
from web.http_api.transcriptions import Transcriptions
from web.limits.session_limits import SessionLimits

SENTENCES = ["one two three four five six seven eight nine ten."] * 4
"""2 s of sound each, made within 10 ms."""


def state(sessions: int = 0, busy: Callable[[], bool] = lambda: False) -> ServerState:
    limits = SessionLimits(8)
    limits.current = sessions
    return ServerState(ScriptedEnginePool(), limits, busy)


def time_of_sentences(server: ServerState) -> list[float]:
    """Returns when each sentence began, in seconds."""

    async def main() -> list[float]:
        loop, times = asyncio.get_running_loop(), list[float]()
        began_s = loop.time()

        @dataclass
        class Voice(ScriptedVoice):
            def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator:  # type: ignore[type-arg]
                times.append(loop.time() - began_s)
                return super().speak(text, speed)

        voice = Voice()
        speech = Speech(lambda: voice, str, str, str, BodyReader(), AudioSlots(1), server)
        async for _pcm in speech._sound(SENTENCES, 1.0):
            pass
        return times

    return run_virtual(main())


def test_speech_without_sessions_is_made_at_once() -> None:
    assert max(time_of_sentences(state())) < 0.1


def test_speech_beside_a_session_is_made_in_real_time() -> None:
    assert time_of_sentences(state(sessions=1)) == pytest.approx([0, 0, 4 - AHEAD_S, 6 - AHEAD_S], abs=0.2)


def test_speech_gives_way_to_turns() -> None:
    times = time_of_sentences(state(busy=lambda: True))
    assert times == pytest.approx([GIVE_WAY_S * number for number in (1, 2, 3, 4)], abs=0.3)


@dataclass
class Upload:
    """A recording that is decoded already."""

    pcm: Pcm
    read: list[int] = field(default_factory=list)

    async def parts(self, *_arguments: object) -> AsyncGenerator[Pcm]:
        for at in range(0, len(self.pcm), MIC_RATE_HZ):
            self.read.append(at)
            yield self.pcm[at : at + MIC_RATE_HZ]


@pytest.mark.virtual_time
@pytest.mark.parametrize("sessions", [0, 1])
async def test_transcription_leaves_half_of_the_time_to_sessions(
    sessions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = Upload(np.full(samples_of_s(30), 1000, np.int16))
    monkeypatch.setattr(transcriptions, "decoded", upload.parts)
    recognizer = SequenceRecognizer(("word",), delay_ms=1000.0)

    async def made() -> SequenceRecognizer:
        return recognizer

    service = Transcriptions(made, lambda: "scripted", lambda: "en", BodyReader(), AudioSlots(1), state(sessions))
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    segments = [one async for one in service._segments(recognizer, b"")]
    assert segments[-1].end == len(upload.pcm)
    assert loop.time() - began_s == pytest.approx(len(segments) * (2 if sessions else 1), abs=0.1)


async def test_recording_is_cut_in_its_pauses() -> None:
    speech = (3000 * np.random.default_rng(1).standard_normal(samples_of_s(60))).astype(np.int16)
    pauses_s = (9.0, 20.5, 31.0, 44.5)
    for at_s in pauses_s:
        speech[samples_of_s(at_s) : samples_of_s(at_s + 0.4)] //= 100
    pieces = [piece async for piece in cut(Upload(speech).parts())]
    assert np.array_equal(np.concatenate(pieces), speech)
    assert all(len(piece) <= samples_of_s(SEGMENT_S + 1) for piece in pieces)
    ends_s = np.cumsum([len(piece) for piece in pieces])[:-1] / MIC_RATE_HZ
    assert ends_s[:3] == pytest.approx([at_s + 0.2 for at_s in pauses_s[:3]], abs=0.2)


def test_quietest_moment_is_found() -> None:
    pcm = np.full(samples_of_s(3), 1000, np.int16)
    pcm[samples_of_s(2) : samples_of_s(2.2)] = 0
    assert quietest(pcm, samples_of_s(1)) == pytest.approx(samples_of_s(2.1), abs=MIC_RATE_HZ // 50)
