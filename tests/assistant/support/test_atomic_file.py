"""Output files: written completely or not at all, and never over an input."""

import errno
import os
import secrets
import stat
from pathlib import Path

import pytest

from assistant.support.atomic_file import is_among, write_whole


def test_file_is_created_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_whole(file, b"one")
    file.chmod(0o640)
    write_whole(file, b"two")
    assert file.read_bytes() == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_full_disk_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(b"before")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_whole(file, b"the whole page")
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


def test_link_stays_a_link(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "page.html"
    link.symlink_to(file)
    write_whole(link, b"one")
    write_whole(link, b"two")
    assert link.is_symlink()
    assert file.read_bytes() == b"two"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_planted_draft_is_neither_followed_nor_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    victim, file = tmp_path / "victim", tmp_path / "page.html"
    victim.write_bytes(b"mine")
    guessed = [tmp_path / f".page.html.{os.getpid()}.new", tmp_path / f".page.html.{'0' * 16}.new"]
    for draft in guessed:
        if kind == "link":
            draft.symlink_to(victim)
        else:
            draft.write_bytes(b"mine")
    write_whole(file, b"one")
    assert (file.read_bytes(), victim.read_bytes()) == (b"one", b"mine")
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)  # as if it were guessed
    with pytest.raises(FileExistsError):
        write_whole(file, b"two")
    assert (file.read_bytes(), victim.read_bytes()) == (b"one", b"mine")
    assert all(draft.read_bytes() == b"mine" for draft in guessed)


def test_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "page.html", b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


def test_pipe_is_written_directly() -> None:
    write_whole(Path(os.devnull), b"gone")
    assert not Path(os.devnull).is_file()


def test_file_is_recognized_by_its_other_names(tmp_path: Path) -> None:
    file, link, other = tmp_path / "a", tmp_path / "link", tmp_path / "b"
    file.touch()
    other.touch()
    link.symlink_to(file)
    assert is_among(tmp_path / "." / "a", [other, file])
    assert is_among(link, [file])
    assert not is_among(other, [file, link])
    assert not is_among(tmp_path / "missing", [file, tmp_path / "missing"])
