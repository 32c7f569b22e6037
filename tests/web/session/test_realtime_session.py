"""A client's commands and the resulting events: real protocol and session, virtual time, scripted engines."""

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.conversations.session_harness import CONFIG, LAMP, LAMP_TOOL, LONG, TRANSCRIBED, SessionHarness, run_scene
from support.protocol.wire_client import Event

from assistant.config.turn_settings import ProfileName
from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnEvidence
from assistant.history.items import AssistantMessage, ItemId, UserMessage
from assistant.pipeline.listening_sounds import ListeningSound
from assistant.replay.turns import conversation_of
from assistant.setup.derived_settings import PROFILES
from assistant.turns.events import ReplyId
from assistant.turns.settings import ListeningSoundThresholds, TurnSettings
from audio.arrivals import TURN_STALL_S
from audio.formats import g711
from audio.units import Pcm
from llm.chat import NO_LIMIT, Message
from web.limits.session_limits import RATE_ALLOWANCE
from web.wire.values.session_config import Eagerness, Extensions, SemanticVad

pytestmark = pytest.mark.virtual_time

# ---- speech ----


async def test_spoken_turn_sends_all_events() -> None:
    async with SessionHarness().running() as harness:
        await harness.speak()
        await harness.until_idle()
    assert harness.kinds == [
        "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "input_audio_buffer.committed",
        "conversation.item.added", "conversation.item.done",
        "conversation.item.input_audio_transcription.delta", "conversation.item.input_audio_transcription.completed",
        "response.created", "response.output_item.added", "conversation.item.added", "response.content_part.added",
        "response.output_audio.delta", "response.output_audio_transcript.delta", "response.output_audio.delta",
        "response.output_audio_transcript.delta", "response.output_audio.delta",
        "response.output_audio.done", "response.output_audio_transcript.done", "response.content_part.done",
        "response.output_item.done", "conversation.item.done", "response.done",
    ]  # fmt: skip
    assert (
        harness.events("response.output_audio_transcript.done")[0]["transcript"] == "It is ten o'clock. Anything else?"
    )
    page = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")
    told = page.split("### A spoken turn, in order\n\n")[1].split("\n\n")[0]
    once = [
        kind for at, kind in enumerate(harness.kinds) if not kind.endswith(".delta") or kind not in harness.kinds[:at]
    ]
    assert [line.split()[0] for line in told.splitlines()] == once
    assert harness.sound_ms() == 1200
    assert harness.done[0]["status"] == "completed"
    assert harness.done[0]["usage"]["total_tokens"] == 18
    assert harness.done[0]["usage"]["input_token_details"]["cached_tokens"] == 4
    stopped = harness.events("input_audio_buffer.speech_stopped")[0]["audio_end_ms"]
    assert stopped == pytest.approx(600, abs=25)
    assert harness.events("input_audio_buffer.speech_stopped")[0]["repartee"] == {
        "inserted_ms": 1.8
    }  # before the speech
    (trace,) = harness.events("repartee.trace")
    assert trace["trace"]["response_latency_ms"] == pytest.approx(400 + 10 + 30, abs=60)
    assert harness.session.history.items[-1] == AssistantMessage(
        harness.session.history.items[-1].id, "It is ten o'clock. Anything else?"
    )


def speech_of(
    block_ms: float, *, jitter_s: float = 0.0, stall_s: float = 0.0, wire_format: str = "audio/pcm"
) -> tuple[int, float, SessionHarness]:
    """Sends 0.5 s silence, 1.5 s voice and 3 s silence in such blocks. Returns the turns and the speech length in ms.

    The stall begins within the voice.
    """
    rate_hz = 24_000 if wire_format == "audio/pcm" else 8000
    pcm = np.concatenate(
        [np.full(round(rate_hz * s), 8000 * loud, np.int16) for s, loud in ((0.5, 0), (1.5, 1), (3, 0))]
    )
    size = round(rate_hz * block_ms / 1000)
    delays_s = np.random.default_rng(3).uniform(0, jitter_s, len(pcm))
    blocks: list[tuple[float, Pcm]] = []
    for number, at in enumerate(range(0, len(pcm), size)):
        at_s = min(at + size, len(pcm)) / rate_hz + delays_s[number]
        at_s = 1.2 + stall_s if 1.2 < at_s < 1.2 + stall_s else at_s
        blocks.append((max([at_s, *(other for other, _ in blocks[-1:])]), pcm[at : at + size]))
    encode: Callable[[Pcm], bytes] = {
        "audio/pcm": lambda part: part.astype("<i2").tobytes(),
        "audio/pcmu": g711.encode_ulaw,
    }[wire_format]

    async def scene(harness: SessionHarness) -> None:
        rate: dict[str, Any] = {"rate": 24_000} if wire_format == "audio/pcm" else {}
        await harness.update(audio={"input": {"format": {"type": wire_format, **rate}}})
        await harness.stream_blocks(blocks, encode)
        await harness.until("response.done")

    harness = run_scene(scene)
    started, stopped = (
        harness.events("input_audio_buffer.speech_started"),
        harness.events("input_audio_buffer.speech_stopped"),
    )
    length_ms = stopped[-1]["audio_end_ms"] - started[0]["audio_start_ms"]
    return len(harness.events("input_audio_buffer.committed")), length_ms, harness


@pytest.mark.parametrize("wire_format", ["audio/pcm", "audio/pcmu"])  # A-law has no exact silence for the scripted VAD
@pytest.mark.parametrize("jitter_s", [0.0, 0.2], ids=["steady", "jitter-200-ms"])
@pytest.mark.parametrize("block_ms", [10, 128, 1000], ids="{} ms blocks".format)
def test_block_length_does_not_change_turn_or_its_length(block_ms: int, jitter_s: float, wire_format: str) -> None:
    turns, length_ms, _ = speech_of(block_ms, jitter_s=jitter_s, wire_format=wire_format)
    assert turns == 1
    assert length_ms == pytest.approx(1500, abs=20)


@pytest.mark.parametrize("stall_s", [0.2, 3.0], ids="{} s stall".format)
@pytest.mark.parametrize("block_ms", [20, 341], ids="{} ms blocks".format)
def test_burst_after_stall_belongs_to_the_same_turn(block_ms: int, stall_s: float) -> None:
    turns, length_ms, _ = speech_of(block_ms, stall_s=stall_s)
    assert turns == 1
    assert length_ms == pytest.approx(1500, abs=20)


def test_blocks_of_20_ms_are_answered_after_the_silence_timeout() -> None:
    harness = speech_of(20)[2]
    assert harness.at_ms("input_audio_buffer.speech_stopped")[0] - 2000 <= harness.base.hangover_ms + 40


@pytest.mark.parametrize("block_ms", [20, 100, 200], ids="{} ms blocks".format)
async def test_client_that_stops_sending_after_speech_is_answered(block_ms: int) -> None:
    pcm = np.full(24_000, 8000, np.int16)
    size = 24 * block_ms
    async with SessionHarness().running() as harness:
        blocks = [((at + size) / 24_000, pcm[at : at + size]) for at in range(0, len(pcm), size)]
        await harness.stream_blocks(blocks, lambda part: part.astype("<i2").tobytes())
        await harness.until("input_audio_buffer.speech_stopped")
        assert 1000 + 1000 * TURN_STALL_S < harness.now_ms <= 1000 + 1000 * TURN_STALL_S + 300 + 2 * block_ms
        await harness.until("response.done")
    assert harness.done[0]["status"] == "completed"


async def test_recording_sent_at_once_is_answered_after_its_silence() -> None:
    async with SessionHarness().running() as harness:
        await harness.stream_blocks(
            [(0.0, np.full(24_000 * 2, 8000, np.int16))], lambda part: part.astype("<i2").tobytes()
        )
        await harness.until("input_audio_buffer.speech_stopped")
        assert harness.now_ms <= harness.base.hangover_ms + 200


async def test_stock_client_gets_the_whole_reply_ahead_of_real_time() -> None:
    async with SessionHarness(answers=(LONG, "It is ten.")).running() as harness:
        harness.talk.configure(replace(CONFIG, extensions=Extensions()))
        await harness.ask("talk")
        assert harness.now_ms < harness.sound_ms() / 4
        await harness.ask("and now?", "response.done", 2)  # while the client still plays
    assert harness.errors == []
    assert [response["status"] for response in harness.done] == ["completed", "completed"]


