"""Settings of a session at work: idle timeout, prompts, truncation, noise reduction, tracing, transcription."""

import asyncio
import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.conversations.session_harness import LONG, TRANSCRIBED, SessionHarness
from support.engines.scripted_engines import SequenceRecognizer
from support.protocol.wire_client import SERVICE, Client

from assistant.pipeline.reply_requests import IDLE_PROMPT
from assistant.turns.settings import RecheckThresholds, TurnSettings
from audio.errors import AudioError
from audio.frame import Frame
from audio.stt import TokenProbability
from audio.units import Pcm
from audio.vad import Vad, VadResult
from web.client_audio import client_microphone
from web.session.client_settings import turn_settings
from web.wire.incoming.commands import UpdateSession
from web.wire.incoming.parse import Reader
from web.wire.outgoing.session_object import SessionDescription, session_object
from web.wire.realtime import Realtime
from web.wire.values.session_config import (
    Extensions,
    PromptReference,
    ServerVad,
    SessionConfig,
    SessionKind,
    SessionOffer,
    Tracing,
    Truncation,
)

pytestmark = pytest.mark.virtual_time

OFFER = SessionOffer(
    prompts={"support": "You help customers of {{company}}.", "plain": "Be kind."}, max_history_tokens=2000
)


def harness_with(offer: SessionOffer = OFFER, **parts: object) -> SessionHarness:
    client = Client(begin=False)
    config = SessionConfig(instructions="Be brief.", voice="scripted voice", extensions=Extensions(events=True))
    client.wire = Realtime(config, replace(SERVICE, offer=offer), session_id="s1")
    client.wire.begin()
    client.fetch()
    return SessionHarness(client=client, **parts)  # type: ignore[arg-type]


# ---- room ----


async def test_skills_and_timers_know_the_room_of_the_client() -> None:
    async with harness_with().running() as harness:
        await harness.update(repartee={"room": "  Living   room "})
        effects = harness.session.engines.skill_effects
        assert (effects.room, effects.timers.room) == ("Living room", "Living room")
        await harness.update(repartee={"duck": True})
        assert harness.events("session.updated")[1]["session"]["repartee"]["room"] == "Living room"
        await harness.update(repartee={"room": ""})
        assert (effects.room, effects.timers.room) == ("", "")


@pytest.mark.parametrize("room", ["x" * 81, "a\nb", 7])
async def test_name_of_a_room_is_one_short_line(room: object) -> None:
    async with harness_with().running() as harness:
        await harness.update(repartee={"room": room})
    (error,) = harness.events("error")
    assert error["error"]["param"] == "session.repartee.room"
    assert harness.session.engines.skill_effects.room == ""


# ---- idle timeout ----


async def test_assistant_prompts_a_silent_user_with_events_of_the_protocol() -> None:
    async with harness_with(answers=("It is ten.", "Are you still there?")).running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 5000}}})
        await harness.sound(6000, loud=False)  # nothing was heard yet
        await harness.speak(until="response.done")
        await harness.sound(7000, loud=False)
        await harness.until("response.done", 2)
    (timeout,) = harness.events("input_audio_buffer.timeout_triggered")
    assert timeout["audio_end_ms"] - timeout["audio_start_ms"] == 5000
    kinds = [event["type"] for _, event in harness.log if not event["type"].startswith("repartee.")]
    at = kinds.index("input_audio_buffer.timeout_triggered")
    assert kinds[at : at + 6] == [
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        TRANSCRIBED,
        "response.created",
    ]
    assert harness.events("input_audio_buffer.committed")[-1]["item_id"] == timeout["item_id"]
    first, second = harness.model.asked
    assert IDLE_PROMPT not in first[0].content
    assert second[0].content == f"Be brief.\n\n{IDLE_PROMPT}"
    assert second[-1].role == "assistant"
    assert harness.done[1]["output"][0]["content"][0]["transcript"] == "Are you still there?"


