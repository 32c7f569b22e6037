"""Output of `repartee models`."""

import os
from pathlib import Path

from support.programs.program import repartee

from assistant.models.catalogue import MODELS


def listed(folder: Path, *arguments: str, columns: int = 80) -> list[str]:
    environ = {**os.environ, "COLUMNS": str(columns), "HF_HUB_CACHE": "none", "XDG_DATA_HOME": "none"}
    done = repartee("models", *arguments, cwd=folder, env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_names_are_not_wrapped(tmp_path: Path) -> None:
    names = {line.split()[0] for line in listed(tmp_path, "--all") if line.strip()}
    assert set(MODELS) <= names


def test_narrow_window_keeps_room_for_other_columns(tmp_path: Path) -> None:
    lines = listed(tmp_path, columns=40)
    assert any("78 MB" in line and "missing" in line for line in lines)
    assert max(len(line) for line in lines[:-4]) <= 40


def test_remedy_is_one_line(tmp_path: Path) -> None:
    assert (
        'speech to text: tiny.en supports only English: set stt.model = "tiny", then repartee models pull tiny'
        in listed(tmp_path, "--set", "assistant.language=de", "--set", "stt.model=tiny.en")
    )


def test_path_is_not_wrapped(tmp_path: Path) -> None:
    voice = tmp_path / ("folder" * 8) / "voice.onnx"
    voice.parent.mkdir()
    for file in (voice, voice.with_name("voice.onnx.json")):
        file.write_bytes(b"{}")
    lines = listed(tmp_path, "--set", f"tts.voice={voice}")
    assert f"{voice}: {voice}" in lines
    assert any("text to" in line and line.rstrip().endswith("below") for line in lines)


def test_unneeded_model_has_no_remedy(tmp_path: Path) -> None:
    lines = listed(tmp_path, "--all", "--set", "tts.engine=espeak-ng")
    assert lines[-2:] == [
        "speech to text: repartee models pull tiny.en",
        "end of turn: repartee models pull smart-turn-v3.2",
    ]
    assert sum("not downloaded" in line for line in lines) > 10
    assert not any("repartee" in line for line in lines[:-2]), "remedies are whole commands below the table"