async def test_speech_after_a_reply_was_sent_cuts_what_the_stock_client_played() -> None:
    async with SessionHarness(answers=(LONG, "It is ten.")).running() as harness:
        harness.talk.configure(replace(CONFIG, extensions=Extensions()))
        await harness.ask("talk")
        await harness.sound(1000, loud=False)
        await harness.sound(600, loud=True)
        item = harness.done[0]["output"][0]["id"]
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=1200)
        await harness.sound(800, loud=False)
        await harness.until("response.done", 2)
    assert harness.errors == []
    heard = harness.session.history.items[1]
    assert isinstance(heard, AssistantMessage)
    assert 0 < len(heard.text) < len(LONG) / 2


async def test_speech_cuts_reply_at_heard_position() -> None:
    async with SessionHarness((LONG, "Fine."), ("count", "stop")).running() as harness:
        await harness.update(repartee={"duck": True})
        await harness.speak(until="response.created")
        await harness.sound(1000, loud=False)
        await harness.speak(until="response.created", count=2)
    first = harness.done[0]
    assert (first["status"], first["status_details"]["reason"]) == ("cancelled", "turn_detected")
    (cut,) = harness.events("conversation.item.truncated")
    assert cut["item_id"] == first["output"][0]["id"]
    heard_ms = cut["audio_end_ms"]
    assert 1200 <= heard_ms <= 1700
    assert harness.model.asked[1][-2].content == " ".join(LONG.split()[: heard_ms // 200])
    cut_or_begun = [
        kind for kind in harness.kinds if kind in {"conversation.item.truncated", "input_audio_buffer.speech_started"}
    ]
    assert cut_or_begun == [
        "input_audio_buffer.speech_started", "input_audio_buffer.speech_started", "conversation.item.truncated"
    ]  # fmt: skip
    assert harness.at_ms("input_audio_buffer.speech_started")[1] == harness.at_ms("conversation.item.truncated")[0]
    assert len(harness.events("repartee.duck")) == 1


@pytest.mark.parametrize(
    ("server_ms", "asked_ms", "interrupted"),
    [(60, None, True), (60, 300, False), (300, 60, False), (60, 100, True)],
    ids=["server default", "client raises", "client lowers", "below the speech length"],
)
async def test_client_can_raise_interrupt_after_ms(server_ms: float, asked_ms: int | None, interrupted: bool) -> None:
    """180 ms of voice into the reply, like residual echo; the server's setting is the minimum."""
    said = ("what time is it", "")  # residual echo has no words
    async with SessionHarness(
        (LONG, "Fine."), said, base=TurnSettings(interrupt_after_ms=server_ms)
    ).running() as harness:
        await harness.update(repartee={"duck": True, "interrupt_after_ms": asked_ms})
        await harness.speak(until="response.created")
        await harness.sound(600, loud=False)
        await harness.sound(180, loud=True)
        await harness.sound(2000, loud=False)
    reasons = [response["status_details"]["reason"] for response in harness.done if response["status"] == "cancelled"]
    assert ("turn_detected" in reasons) == interrupted
    assert len(harness.events("repartee.unduck")) == (not interrupted)


class Unfinished:
    """Estimates that no turn is finished."""

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        return EndOfTurnEstimate(0.02, evidence.silence_ms, 650.0, "sound")


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        ({"repartee": {"listening_sounds": True}}, 1),
        ({"repartee": {"listening_sounds": True}, "output_modalities": ["text"]}, 0),
        ({"repartee": {"listening_sounds": True, "events": False}}, 0),
        ({"repartee": {"duck": True}}, 0),
        ({}, 0),
    ],
    ids=["asked for", "text only", "without events", "other extensions", "none"],
)
async def test_listening_sound_is_only_sent_to_a_client_that_asks_for_it(
    session: dict[str, Any], expected: int
) -> None:
    pcm = np.arange(7200, dtype=np.int16)
    async with SessionHarness(
        base=TurnSettings(
            speculate_after_ms=40, profile=PROFILES["patient"], listening_sounds=ListeningSoundThresholds()
        ),
        profile="patient",
        engines=lambda engines: replace(
            engines, end_of_turn=Unfinished(), listening_sound=ListeningSound("Mm-hmm.", pcm)
        ),
    ).running() as harness:
        await harness.update(**session)
        await harness.sound(800, loud=True)
        await harness.sound(1000, loud=False)
        await harness.sound(600, loud=True)
        await harness.sound(2200, loud=False)
        await harness.until("response.done")
        await harness.until_idle()
    sounds = harness.events("repartee.listening_sound")
    assert len(sounds) == len(harness.events("repartee.listening_sound_stopped")) == expected
    if expected:
        assert set(sounds[0]) == {"type", "audio"}
        assert len(base64.b64decode(sounds[0]["audio"])) == 2 * len(pcm)
        assert harness.at_ms("repartee.listening_sound")[0] == pytest.approx(1500, abs=60)
    [record] = harness.records
    assert [event.name for event in record.events].count("listening_sound") == expected
    assert len(harness.done) == 1
    assert harness.sound_ms() in {0, 1200}


@pytest.mark.parametrize("profile", ["auto", "patient", "balanced", "eager"])
@pytest.mark.parametrize("eagerness", ["low", "medium", "high", "auto"])
def test_server_profile_applies_unless_client_sets_eagerness(profile: ProfileName, eagerness: Eagerness) -> None:
    """As `repartee serve` with turn.profile and turn.hangover_ms = 1500."""
    harness = SessionHarness(base=TurnSettings(hangover_ms=1500), profile=profile)
    harness.talk.configure(replace(CONFIG, turn_detection=SemanticVad.of_profile(profile)))
    as_set = replace(harness.base, has_client=True)
    assert harness.session.turns.settings == as_set
    harness.talk.configure(replace(CONFIG, turn_detection=SemanticVad(eagerness)))
    asked = {"low": "patient", "medium": "balanced", "high": "eager", "auto": profile}[eagerness]
    assert (harness.session.turns.settings == as_set) == (asked == profile)


def test_higher_eagerness_ends_a_turn_sooner() -> None:
    def committed_ms(eagerness: Eagerness) -> int:
        async def scene(harness: SessionHarness) -> None:
            await harness.update(audio={"input": {"turn_detection": {"type": "semantic_vad", "eagerness": eagerness}}})
            await harness.sound(600, loud=True)
            await harness.sound(2000, loud=False)

        return run_scene(scene).at_ms("input_audio_buffer.committed")[0]

    low, medium, auto, high = (committed_ms(eagerness) for eagerness in ("low", "medium", "auto", "high"))
    assert auto == medium
    assert medium - high >= 100
    assert low - medium >= 200


async def test_non_interrupting_speech_is_answered_after_the_reply() -> None:
    async with SessionHarness((LONG, "Fine.")).running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "interrupt_response": False}}})
        await harness.speak(until="response.created")
        await harness.sound(600, loud=False)
        await harness.sound(600, loud=True)
        await harness.sound(5000, loud=False)
    assert harness.errors == []
    assert [response["status"] for response in harness.done] == ["completed", "completed"]
    assert harness.sound_ms() == len(LONG.split()) * 200 + 200
    assert harness.events("conversation.item.truncated") == []
    told = [kind for kind in harness.kinds if kind.startswith("input_audio_buffer.") or kind == "response.done"]
    assert told == [
        "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "input_audio_buffer.committed",
        "input_audio_buffer.speech_started",  # at once, so that the client can interrupt
        "input_audio_buffer.speech_stopped", "input_audio_buffer.committed",
        "response.done", "response.done",
    ]  # fmt: skip
    spoken_ms, told_ms = harness.at_ms("input_audio_buffer.speech_started")[1], harness.at_ms(TRANSCRIBED)[1]
    assert told_ms - spoken_ms < 600 + 500
    assert harness.at_ms("response.done")[0] - told_ms > 1000
    assert [message.content for message in harness.model.asked[1]][-1] == "what time is it"
    assert len(harness.model.asked) == 2
    items = [event["item_id"] for event in harness.events("input_audio_buffer.speech_started")]
    assert [event["item_id"] for event in harness.events("input_audio_buffer.committed")] == items