async def test_idle_timeout_can_be_switched_off() -> None:
    async with harness_with().running() as harness:
        await harness.update(audio={"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 5000}}})
        await harness.update(audio={"input": {"turn_detection": {"idle_timeout_ms": None}}})
        await harness.speak(until="response.done")
        await harness.sound(8000, loud=False)
    assert harness.errors == []
    assert harness.events("input_audio_buffer.timeout_triggered") == []
    assert (
        harness.events("session.updated")[-1]["session"]["audio"]["input"]["turn_detection"]["idle_timeout_ms"] is None
    )


# ---- transcription ----


async def test_transcription_session_asks_no_language_model() -> None:
    async with harness_with(transcripts=("what time is it", "thank you very much")).running() as harness:
        await harness.send("session.update", session={"type": "transcription"})
        await harness.speak(until=TRANSCRIBED)
        await harness.speak(until=TRANSCRIBED, count=2)
    assert harness.errors == []
    assert harness.model.asked == []
    assert harness.voice.spoken == []
    assert harness.events("response.created") == []
    assert [event["transcript"] for event in harness.events(TRANSCRIBED)] == [
        "what time is it",
        "thank you very much",
    ]


async def test_client_commits_a_transcription_without_turn_detection() -> None:
    async with harness_with().running() as harness:
        session = {"type": "transcription", "audio": {"input": {"turn_detection": None}}}
        await harness.send("session.update", session=session)
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.until(TRANSCRIBED)
    assert harness.errors == []
    assert harness.model.asked == []
    assert harness.events("input_audio_buffer.speech_started") == []


# ---- prompts, truncation, tracing ----


async def test_named_prompt_becomes_the_instructions() -> None:
    async with harness_with(answers=("One.", "Two.")).running() as harness:
        variables = {"company": {"type": "input_text", "text": "Acme"}, "extra": "x"}
        await harness.update(prompt={"id": "support", "variables": variables})
        await harness.type_text("hello")
        await harness.send("response.create", response={"prompt": {"id": "plain"}, "output_modalities": ["text"]})
        await harness.until("response.done")
        await harness.send("response.create", response={"output_modalities": ["text"]})
        await harness.until("response.done", 2)
    assert [(one["error"]["code"], one["error"]["param"]) for one in harness.events("error")] == [
        ("unknown_parameter", "session.prompt.variables.extra")
    ]
    shown = harness.events("session.updated")[0]["session"]
    assert shown["prompt"] == {"id": "support", "variables": {"company": "Acme"}, "version": None}
    assert shown["instructions"] == "You help customers of Acme."
    assert [messages[0].content for messages in harness.model.asked] == ["Be kind.", "You help customers of Acme."]


@pytest.mark.parametrize(
    ("prompt", "code", "param", "text"),
    [
        ({"id": "sales"}, "invalid_value", "session.prompt.id", "not in server.prompts"),
        ({"id": "support"}, "missing_required_parameter", "session.prompt.variables.company", "prompt 'support' needs"),
        ({"id": "plain", "version": "2"}, "not_supported", "session.prompt.version", "no versions"),
        ({"id": "support", "variables": {"company": {"type": "input_image"}}}, "not_supported",
         "session.prompt.variables.company", "is a text"),
        ({}, "missing_required_parameter", "session.prompt.id", "missing"),
    ],
    ids=["unknown", "lacking variable", "version", "image", "without id"],
)  # fmt: skip
def test_prompt_that_cannot_be_used_is_refused_by_name(
    prompt: dict[str, object], code: str, param: str, text: str
) -> None:
    harness = harness_with()
    (error,) = harness.client.send({"type": "session.update", "session": {"prompt": prompt}})
    assert (error["error"]["code"], error["error"]["param"]) == (code, param)
    assert text in error["error"]["message"]


@pytest.mark.parametrize("kind", ["realtime", "transcription"])
def test_client_may_send_back_the_session_that_it_got(kind: SessionKind) -> None:
    config = SessionConfig(
        instructions="Be kind.",
        voice="amy",
        turn_detection=ServerVad(0.7, 5000, 2000, idle_timeout_ms=None if kind == "transcription" else 6000),
        kind=kind,
        logprobs=True,
        noise_reduction="far_field",
        truncation=Truncation("retention_ratio", 0.8, 500),
        prompt=PromptReference("plain", (), "Be kind."),
        tracing=Tracing("support", "g1", '{"team": 7}'),
    )
    shown = session_object(SessionDescription("s1", SERVICE), config)
    reader = Reader(replace(SessionConfig(), kind=kind), "en", OFFER)
    found = reader.read(json.dumps({"type": "session.update", "session": shown}))
    assert isinstance(found, UpdateSession)
    assert found.refused == ()
    assert session_object(SessionDescription("s1", SERVICE), found.config) == shown


def test_explicit_instructions_go_before_those_of_a_prompt() -> None:
    harness = harness_with()
    harness.client.send({"type": "session.update", "session": {"prompt": {"id": "plain"}, "instructions": "Rhyme."}})
    assert harness.client.wire.config.instructions == "Rhyme."


async def test_conversation_that_may_not_be_truncated_fails_when_it_is_too_long() -> None:
    async with harness_with(answers=("Yes.",)).running() as harness:
        harness.session.history.max_tokens = 100
        await harness.update(truncation="disabled", output_modalities=["text"])
        for number in range(2):
            await harness.ask("word " * 60, "response.done", number + 1)
        await harness.update(truncation="auto")
        await harness.send("response.create")
        await harness.until("response.done", 3)
    assert [done["status"] for done in harness.done] == ["completed", "failed", "completed"]
    error = harness.done[1]["status_details"]["error"]
    assert error["code"] == "context_length_exceeded"
    assert "allowed: 100" in error["message"]
    assert len(harness.model.asked) == 2


async def test_share_of_a_limit_is_kept() -> None:
    async with harness_with().running() as harness:
        limits = {"post_instructions": 5000}
        await harness.update(truncation={"type": "retention_ratio", "retention_ratio": 0.8, "token_limits": limits})
    (error,) = harness.events("error")
    assert error["error"]["param"] == "session.truncation.token_limits.post_instructions"
    assert "llm.max_history_tokens" in error["error"]["message"]
    shown = harness.events("session.updated")[0]["session"]["truncation"]
    assert shown == {"type": "retention_ratio", "retention_ratio": 0.8, "token_limits": {"post_instructions": 2000}}
    assert (harness.session.history.own_max_tokens, harness.session.history.kept) == (2000, 0.8)


async def test_names_for_traces_are_in_the_records() -> None:
    async with harness_with(
        answers=("Ten.", "Eleven."), transcripts=("what time is it", "and now")
    ).running() as harness:
        tracing = {"workflow_name": "support", "group_id": "g1", "metadata": {"team": 7}}
        await harness.update(tracing=tracing)
        await harness.speak()
        await harness.until_idle()
        await harness.update(tracing=None)
        await harness.speak()
        await harness.until_idle()
    traced = [record.tracing for record in harness.records]
    assert traced == [{"workflow_name": "support", "group_id": "g1", "metadata": '{"team": 7}'}, {}]
    shown = [event["session"]["tracing"] for event in harness.events("session.updated")]
    assert shown == [{"workflow_name": "support", "group_id": "g1", "metadata": {"team": 7}}, None]


# ---- audio ----


async def at_once(work: Callable[..., object], *arguments: object) -> object:
    """Replaces `asyncio.to_thread` in virtual time."""
    return work(*arguments)


@pytest.mark.skipif(importlib.util.find_spec("livekit") is None, reason="the extra desktop")
async def test_noise_is_removed_before_the_speech_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: dict[bool, float] = {}
    heard: list[Pcm] = []

    class Recorded:
        """Keeps the frames that the VAD gets."""

        def __init__(self, vad: Vad) -> None:
            self.name, self.end_bias_ms, self._vad = vad.name, vad.end_bias_ms, vad

        def process(self, frame: Frame) -> VadResult:
            heard.append(frame.pcm.copy())
            return self._vad.process(frame)

        def reset(self) -> None:
            self._vad.reset()

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    async with harness_with(engines=lambda engines: replace(engines, vad=Recorded(engines.vad))).running() as harness:
        noise = np.random.default_rng(1).normal(0, 300, 24_000 * 3).astype("<i2")
        blocks = [(at / 24_000, noise[at : at + 480]) for at in range(0, len(noise), 480)]
        for on in (False, True):
            await harness.update(audio={"input": {"noise_reduction": {"type": "near_field"} if on else None}})
            heard.clear()
            await harness.stream_blocks(blocks, lambda pcm: pcm.tobytes())
            levels[on] = float(np.abs(np.concatenate(heard)[16_000:]).mean())
    assert harness.errors == []
    assert levels[True] < levels[False] / 2


async def test_noise_that_cannot_be_removed_is_reported_and_the_sound_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_kind: str) -> None:
        raise AudioError("no library")

    monkeypatch.setattr(client_microphone, "NoiseReduction", fail)
    monkeypatch.setattr(asyncio, "to_thread", at_once)
    async with harness_with().running() as harness:
        await harness.update(audio={"input": {"noise_reduction": {"type": "far_field"}}})
        await harness.speak(until="response.done")
    (error,) = harness.events("error")
    assert (error["error"]["code"], error["error"]["param"]) == (
        "noise_reduction_failed",
        "session.audio.input.noise_reduction",
    )


@pytest.mark.parametrize(
    "session",
    [
        {"audio": {"input": {"noise_reduction": {"type": "near_field", "strength": 0.5}}}},
        {"include": ["item.input_audio_transcription.logprobs"]},
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 0.9}}}},
        {"parallel_tool_calls": False},
        {"reasoning": {"effort": "low"}},
        {"audio": {"input": {"transcription": {"languages": ["de"], "delay": "low"}}}},
    ],
    ids=str,
)
def test_wish_without_observable_effect_is_accepted(session: dict[str, object]) -> None:
    """Clients of other projects end their session at any error event."""
    lacking = SessionOffer(noise_reduction=False, logprobs=False, threshold=False)
    harness = harness_with(lacking)
    assert harness.client.send({"type": "session.update", "session": {"instructions": "Rhyme.", **session}}) == []
    shown = session_object(SessionDescription("s1", SERVICE), harness.client.wire.config)
    audio: Any = shown["audio"]
    assert (shown["instructions"], shown["include"], audio["input"]["noise_reduction"]) == ("Rhyme.", None, None)
    assert audio["input"]["turn_detection"].get("threshold", 0.5) == 0.5


