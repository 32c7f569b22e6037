"""The stores of the answer cache, with a real SQLite file and a real Redis server."""

import socket
import sqlite3
import stat
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from support.servers.redis_process import redis_process

from llm.cache import MAX_FOUND, CacheEntry, CacheStore, CacheStoreError, entry_id
from llm.cache.redis_store import PREFIX, RedisStore
from llm.cache.sqlite_store import SqliteStore

DAY_S = 86400.0


@dataclass(slots=True)
class Clock:
    now_s: float = 1_800_000_000.0

    def __call__(self) -> float:
        self.now_s += 0.001
        return self.now_s


Maker = Callable[..., CacheStore]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Generator[Maker]:
    """Returns a function that opens the same store, as another process would."""
    if request.param == "sqlite":
        file = tmp_path / "cache" / "answers.sqlite3"
        yield lambda most=100: SqliteStore(file, max_entries=most, max_age_s=10 * DAY_S, now_s=clock, timeout_s=5.0)
        return
    pytest.importorskip("redis")
    with redis_process(tmp_path) as url:
        yield lambda most=100: RedisStore(url, max_entries=most, max_age_s=10 * DAY_S, now_s=clock, timeout_s=5.0)


def entry(number: int, clock: Clock, *, scope: str = "s", form: str = "f") -> CacheEntry:
    vector = np.asarray([1.0, number], np.float32)
    return CacheEntry(
        f"id{number:04}", scope, form, f"words {number}", "en", f"Words {number}?", "Yes, é.", "near", clock(), vector
    )


def test_entry_is_found_by_its_form_and_scope(make: Maker, clock: Clock) -> None:
    store = make()
    store.store_entry(entry(1, clock))
    store.store_entry(replace(entry(2, clock), vector=None))
    store.store_entry(entry(3, clock, form="other"))
    store.store_entry(entry(4, clock, scope="other"))
    found = {one.id: one for one in store.find("s", "f", "words 1")}
    assert set(found) == {"id0001", "id0002"}
    assert found["id0002"].vector is None
    vector = found["id0001"].vector
    assert vector is not None
    assert vector.tolist() == [1.0, 1.0]
    assert replace(found["id0001"], vector=None) == replace(
        entry(1, clock), vector=None, created_s=found["id0001"].created_s
    )
    assert store.find("s", "none", "words 1") == []
    store.close()


def test_entry_replaces_one_of_the_same_words(make: Maker, clock: Clock) -> None:
    store = make()
    store.store_entry(entry(1, clock))
    store.store_entry(replace(entry(1, clock), answer="No."))
    assert [one.answer for one in store.find("s", "f", "words 1")] == ["No."]
    assert [one.id for one in store.entries()] == ["id0001"]


def test_entry_of_the_same_words_is_found_among_many_of_its_form(make: Maker, clock: Clock) -> None:
    store = make()
    for number in range(MAX_FOUND + 5):
        store.store_entry(replace(entry(number, clock), id=entry_id("s", f"words {number}")))
    found = store.find("s", "f", "words 0")
    assert len(found) == MAX_FOUND
    assert found[0].words == "words 0"


def test_uses_are_counted(make: Maker, clock: Clock) -> None:
    store = make()
    store.store_entry(entry(1, clock))
    store.store_entry(entry(2, clock))
    store.used(entry(1, clock))
    store.used(entry(1, clock))
    store.used(entry(7, clock))  # was forgotten meanwhile
    assert [(one.id, one.hits) for one in store.entries()] == [("id0001", 2), ("id0002", 0)]


def test_least_recently_used_entry_is_removed_first(make: Maker, clock: Clock) -> None:
    store = make(10)
    for number in range(10):
        store.store_entry(entry(number, clock))
    store.used(entry(0, clock))
    store.store_entry(entry(10, clock))
    kept = {one.id for one in store.entries()}
    assert len(kept) == 10
    assert "id0000" in kept
    assert "id0001" not in kept
    assert "id0001" not in {one.id for one in store.find("s", "f", "words 1")}


def test_two_processes_store_the_same_words_once(make: Maker, clock: Clock) -> None:
    one, other = make(), make()
    same = replace(entry(1, clock), id=entry_id("s", "words 1"))
    one.store_entry(same)
    other.store_entry(replace(same, answer="No."))
    assert [found.answer for found in one.find("s", "f", "words 1")] == ["No."]
    assert len(one.entries()) == 1


def test_entry_from_the_future_is_not_found(tmp_path: Path, clock: Clock) -> None:
    """It was stored while the clock was wrong, and would never be old."""
    store = SqliteStore(tmp_path / "a.sqlite3", max_entries=10, max_age_s=10 * DAY_S, now_s=clock)
    clock.now_s += 400 * DAY_S
    store.store_entry(entry(1, clock))
    clock.now_s -= 400 * DAY_S
    assert store.find("s", "f", "words 1") == []
    assert store.entries() == []
    store.store_entry(entry(2, clock))
    store.close()
    with sqlite3.connect(tmp_path / "a.sqlite3") as database:
        assert database.execute("SELECT id FROM answers").fetchall() == [("id0002",)]
    database.close()


