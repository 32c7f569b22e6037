"""Moves the conversations that earlier versions kept in one .jsonl file each into the SQLite file, once."""

from contextlib import suppress
from pathlib import Path

from assistant.storage.conversation_file import ConversationFile
from assistant.storage.store_format import NewerVersionError, parse_conversation

_SUFFIX = ".jsonl"
IMPORTED = ".imported"
"""Added to the name of a file whose conversation is in the SQLite file. The conversation's deletion deletes it too."""


def import_files(file: ConversationFile) -> list[str]:
    """Imports the .jsonl files beside the SQLite file. Returns a sentence for each that could not be imported whole.

    No file is lost: an imported one is renamed, any other stays as it is and is tried again the next time. Blocks.

    Raises:
        ConversationFileError: The SQLite file cannot be used.
    """
    problems: list[str] = []
    try:
        paths = sorted(path for path in file.path.parent.iterdir() if path.suffix == _SUFFIX and path.is_file())
    except OSError:
        return []  # no folder: nothing was ever stored
    known = file.imported_names() if paths else set()
    for path in paths:
        if path.stem in known:
            _mark_imported(path)
            continue
        try:
            conversation = parse_conversation(path.read_bytes())
            changed_s = path.stat().st_mtime
        except NewerVersionError as error:
            problems.append(f"{path} was written by a newer version ({error}): update Repartee.")
            continue
        except OSError as error:
            problems.append(f"{path} cannot be read ({error.strerror or error}).")
            continue
        heading = conversation.heading
        began_at, continues = ("", "") if heading is None else (heading.began_at, heading.continues)
        if conversation.items or heading is not None:
            file.import_once(path.stem, began_at, continues, conversation.items, changed_s)
        if conversation.lost:
            lost = "a line is" if conversation.lost == 1 else f"{conversation.lost} lines are"
            problems.append(f"{path.stem}: {lost} damaged and left out of the conversation; {path}{IMPORTED} has them.")
        _mark_imported(path)
    return problems


def _mark_imported(path: Path) -> None:
    with suppress(OSError):  # a read-only folder: the SQLite file knows that it is imported
        path.rename(path.with_name(path.name + IMPORTED))


def delete_imported(file: ConversationFile, name: str) -> None:
    """Deletes the file that a conversation was imported from, if there is one."""
    (file.path.parent / f"{name}{_SUFFIX}{IMPORTED}").unlink(missing_ok=True)