async def test_client_interrupt_does_not_end_the_user_turn() -> None:
    async with SessionHarness((LONG, "Fine.")).running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "interrupt_response": False}}})
        await harness.speak(until="response.created")
        await harness.sound(600, loud=False)
        await harness.sound(400, loud=True)
        assert len(harness.events("input_audio_buffer.speech_started")) == 2
        await harness.send("response.cancel")
        await harness.sound(400, loud=True)
        await harness.sound(3000, loud=False)
    assert [response["status"] for response in harness.done] == ["cancelled", "completed"]
    assert len(harness.events("input_audio_buffer.committed")) == 2


@pytest.mark.parametrize("cut", ["input_audio_buffer.clear", "input_audio_buffer.commit"])
async def test_speech_after_a_cut_is_another_turn(cut: str) -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}})
        await harness.sound(600, loud=True)
        await harness.send(cut)
        await harness.sound(1000, loud=True)
        await harness.sound(2000, loud=False)
    started = [event["audio_start_ms"] for event in harness.events("input_audio_buffer.speech_started")]
    stopped = [event["audio_end_ms"] for event in harness.events("input_audio_buffer.speech_stopped")]
    assert len(started) == len(stopped) == 2
    assert started[1] == stopped[0]
    assert len(harness.events("input_audio_buffer.committed")) == (2 if cut.endswith("commit") else 1)


async def test_create_response_is_read_at_the_end_of_the_turn() -> None:
    """Turn detection is switched within speech."""
    async with SessionHarness(("Fine.", "Nobody asked.")).running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(300, loud=True)
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad"}}})
        await harness.sound(300, loud=True)
        await harness.sound(1000, loud=False)
        await harness.until("response.done")
        await harness.sound(300, loud=True)
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.send("input_audio_buffer.commit")
        await harness.sound(2000, loud=False)
    assert len(harness.events("input_audio_buffer.committed")) == 2
    assert [response["status"] for response in harness.done] == ["completed"]


async def test_turns_are_not_answered_without_create_response() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "semantic_vad", "create_response": False}}})
        await harness.speak()
        await harness.sound(3000, loud=False)
        assert len(harness.events("input_audio_buffer.committed")) == 1
        assert harness.events("response.created") == []
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.model.asked[0][-1].content == "what time is it"


async def test_client_silence_duration_ends_the_turn() -> None:
    async with SessionHarness().running() as harness:
        detection = {"type": "server_vad", "silence_duration_ms": 700, "prefix_padding_ms": 100}
        await harness.update(audio={"input": {"turn_detection": detection}})
        await harness.sound(600, loud=True)
        await harness.sound(2000, loud=False)
    assert harness.at_ms("input_audio_buffer.committed")[0] == pytest.approx(1300, abs=50)


def test_server_vad_without_duration_uses_server_setting() -> None:
    async def scene(harness: SessionHarness) -> None:
        if detection:
            await harness.update(audio={"input": {"turn_detection": detection}})
        await harness.sound(600, loud=True)
        await harness.sound(2000, loud=False)

    detection: dict[str, object] = {}
    as_it_is = run_scene(scene).at_ms("input_audio_buffer.committed")[0]
    detection = {"type": "server_vad", "threshold": 0.5}
    asked = run_scene(scene)
    assert asked.at_ms("input_audio_buffer.committed")[0] == as_it_is
    shown = asked.events("session.updated")[-1]["session"]["audio"]["input"]["turn_detection"]
    assert (shown["type"], shown["silence_duration_ms"]) == ("server_vad", None)


# ---- manual turns ----


async def test_commit_ends_the_turn_in_manual_mode() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.sound(2000, loud=False)
        assert harness.events("input_audio_buffer.committed") == []
        await harness.send("input_audio_buffer.commit")
        await harness.until("input_audio_buffer.committed")
        assert harness.events("response.created") == []
        await harness.send("response.create")
        await harness.until_idle()
    assert harness.errors == []
    assert harness.events("input_audio_buffer.speech_started") == []
    (committed,) = harness.events("input_audio_buffer.committed")
    assert committed["repartee"]["audio_end_ms"] == pytest.approx(600, abs=25)
    assert harness.model.asked[0][-1].content == "what time is it"
    assert harness.done[0]["status"] == "completed"


async def test_response_requested_after_commit_answers_it() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create", response={"instructions": "In French."})
        await harness.until("response.done")
    assert harness.model.asked[0][-1].content == "what time is it"
    assert harness.model.asked[0][0].content == "In French."
    # It answers speech, so it has a latency, although it was requested before the transcript.
    (record,) = harness.records
    assert record.no_latency_reason is None
    assert record.response_latency_ms is not None
    assert record.response_latency_ms > 0


async def test_commit_is_answered_once() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create")
        await harness.send("response.create")
        await harness.until("response.done")
        await harness.until_idle()
    assert harness.errors == ["conversation_already_has_active_response"]
    assert len(harness.done) == 1


async def test_commit_before_earlier_transcript_is_another_item() -> None:
    async with SessionHarness(transcripts=("what time is it", "and the date")).running() as harness:
        harness.recognizer.delay_ms = 1500
        await harness.update(audio={"input": {"turn_detection": None}})
        for _ in range(2):
            await harness.sound(400, loud=True)
            await harness.sound(200, loud=False)
            await harness.send("input_audio_buffer.commit")
        await harness.sound(200, loud=False)
        await harness.send("input_audio_buffer.commit", event_id="empty")
        await harness.send("response.create")
        await harness.sound(6000, loud=False)
        await harness.until("response.done")
    first, second, empty = harness.events("input_audio_buffer.committed")
    assert second["previous_item_id"] == first["item_id"]
    assert empty["item_id"] in harness.client.items
    assert [item.text for item in harness.session.history.items if isinstance(item, UserMessage) and item.spoken] == [
        "what time is it",
        "and the date",
        "",
    ]
    assert harness.errors == []
    assert harness.events("conversation.item.input_audio_transcription.completed")[-1]["transcript"] == ""
    assert harness.model.asked[-1][-1].content == "and the date"
    assert len(harness.model.asked) == 1


async def test_whole_turn_may_be_sent_at_once() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        audio = base64.b64encode(np.full(24_000, 8000, np.int16).tobytes()).decode()
        await harness.send("input_audio_buffer.append", audio=audio)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create")
        await harness.until("response.done")
        assert harness.at_ms("input_audio_buffer.committed")[0] < 100
    assert harness.done[0]["status"] == "completed"


async def test_recording_of_a_client_that_ends_its_turns_is_taken_at_once() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        audio = base64.b64encode(np.full(24_000 * 11, 8000, np.int16).tobytes()).decode()
        for _ in range(4):
            await harness.send_paced("input_audio_buffer.append", audio=audio)
        await harness.send_paced("input_audio_buffer.commit")
        await harness.until(TRANSCRIBED)
    assert harness.at_ms("input_audio_buffer.committed")[0] < 500


@pytest.mark.parametrize("message_s", [0.1, 1, 16], ids="{} s messages".format)
async def test_recording_is_paced_to_real_time_without_silence(message_s: float) -> None:
    took_ms: list[int] = []
    async with SessionHarness().running() as harness:
        audio = base64.b64encode(np.full(round(24_000 * message_s), 8000, np.int16).tobytes()).decode()
        for _ in range(round(16 / message_s)):
            await harness.send_paced("input_audio_buffer.append", audio=audio)
        took_ms.append(harness.now_ms)
        await harness.send("input_audio_buffer.commit")
        await harness.until("input_audio_buffer.committed")
    assert took_ms[0] == pytest.approx(1000 * (16 / RATE_ALLOWANCE - 4), abs=100)
    assert harness.talk.microphone.inserted_ms(17_000) < 25  # the ends of the sound, but no frame


DETECTIONS: list[Event | None] = [None, {"type": "server_vad"}, {"type": "semantic_vad", "create_response": False}]


