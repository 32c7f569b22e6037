"""The allowed folders: what the language model may name, and what it may not."""

import os
from pathlib import Path

import pytest

from assistant.documents import DocumentError
from assistant.documents.folders import MAX_MATCHES, find, listing, open_document

posix = pytest.mark.skipif(os.name != "posix", reason="links")


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """Returns an allowed folder beside a secret file."""
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "allowed"
    (folder / "notes").mkdir(parents=True)
    (folder / "today.md").write_text("Today.")
    (folder / "notes" / "Plan.txt").write_text("Plan.")
    (folder / "notes" / "picture.png").write_text("x")
    (folder / ".hidden.txt").write_text("hidden")
    return folder


def content_of(folder: Path, path: str) -> str:
    with os.fdopen(open_document(folder, path)) as file:
        return file.read()


def found(folder: Path, *wanted: str) -> list[str]:
    return [path for _, path in find([folder], wanted)]


def test_documents_are_listed_without_hidden_and_other_files(allowed: Path) -> None:
    assert [path for _, path in listing([allowed])] == ["notes/Plan.txt", "today.md"]
    assert list(listing([allowed / "nothing"])) == []


def test_documents_are_found_by_path_name_and_pattern(allowed: Path) -> None:
    assert found(allowed, "notes/Plan.txt") == ["notes/Plan.txt"]
    assert found(allowed, "plan.txt") == ["notes/Plan.txt"]
    assert found(allowed, "*") == ["notes/Plan.txt", "today.md"]
    assert found(allowed, "*.md", "today.md") == ["today.md"]
    assert content_of(allowed, "notes/Plan.txt") == "Plan."


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "notes/../../secret.txt",
        "/etc/passwd",
        "~/x.txt",
        "notes//Plan.txt",
        "./today.md",
        ".hidden.txt",
        "..\\secret.txt",
        "C:today.md",
        "today.md\0.txt",
        "",
        "notes/",
    ],
)
def test_names_that_lead_elsewhere_are_refused(allowed: Path, name: str) -> None:
    for attempt in (lambda: find([allowed], [name]), lambda: open_document(allowed, name)):
        with pytest.raises(DocumentError) as failure:
            attempt()
        assert "secret" not in str(failure.value)


def test_missing_name_tells_what_there_is(allowed: Path) -> None:
    with pytest.raises(DocumentError, match=r"there are: notes/Plan\.txt, today\.md"):
        find([allowed], ["nothing.txt"])
    with pytest.raises(DocumentError, match="there are: none"):
        find([], ["*"])


def test_number_of_documents_is_bounded(allowed: Path) -> None:
    for number in range(MAX_MATCHES + 1):
        (allowed / f"{number}.txt").write_text("x")
    with pytest.raises(DocumentError, match="name at most"):
        find([allowed], ["*"])


@posix
def test_symbolic_links_are_not_followed(allowed: Path) -> None:
    (allowed / "link.txt").symlink_to(allowed.parent / "secret.txt")
    (allowed / "up").symlink_to(allowed.parent)
    assert [path for _, path in listing([allowed])] == ["notes/Plan.txt", "today.md"]
    for name in ("link.txt", "up/secret.txt"):
        with pytest.raises(DocumentError):
            find([allowed], [name])
        with pytest.raises(DocumentError, match="no document of the allowed folders"):
            open_document(allowed, name)


@posix
def test_file_exchanged_for_a_link_after_listing_is_not_read(allowed: Path) -> None:
    ((folder, path),) = find([allowed], ["plan.txt"])
    (allowed / "notes").rename(allowed / "gone")
    (allowed / "notes").symlink_to(allowed / "gone")
    with pytest.raises(DocumentError, match="no document of the allowed folders"):
        open_document(folder, path)


@posix
def test_folder_and_pipe_are_not_read(allowed: Path) -> None:
    (allowed / "folder.txt").mkdir()
    os.mkfifo(allowed / "pipe.txt")
    for name in ("folder.txt", "pipe.txt"):
        with pytest.raises(DocumentError):
            open_document(allowed, name)


@posix
def test_check_by_path_holds_where_folders_cannot_be_opened(allowed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.documents.folders._NO_FOLLOW", 0)
    (allowed / "link.txt").symlink_to(allowed.parent / "secret.txt")
    (allowed / "up").symlink_to(allowed.parent)
    assert content_of(allowed, "today.md") == "Today."
    for name in ("link.txt", "up/secret.txt"):
        with pytest.raises(DocumentError):
            open_document(allowed, name)
