"""Home Assistant's own integration `wyoming` uses the server: speech to text, text to speech, wake word."""

import io
import socket
import wave
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from clients.environments import CannotInstallError, newer_python, python_of
from clients.home_assistant.installation import HomeAssistant, home_assistant
from support.models.installed_model import TINY_EN_FOLDER
from support.programs.serve_program import serving
from support.sound.speech import sound_of, spoken

from audio.tts.espeak.voice import EspeakVoice
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, samples_of_ms

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.timeout(600),
    pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en is not downloaded: repartee models pull tiny.en"),
]

WHAT_TIME = Path(__file__).parents[1] / "recordings" / "rhasspy3_what-time-is-it.wav"
QUESTION_FROM_MS = 500
"""Beginning of the question, a quarter of a second before its first word."""
SENTENCE = "The lamp in the living room is on."


@pytest.fixture(scope="module", params=["of the tests' Python", "newer"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[HomeAssistant]:
    """Runs Home Assistant, in two versions, with the server as its voice service."""
    try:
        newer = request.param == "newer"
        python = python_of("home_assistant", "newer", newer_python("3.13")) if newer else python_of("home_assistant")
    except CannotInstallError as error:
        pytest.skip(f"the registry cannot install Home Assistant: {error}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    settings = [f"stt.model={TINY_EN_FOLDER}", "tts.engine=hibari", f"server.wyoming=tcp://127.0.0.1:{port}"]
    with (
        serving(tmp_path_factory.mktemp("server"), *settings),
        home_assistant(python, tmp_path_factory.mktemp("home_assistant")) as home,
    ):
        entry = home.set_up("wyoming", {"host": "127.0.0.1", "port": port})
        assert entry["type"] == "create_entry", entry
        assert "repartee" in entry["title"].lower()
        yield home


def test_recording_is_transcribed(home: HomeAssistant) -> None:
    answer = home.transcript(home.entity("stt"), WHAT_TIME.read_bytes())
    assert answer["result"] == "success", answer
    assert "what time is it" in answer["text"].lower()


def test_spoken_text_is_understood(home: HomeAssistant) -> None:
    sound, rate_hz = soundfile.read(io.BytesIO(home.speech(home.entity("tts"), SENTENCE)), dtype="int16")
    heard = io.BytesIO()
    with wave.open(heard, "wb") as file:
        file.setparams((1, 2, MIC_RATE_HZ, 0, "NONE", ""))
        file.writeframes(np.asarray(soxr.resample(sound, rate_hz, MIC_RATE_HZ), np.int16).tobytes())
    text = home.transcript(home.entity("stt"), heard.getvalue())["text"].lower()
    assert "living room" in text


def test_wake_word_starts_pipeline_that_speaks(home: HomeAssistant) -> None:
    stt, tts, wake = (home.entity(domain) for domain in ("stt", "tts", "wake_word"))
    engines = {"stt_engine": stt, "tts_engine": tts, "conversation_engine": "homeassistant", "wake_word_entity": wake}
    languages = dict.fromkeys(("language", "stt_language", "tts_language", "conversation_language"), "en")
    chosen = {"name": "Repartee", **engines, **languages, "tts_voice": None, "wake_word_id": "okay_nabu"}
    with home.socket() as connection:
        pipeline = connection.command("assist_pipeline/pipeline/create", **chosen)
        events = connection.run_pipeline(
            called_question(), pipeline=pipeline["id"], start_stage="wake_word", end_stage="tts"
        )
    assert events.get("error") is None
    assert events["wake_word-end"]["wake_word_output"]["wake_word_id"] == "okay_nabu"
    assert "what time is it" in events["stt-end"]["stt_output"]["text"].lower()
    answer = home.http.get(events["tts-end"]["tts_output"]["url"]).raise_for_status().content
    sound, rate_hz = soundfile.read(io.BytesIO(answer))
    assert len(sound) > rate_hz


def test_assistant_answers_typed_question(home: HomeAssistant) -> None:
    states = home.http.get("/api/states").raise_for_status().json()
    names = [state["entity_id"] for state in states if state["entity_id"].startswith("conversation.repartee")]
    if not names:
        pytest.skip("this version's integration has no conversations")
    fields = {"text": "Set a timer for ten minutes", "agent_id": names[0], "language": "en"}
    answer = home.post("/api/conversation/process", fields)["response"]
    assert answer["response_type"] == "action_done", answer
    assert "10 minute" in answer["speech"]["plain"]["speech"], answer


def called_question() -> Pcm:
    """Returns a wake word and a question behind it, at 16 kHz."""
    call = soxr.resample(sound_of(spoken(EspeakVoice(), "Okay Nabu")), REPLY_RATE_HZ, MIC_RATE_HZ)
    with wave.open(str(WHAT_TIME)) as file:
        question = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    room = np.random.default_rng(1).normal(0, 20, samples_of_ms(1000)).astype(np.int16)
    return np.concatenate([room, np.asarray(call, np.int16), question[samples_of_ms(QUESTION_FROM_MS) :]])
