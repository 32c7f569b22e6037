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
    recognizer = PocketsphinxRecognizer(COMMANDS, lane_s=lane_s)
    await recognizer.load()
    try:
        yield recognizer
    finally:
        await recognizer.aclose()


def ignore(_words: Transcript) -> None:
    pass


def feed(stream: RecognitionStream, pcm: Pcm) -> None:
    for at in range(0, len(pcm), FRAME_SAMPLES):
        stream.feed(pcm[at : at + FRAME_SAMPLES])


async def heard(recognizer: Recognizer, name: str, at: int = 0) -> Transcript:
    stream = recognizer.open(SegmentId(at), ignore)
    feed(stream, recording(name))
    words = await stream.transcript()
    stream.close()
    return words


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_other_language_is_refused_with_remedy() -> None:
    with pytest.raises(EngineLoadError, match=r"English only, not 'de': use faster-whisper .*assistant.language"):
        asyncio.run(PocketsphinxRecognizer(COMMANDS, language="de").load())


def test_open_before_load_is_refused() -> None:
    async def scenario() -> None:
        recognizer = PocketsphinxRecognizer(COMMANDS)
        assert "not loaded" in recognizer.detail
        with pytest.raises(SttError, match="not loaded"):
            recognizer.open(SegmentId(0), ignore)
        await recognizer.aclose()

    asyncio.run(scenario())


@slow
def test_recordings_give_their_commands_in_order() -> None:
    async def scenario() -> None:
        async with loaded() as recognizer:
            for at, (name, said) in enumerate(SAID.items()):
                words = await heard(recognizer, name, at * 100_000)
                end = Samples(at * 100_000 + len(recording(name)))
                assert words == Transcript(SegmentId(at * 100_000), end, said, low_confidence=False)

    asyncio.run(scenario())


@slow
def test_empty_audio_does_not_change_the_transcript() -> None:
    async def scenario() -> None:
        async with loaded() as recognizer:
            stream = recognizer.open(SegmentId(0), ignore)
            for pcm in (recording("rhasspy3_what-time-is-it"), np.zeros(0, np.int16)):
                stream.feed(pcm)
            assert (await stream.transcript()).text == "what time is it"

    asyncio.run(scenario())


@slow
def test_other_speech_has_low_confidence_and_noise_no_words() -> None:
    async def scenario() -> None:
        async with loaded() as recognizer:
            other = await heard(recognizer, "pocketsphinx_goforward")
            assert other.low_confidence
            assert "ten meters" in other.text
            for noise in ("koala_noise", "blanket_fireplace"):
                stream = recognizer.open(SegmentId(0), ignore)
                feed(stream, recording(noise)[: 2 * MIC_RATE_HZ])
                assert (await stream.transcript()).text == ""

    asyncio.run(scenario())


@slow
def test_transcript_can_be_requested_again_after_more_audio() -> None:
    async def scenario() -> None:
        pcm = recording("rhasspy3_turn-on-the-lamp")
        async with loaded() as recognizer:
            stream = recognizer.open(SegmentId(320), ignore)
            assert (await stream.transcript()) == Transcript(SegmentId(320), Samples(320), "")
            feed(stream, pcm[:8000])
            early = await stream.transcript()
            feed(stream, pcm[8000:])
            late = await stream.transcript()
            assert (early.until, late.until) == (8320, 320 + len(pcm))
            assert late.text == "turn on the lamp"

    asyncio.run(scenario())