async def test_prompt_and_keywords_reach_the_recognizer_and_are_shown() -> None:
    class Prompted(SequenceRecognizer):
        prompt = ""

        def set_prompt(self, text: str) -> None:
            self.prompt = text

    prompted = Prompted(["what now"])
    async with harness_with(engines=lambda engines: replace(engines, recognizer=prompted)).running() as harness:
        transcription = {"model": "whisper-1", "prompt": "A call about boats.", "keywords": ["Repartee", "Ann"]}
        await harness.update(audio={"input": {"transcription": transcription}})
    assert prompted.prompt == "Repartee, Ann. A call about boats."
    (updated,) = harness.events("session.updated")
    shown = updated["session"]["audio"]["input"]["transcription"]
    assert (shown["prompt"], shown["keywords"]) == ("A call about boats.", ["Repartee", "Ann"])


def test_fields_without_a_wish_are_no_errors() -> None:
    """Clients fill in defaults: empty texts and lists, and values that are in effect anyway."""
    session = {
        "parallel_tool_calls": True,
        "include": [],
        "reasoning": None,
        "audio": {
            "input": {
                "noise_reduction": None,
                "transcription": {"model": "whisper-1", "prompt": "", "keywords": [], "languages": ["de", "en-US"]},
                "turn_detection": {"type": "server_vad", "threshold": 0.5},
            }
        },
    }
    lacking = SessionOffer(noise_reduction=False, logprobs=False, threshold=False)
    assert harness_with(lacking).client.send({"type": "session.update", "session": session}) == []


