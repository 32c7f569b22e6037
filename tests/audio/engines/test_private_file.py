"""Files with conversations are readable by their owner only, whatever the umask."""

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.commands.service.environment_file import create_environment
from assistant.config.edit import ConfigFile
from assistant.history.items import ItemId, UserMessage
from assistant.skills.lists.items import ListItem
from assistant.skills.timers.stored_timers import Pending, StoredTimer, Write
from assistant.storage.conversation_file import ConversationFile
from assistant.storage.conversation_store import ConversationStore
from assistant.storage.list_file import ListFile
from assistant.storage.timer_file import TimerFile
from assistant.tls.own_certificate import own_certificate
from assistant.tls.subjects import Subjects
from assistant.trace import file as trace_file
from audio.formats.stereo import StereoWriter
from audio.private_file import make_private_folder, open_private
from llm.cache.sqlite_store import SqliteStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no modes there")


@pytest.fixture(params=[0o000, 0o277, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
async def test_kept_conversation_is_private(tmp_path: Path) -> None:
    file = ConversationFile(tmp_path / "new" / "folder" / "c.sqlite3", lambda: 0.0)
    memory = ConversationStore(file, "c", "2027-01-31T09:30:00+00:00", pytest.fail)
    async with asyncio.TaskGroup() as tasks:
        writer = tasks.create_task(memory.run())
        memory.remember([UserMessage(ItemId("item_1"), "hello", spoken=True)])
        await memory.settle()
        writer.cancel()
    path = memory.path
    assert [mode(place) for place in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


@pytest.mark.usefixtures("umask")
def test_recording_is_private(tmp_path: Path) -> None:
    path = tmp_path / "demo.wav"
    with StereoWriter(path):
        pass
    assert mode(path) == 0o600


def _trace(path: Path) -> None:
    trace_file._append(path, ["{}"])
    trace_file._append(path, ["{}"])
    assert path.read_text() == "{}\n{}\n"


def _server_key(path: Path) -> None:
    own_certificate(path.with_suffix(".crt"), path, Subjects(("box",), ()))


def _keys_of_service(path: Path) -> None:
    assert create_environment(path, ["NEAR_KEY"])


def _configuration_with_key(path: Path) -> None:
    ConfigFile(path, creates_folder=True).change({"assistant.language": "de"}, None, private=True)


def _answer_cache(path: Path) -> None:
    store = SqliteStore(path, max_entries=10, max_age_s=60.0, now_s=lambda: 0.0)
    assert store.find("scope", "form", "words") == []
    store.close()


def _lists(path: Path) -> None:
    ListFile(path).exchange({"a": ListItem("a", "shopping", "butter", 1)})


def _timers(path: Path) -> None:
    row = StoredTimer("a", 60.0, None, 1.0, None, None, 0, "Done.")
    TimerFile(path, lambda: 0.0).exchange(Pending((Write("a", row, is_new=True),)))


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    "write",
    [_trace, _server_key, _keys_of_service, _configuration_with_key, _answer_cache, _lists, _timers],
    ids=lambda one: one.__name__,
)
def test_file_with_keys_or_answers_is_private(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write(path)
    assert [mode(place) for place in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_overwritten_recording_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "demo.wav"
    path.touch()
    path.chmod(0o644)
    with StereoWriter(path):
        pass
    assert mode(path) == 0o600


def test_appended_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.touch()
    path.chmod(0o640)
    os.close(open_private(path, os.O_WRONLY | os.O_APPEND))
    assert mode(path) == 0o640


def test_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "a")
    make_private_folder(tmp_path / "a")
    assert [mode(tmp_path), mode(tmp_path / "a")] == [0o755, 0o700]


def test_file_in_place_of_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "file" / "folder")