@pytest.mark.parametrize("detection", DETECTIONS, ids=lambda detection: detection["type"] if detection else "manual")
@pytest.mark.parametrize(("loud_ms", "quiet_ms"), [(0, 800), (800, 0), (0, 100)], ids=["silence", "tone", "100 ms"])
async def test_commit_without_words_adds_an_item_with_an_empty_transcript(
    loud_ms: int, quiet_ms: int, detection: Event | None
) -> None:
    async with SessionHarness(transcripts=("",)).running() as harness:
        await harness.update(audio={"input": {"turn_detection": detection}})
        await harness.sound(loud_ms, loud=True)
        await harness.sound(quiet_ms, loud=False)
        await harness.send("input_audio_buffer.commit", event_id="mine")
        await harness.until("conversation.item.input_audio_transcription.completed")
        await harness.sound(2000, loud=False)
    assert harness.errors == []
    assert harness.done == []
    (committed,) = harness.events("input_audio_buffer.committed")
    (item,) = harness.session.history.items
    assert item == UserMessage(committed["item_id"], "", spoken=True)
    (completed,) = harness.events("conversation.item.input_audio_transcription.completed")
    assert (completed["item_id"], completed["transcript"]) == (item.id, "")
    assert harness.events("conversation.item.input_audio_transcription.delta") == []
    assert [event["item"]["id"] for event in harness.events("conversation.item.done")] == [item.id]
    assert harness.events("repartee.nothing_said")[0]["item_id"] == item.id
    assert [record.outcome for record in harness.records] == ["no words"]


@pytest.mark.parametrize("loud", [False, True], ids=["silence", "tone"])
async def test_response_after_empty_commit_answers_the_history(*, loud: bool) -> None:
    async with SessionHarness(transcripts=("",)).running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.type_text("hello")
        await harness.sound(800, loud=loud)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create", response={"metadata": {"k": "a"}})
        await harness.until("response.done")
    assert harness.errors == []
    (committed,) = harness.events("input_audio_buffer.committed")
    assert harness.client.items[1] == committed["item_id"]
    assert harness.events("conversation.item.input_audio_transcription.completed")[0]["transcript"] == ""
    assert [message.content for message in harness.model.asked[0]] == ["Be brief.", "hello"]
    assert harness.done[0]["metadata"] == {"k": "a"}


@pytest.mark.parametrize("commits", [False, True], ids=["ended by silence", "committed"])
async def test_turn_with_lost_transcript_gets_an_apology(*, commits: bool) -> None:
    async with SessionHarness().running() as harness:
        harness.recognizer.delay_ms = 60_000
        if commits:
            await harness.update(audio={"input": {"turn_detection": None}})
        await harness.speak()
        if commits:
            await harness.send("input_audio_buffer.commit", event_id="mine")
            await harness.send("response.create")
        await harness.until("response.done")
    assert harness.errors == []
    (committed,) = harness.events("input_audio_buffer.committed")
    (failed,) = harness.events("conversation.item.input_audio_transcription.failed")
    assert committed["item_id"] == failed["item_id"] == "item_1"
    assert [event["item_id"] for event in harness.events("input_audio_buffer.speech_started")] == ["item_1"][commits:]
    assert harness.done[0]["status"] == "failed"
    assert harness.model.asked == []
    heard = harness.session.history.items[0]
    assert heard == UserMessage(ItemId("item_1"), "", spoken=True)


async def test_noise_is_not_a_turn() -> None:
    async with SessionHarness(transcripts=("",)).running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}})
        await harness.speak(until="repartee.nothing_said")
    assert harness.events("input_audio_buffer.committed") == []
    assert harness.session.history.items == ()


async def test_cleared_speech_is_not_answered() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.clear")
        assert len(harness.events("input_audio_buffer.cleared")) == 1
        await harness.send("input_audio_buffer.commit")
        await harness.sound(600, loud=False)
    assert harness.errors == ["input_audio_buffer_commit_empty"]
    assert harness.session.history.items == ()


async def test_commit_cuts_reply_in_manual_mode() -> None:
    async with SessionHarness((LONG,), ("stop",)).running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.ask("count", "response.created")
        await harness.sound(1000, loud=False)
        await harness.sound(600, loud=True)
        assert harness.done == []
        await harness.send("input_audio_buffer.commit")
        await harness.until("input_audio_buffer.committed")
    assert harness.done[0]["status_details"]["reason"] == "client_cancelled"


async def test_commit_keeps_finished_reply_in_manual_mode() -> None:
    async with SessionHarness(("one two three four five", "Fine."), ("and now",)).running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.ask("count")
        await harness.sound(300, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create")
        await harness.until("response.done", 2)
        await harness.until_idle()
    assert harness.errors == []
    assert harness.events("conversation.item.truncated") == []
    assert [response["status"] for response in harness.done] == ["completed", "completed"]
    assert [message.content for message in harness.model.asked[1]][1:] == [
        "count",
        "one two three four five",
        "and now",
    ]


# ---- text and items ----


async def test_typed_text_is_answered_on_request() -> None:
    async with SessionHarness().running() as harness:
        await harness.type_text("what time is it", id="mine")
        assert harness.events("conversation.item.added")[0]["item"]["id"] == "mine"
        assert harness.events("response.created") == []
        await harness.send("response.create")
        await harness.until("response.done")
        await harness.until_idle()
    assert harness.sound_ms() == 1200
    assert [type(item) for item in harness.session.history.items] == [UserMessage, AssistantMessage]
    assert harness.records[0].response_latency_ms is None


async def test_reply_may_be_text_only() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(output_modalities=["text"])
        await harness.ask("what time is it")
    assert harness.sound_ms() == 0
    assert harness.events("response.output_text.done")[0]["text"] == "It is ten o'clock. Anything else?"
    assert harness.voice.spoken == []
    assert harness.session.history.items[-1] == AssistantMessage(
        harness.session.history.items[-1].id, "It is ten o'clock. Anything else?"
    )


def test_response_options_override_the_session() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.type_text("what time is it")
        options = {"output_modalities": ["text"], "instructions": "In French.", "max_output_tokens": 9}
        await harness.send("response.create", response=options)
        await harness.until("response.done")
        await harness.send("response.create")
        await harness.until("response.done", 2)

    harness = run_scene(scene)
    assert [messages[0].content for messages in harness.model.asked] == ["In French.", "Be brief."]
    assert [options.max_tokens for options in harness.model.options] == [9, NO_LIMIT]
    assert harness.sound_ms() == 1200


@pytest.mark.parametrize(("of_session", "of_response", "asked"),
    [(None, None, NO_LIMIT), ("inf", None, NO_LIMIT), (50, None, 50), (50, "inf", NO_LIMIT), ("inf", 9, 9)],
    ids=[
        "not set", "session without limit", "session limit", "response without limit", "response limit",
    ],
)  # fmt: skip
async def test_model_gets_the_shown_token_limit(
    of_session: int | str | None, of_response: int | str | None, asked: int
) -> None:
    async with SessionHarness().running() as harness:
        await harness.update(max_output_tokens=of_session)
        await harness.type_text("hello")
        await harness.send("response.create", response={"max_output_tokens": of_response})
        await harness.until("response.done")
    assert harness.model.options[0].max_tokens == asked
    assert harness.done[0]["max_output_tokens"] == (asked or "inf")


async def test_client_sets_speed_and_instructions() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(instructions="Sing.", audio={"output": {"speed": 1.25, "voice": "alloy"}})
        await harness.ask("what time is it")
    assert harness.voice.speeds[0] == 1.25
    assert harness.model.asked[0][0].content == "Sing."
    assert harness.events("session.updated")[0]["session"]["audio"]["output"]["voice"] == "scripted voice"


async def test_function_output_continues_the_reply() -> None:
    async with SessionHarness((LAMP, "The lamp is on."), ("turn on the lamp",)).running() as harness:
        await harness.update(tools=[LAMP_TOOL])
        await harness.speak(until="response.done")
        output = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
        await harness.send("conversation.item.create", item=output)
        await harness.send("response.create")
        await harness.until_idle()
    (called,) = harness.events("response.function_call_arguments.done")
    assert (called["call_id"], called["arguments"]) == ("call_1", '{"on": true}')
    assert [item["type"] for item in harness.done[0]["output"]] == ["function_call"]
    assert [function.name for function in harness.model.options[0].functions] == ["set_lamp"]
    assert [message.role for message in harness.model.asked[1]] == ["system", "user", "assistant", "tool"]
    assert harness.events("response.output_audio_transcript.done")[0]["transcript"] == "The lamp is on."
    assert [record.outcome for record in harness.records] == ["answered", "answered"]


async def test_continuation_is_played_after_words_before_the_call() -> None:
    async with SessionHarness((("Let me see to that.", LAMP), "It is on.")).running() as harness:
        await harness.update(tools=[LAMP_TOOL])
        await harness.ask("lamp please")
        assert harness.sound_ms() == 1000  # sent ahead; it still plays
        output = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
        await harness.send("conversation.item.create", item=output)
        await harness.send("response.create")
        await harness.until_idle()
    assert [item["type"] for item in harness.done[0]["output"]] == ["message", "function_call"]
    begun_ms = harness.at_ms("response.created")
    assert begun_ms[1] - begun_ms[0] < 200, "it does not wait for the end of the words"
    assert harness.sound_ms() == 1600
    assert harness.events("conversation.item.truncated") == []
    assert next(message.content for message in harness.model.asked[1] if message.role == "assistant") == (
        "Let me see to that."
    )
    ended_ms = [round(record.playout_start_ms or 0) for record in harness.records]
    assert ended_ms[1] - ended_ms[0] == pytest.approx(1000, abs=60), "one is heard behind the other"


async def test_items_can_be_retrieved_and_deleted() -> None:
    async with SessionHarness().running() as harness:
        await harness.type_text("one", id="a")
        await harness.type_text("two", id="b")
        await harness.send("conversation.item.retrieve", item_id="a")
        await harness.send("conversation.item.delete", item_id="a")
        await harness.send("conversation.item.retrieve", item_id="a")
        await harness.send("conversation.item.delete", item_id="a")
        await harness.type_text("three", id="b")
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "zero"}]}
        await harness.send("conversation.item.create", item=message, previous_item_id="root")
        await harness.send("conversation.item.create", item=message, previous_item_id="a")
        output = {"type": "function_call_output", "call_id": "none", "output": "done"}
        await harness.send("conversation.item.create", item=output)
        await harness.send("conversation.item.truncate", item_id="b", content_index=0, audio_end_ms=100)
    assert harness.events("conversation.item.retrieved")[0]["item"]["content"][0]["text"] == "one"
    assert [event["item_id"] for event in harness.events("conversation.item.deleted")] == ["a"]
    assert harness.errors == [
        "item_retrieve_invalid_item_id", "item_delete_invalid_item_id", "item_create_duplicate_item_id",
        "item_create_invalid_previous_item_id", "invalid_tool_call_id", "unsupported_content_type",
    ]  # fmt: skip
    texts = [item.text for item in harness.session.history.items if isinstance(item, UserMessage)]
    assert texts == ["zero", "two"]


