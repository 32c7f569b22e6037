"""Choices of a client for its conversation: language, voice, LLM endpoint, words in the trace."""

import asyncio
import io
import wave
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.session_server import (
    RecordingClient,
    SessionServer,
    connected_client,
    eventually,
    real_engines,
    session_server,
)
from support.services import llm_server

from assistant.config.settings import Settings
from assistant.models import needs
from assistant.models.needs import Need
from assistant.setup.conversation import chosen_engines, engine_options
from assistant.setup.conversation.chosen_engines import MAX_VOICES, EngineChoices
from assistant.setup.conversation.engine_options import OfferedVoice
from assistant.setup.engine_loader import EngineLoader
from audio.errors import EngineLoadError
from audio.stt import Recognizer
from audio.tts import Voice
from web.page_api import settings, voice_sample

pytestmark = [pytest.mark.slow, pytest.mark.calm, pytest.mark.timeout(120)]

ESPEAK = "espeak-ng"
GERMAN = {"input": {"transcription": {"language": "de"}}}
INSTALLED, MAKE = engine_options._voices, chosen_engines._voice
VOICES = (OfferedVoice("de_DE-anna-medium", "de"), OfferedVoice("en_US-amy-medium", "en"), OfferedVoice(ESPEAK, ""))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretends that two Piper voices and a multilingual recognizer are installed. Returns the loaded voices."""
    loaded: list[str] = []

    def voice(name: str, settings: Settings) -> Voice:
        loaded.append(f"{name} {settings.assistant.language}")
        if name == "en_US-amy-medium" and "broken" in settings.assistant.instructions:
            raise EngineLoadError("its file is damaged.")
        return ScriptedVoice()

    async def recognizer(_self: EngineChoices, _language: str, _settings: Settings) -> Recognizer:
        return SequenceRecognizer(["wie viel ist zwei plus zwei"])

    monkeypatch.setattr(engine_options, "_voices", lambda: VOICES)
    monkeypatch.setattr(engine_options, "candidates", lambda _language: ["base"])
    monkeypatch.setattr(chosen_engines, "_voice", voice)
    monkeypatch.setattr(EngineChoices, "_recognizer_in", recognizer)
    return loaded


@asynccontextmanager
async def client_of(tmp_path: Path, *assignments: str) -> AsyncGenerator[tuple[SessionServer, RecordingClient]]:
    async with session_server(real_engines(tmp_path, "", *assignments)) as server, connected_client(server) as client:
        yield server, client


async def update(client: RecordingClient, **session: object) -> dict[str, object]:
    """Changes the session. Returns it as the server confirms it."""
    await client.send("session.update", session={"type": "realtime", **session})
    before = len(client.events_of("session.updated"))
    confirmed: dict[str, object] = (await client.until("session.updated", before + 1))["session"]
    return confirmed


def errors_of(client: RecordingClient) -> list[tuple[str, str]]:
    return [(event["error"]["param"], event["error"]["code"]) for event in client.events_of("error")]


async def answered(client: RecordingClient, text: str) -> str:
    """Types a text. Returns the answer."""
    before = len(client.events_of("response.done"))
    await client.request_reply(text)
    await client.until("response.done", before + 1)
    return str(client.events_of("response.output_audio_transcript.done")[-1]["transcript"])


async def used(client: RecordingClient, server: SessionServer, voice: str) -> None:
    """Waits until the conversation speaks with this engine."""
    (conversation,) = server.connections._conversations.values()
    engines = conversation.realtime_session.session.engines
    await eventually(lambda: engines.voice.name == voice)


async def test_language_changes_recognizer_skills_and_voice(tmp_path: Path, installed: list[str]) -> None:
    async with client_of(tmp_path) as (server, client):
        found = await update(client, audio={"input": {"transcription": {"language": "de-AT"}}})
        assert found["audio"]["input"]["transcription"]["language"] == "de"  # type: ignore[index]
        assert found["repartee"]["language"] == "de"  # type: ignore[index]
        await used(client, server, "scripted voice")
        assert await answered(client, "wie viel ist zwei plus zwei") == "Das ergibt 4."
        assert installed == ["de_DE-anna-medium de"]
        await update(client, audio={"input": {"transcription": {"language": "en"}}})
        await used(client, server, ESPEAK)
        assert await answered(client, "what is two plus two") == "That's 4."
        assert errors_of(client) == []


async def test_german_conversation_beside_an_english_one_has_a_german_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "no voices"))
    monkeypatch.setattr(engine_options, "_voices", INSTALLED)
    monkeypatch.setattr(chosen_engines, "_voice", MAKE)
    async with client_of(tmp_path) as (server, english), connected_client(server) as german:
        await update(german, audio={"input": {"transcription": {"language": "de"}}})
        answers = await asyncio.gather(
            answered(english, "what is two plus two"), answered(german, "wie viel ist zwei plus zwei")
        )
        assert list(answers) == ["That's 4.", "Das ergibt 4."]
        voices = [one.realtime_session.session.engines.voice for one in server.connections._conversations.values()]
        assert {voice.name for voice in voices} == {ESPEAK, "pico"}
        assert min(len(one.events_of("response.output_audio.delta")) for one in (english, german)) > 3
        await update(german, audio={"output": {"voice": "pico-de-DE"}, "input": {"transcription": {"language": "de"}}})
        assert errors_of(german) == []
        await update(german, audio={"output": {"voice": "pico-fr-FR"}})
        assert [param for param, _ in errors_of(german)] == ["session.audio.output.voice"]


@pytest.mark.parametrize("reply_plays", [False, True], ids=["at once", "while a reply plays"])
async def test_choice_is_in_force_for_the_next_request(tmp_path: Path, *, reply_plays: bool) -> None:
    async with client_of(tmp_path) as (_server, client):
        if reply_plays:
            await client.ask("what is two plus two", until="response.output_audio.delta")
        await client.send(
            "session.update",
            session={"type": "realtime", "audio": {"input": {"transcription": {"language": "de"}}}},
        )
        if reply_plays:
            await client.send("response.cancel")
            await client.until("response.done")
        assert await answered(client, "wie viel ist zwei plus zwei") == "Das ergibt 4."
        pending = [event["pending"] for event in client.events_of("repartee.choices")]
        assert pending == [["language"], []]


async def test_request_right_after_a_choice_has_its_effect(tmp_path: Path) -> None:
    async with client_of(tmp_path) as (server, client):
        await client.send("session.update", session={"type": "realtime", "audio": GERMAN})
        assert "Timer" in await answered(client, "Stelle einen Timer auf fünf Minuten")
        (conversation,) = server.connections._conversations.values()
        effects = conversation.realtime_session.session.engines.skill_effects
        assert effects.timers.any_set


async def test_line_decides_on_the_recognizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def by_telephone(_self: EngineLoader) -> tuple[Recognizer, str]:
        return SequenceRecognizer(["hello"], name="by telephone"), "auto: base on a telephone line"

    monkeypatch.setattr(EngineLoader, "telephone_recognizer", by_telephone)
    async with client_of(tmp_path) as (server, client):
        (conversation,) = server.connections._conversations.values()
        session = conversation.realtime_session.session
        wide = session.engines.recognizer.name

        async def change(kind: str, name: str) -> None:
            await update(client, audio={"input": {"format": {"type": kind}}})
            await eventually(lambda: session.engines.recognizer.name == name)

        await change("audio/pcmu", "by telephone")
        assert session.recorder.engines["stt_model"] == "auto: base on a telephone line"
        await change("audio/pcm", wide)
        assert "stt_model" not in session.recorder.engines
        assert client.events_of("repartee.choices") == []  # no reply waits for it
        assert errors_of(client) == []


async def test_wrong_choice_is_refused_by_its_name(tmp_path: Path) -> None:
    async with client_of(tmp_path) as (_server, client):
        await update(
            client,
            audio={
                "input": {"transcription": {"language": "tlh"}},
                "output": {"voice": "de_DE-anna-medium", "speed": 1.2},
            },
            repartee={"endpoint": "http://evil.example/v1", "words": True},
        )
        assert sorted(errors_of(client)) == [
            ("session.audio.input.transcription.language", "invalid_value"),
            ("session.audio.output.voice", "invalid_value"),
            ("session.repartee.endpoint", "not_supported"),
            ("session.repartee.words", "not_supported"),
        ]
        found = client.events_of("session.updated")[-1]["session"]
        assert found["audio"]["output"] == {
            "format": {"type": "audio/pcm", "rate": 24000},
            "voice": ESPEAK,
            "speed": 1.2,
        }


async def test_nothing_can_be_chosen_that_the_server_does_not_allow(tmp_path: Path) -> None:
    async with client_of(tmp_path, "server.client_choices=") as (_server, client):
        found = await update(
            client,
            audio={
                "input": {"transcription": {"language": "de"}},
                "output": {"voice": "en_US-amy-medium"},
            },
            repartee={"endpoint": "near"},
        )
        assert sorted(errors_of(client)) == [
            ("session.audio.input.transcription.language", "not_supported"),
            ("session.repartee.endpoint", "not_supported"),
        ]
        assert found["audio"]["output"]["voice"] == ESPEAK  # type: ignore[index]


async def test_voice_that_cannot_be_loaded_leaves_the_old_one(tmp_path: Path) -> None:
    async with client_of(tmp_path, "assistant.instructions=broken") as (_server, client):
        found = await update(client, audio={"output": {"voice": "en_US-amy-medium"}})
        assert found["audio"]["output"]["voice"] == "en_US-amy-medium"  # type: ignore[index]
        error = (await client.until("error"))["error"]
        assert error["param"] == "session.audio.output.voice"
        assert "its file is damaged" in error["message"]
        found = await update(client, audio={"output": {"speed": 1.1}})
        assert found["audio"]["output"]["voice"] == ESPEAK  # type: ignore[index]


async def test_endpoint_is_asked_by_its_name(tmp_path: Path) -> None:
    async with (
        llm_server.serving(llm_server.answer("From one. "), by_turn=True) as one,
        llm_server.serving(llm_server.answer("From two. "), by_turn=True) as two,
    ):
        endpoints = ", ".join(
            f'{{name = "{name}", kind = "openai", url = "{url}", model = "m"}}'
            for name, url in (("one", one.url), ("two", two.url))
        )
        async with client_of(
            tmp_path, f"llm.endpoints=[{endpoints}]", "llm.policy=ordered", "skills.before_llm=false"
        ) as (server, client):
            assert await answered(client, "hello") == "From one."
            found = await update(client, repartee={"endpoint": "two"})
            assert found["repartee"]["endpoint"] == "two"  # type: ignore[index]
            (conversation,) = server.connections._conversations.values()
            session = conversation.realtime_session.session
            await eventually(lambda: session.engines.model.name == "two")
            assert await answered(client, "hello again") == "From two."
            await update(client, repartee={"endpoint": "three"})
            assert errors_of(client) == [("session.repartee.endpoint", "invalid_value")]


@pytest.mark.parametrize("allowed", [True, False])
async def test_client_decides_whether_its_words_are_recorded(tmp_path: Path, allowed: bool) -> None:
    choices = ["server.client_choices=words"] if allowed else ["trace.words=true"]
    async with client_of(tmp_path, *choices) as (server, client):
        await update(client, repartee={"words": allowed})
        await answered(client, "what is two plus two")
        await asyncio.sleep(1.5)
        (record,) = server.records()
        assert (record["words"] is not None) == allowed


async def get(server: SessionServer, path: str, token: str = "") -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=30) as http:
        return await http.get(path)


async def test_settings_route_tells_choices_and_who_answers_but_no_address(tmp_path: Path) -> None:
    endpoint = '{name = "near", kind = "openai", url = "http://127.0.0.1:9/v1?key=secret", model = "m"}'
    loader = real_engines(tmp_path, "", f"llm.endpoints=[{endpoint}]", "turn.profile=patient")
    async with session_server(loader, "a-token-of-16-chars") as server:
        assert (await get(server, settings.PATH)).status_code == 401
        answer = await get(server, settings.PATH, "a-token-of-16-chars")
        assert answer.status_code == 200
        assert "secret" not in answer.text
        assert "127.0.0.1" not in answer.text
        body = answer.json()
        assert body["answers"] == {
            "kind": "model", "name": "m", "here": True, "reachable": False, "problem": "",
        }  # fmt: skip
        assert body["profile"]["default"] == "patient"
        assert body["profile"]["configured"]
        assert {"code": "de", "name": "German"} in body["language"]["choices"]
        assert [one["name"] for one in body["voice"]["choices"]] == [one.name for one in VOICES]
        assert body["voice"]["default"] == ESPEAK
        assert body["endpoint"]["choices"] == [{"name": "near", "model": "m", "here": True, "reachable": False}]
        assert body["words"] == {"default": False, "configured": False, "may_record": False}
        assert body["downloads"] is False


async def test_voice_sample_is_a_wav_and_refuses_wrong_values_by_name(tmp_path: Path, installed: list[str]) -> None:
    async with session_server(real_engines(tmp_path)) as server:
        answer = await get(server, f"{voice_sample.PATH}?voice=de_DE-anna-medium&language=de&speed=1.2")
        assert answer.headers["content-type"] == "audio/wav"
        with wave.open(io.BytesIO(answer.content)) as file:
            assert file.getnframes() > 0.5 * file.getframerate()
        assert installed == ["de_DE-anna-medium de"]
        for query in ("voice=de_DE-anna-medium", "language=tlh", "speed=9", "speed=nan"):
            answer = await get(server, f"{voice_sample.PATH}?{query}")
            assert (answer.status_code, answer.json()["error"]["param"]) == (400, query.partition("=")[0])


async def test_voices_that_are_not_in_use_make_room(tmp_path: Path, installed: list[str]) -> None:
    loader = real_engines(tmp_path)
    async with session_server(loader) as server:
        choices = server.connections.engine_pool.choices
        for number in range(MAX_VOICES + 2):
            async with choices.voice(f"en_US-v{number}-low", "en"):
                pass
        assert len(choices._voices) == MAX_VOICES
        assert len(installed) == MAX_VOICES + 2
        async with choices.voice("en_US-v5-low", "en"):
            assert len(installed) == MAX_VOICES + 2  # it was still loaded


@pytest.mark.parametrize("fails", [False, True])
async def test_voice_is_closed_if_nobody_waits_for_its_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    closed: list[Voice] = []

    class SlowVoice(ScriptedVoice):
        async def load(self) -> None:
            if fails:
                raise EngineLoadError("its file is damaged.")
            await asyncio.Event().wait()

        async def aclose(self) -> None:
            closed.append(self)

    monkeypatch.setattr(chosen_engines, "_voice", lambda _name, _settings: SlowVoice())
    async with session_server(real_engines(tmp_path)) as server:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=3) as http:
            with suppress(httpx.ReadTimeout):  # the client leaves
                await http.get(f"{voice_sample.PATH}?voice=de_DE-anna-medium&language=de")
        await eventually(lambda: bool(closed))
        assert not server.connections.engine_pool.choices._voices


def test_options_list_installed_voices_and_the_reason_for_one_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(engine_options, "candidates", lambda _language: [])
    monkeypatch.setattr(needs, "at_hand", lambda need: Path("x") if need.name.startswith("de") else None)
    options = engine_options.engine_options(Settings(), multilingual=False)
    assert options.languages == ()
    assert "repartee models pull base" in options.no_languages
    assert options.voices_of("de") == ("de_DE-thorsten-medium", "pico-de-DE", ESPEAK)
    assert options.voices_of("nl-BE") == (ESPEAK,)
    assert "Pico (DE)" in [one.label for one in options.voices]
    assert options.better_voices["fr"] == "fr_FR-siwis-medium"  # Pico is installed, but not preferred
    assert "de" not in options.better_voices
    assert Need("de_DE-thorsten-medium", "piper", "").model is not None
