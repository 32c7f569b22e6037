"""The file of enrolled voices."""

import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest
from support.conversations.voices import voice

from assistant.enrolment.voice_file import MAX_VOICES, VoiceFile, VoiceFileError, voices_path
from assistant.speakers.voiceprint import Voiceprint


def ann(name: str = "Ann", number: int = 0) -> Voiceprint:
    return Voiceprint(name, voice(number), 20.0)


@pytest.fixture
def file(tmp_path: Path) -> VoiceFile:
    return VoiceFile(tmp_path / "repartee" / "voices.sqlite3", lambda: 1_800_000_000.0)


def test_voice_survives_a_restart(file: VoiceFile) -> None:
    file.add(ann())
    file.close()
    (stored,) = VoiceFile(file.path, lambda: 0.0).voices()
    assert (stored.name, stored.voiceprint.speech_s, stored.added_s) == ("Ann", 20.0, 1_800_000_000.0)
    assert np.array_equal(stored.voiceprint.embedding, voice(0))
    assert [known.name for known in file.voiceprints()] == ["Ann"]


def test_only_the_user_may_read_the_file(file: VoiceFile) -> None:
    file.add(ann())
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_reading_creates_no_file(file: VoiceFile) -> None:
    assert file.voices() == ()
    assert file.remove(None) == ()
    assert not file.path.parent.exists()


def test_name_is_given_once_whatever_its_capitals(file: VoiceFile) -> None:
    file.add(ann())
    with pytest.raises(VoiceFileError, match="kept already; remove it first: repartee voices remove"):
        file.add(ann("ANN", 1))
    assert len(file.voices()) == 1


def test_number_of_voices_is_limited(file: VoiceFile) -> None:
    for number in range(MAX_VOICES):
        file.add(ann(f"Person {number}", number))
    with pytest.raises(VoiceFileError, match="remove one first"):
        file.add(ann("One more", MAX_VOICES))


def test_removed_voice_leaves_nothing_behind(file: VoiceFile) -> None:
    file.add(ann())
    file.add(ann("Ben", 1))
    assert file.remove("ann") == ("Ann",)
    assert [known.name for known in file.voices()] == ["Ben"]
    left = b"".join(path.read_bytes() for path in file.path.parent.iterdir())
    assert voice(0).astype("<f4").tobytes() not in left
    assert b"Ann" not in left
    assert voice(1).astype("<f4").tobytes() in left


def test_file_goes_with_its_last_voice(file: VoiceFile) -> None:
    file.add(ann())
    file.remove("Ann")
    assert list(file.path.parent.iterdir()) == []


def test_unknown_voice_is_not_removed(file: VoiceFile) -> None:
    file.add(ann())
    assert file.remove("Ben") == ()
    assert len(file.voices()) == 1


def test_damaged_file_is_kept_aside(file: VoiceFile) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(b"no database, " * 500)
    with pytest.raises(VoiceFileError, match=r"kept aside as voices.sqlite3.damaged: enrol the voices again"):
        file.voices()
    assert file.voices() == ()
    file.add(ann())
    assert [path.name for path in sorted(file.path.parent.glob("*.damaged"))] == ["voices.sqlite3.damaged"]
    file.add(ann("Ben", 1))
    file.remove("Ben")
    assert list(file.path.parent.glob("*.damaged")) == [], "it may have the voice that is removed"
    file.remove(None)
    assert list(file.path.parent.iterdir()) == []


def test_file_of_a_newer_version_stays_as_it_is(file: VoiceFile) -> None:
    file.add(ann())
    file.close()
    with sqlite3.connect(file.path) as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    with pytest.raises(VoiceFileError, match="update Repartee"):
        file.voices()
    assert file.path.exists()


def test_voice_of_another_model_is_listed_but_not_used(file: VoiceFile) -> None:
    file.add(ann())
    file.close()
    with sqlite3.connect(file.path) as database:
        database.execute("UPDATE voices SET model = 'another'")
    database.close()
    assert [known.is_usable for known in file.voices()] == [False]
    assert file.voiceprints() == ()


def test_other_process_sees_changes(file: VoiceFile) -> None:
    other = VoiceFile(file.path, lambda: 0.0)
    assert other.voices() == ()
    file.add(ann())
    assert [known.name for known in other.voices()] == ["Ann"]
    other.remove("Ann")
    assert file.voices() == ()


def test_file_lies_in_the_data_folder(tmp_path: Path) -> None:
    assert voices_path({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "repartee" / "voices.sqlite3"