def test_announced_items_stay_in_the_conversation() -> None:
    async def scene(harness: SessionHarness) -> None:
        seed = {"type": "message", "role": "system", "id": "seed"}
        content = [{"type": "input_text", "text": "s" * 9600}]
        await harness.send("conversation.item.create", item={**seed, "content": content})
        call = {"type": "function_call", "id": "f", "call_id": "c", "name": "set_lamp", "arguments": "{}"}
        await harness.send("conversation.item.create", item=call)
        for number in range(30):
            await harness.type_text(f"question {number}", id=f"u{number}")
        output = {"type": "function_call_output", "id": "o", "call_id": "c", "output": "done"}
        await harness.send("conversation.item.create", item=output)
        message = {"type": "message", "role": "user", "id": "x", "content": [{"type": "input_text", "text": "x"}]}
        await harness.send("conversation.item.create", item=message, previous_item_id="u0")
        for item in ("seed", "u0"):
            await harness.send("conversation.item.retrieve", item_id=item)
        await harness.send("response.create")
        await harness.until("response.done")

    harness = run_scene(scene)
    assert harness.errors == []
    assert [event["item"]["id"] for event in harness.events("conversation.item.retrieved")] == ["seed", "u0"]
    assert harness.client.items[:4] == ["seed", "f", "u0", "x"]
    (asked,) = harness.model.asked
    assert [message.role for message in asked[:3]] == ["system", "system", "user"]
    assert asked[-1] == Message("tool", "done", call_id="c")
    assert len([message for message in asked if message.role == "user"]) == 20


async def test_model_sees_items_in_the_client_order() -> None:
    harness = SessionHarness()
    harness.model.token_ms = 500
    async with harness.running():
        await harness.update(output_modalities=["text"])
        await harness.ask("slow", "response.created")
        await harness.type_text("interjected")
        await harness.until("response.done")
        await harness.ask("third", "response.done", 2)
    shown = {event["item"]["id"]: event["item"]["content"][0] for event in harness.events("conversation.item.done")}
    asked = [message.content for message in harness.model.asked[1][1:]]
    assert [shown[item]["text"] for item in harness.client.items][: len(asked)] == asked
    assert asked == ["slow", "It is ten o'clock. Anything else?", "interjected", "third"]


@pytest.mark.parametrize("modality", ["audio", "text"])
async def test_deleted_reply_is_gone(modality: str) -> None:
    async with SessionHarness().running() as harness:
        await harness.update(output_modalities=[modality])
        await harness.type_text("hello")
        for count in (1, 2):
            await harness.send("response.create")
            await harness.until("response.output_item.added", count)
            if count == 2:  # the first while in progress, the second after its end
                await harness.until_idle()
            item = harness.events("response.output_item.added")[-1]["item"]["id"]
            for what in ("delete", "retrieve", "delete"):
                await harness.send(f"conversation.item.{what}", item_id=item)
            await harness.until_idle()
    assert harness.errors == ["item_retrieve_invalid_item_id", "item_delete_invalid_item_id"] * 2
    kinds = [event["type"] for event in harness.client.events if event["type"].startswith("conversation.item")]
    assert kinds[2:] == [
        "conversation.item.added", "conversation.item.done", "conversation.item.deleted",
    ] * 2  # fmt: skip
    assert [response["status"] for response in harness.done] == ["cancelled", "completed"]


async def test_announced_id_is_taken() -> None:
    async with SessionHarness().running() as harness:
        await harness.sound(600, loud=True)
        (speech,) = harness.events("input_audio_buffer.speech_started")
        await harness.type_text("clash", id=speech["item_id"])
        await harness.type_text("clash", id="root")
        await harness.sound(800, loud=False)
        await harness.until("conversation.item.input_audio_transcription.completed")
        call = {"type": "function_call", "call_id": "c", "name": "set_lamp", "arguments": "{}"}
        await harness.send("conversation.item.create", item=call)
        await harness.send("conversation.item.create", item=call)
    assert harness.errors == ["item_create_duplicate_item_id", "item_create_duplicate_item_id", "call_id_taken"]
    (committed,) = harness.events("input_audio_buffer.committed")
    assert committed["item_id"] == harness.events("input_audio_buffer.speech_started")[0]["item_id"]


@pytest.mark.parametrize("instructions", ["Greet the user first.", ""], ids=["instructed", "without instructions"])
@pytest.mark.parametrize("detection", [None, {"type": "semantic_vad"}], ids=["manual", "semantic_vad"])
async def test_assistant_speaks_first_when_asked_in_an_empty_conversation(
    instructions: str, detection: Event | None
) -> None:
    async with SessionHarness(("Hello, who is there?",)).running() as harness:
        await harness.update(instructions=instructions, audio={"input": {"turn_detection": detection}})
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.errors == []
    assert [message.content for message in harness.model.asked[0]] == ([instructions] if instructions else [])
    assert harness.done[0]["status"] == "completed"
    assert harness.done[0]["output"][0]["content"][0]["transcript"] == "Hello, who is there?"


async def test_assistant_speaks_again_without_a_new_question() -> None:
    async with SessionHarness().running() as harness:
        await harness.type_text("hello")
        for count in (1, 2):
            await harness.send("response.create")
            await harness.until("response.done", count)
            await harness.until_idle()
    assert harness.errors == []
    assert [message.role for message in harness.model.asked[1]] == ["system", "user", "assistant"]


# ---- replies stopped by the client ----