def test_old_words_leave_the_file_when_it_is_opened(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "a.sqlite3"
    store = SqliteStore(file, max_entries=10, max_age_s=10 * DAY_S, now_s=clock)
    store.store_entry(replace(entry(1, clock), answer="a secret answer"))
    store.close()
    clock.now_s += 11 * DAY_S
    later = SqliteStore(file, max_entries=10, max_age_s=10 * DAY_S, now_s=clock)
    assert later.find("s", "f", "words 1") == []
    later.close()
    assert b"secret" not in file.read_bytes()


def test_memory_writes_no_file(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore(None, max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.store_entry(entry(1, clock))
    assert len(store.find("s", "f", "words 1")) == 1
    assert store.forget(["id0001"]) == 1
    store.close()
    assert store.entries() == []
    assert list(tmp_path.iterdir()) == []


def test_rest_of_an_expired_redis_entry_is_removed(make: Maker, clock: Clock) -> None:
    store = make()
    if isinstance(store, RedisStore):
        store.store_entry(entry(1, clock))
        store._redis.delete(f"{PREFIX}entry:id0001")
        store._redis.hincrby(f"{PREFIX}entry:id0001", "hits", 1)  # it expired just before its use was recorded
        assert store.find("s", "f", "words 1") == []
        assert [key for key in store._redis.keys(f"{PREFIX}*") if not key.endswith(b":used")] == []


def test_old_entry_is_not_found(make: Maker, clock: Clock) -> None:
    store = make()
    if isinstance(store, SqliteStore):  # Redis measures the age itself
        store.store_entry(entry(1, clock))
        clock.now_s += 11 * DAY_S
        store.store_entry(entry(2, clock))
        assert [one.id for one in store.find("s", "f", "words 1")] == ["id0002"]
        assert [one.id for one in store.entries()] == ["id0002"]


def test_redis_removes_old_entries_itself(make: Maker, clock: Clock) -> None:
    store = make()
    if not isinstance(store, SqliteStore):
        assert isinstance(store, RedisStore)
        store.store_entry(entry(1, clock))
        keys = [key for key in store._redis.keys(f"{PREFIX}*") if not key.endswith(b":used")]
        assert len(keys) == 2
        assert all(9 * DAY_S < store._redis.ttl(key) <= 10 * DAY_S for key in keys)
        store._redis.delete(f"{PREFIX}entry:id0001")  # as Redis does
        assert store.find("s", "f", "words 1") == []
        assert store.entries() == []
        assert store._redis.zcard(f"{PREFIX}used") == 0


def test_forgotten_entry_is_gone_for_every_process(make: Maker, clock: Clock) -> None:
    server, command = make(), make()
    server.store_entry(entry(1, clock))
    server.store_entry(entry(2, clock))
    assert len(server.find("s", "f", "words 1")) == 2
    assert command.forget(["id0001", "unknown"]) == 1
    assert [one.id for one in server.find("s", "f", "words 1")] == ["id0002"]
    server.store_entry(entry(3, clock))
    assert {one.id for one in command.find("s", "f", "words 1")} == {"id0002", "id0003"}


def test_file_is_private(tmp_path: Path, clock: Clock) -> None:
    store = SqliteStore(tmp_path / "new" / "a.sqlite3", max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.store_entry(entry(1, clock))
    for file in (tmp_path / "new").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_forgotten_words_are_not_in_the_file(tmp_path: Path, clock: Clock) -> None:
    store = SqliteStore(tmp_path / "a.sqlite3", max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.store_entry(replace(entry(1, clock), answer="a secret answer"))
    command = SqliteStore(tmp_path / "a.sqlite3", max_entries=10, max_age_s=DAY_S, now_s=clock, timeout_s=5.0)
    assert command.forget(["id0001"]) == 1
    assert not [file for file in tmp_path.iterdir() if b"secret" in file.read_bytes()], "while a server has it open"
    command.close()
    store.close()
    assert not [file for file in tmp_path.iterdir() if b"secret" in file.read_bytes()]


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be one" * 50, None], ids=["text", "newer"]
)
def test_unusable_file_is_an_error_of_one_sentence(tmp_path: Path, clock: Clock, content: bytes | None) -> None:
    file = tmp_path / "a.sqlite3"
    if content is None:
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
    else:
        file.write_bytes(content)
    store = SqliteStore(file, max_entries=10, max_age_s=DAY_S, now_s=clock)
    with pytest.raises(CacheStoreError, match=r"^the answer cache .*a\.sqlite3 cannot be used \(.+; remove it\)$"):
        store.find("s", "f", "words 1")


def test_locked_file_is_an_error_soon(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "a.sqlite3"
    store = SqliteStore(file, max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.store_entry(entry(1, clock))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CacheStoreError, match="locked"):
        store.store_entry(entry(2, clock))
    assert len(store.find("s", "f", "words 1")) == 1  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    store.store_entry(entry(2, clock))
    assert len(store.find("s", "f", "words 1")) == 2


@pytest.mark.parametrize("url", ["redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1/0?password=secret"])
def test_dead_redis_is_an_error_soon_and_without_the_password(clock: Clock, url: str) -> None:
    pytest.importorskip("redis")
    store = RedisStore(url, max_entries=10, max_age_s=DAY_S, now_s=clock)
    began_s = time.monotonic()
    with pytest.raises(CacheStoreError, match=r"redis://127\.0\.0\.1:1/0 cannot be used \(ConnectionError\)") as error:
        store.find("s", "f", "words 1")
    assert "secret" not in str(error.value)
    assert time.monotonic() - began_s < 0.5


def test_silent_redis_is_an_error_soon(clock: Clock) -> None:
    pytest.importorskip("redis")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        store = RedisStore(f"redis://127.0.0.1:{port}/0", max_entries=10, max_age_s=DAY_S, now_s=clock)
        began_s = time.monotonic()
        with pytest.raises(CacheStoreError, match="TimeoutError"):
            store.find("s", "f", "words 1")
        assert time.monotonic() - began_s < 0.5
        store.close()
