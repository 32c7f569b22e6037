"""Enrolled voices over HTTP: listed, added and removed, from this machine only."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from support.models.synthetic_speaker_embedder import spectrum_network
from support.pages.page_asker import Asker, served

from assistant.enrolment.voice_file import VoiceFile, voices_path
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ
from web.page_api import voices

VOICES, ADD, REMOVE = "/v1/repartee/voices", "/v1/repartee/voices/add", "/v1/repartee/voices/remove"
RECORDING = Path(__file__).parents[2] / "recordings" / "Montreal-Forced-Al_mfa-internalsil.wav"


def speech(seconds: float) -> str:
    """Returns speech as the page sends it."""
    pcm, rate_hz = soundfile.read(RECORDING, dtype="int16")
    pcm = StreamResampler(rate_hz, REPLY_RATE_HZ).push_samples(pcm)
    repeated = np.tile(pcm, int(seconds * REPLY_RATE_HZ / len(pcm)) + 1)[: round(seconds * REPLY_RATE_HZ)]
    return base64.b64encode(repeated.astype("<i2").tobytes()).decode()


def ann(**changes: Any) -> dict[str, Any]:
    return {"name": "Ann", "agreed": True, "audio": speech(30), **changes}


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = tmp_path / "embedder.onnx"
    network.write_bytes(spectrum_network())
    monkeypatch.setattr(voices, "installed", lambda _model: network)


def stored(folder: Path) -> list[str]:
    file = VoiceFile(voices_path({"XDG_DATA_HOME": str(folder)}), lambda: 0.0)
    return [voice.name for voice in file.voices()]


def test_voice_is_added_listed_and_removed(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        assert (await asker.ask("GET", VOICES)).json() == {"voices": [], "has_model": True, "focus": "off"}
        (added,) = (await asker.ask("POST", ADD, ann())).json()["voices"]
        assert (added["name"], added["usable"], added["speech_s"] >= 10) == ("Ann", True, True)
        assert stored(tmp_path) == ["Ann"]
        assert (await asker.ask("POST", REMOVE, {"name": "ann"})).json()["voices"] == []
        assert stored(tmp_path) == []
        await asker.ask("POST", ADD, ann())
        assert (await asker.ask("POST", REMOVE, {"all": True})).json()["voices"] == []

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))


def test_answers_have_no_embedding(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        await asker.ask("POST", ADD, ann())
        (listed,) = (await asker.ask("GET", VOICES)).json()["voices"]
        assert set(listed) == {"name", "speech_s", "added_at", "usable"}

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))


def test_unsuitable_requests_say_why_and_keep_nothing(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        refused = {
            "voice_not_agreed": ann(agreed=False),
            "voice_name_wrong": ann(name="S1"),
            "voice_too_short": ann(audio=speech(8)),
            "voice_no_speech": ann(audio=base64.b64encode(bytes(960_000)).decode()),
            "invalid_base64": ann(audio="?"),
            "missing_required_parameter": {"name": "Ann"},
        }
        for code, body in refused.items():
            answer = await asker.ask("POST", ADD, body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
        assert (await asker.ask("POST", REMOVE, {"name": "Ann"})).status_code == 404
        assert (await asker.ask("POST", REMOVE, {})).status_code == 400
        assert stored(tmp_path) == []
        await asker.ask("POST", ADD, ann())
        assert (await asker.ask("POST", ADD, ann(name="ANN"))).json()["error"]["code"] == "voice_taken"

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))


def test_missing_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(asker: Asker) -> None:
        monkeypatch.setattr(voices, "installed", lambda _model: None)
        assert (await asker.ask("GET", VOICES)).json()["has_model"] is False
        answer = await asker.ask("POST", ADD, ann())
        assert answer.json()["error"]["code"] == "voice_model_missing"
        assert "repartee models pull speaker-embedder" in answer.json()["error"]["message"]

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))


@pytest.mark.parametrize(
    "headers",
    [{"x_forwarded_for": "10.0.0.9"}, {"sec_fetch_site": "cross-site"}, {"content_type": "text/plain"}],
    ids=["proxy", "other page", "form"],
)
def test_others_may_not_see_or_change_voices(tmp_path: Path, headers: dict[str, str]) -> None:
    async def test(asker: Asker) -> None:
        for path, body in ((ADD, ann()), (REMOVE, {"all": True})):
            assert (await asker.ask("POST", path, body, **headers)).status_code == 403
        if "content_type" not in headers:
            assert (await asker.ask("GET", VOICES, **headers)).status_code == 403
        assert stored(tmp_path) == []

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))


def test_recording_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        assert (await asker.ask("POST", ADD, ann(audio="A" * (5 << 20)))).status_code == 413

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))


def test_damaged_file_is_told_in_one_sentence(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        path = voices_path({"XDG_DATA_HOME": str(tmp_path)})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"damaged " * 900)
        answer = await asker.ask("GET", VOICES)
        assert answer.status_code == 503
        assert "kept aside" in answer.json()["error"]["message"]
        assert (await asker.ask("GET", VOICES)).status_code == 200

    served(tmp_path, test, XDG_DATA_HOME=str(tmp_path))