async def test_reply_is_cancelled_once() -> None:
    async with SessionHarness((LONG,)).running() as harness:
        await harness.send("response.cancel")
        await harness.ask("count", "response.created")
        await asyncio.sleep(0.55)
        await harness.send("response.create")
        await harness.send("response.cancel", response_id="resp_1_1")
        await harness.send("response.cancel", response_id="resp_1_1")
        await asyncio.sleep(3)
    assert harness.errors == [
        "response_cancel_not_active", "conversation_already_has_active_response", "response_cancel_not_active"
    ]  # fmt: skip
    assert [event["error"]["param"] for event in harness.events("error")] == [None, None, "response_id"]
    assert [response["status"] for response in harness.done] == ["cancelled"]
    assert harness.done[0]["status_details"]["reason"] == "client_cancelled"
    assert 400 < harness.events("conversation.item.truncated")[0]["audio_end_ms"] <= 520
    assert harness.session.history.items[-1].text == "one two"  # type: ignore[union-attr]


@pytest.mark.parametrize("order", ["truncate, cancel", "cancel, truncate", "clear, cancel", "cancel, clear"])
@pytest.mark.parametrize("named", [False, True], ids=["unnamed", "named"])
async def test_stopping_a_reply_in_two_ways_is_not_an_error(order: str, *, named: bool) -> None:
    async with SessionHarness((LONG,)).running() as harness:
        await harness.ask("count", "response.output_audio.delta")
        await asyncio.sleep(0.55)
        for what in order.split(", "):
            await stop(harness, what, named=named)
        await asyncio.sleep(3)
        await harness.send("response.cancel")  # now there is nothing to cancel
    assert harness.errors == ["response_cancel_not_active"]
    assert [response["status"] for response in harness.done] == ["cancelled"]
    if "truncate" in order:
        assert harness.events("conversation.item.truncated")[-1]["audio_end_ms"] == 300
        assert harness.session.history.items[-1].text == "one"  # type: ignore[union-attr]
    assert len(harness.events("output_audio_buffer.cleared")) == ("clear" in order)


async def stop(harness: SessionHarness, what: str, *, named: bool = False) -> None:
    """Stops the first reply as the client."""
    if what == "truncate":
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=300)
    elif what == "cancel":
        await harness.send("response.cancel", **({"response_id": "resp_1_1"} if named else {}))
    else:
        await harness.send("output_audio_buffer.clear")


@pytest.mark.parametrize("heard_ms", [0, 1200], ids=["before a word was heard", "after some words"])
@pytest.mark.parametrize("order", ["truncate, cancel", "cancel, truncate", "clear, cancel"])
async def test_stopping_a_reply_after_interruption_is_not_an_error(order: str, heard_ms: int) -> None:
    async with SessionHarness((LONG,)).running() as harness:
        await harness.update(repartee={"playout": not heard_ms})  # nothing counts as heard without a report
        await harness.speak(until="response.output_audio.delta")
        await harness.sound(heard_ms, loud=False)
        await harness.sound(600, loud=True)
        await harness.until("response.done")
        for what in order.split(", "):
            await stop(harness, what, named=True)
        await harness.sound(1000, loud=False)
        await harness.until("response.created", 2)
        await harness.send("response.cancel", response_id="resp_9_1")
    assert harness.done[0]["status_details"]["reason"] == "turn_detected"
    assert len(harness.events("conversation.item.deleted")) == (heard_ms == 0)
    assert harness.errors == ["response_cancel_not_active"]


async def test_commands_about_retracted_item_are_not_errors() -> None:
    async with SessionHarness((LONG,)).running() as harness:
        await harness.update(repartee={"playout": True})  # nothing counts as heard without a report
        await harness.speak(until="response.output_audio.delta")
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        await harness.sound(600, loud=True)
        await harness.until("conversation.item.deleted")
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=0)
        message = {"type": "message", "id": "x", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
        await harness.send("conversation.item.create", item=message, previous_item_id=item)
        await harness.send("conversation.item.delete", item_id=item)
        assert harness.errors == []
        await harness.send("conversation.item.retrieve", item_id=item)
        await harness.send("conversation.item.delete", item_id=item)
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=0)
    assert harness.client.items[1] == "x"
    assert harness.errors == [
        "item_retrieve_invalid_item_id", "item_delete_invalid_item_id", "item_truncate_invalid_item_id"
    ]  # fmt: skip


async def test_error_messages_begin_as_clients_expect() -> None:
    async with SessionHarness().running() as harness:
        await harness.type_text("count", id="mine")
        await harness.type_text("count", id="mine")
        await harness.send("conversation.item.retrieve", item_id="nope", event_id="rci_nope")
        await harness.send("conversation.item.delete", item_id="nope")
        await harness.send("conversation.item.truncate", item_id="nope", content_index=0, audio_end_ms=0)
        await harness.send("conversation.item.truncate", item_id="mine", content_index=0, audio_end_ms=0)
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
        await harness.send("conversation.item.create", item=message, previous_item_id="nope")
        output = {"type": "function_call_output", "call_id": "nope", "output": "done"}
        await harness.send("conversation.item.create", item=output)
        await harness.send("response.cancel")
        await harness.send("response.cancel", response_id="resp_of_theirs")
        await harness.sound(40, loud=False)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create")
        await harness.until("response.output_item.added")
        await harness.send("response.create")
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=60_000)
    errors = [event["error"] for event in harness.events("error")]
    assert {error["type"] for error in errors} == {"invalid_request_error"}
    assert errors[1]["event_id"] == "rci_nope"
    assert [(error["code"], error["message"].partition(". ")[0].rstrip(".")) for error in errors] == [
        ("item_create_duplicate_item_id", "Error adding item: an item with id 'mine' already exists"),
        ("item_retrieve_invalid_item_id", "Error retrieving item: the item with id 'nope' does not exist"),
        ("item_delete_invalid_item_id", "Error deleting item: the item with id 'nope' does not exist"),
        ("item_truncate_invalid_item_id", "Error truncating item: the item with id 'nope' does not exist"),
        ("unsupported_content_type", "Only model output audio messages can be truncated"),
        ("item_create_invalid_previous_item_id", "Error adding item: the previous item with id 'nope' does not exist"),
        ("invalid_tool_call_id", "Tool call ID 'nope' not found in conversation"),
        ("response_cancel_not_active", "Cancellation failed: no active response found"),
        ("response_cancel_not_active", "Cancellation failed: no active response found"),
        ("input_audio_buffer_commit_empty", "Error committing input audio buffer: buffer too small"),
        ("conversation_already_has_active_response",
         "Conversation already has an active response in progress: resp_1_1"),
        ("invalid_value", "Audio content of 800ms is already shorter than 60000ms"),
    ]  # fmt: skip
    assert errors[9]["message"].endswith("buffer only has 40.00ms of audio.")


async def test_playing_reply_is_dropped_on_clear() -> None:
    async with SessionHarness().running() as harness:
        await harness.send("output_audio_buffer.clear")
        await harness.ask("hello")
        await harness.send("output_audio_buffer.clear")
        assert harness.session.idle
    assert harness.errors == ["output_audio_buffer_clear_empty"]
    assert harness.events("output_audio_buffer.cleared")[0]["response_id"] == "resp_1_1"
    assert len(harness.events("conversation.item.truncated")) == 1


@pytest.mark.parametrize("modality", ["text", "audio"])
async def test_response_after_response_done_does_not_wait_for_playback(modality: str) -> None:
    done_ms: list[int] = []
    async with SessionHarness(("one two three four five", "Fine.")).running() as harness:
        await harness.ask("hello")
        done_ms.append(harness.now_ms)
        await harness.type_text("and now?")
        await harness.send("response.create", response={"output_modalities": [modality]})
        await harness.until("response.done", 2)
        done_ms.append(harness.now_ms)
        await harness.until_idle()
    assert harness.errors == []
    assert done_ms[1] - done_ms[0] < 300
    assert [response["status"] for response in harness.done] == ["completed", "completed"]
    assert harness.events("conversation.item.truncated") == []
    assert [message.content for message in harness.model.asked[1]][1:] == [
        "hello",
        "one two three four five",
        "and now?",
    ]
    texts = [item.text for item in harness.session.history.items if isinstance(item, AssistantMessage)]
    assert texts == ["one two three four five", "Fine."]
    assert [record.outcome for record in harness.records] == ["answered", "answered"]


async def follows(harness: SessionHarness, modality: str = "audio") -> None:
    """Generates a second reply while the first one still plays."""
    await harness.ask("hello")
    await harness.send("response.create", response={"output_modalities": [modality]})
    await harness.until("response.done", 2)


