"""The commands `repartee voices ...`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.conversations.voices import voice
from support.models.synthetic_speaker_embedder import spectrum_network
from typer.testing import CliRunner, Result

from assistant.commands.voices import adding
from assistant.enrolment.voice_file import VoiceFile, voices_path
from assistant.speakers.voiceprint import Voiceprint
from audio.devices import Device
from repartee.cli import app

RECORDING = Path(__file__).parents[3] / "recordings" / "Montreal-Forced-Al_mfa-internalsil.wav"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["voices", *map(str, arguments)])


def reason(result: Result) -> str:
    """Returns the error with which a command ended; the program prints it in one line."""
    assert result.exit_code != 0
    return str(result.exception)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VoiceFile:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return VoiceFile(voices_path({"XDG_DATA_HOME": str(tmp_path)}), lambda: 1_800_000_000.0)


@pytest.fixture
def with_model(file: VoiceFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VoiceFile:
    network = tmp_path / "embedder.onnx"
    network.write_bytes(spectrum_network())
    monkeypatch.setattr(adding, "installed", lambda _model: network)
    return file


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[float], Path]:
    """Returns a recording of speech of a length."""

    def recording(seconds: float) -> Path:
        speech, rate_hz = soundfile.read(RECORDING, dtype="int16")
        path = tmp_path / "ann.wav"
        repeats = int(seconds * rate_hz / len(speech)) + 1
        soundfile.write(path, np.tile(speech, repeats)[: round(seconds * rate_hz)], rate_hz)
        return path

    return recording


def test_voice_of_a_recording_is_kept(with_model: VoiceFile, recorded: Callable[[float], Path]) -> None:
    done = run("add", "Ann", "--wav", recorded(30), "--yes")
    assert done.exit_code == 0, done.output
    assert f'The voice "Ann" is kept in {with_model.path}' in done.stdout
    assert 'repartee voices remove "Ann"' in done.stdout
    (stored,) = with_model.voices()
    assert stored.name == "Ann"
    assert stored.voiceprint.speech_s >= 10
    assert run("list").stdout.split()[:3] == ["Ann", f"{stored.voiceprint.speech_s:.0f}", "s"]


def test_short_recording_is_refused(with_model: VoiceFile, recorded: Callable[[float], Path]) -> None:
    assert "10 s are needed" in reason(run("add", "Ann", "--wav", recorded(6), "--yes"))
    assert with_model.voices() == ()


def test_without_a_terminal_the_person_must_have_agreed(
    with_model: VoiceFile, recorded: Callable[[float], Path]
) -> None:
    assert "add --yes if the person agrees" in reason(run("add", "Ann", "--wav", recorded(12)))
    assert with_model.voices() == ()


def test_missing_model_is_named_with_its_remedy(file: VoiceFile, recorded: Callable[[float], Path]) -> None:
    assert "repartee models pull speaker-embedder" in reason(run("add", "Ann", "--wav", recorded(12), "--yes"))


def test_missing_microphone_is_named_with_its_remedy(with_model: VoiceFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_devices() -> tuple[Device, ...]:
        return ()

    monkeypatch.setattr(adding, "list_devices", no_devices)
    assert "use a recording: --wav FILE" in reason(run("add", "Ann", "--yes"))


def test_name_that_is_taken_is_refused_before_recording(with_model: VoiceFile) -> None:
    with_model.add(Voiceprint("Ann", voice(0), 12.0))
    assert 'remove it first: repartee voices remove "ann"' in reason(run("add", "ann", "--yes"))


def test_name_that_could_mislead_is_refused(with_model: VoiceFile) -> None:
    assert "use up to 40 letters" in reason(run("add", "S1", "--yes"))


def test_voices_are_removed(file: VoiceFile) -> None:
    for number, name in enumerate(("Ann", "Ben", "Cleo")):
        file.add(Voiceprint(name, voice(number), 12.0))
    assert run("remove", "ann").stdout == "1 voice removed\n"
    assert [known.name for known in file.voices()] == ["Ben", "Cleo"]
    assert "no such voice" in reason(run("remove", "Dan"))
    assert "use --all" in reason(run("remove"))
    assert run("remove", "--all").stdout == "2 voices removed\n"
    assert not file.path.exists()
    assert "no voice is kept; to teach one: repartee voices add NAME" in run("list").stdout


def test_damaged_file_is_one_line(file: VoiceFile) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(b"damaged " * 900)
    assert "kept aside as voices.sqlite3.damaged" in reason(run("list"))