async def test_probabilities_of_a_transcript_are_sent_where_they_are_included() -> None:
    class Knowing(SequenceRecognizer):
        def keep_tokens(self, *, enabled: bool, timed: bool = False) -> None:
            self.texts = [" what", " now"] if enabled else []

        def tokens_of(self, _text: str) -> tuple[TokenProbability, ...] | None:
            return tuple(TokenProbability(text, -0.25) for text in self.texts)

    knowing = Knowing(["what now"])
    async with harness_with(engines=lambda engines: replace(engines, recognizer=knowing)).running() as harness:
        await harness.update(include=["item.input_audio_transcription.logprobs"])
        await harness.speak(until="response.done")
    (completed,) = harness.events(TRANSCRIBED)
    assert completed["logprobs"] == [
        {"token": " what", "bytes": list(b" what"), "logprob": -0.25},
        {"token": " now", "bytes": list(b" now"), "logprob": -0.25},
    ]
    assert harness.events("session.updated")[0]["session"]["include"] == ["item.input_audio_transcription.logprobs"]


def test_silence_of_server_vad_also_bounds_the_transcript() -> None:
    base = TurnSettings(rechecks=RecheckThresholds(settle_ms=160.0))
    short = turn_settings(base, "auto", SessionConfig(turn_detection=ServerVad(silence_duration_ms=100)))
    assert (short.hangover_ms, short.rechecks.settle_ms) == (100.0, 160.0 - 60.0)
    long = turn_settings(base, "auto", SessionConfig(turn_detection=ServerVad(silence_duration_ms=5000)))
    assert (long.hangover_ms, long.rechecks.settle_ms) == (5000.0, 160.0)
    assert json.dumps(long.profile) == "null"


# ---- a conversation that becomes a transcription session ----


async def test_change_to_a_transcription_session_stops_all_speech() -> None:
    harness = SessionHarness()
    harness.session.context.settings = replace(harness.session.context.settings, greeting=LONG)
    effects = harness.session.engines.skill_effects
    users = effects.timers
    async with harness.running():
        await harness.until("response.created")
        detection = {"type": "server_vad", "idle_timeout_ms": 5000}
        await harness.update(audio={"input": {"turn_detection": detection}})
        await harness.send("session.update", session={"type": "transcription"})
        await harness.until("response.done")
        await harness.speak(until=TRANSCRIBED)
        await harness.sound(7000, loud=False)
    assert [response["status"] for response in harness.done] == ["cancelled"]
    assert effects.timers is not users
    assert harness.model.asked == []
    assert not harness.session.history.truncates  # so that nothing is summarized


def test_transcription_session_has_no_idle_timeout() -> None:
    config = SessionConfig(kind="transcription", turn_detection=ServerVad(idle_timeout_ms=5000))
    assert turn_settings(TurnSettings(), "auto", config).idle_timeout_ms is None