@pytest.mark.parametrize("modality", ["text", "audio"])
async def test_speech_cuts_reply_that_is_followed_by_another(modality: str) -> None:
    async with SessionHarness(("one two three four five six", "Fine.", "Yes?"), ("wait",)).running() as harness:
        await follows(harness, modality)
        await harness.speak(until="response.done", count=3)
    assert harness.errors == []
    cut = harness.events("conversation.item.truncated")[0]
    assert cut["item_id"] == harness.done[0]["output"][0]["id"]
    assert 100 < cut["audio_end_ms"] < 1000
    heard = [message.content for message in harness.model.asked[2] if message.role == "assistant"]
    assert heard[0].startswith("one")
    assert "six" not in heard[0]
    assert ("Fine." in heard) == (modality == "text"), "of sound that was behind it nothing was heard"


@pytest.mark.parametrize("how", ["response.cancel", "output_audio_buffer.clear"])
@pytest.mark.parametrize("modality", ["text", "audio"])
async def test_stopping_works_for_reply_followed_by_another(how: str, modality: str) -> None:
    async with SessionHarness(("one two three four five six", "Fine.", "Yes?")).running() as harness:
        await follows(harness, modality)
        await harness.send(how)
        assert harness.session.idle
        await harness.send("response.create")
        await harness.until("response.done", 3)
    assert harness.errors == []
    cut = [event["item_id"] for event in harness.events("conversation.item.truncated")]
    assert cut == [response["output"][0]["id"] for response in harness.done[: 1 + (modality == "audio")]]
    check_replay(harness)


def check_replay(harness: SessionHarness) -> None:
    """Checks that the decisions of the records are those of their replay."""
    conversation = conversation_of([json.loads(record.to_json()) for record in harness.records])
    assert (conversation.left_out, conversation.disagree) == (0, ())


async def test_stuck_reply_does_not_make_replies_before_it_stuck() -> None:
    async with SessionHarness(("one two three four five",), base=TurnSettings(stuck_after_s=0.4)).running() as harness:
        await harness.ask("hello")
        harness.model.token_ms = 3_600_000
        await harness.send("response.create")
        await harness.sound(600, loud=False)
        assert harness.session.idle
    first, second = sorted(harness.records, key=lambda record: record.turn)
    assert (first.outcome, first.error) == ("interrupted", None)
    assert second.outcome == "stuck"
    assert second.error is not None
    assert [event.name for event in first.events if event.name in {"interrupt", "error"}] == []
    check_replay(harness)


@pytest.mark.parametrize("modality", ["text", "audio"])
def test_truncating_earlier_reply_keeps_the_next_one(modality: str) -> None:
    async def scene(harness: SessionHarness) -> None:
        await follows(harness, modality)
        item = harness.done[0]["output"][0]["id"]
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=450)
        await harness.until_idle()

    harness = run_scene(scene, SessionHarness(("one two three four five six", "Fine.")))
    assert harness.errors == []
    assert [event["audio_end_ms"] for event in harness.events("conversation.item.truncated")] == [450]
    texts = [item.text for item in harness.session.history.items if isinstance(item, AssistantMessage)]
    assert texts == ["one two", "Fine."]


async def test_lost_connection_keeps_heard_part_of_earlier_reply() -> None:
    async with SessionHarness(("one two three four five six", "Fine.")).running() as harness:
        await follows(harness)
        harness.talk.on_disconnect()
        harness.resume(ReplyId(2, 1), 0)
        await harness.until_idle()
    assert harness.errors == []
    texts = [item.text for item in harness.session.history.items if isinstance(item, AssistantMessage)]
    assert texts[1] == "Fine."
    assert [record.turn for record in harness.records] == [1, 2]


async def test_request_during_speech_is_answered_with_the_turn() -> None:
    """Otherwise it would be answered again after that."""
    async with SessionHarness(transcripts=("no, wait",)).running() as harness:
        await harness.ask("hello")
        await harness.sound(200, loud=True)
        await harness.type_text("and now?")
        await harness.send("response.create")
        await harness.speak()
        await harness.sound(6000, loud=False)
    assert len(harness.model.asked) == 2
    assert [message.content for message in harness.model.asked[1] if message.role == "user"] == [
        "hello", "and now?", "no, wait"
    ]  # fmt: skip


async def test_each_request_gets_its_own_metadata_back() -> None:
    async with SessionHarness().running() as harness:
        await harness.sound(300, loud=True)
        await harness.send("response.create", response={"metadata": {"k": "a"}})
        await harness.speak(300)
        await harness.until_idle()
        await harness.send("response.create", response={"metadata": {"k": "b"}})
        await harness.until("response.done", 2)
        await harness.until_idle()
        await harness.speak(until="response.done", count=3)
    assert [response["metadata"] for response in harness.done] == [{"k": "a"}, {"k": "b"}, None]


@pytest.mark.parametrize(
    "detection", [None, {"type": "server_vad", "create_response": False}], ids=["manual", "server_vad"]
)
async def test_pending_request_can_be_cancelled(detection: Event | None) -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": detection}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create", response={"metadata": {"k": "a"}, "instructions": "In French."})
        await harness.send("response.cancel")
        await harness.until("conversation.item.input_audio_transcription.completed")
        await harness.sound(2000, loud=False)
        assert harness.events("response.created") == []
        await harness.send("response.create", response={"metadata": {"k": "b"}})
        await harness.until("response.done")
    assert harness.errors == []
    assert len(harness.events("input_audio_buffer.committed")) == 1
    assert [response["metadata"] for response in harness.done] == [{"k": "b"}]
    assert harness.model.asked[0][0].content == "Be brief."
    assert [message.content for message in harness.model.asked[0]][-1] == "what time is it"


async def test_cancel_of_another_response_keeps_the_request() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create", response={"metadata": {"k": "a"}})
        await harness.send("response.cancel", response_id="resp_7_1")
        await harness.until("response.done")
    assert harness.errors == ["response_cancel_not_active"]
    assert harness.done[0]["metadata"] == {"k": "a"}


async def test_truncation_by_client_sets_heard_text() -> None:
    async with SessionHarness().running() as harness:
        await harness.ask("hello")
        await harness.until_idle()
        item = harness.done[0]["output"][0]["id"]
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=450)
    assert [event["audio_end_ms"] for event in harness.events("conversation.item.truncated")] == [450]
    assert harness.session.history.items[-1].text == "It is"  # type: ignore[union-attr]


@pytest.mark.parametrize("heard", [False, True], ids=["while playing", "after playback"])
async def test_truncation_beyond_the_audio_is_refused(*, heard: bool) -> None:
    async with SessionHarness().running() as harness:
        await harness.ask("hello")
        if heard:
            await harness.until_idle()
        item = harness.done[0]["output"][0]["id"]
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=80_000_000)
        assert harness.session.idle == heard
        assert harness.events("conversation.item.truncated") == []
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=1200)
    assert harness.errors == ["invalid_value"]
    assert harness.events("conversation.item.truncated")[-1]["audio_end_ms"] == 1200


async def test_text_reply_cannot_be_truncated() -> None:
    async with SessionHarness().running() as harness:

        async def cut(end_ms: int) -> None:
            await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=end_ms)

        await harness.update(output_modalities=["text"])
        await harness.ask("hello", "response.output_text.delta")
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        await cut(0)
        await harness.until_idle()
        for end_ms in (0, 10, 80_000_000):
            await cut(end_ms)
    assert harness.errors == ["unsupported_content_type"] * 4
    assert harness.events("conversation.item.truncated") == []
    assert harness.session.history.items[-1].text == "It is ten o'clock. Anything else?"  # type: ignore[union-attr]
    assert harness.done[0]["status"] == "completed"


async def test_truncated_message_never_grows_again() -> None:
    texts: list[str] = []
    async with SessionHarness((LONG,)).running() as harness:
        await harness.ask("hello", "response.output_audio.delta")
        await asyncio.sleep(2)
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        for end_ms in (70_000, 1500, 700, 700, 70_000, 0, 3000):
            where = {"item_id": item, "content_index": 0, "audio_end_ms": end_ms}
            await harness.send("conversation.item.truncate", **where)
            texts.append(harness.session.history.items[-1].text)  # type: ignore[union-attr]
        await harness.send("conversation.item.truncate", item_id="nope", content_index=0, audio_end_ms=0)
    assert texts[1:] == ["one two three four five six seven", *["one two three"] * 3, "", ""]
    assert harness.errors == [*["invalid_value"] * 3, "item_truncate_invalid_item_id"]
    assert [event["audio_end_ms"] for event in harness.events("conversation.item.truncated")][-4:] == [
        1500,
        700,
        700,
        0,
    ]


