"""The speaker embedder is loaded only if the configuration needs it; if it is missing, the remedy is reported."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from support.conversations.voices import voice
from support.models.synthetic_speaker_embedder import spectrum_network

from assistant.config.settings import Settings
from assistant.config.turn_settings import VoiceFocusName, VoiceSection
from assistant.enrolment.voice_file import VoiceFile, voices_path
from assistant.setup.derived_settings import needs
from assistant.setup.listening import speaker_loader
from assistant.setup.listening.speaker_loader import EnrolledVoices
from assistant.setup.loading import Loading
from assistant.speakers.voiceprint import Voiceprint


class Loader:
    """Records the choices of a loading."""

    def __init__(self, focus: VoiceFocusName) -> None:
        self.settings = Settings(voice=VoiceSection(focus))
        self.choices: list[tuple[str, str, str, bool]] = []

    async def with_timeout(self, _name: str, loading: object, _provider: object = None) -> None:
        await loading  # type: ignore[misc]

    def record_choice(
        self, stage: str, name: str, _detail: str, why: str, _began_s: float, *, fallback: bool = False
    ) -> None:
        self.choices.append((stage, name, why, fallback))


NO_VOICES = EnrolledVoices({"XDG_DATA_HOME": "/nonexistent"})


def loaded(loader: Loader) -> bool:
    async def load() -> bool:
        service = await speaker_loader.load_speaker_embedder(cast("Loading", loader))
        if service is not None:
            service.close()
        return service is not None

    return asyncio.run(load())


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "embedder.onnx"
    file.write_bytes(spectrum_network())
    monkeypatch.setattr(speaker_loader, "installed", lambda _model: file if file.exists() else None)
    return file


def test_nothing_is_loaded_without_focus(network: Path) -> None:
    loader = Loader("off")
    assert not loaded(loader)
    assert loader.choices == []
    assert speaker_loader.voice_focus(cast("Loading", loader), NO_VOICES) is None
    assert network.exists()


def test_embedder_is_loaded_for_the_focus(network: Path) -> None:
    loader = Loader("first")
    assert loaded(loader)
    assert loader.choices == [("voice", "first", "as configured", False)]
    focus = speaker_loader.voice_focus(cast("Loading", loader), NO_VOICES)
    assert focus is not None
    assert focus.mode == "first"
    assert network.exists()


def test_missing_embedder_is_reported_and_every_voice_counts(network: Path) -> None:
    network.unlink()
    loader = Loader("first")
    assert not loaded(loader)
    ((stage, name, why, fallback),) = loader.choices
    assert (stage, name, fallback) == ("voice", "all", True)
    assert "repartee models pull speaker-embedder" in why


def test_voice_that_is_enrolled_later_counts_in_the_next_conversation(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    enrolled = EnrolledVoices(environ)
    assert enrolled.voices() == ()
    path = voices_path(environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = VoiceFile(path, lambda: 0.0)
    file.add(Voiceprint("Ada", voice(0), 30.0))
    assert [known.name for known in enrolled.voices()] == ["Ada"]
    focus = speaker_loader.voice_focus(cast("Loading", Loader("enrolled")), enrolled)
    assert focus is not None
    assert [known.name for known in focus.voices] == ["Ada"]
    file.remove("Ada")
    assert enrolled.voices() == ()
    file.close()


def test_focus_needs_the_embedder() -> None:
    def names(focus: VoiceFocusName) -> list[str]:
        return [need.name for need in needs(Settings(voice=VoiceSection(focus)))]

    assert "speaker-embedder" in names("first")
    assert "speaker-embedder" not in names("off")
