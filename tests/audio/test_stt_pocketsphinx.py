"""The real process, on real recordings."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from stopwatch import Stopwatch

from audio.errors import EngineLoadError, SttError
from audio.stt import RecognitionStream, Recognizer, SegmentId, Transcript
from audio.stt.pocketsphinx import PocketsphinxRecognizer
from audio.stt.sphinx_wire import Unframer
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples

RECORDINGS = Path(__file__).parent.parent / "recordings"
COMMANDS = [
    *("what time is it", "what is the time", "what's the date today", "what day is it", "turn on the lamp"),
    *("turn off the lamp", "set a timer for ten minutes", "stop", "yes", "no", "play some music", "repeat that"),
    *(f"what is {a} plus {b}" for a in ("one", "two", "ten") for b in ("three", "four", "twelve")),
]
SAID = {
    "rhasspy3_what-time-is-it": "what time is it",
    "rhasspy3_whats-the-date-today": "what's the date today",
    "rhasspy3_turn-on-the-lamp": "turn on the lamp",
}

slow = pytest.mark.slow


def recording(name: str) -> Pcm:
    with wave.open(str(RECORDINGS / f"{name}.wav")) as wav:
        return np.frombuffer(wav.readframes(wav.getnframes()), np.int16)


@asynccontextmanager
async def loaded(lane_s: float = 5.0) -> AsyncIterator[PocketsphinxRecognizer]:
    transcriber = PocketsphinxRecognizer(COMMANDS, lane_s=lane_s)
    await transcriber.load()
    try:
        yield transcriber
    finally:
        await transcriber.aclose()


def ignore(_words: Transcript) -> None:
    pass


def feed(hearing: RecognitionStream, pcm: Pcm) -> None:
    for at in range(0, len(pcm), FRAME_SAMPLES):
        hearing.feed(pcm[at : at + FRAME_SAMPLES])


async def heard(transcriber: Recognizer, name: str, at: int = 0) -> Transcript:
    hearing = transcriber.open(SegmentId(at), ignore)
    feed(hearing, recording(name))
    words = await hearing.transcript()
    hearing.close()
    return words


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_another_language_is_refused_with_the_remedy() -> None:
    with pytest.raises(EngineLoadError, match=r"English only, not 'de': use faster-whisper .*assistant.language"):
        asyncio.run(PocketsphinxRecognizer(COMMANDS, language="de").load())


def test_not_loaded() -> None:
    async def scenario() -> None:
        transcriber = PocketsphinxRecognizer(COMMANDS)
        assert "not loaded" in transcriber.detail
        with pytest.raises(SttError, match="not loaded"):
            transcriber.open(SegmentId(0), ignore)
        await transcriber.aclose()

    asyncio.run(scenario())


@slow
def test_recordings_give_exactly_their_commands_one_after_another() -> None:
    async def scenario() -> None:
        async with loaded() as transcriber:
            for at, (name, said) in enumerate(SAID.items()):
                words = await heard(transcriber, name, at * 100_000)
                end = Samples(at * 100_000 + len(recording(name)))
                assert words == Transcript(SegmentId(at * 100_000), end, said, low_confidence=False)

    asyncio.run(scenario())


@slow
def test_no_samples_are_no_sound() -> None:
    async def scenario() -> None:
        async with loaded() as transcriber:
            hearing = transcriber.open(SegmentId(0), ignore)
            for pcm in (recording("rhasspy3_what-time-is-it"), np.zeros(0, np.int16)):
                hearing.feed(pcm)
            assert (await hearing.transcript()).text == "what time is it"

    asyncio.run(scenario())


@slow
def test_other_speech_is_a_guess_and_noise_is_nothing() -> None:
    async def scenario() -> None:
        async with loaded() as transcriber:
            other = await heard(transcriber, "pocketsphinx_goforward")
            assert other.low_confidence
            assert "ten meters" in other.text
            for noise in ("koala_noise", "blanket_fireplace"):
                hearing = transcriber.open(SegmentId(0), ignore)
                feed(hearing, recording(noise)[: 2 * MIC_RATE_HZ])
                assert (await hearing.transcript()).text == ""

    asyncio.run(scenario())


@slow
def test_words_may_be_asked_again_after_more_sound() -> None:
    async def scenario() -> None:
        pcm = recording("rhasspy3_turn-on-the-lamp")
        async with loaded() as transcriber:
            hearing = transcriber.open(SegmentId(320), ignore)
            assert (await hearing.transcript()) == Transcript(SegmentId(320), Samples(320), "")
            feed(hearing, pcm[:8000])
            early = await hearing.transcript()
            feed(hearing, pcm[8000:])
            late = await hearing.transcript()
            assert (early.until, late.until) == (8320, 320 + len(pcm))
            assert late.text == "turn on the lamp"

    asyncio.run(scenario())


@slow
def test_partials_tell_changes_only_and_end_in_the_words() -> None:
    async def scenario() -> None:
        partials: list[Transcript] = []
        async with loaded() as transcriber:
            hearing = transcriber.open(SegmentId(0), partials.append)
            sound = recording("rhasspy3_what-time-is-it")
            heard_samples = round(1.3 * MIC_RATE_HZ)
            feed(hearing, sound[:heard_samples])
            async with asyncio.timeout(30):
                while not partials:  # noqa: ASYNC110 - what comes at once may be decoded at once, and told once
                    await asyncio.sleep(0.01)
            feed(hearing, sound[heard_samples:])
            words = await hearing.transcript()
        texts = [partial.text for partial in partials]
        assert len(texts) > 1
        assert all(a != b for a, b in pairwise(texts))
        assert texts[-1] == words.text == "what time is it"
        steps = np.diff([partial.until for partial in partials[:-1]])
        assert all(step >= MIC_RATE_HZ // 10 for step in steps)

    asyncio.run(scenario())


@slow
def test_answers_of_a_cancelled_segment_reach_nobody_new() -> None:
    async def scenario() -> None:
        old: list[Transcript] = []
        new: list[Transcript] = []
        async with loaded() as transcriber, asyncio.TaskGroup() as tasks:
            first = transcriber.open(SegmentId(0), old.append)
            feed(first, recording("rhasspy3_turn-on-the-lamp"))
            late = tasks.create_task(first.transcript())
            await asyncio.sleep(0)  # it has asked
            second = transcriber.open(SegmentId(0), new.append)  # cancels the first
            assert (await second.transcript()).text == ""
            assert (await late).text == "turn on the lamp"
            assert old == new == []
            with pytest.raises(SttError, match="has ended"):
                first.feed(recording("koala_noise")[:320])
            with pytest.raises(SttError, match="has ended"):
                await first.transcript()
            first.cancel()
            first.close()
            feed(second, recording("rhasspy3_what-time-is-it"))
            assert (await second.transcript()).text == "what time is it"

    asyncio.run(scenario())


@slow
def test_words_can_be_cancelled_and_asked_again() -> None:
    async def scenario() -> None:
        async with loaded() as transcriber:
            hearing = transcriber.open(SegmentId(0), ignore)
            feed(hearing, recording("rhasspy3_turn-on-the-lamp"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await hearing.transcript()
            assert (await hearing.transcript()).text == "turn on the lamp"

    asyncio.run(scenario())


@slow
def test_a_killed_process_is_noticed_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    # It looks first whether the process has ended: where asyncio's own watch comes second, it warns.
    looked: list[object] = []
    monkeypatch.setattr(subprocess.Popen, "send_signal", lambda _process, sent: looked.append(sent))

    async def scenario() -> None:
        async with loaded() as transcriber:
            assert transcriber.works
            hearing = transcriber.open(SegmentId(0), ignore)
            os.kill(transcriber.pid, signal.SIGSTOP)  # so that the question is under way when it dies
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(_failure(hearing))
                await asyncio.sleep(0.02)
                os.kill(transcriber.pid, signal.SIGKILL)
                async with asyncio.timeout(10):
                    assert "ended unexpectedly" in await waiting
            assert not transcriber.works
            with pytest.raises(SttError, match="load the recognizer again"):
                hearing.feed(np.zeros(320, np.int16))
            with pytest.raises(SttError, match="load the recognizer again"):
                transcriber.open(SegmentId(1), ignore)
            hearing.close()
            await transcriber.load()
            assert transcriber.works
            assert (await heard(transcriber, "rhasspy3_what-time-is-it")).text == "what time is it"

    asyncio.run(scenario())
    assert looked == []


@slow
def test_one_that_was_renewed_hears_as_one_that_is_new() -> None:
    async def scenario() -> None:
        async with loaded() as transcriber:
            fresh = await heard(transcriber, "pocketsphinx_goforward")
            await heard(transcriber, "python-docs-sample_audio")
            transcriber.open(SegmentId(0), ignore)  # left open by who has gone
            assert transcriber.reset()
            assert await heard(transcriber, "pocketsphinx_goforward") == fresh
            assert transcriber.reset()
            hearing = transcriber.open(SegmentId(0), ignore)
            await hearing.transcript()
            hearing.cancel()
            await transcriber.load()  # its own means were forgotten with the conversation
            assert await heard(transcriber, "pocketsphinx_goforward") == fresh
        assert not transcriber.reset()

    asyncio.run(scenario())


async def _failure(hearing: RecognitionStream) -> str:
    try:
        await hearing.transcript()
    except SttError as error:
        return str(error)
    return "no failure"


@slow
def test_a_hanging_process_fills_its_lane_and_is_closed_in_time() -> None:
    async def scenario() -> None:
        transcriber = PocketsphinxRecognizer(COMMANDS, lane_s=1.0)
        await transcriber.load()
        pid = transcriber.pid
        hearing = transcriber.open(SegmentId(0), ignore)
        os.kill(pid, signal.SIGSTOP)
        for _ in range(50):
            hearing.feed(np.zeros(320, np.int16))
        with pytest.raises(SttError, match="hangs"):
            hearing.feed(np.zeros(320, np.int16))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await hearing.transcript()
        watch = Stopwatch()
        await transcriber.aclose()
        await transcriber.aclose()
        assert watch.undisturbed_s < 1.0
        assert not is_running(pid)

    asyncio.run(scenario())


@slow
def test_decoded_sound_leaves_the_lane() -> None:
    async def scenario() -> None:
        async with loaded(lane_s=1.0) as transcriber:
            for _ in range(4):
                hearing = transcriber.open(SegmentId(0), ignore)
                hearing.feed(recording("koala_noise")[: MIC_RATE_HZ * 9 // 10])
                await hearing.transcript()
                hearing.cancel()

    asyncio.run(scenario())


@slow
def test_a_crash_names_its_type_and_no_words() -> None:
    async def scenario() -> None:
        transcriber = PocketsphinxRecognizer(["secret \ud800 words"])
        with pytest.raises(EngineLoadError) as refused:
            await transcriber.load()
        assert "UnicodeEncodeError" in str(refused.value)
        assert "secret" not in str(refused.value)
        assert transcriber.pid == 0

    asyncio.run(scenario())


@slow
def test_loading_has_a_deadline() -> None:
    async def scenario() -> None:
        transcriber = PocketsphinxRecognizer(COMMANDS, start_timeout_s=0.05)
        with pytest.raises(EngineLoadError, match=r"within 0\.05 s"):
            await transcriber.load()
        assert transcriber.pid == 0

    asyncio.run(scenario())


@slow
def test_unknown_words_leave_their_sentences_out_and_possessives_are_made() -> None:
    async def scenario() -> None:
        transcriber = PocketsphinxRecognizer(["turn on the lamp", "frobnicate the zzqx", "dim the lantern's light"])
        await transcriber.load()
        assert ", 2 commands," in transcriber.detail
        assert "; 1 command is left out because 2 words are" in transcriber.detail
        await transcriber.aclose()

    asyncio.run(scenario())


@slow
def test_without_commands_everything_is_a_guess() -> None:
    async def scenario() -> None:
        transcriber = PocketsphinxRecognizer([])
        await transcriber.load()
        words = await heard(transcriber, "rhasspy3_what-time-is-it")
        await transcriber.aclose()
        assert words.low_confidence
        assert words.text

    asyncio.run(scenario())


def worker_answers(sent: bytes) -> tuple[int, bytes]:
    """Exit status and output of a process that gets these bytes and then the end of its stdin."""
    command = [sys.executable, "-m", "audio.stt.sphinx_worker"]
    done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, timeout=50, check=False)
    return done.returncode, done.stdout


@slow
def test_the_process_ends_when_its_stdin_closes() -> None:
    assert worker_answers(b"") == (0, b"")


@slow
def test_the_process_reports_an_unreadable_message_by_type_and_ends() -> None:
    status, output = worker_answers(bytes([0, 0, 0, 0, 99]) + bytes(8))
    assert status == 1
    assert [message.payload for message in Unframer().receive(output)] == [b"WireError"]


@slow
def test_no_orphan_and_no_harm_by_an_interrupt() -> None:
    async def scenario() -> None:
        async with loaded() as transcriber:
            os.kill(transcriber.pid, signal.SIGINT)
            assert (await heard(transcriber, "rhasspy3_what-time-is-it")).text == "what time is it"

    asyncio.run(scenario())
    parent = (
        "import asyncio, os\n"
        "from audio.stt.pocketsphinx import PocketsphinxRecognizer\n"
        "async def main():\n"
        "    t = PocketsphinxRecognizer(['stop it'])\n"
        "    await t.load()\n"
        "    print(t.pid, flush=True)\n"
        "    os._exit(3)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 3
    deadline = time.monotonic() + 15
    while is_running(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(int(done.stdout))