def test_retrieved_reply_in_progress_has_text_so_far() -> None:
    async def scene(harness: SessionHarness) -> None:
        async def retrieved() -> Event:
            await harness.send("conversation.item.retrieve", item_id=item)
            return harness.events("conversation.item.retrieved")[-1]["item"]  # type: ignore[no-any-return]

        await harness.ask("hello", "response.output_audio.delta")
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        shown.append(await retrieved())
        await harness.until("response.done")
        shown.append(await retrieved())
        await harness.until_idle()
        shown.append(await retrieved())
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=450)
        shown.append(await retrieved())

    shown: list[Event] = []
    harness = run_scene(scene)
    assert [item["status"] for item in shown] == ["in_progress", "completed", "completed", "incomplete"]
    whole = harness.events("response.output_audio_transcript.done")[0]["transcript"]
    begun, *rest = [item["content"][0]["transcript"] for item in shown]
    assert rest == [whole, whole, "It is"]
    assert begun
    assert whole.startswith(begun)


async def test_playout_reports_set_heard_text_and_latency() -> None:
    async with SessionHarness((LONG,)).running() as harness:
        await harness.update(repartee={"playout": True})
        await harness.speak(until="response.created")
        await asyncio.sleep(0.4)
        report = {"response_id": "resp_1_1", "played_ms": 0}
        await harness.send("repartee.playout", **report, latency_ms=987, device_ms=60)
        for played_ms in range(90, 720, 90):  # slightly slower than the server's clock
            await asyncio.sleep(0.1)
            await harness.send("repartee.playout", response_id="resp_1_1", played_ms=played_ms)
        await harness.send("response.cancel")
    assert harness.session.history.items[-1].text == "one two three"  # type: ignore[union-attr]
    (record,) = harness.records
    assert record.response_latency_ms == pytest.approx(987, abs=1)
    assert record.stages["playout"].ms == pytest.approx(60, abs=1)


# ---- resuming ----


async def test_resume_within_reply_continues_it() -> None:
    before_ms: list[float] = []
    async with SessionHarness(("One two three. Four five six. Seven eight nine. Ten.",)).running() as harness:
        await harness.speak(until="response.created")
        await asyncio.sleep(0.7)
        received_ms = harness.sound_ms()
        harness.talk.on_disconnect()
        await asyncio.sleep(12)  # longer than the limit for a stuck reply
        harness.resume(ReplyId(1, 1), received_ms - 200)
        assert harness.kinds[:5] == [
            "session.created", "conversation.item.added", "conversation.item.done", "response.created",
            "response.output_item.added",
        ]  # fmt: skip
        session = harness.events("session.created")[0]["session"]["repartee"]
        assert session["resumed"] is True
        assert session["heard_ms"] == 1400  # as sent by says_something
        before_ms.append(received_ms - 200)
        await harness.until_idle()
        placed = [word["text"] for event in harness.events("repartee.words") for word in event["words"]]
        assert placed == "One two three. Four five six. Seven eight nine. Ten.".split()
    assert before_ms[0] + harness.sound_ms() == 2000
    assert (
        harness.events("response.output_audio_transcript.done")[0]["transcript"]
        == "One two three. Four five six. Seven eight nine. Ten."
    )
    assert [response["status"] for response in harness.done] == ["completed"]
    assert harness.records[0].outcome == "answered"
    assert harness.session.history.items[-1].text.endswith("Ten.")  # type: ignore[union-attr]


async def test_resume_keeps_deleted_message_deleted() -> None:
    async with SessionHarness().running() as harness:
        await harness.ask("hello", "response.output_item.added")
        item = harness.events("response.output_item.added")[-1]["item"]["id"]
        await harness.send("conversation.item.delete", item_id=item)
        assert [part["id"] for part in harness.done[0]["output"]] == [item], "the response has it all the same"
        harness.talk.on_disconnect()
        harness.resume(ReplyId(1, 1), 0)
        await harness.until_idle()
        assert harness.kinds.count("conversation.item.added") == 1, "what was typed"
        assert harness.done == []
        await harness.send("conversation.item.retrieve", item_id=item)
    assert harness.errors == ["item_retrieve_invalid_item_id"]


async def test_resume_before_end_of_playback_sends_the_rest() -> None:
    async with SessionHarness().running() as harness:
        await harness.ask("hello")
        await asyncio.sleep(0.1)
        harness.talk.on_disconnect()
        await asyncio.sleep(20)
        harness.resume(ReplyId(1, 1), 700)
        assert harness.sound_ms() == 500
        assert [response["status"] for response in harness.done] == ["completed"]
        assert not harness.session.idle
        await harness.until_idle()
        assert harness.events("repartee.trace")[0]["turn"] == 1


async def test_resume_after_reply_sends_it_in_the_history() -> None:
    async with SessionHarness().running() as harness:
        await harness.ask("hello")
        await harness.until_idle()
        harness.talk.on_disconnect()
        harness.resume(ReplyId(1, 1), 1200)
        roles = [event["item"]["role"] for event in harness.events("conversation.item.added")]
        assert roles == ["user", "assistant"]
        assert harness.events("response.created") == []


@pytest.mark.parametrize("lost_after", ["response.created", "response.output_audio.delta", "response.done"])
async def test_resume_keeps_the_place_of_reply_in_progress(lost_after: str) -> None:
    async with SessionHarness().running() as harness:
        await harness.ask("hello", lost_after)
        await harness.type_text("and this")
        harness.talk.on_disconnect()
        harness.resume()
        await harness.until_idle()
        assert [type(item) for item in harness.session.history.items] == [
            UserMessage,
            AssistantMessage,
            UserMessage,
        ]
        assert harness.client.items == [item.id for item in harness.session.history.items]


async def test_resume_keeps_requested_response_options() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(output_modalities=["text"])
        await harness.ask("hello")
        await harness.type_text("and again")
        told = {
            "output_modalities": ["audio"],
            "metadata": {"k": "v"},
            "audio": {"output": {"format": {"type": "audio/pcmu"}}},
        }
        await harness.send("response.create", response=told)
        await harness.until("response.output_audio.delta")
        created = harness.events("response.created")[-1]["response"]
        session = harness.events("session.updated")[-1]["session"]["id"]
        harness.talk.on_disconnect()
        await asyncio.sleep(0.3)
        harness.resume(ReplyId(2, 1), 0)
        assert harness.events("response.created")[0]["response"] == created
        assert harness.events("session.created")[0]["session"]["id"] == session
        written = harness.events("conversation.item.added")[1]["item"]["content"]
        assert [part["type"] for part in written] == ["output_text"]
        await harness.until_idle()
        assert harness.sound_ms() * 48 == 1200 * 8, "a byte for a sample, 8 a millisecond"


async def test_resume_within_speech_sends_its_end() -> None:
    async with SessionHarness().running() as harness:
        await harness.sound(600, loud=True)
        harness.talk.on_disconnect()
        harness.resume()
        await harness.sound(1000, loud=False)
        stopped = harness.events("input_audio_buffer.speech_stopped")
        committed = harness.events("input_audio_buffer.committed")
        assert [event["item_id"] for event in stopped] == [event["item_id"] for event in committed]
        await harness.until_idle()


async def test_resume_after_unknown_reply_has_begun() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(instructions="Sing.")
        await harness.sound(600, loud=True)
        harness.talk.on_disconnect()
        await asyncio.sleep(5)
        harness.resume()
        await harness.until_idle()
        assert harness.sound_ms() == 1200
        assert harness.events("session.created")[0]["session"]["instructions"] == "Sing."


# ---- mistakes ----


async def test_mistake_is_reported_and_conversation_continues() -> None:
    async with SessionHarness().running() as harness:
        await harness.talk.receive("{", harness.unpaced)
        await harness.send("no.such.event", event_id="mine")
        await harness.speak(until="response.done")
    assert harness.errors == ["invalid_json", "invalid_value"]
    assert harness.done[0]["status"] == "completed"