@slow
def test_interim_transcripts_report_changes_only_and_end_with_the_final_one() -> None:
    async def scenario() -> None:
        partials: list[Transcript] = []
        async with loaded() as recognizer:
            stream = recognizer.open(SegmentId(0), partials.append)
            sound = recording("rhasspy3_what-time-is-it")
            heard_samples = round(1.3 * MIC_RATE_HZ)
            feed(stream, sound[:heard_samples])
            async with asyncio.timeout(30):
                while not partials:  # noqa: ASYNC110 - what comes at once may be decoded at once, and told once
                    await asyncio.sleep(0.01)
            feed(stream, sound[heard_samples:])
            words = await stream.transcript()
        texts = [partial.text for partial in partials]
        assert len(texts) > 1
        assert all(a != b for a, b in pairwise(texts))
        assert texts[-1] == words.text == "what time is it"
        steps = np.diff([partial.until for partial in partials[:-1]])
        assert all(step >= MIC_RATE_HZ // 10 for step in steps)

    asyncio.run(scenario())


@slow
def test_result_of_cancelled_segment_does_not_reach_the_next_one() -> None:
    async def scenario() -> None:
        old: list[Transcript] = []
        new: list[Transcript] = []
        async with loaded() as recognizer, asyncio.TaskGroup() as tasks:
            first = recognizer.open(SegmentId(0), old.append)
            feed(first, recording("rhasspy3_turn-on-the-lamp"))
            late = tasks.create_task(first.transcript())
            await asyncio.sleep(0)  # it has asked
            second = recognizer.open(SegmentId(0), new.append)  # cancels the first
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
def test_cancelled_transcript_request_can_be_repeated() -> None:
    async def scenario() -> None:
        async with loaded() as recognizer:
            stream = recognizer.open(SegmentId(0), ignore)
            feed(stream, recording("rhasspy3_turn-on-the-lamp"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await stream.transcript()
            assert (await stream.transcript()).text == "turn on the lamp"

    asyncio.run(scenario())


@slow
def test_killed_process_is_detected_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    # It looks first whether the process has ended: where asyncio's own watch comes second, it warns.
    looked: list[object] = []
    monkeypatch.setattr(subprocess.Popen, "send_signal", lambda _process, sent: looked.append(sent))

    async def scenario() -> None:
        async with loaded() as recognizer:
            assert recognizer.works
            stream = recognizer.open(SegmentId(0), ignore)
            os.kill(recognizer.pid, signal.SIGSTOP)  # so that the question is under way when it dies
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(_failure(stream))
                await asyncio.sleep(0.02)
                os.kill(recognizer.pid, signal.SIGKILL)
                async with asyncio.timeout(10):
                    assert "ended unexpectedly" in await waiting
            assert not recognizer.works
            with pytest.raises(SttError, match="load the recognizer again"):
                stream.feed(np.zeros(320, np.int16))
            with pytest.raises(SttError, match="load the recognizer again"):
                recognizer.open(SegmentId(1), ignore)
            stream.close()
            await recognizer.load()
            assert recognizer.works
            assert (await heard(recognizer, "rhasspy3_what-time-is-it")).text == "what time is it"

    asyncio.run(scenario())
    assert looked == []


@slow
def test_reset_recognizer_equals_a_new_one() -> None:
    async def scenario() -> None:
        async with loaded() as recognizer:
            fresh = await heard(recognizer, "pocketsphinx_goforward")
            await heard(recognizer, "python-docs-sample_audio")
            recognizer.open(SegmentId(0), ignore)  # left open by who has gone
            assert recognizer.reset()
            assert await heard(recognizer, "pocketsphinx_goforward") == fresh
            assert recognizer.reset()
            stream = recognizer.open(SegmentId(0), ignore)
            await stream.transcript()
            stream.cancel()
            await recognizer.load()  # its own means were forgotten with the conversation
            assert await heard(recognizer, "pocketsphinx_goforward") == fresh
        assert not recognizer.reset()

    asyncio.run(scenario())


async def _failure(stream: RecognitionStream) -> str:
    try:
        await stream.transcript()
    except SttError as error:
        return str(error)
    return "no failure"


@slow
def test_hanging_process_fills_its_queue_and_is_closed_in_time() -> None:
    async def scenario() -> None:
        recognizer = PocketsphinxRecognizer(COMMANDS, lane_s=1.0)
        await recognizer.load()
        pid = recognizer.pid
        stream = recognizer.open(SegmentId(0), ignore)
        os.kill(pid, signal.SIGSTOP)
        for _ in range(50):
            stream.feed(np.zeros(320, np.int16))
        with pytest.raises(SttError, match="hangs"):
            stream.feed(np.zeros(320, np.int16))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await stream.transcript()
        watch = Stopwatch()
        await recognizer.aclose()
        await recognizer.aclose()
        assert watch.undisturbed_s < 1.0
        assert not is_running(pid)

    asyncio.run(scenario())


@slow
def test_decoded_audio_leaves_the_queue() -> None:
    async def scenario() -> None:
        async with loaded(lane_s=1.0) as recognizer:
            for _ in range(4):
                stream = recognizer.open(SegmentId(0), ignore)
                stream.feed(recording("koala_noise")[: MIC_RATE_HZ * 9 // 10])
                await stream.transcript()
                stream.cancel()

    asyncio.run(scenario())


@slow
def test_crash_report_names_the_error_type_and_no_words() -> None:
    async def scenario() -> None:
        recognizer = PocketsphinxRecognizer(["secret \ud800 words"])
        with pytest.raises(EngineLoadError) as refused:
            await recognizer.load()
        assert "UnicodeEncodeError" in str(refused.value)
        assert "secret" not in str(refused.value)
        assert recognizer.pid == 0

    asyncio.run(scenario())


@slow
def test_slow_load_times_out() -> None:
    async def scenario() -> None:
        recognizer = PocketsphinxRecognizer(COMMANDS, start_timeout_s=0.05)
        with pytest.raises(EngineLoadError, match=r"within 0\.05 s"):
            await recognizer.load()
        assert recognizer.pid == 0

    asyncio.run(scenario())


@slow
def test_commands_with_unknown_words_are_left_out_and_possessives_are_derived() -> None:
    async def scenario() -> None:
        recognizer = PocketsphinxRecognizer(["turn on the lamp", "frobnicate the zzqx", "dim the lantern's light"])
        await recognizer.load()
        assert ", 2 commands," in recognizer.detail
        assert "; 1 command is left out because 2 words are" in recognizer.detail
        await recognizer.aclose()

    asyncio.run(scenario())


@slow
def test_transcript_without_commands_has_low_confidence() -> None:
    async def scenario() -> None:
        recognizer = PocketsphinxRecognizer([])
        await recognizer.load()
        words = await heard(recognizer, "rhasspy3_what-time-is-it")
        await recognizer.aclose()
        assert words.low_confidence
        assert words.text

    asyncio.run(scenario())


def worker_answers(sent: bytes) -> tuple[int, bytes]:
    """Exit status and output of a process that gets these bytes and then the end of its stdin."""
    command = [sys.executable, "-m", "audio.stt.sphinx_worker"]
    done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, timeout=50, check=False)
    return done.returncode, done.stdout


@slow
def test_process_ends_when_its_stdin_closes() -> None:
    assert worker_answers(b"") == (0, b"")


@slow
def test_process_reports_the_error_type_of_an_invalid_message_and_ends() -> None:
    status, output = worker_answers(bytes([0, 0, 0, 0, 99]) + bytes(8))
    assert status == 1
    assert [message.payload for message in Unframer().receive(output)] == [b"WireError"]


@slow
def test_process_ignores_interrupt_and_ends_with_its_parent() -> None:
    async def scenario() -> None:
        async with loaded() as recognizer:
            os.kill(recognizer.pid, signal.SIGINT)
            assert (await heard(recognizer, "rhasspy3_what-time-is-it")).text == "what time is it"

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
