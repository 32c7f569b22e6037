"""The stores of the answer cache, with a real SQLite file and a real Redis server."""

import sqlite3
import stat
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from redis_process import redis_process

from llm.cache import CacheEntry, CacheStore, CacheStoreError
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
        yield lambda most=100: SqliteStore(file, max_entries=most, max_age_s=10 * DAY_S, now_s=clock)
        return
    pytest.importorskip("redis")
    with redis_process(tmp_path) as url:
        yield lambda most=100: RedisStore(url, max_entries=most, max_age_s=10 * DAY_S, now_s=clock)


def entry(number: int, clock: Clock, *, scope: str = "s", form: str = "f") -> CacheEntry:
    vector = np.asarray([1.0, number], np.float32)
    return CacheEntry(
        f"id{number:04}", scope, form, f"words {number}", "en", f"Words {number}?", "Yes, é.", "near", clock(), vector
    )


def test_entry_is_found_by_its_form_and_scope(make: Maker, clock: Clock) -> None:
    store = make()
    store.put(entry(1, clock))
    store.put(replace(entry(2, clock), vector=None))
    store.put(entry(3, clock, form="other"))
    store.put(entry(4, clock, scope="other"))
    found = {one.id: one for one in store.find("s", "f")}
    assert set(found) == {"id0001", "id0002"}
    assert found["id0002"].vector is None
    vector = found["id0001"].vector
    assert vector is not None
    assert vector.tolist() == [1.0, 1.0]
    assert replace(found["id0001"], vector=None) == replace(
        entry(1, clock), vector=None, created_s=found["id0001"].created_s
    )
    assert store.find("s", "none") == []
    store.close()


def test_entry_replaces_one_of_the_same_words(make: Maker, clock: Clock) -> None:
    store = make()
    store.put(entry(1, clock))
    store.put(replace(entry(1, clock), id="newer1", answer="No."))
    assert [one.answer for one in store.find("s", "f")] == ["No."]
    assert [one.id for one in store.entries()] == ["newer1"]


def test_uses_are_counted(make: Maker, clock: Clock) -> None:
    store = make()
    store.put(entry(1, clock))
    store.put(entry(2, clock))
    store.used(entry(1, clock))
    store.used(entry(1, clock))
    store.used(entry(7, clock))  # was forgotten meanwhile
    assert [(one.id, one.hits) for one in store.entries()] == [("id0001", 2), ("id0002", 0)]


def test_least_recently_used_entry_is_removed_first(make: Maker, clock: Clock) -> None:
    store = make(10)
    for number in range(10):
        store.put(entry(number, clock))
    store.used(entry(0, clock))
    store.put(entry(10, clock))
    kept = {one.id for one in store.entries()}
    assert len(kept) == 10
    assert "id0000" in kept
    assert "id0001" not in kept
    assert "id0001" not in {one.id for one in store.find("s", "f")}


def test_old_entry_is_not_found(make: Maker, clock: Clock) -> None:
    store = make()
    if isinstance(store, SqliteStore):  # Redis measures the age itself
        store.put(entry(1, clock))
        clock.now_s += 11 * DAY_S
        store.put(entry(2, clock))
        assert [one.id for one in store.find("s", "f")] == ["id0002"]
        assert [one.id for one in store.entries()] == ["id0002"]


def test_redis_removes_old_entries_itself(make: Maker, clock: Clock) -> None:
    store = make()
    if not isinstance(store, SqliteStore):
        assert isinstance(store, RedisStore)
        store.put(entry(1, clock))
        keys = [key for key in store._redis.keys(f"{PREFIX}*") if not key.endswith(b":used")]
        assert len(keys) == 2
        assert all(9 * DAY_S < store._redis.ttl(key) <= 10 * DAY_S for key in keys)
        store._redis.delete(f"{PREFIX}entry:id0001")  # as Redis does
        assert store.find("s", "f") == []
        assert store.entries() == []
        assert store._redis.zcard(f"{PREFIX}used") == 0


def test_forgotten_entry_is_gone_for_every_process(make: Maker, clock: Clock) -> None:
    server, command = make(), make()
    server.put(entry(1, clock))
    server.put(entry(2, clock))
    assert len(server.find("s", "f")) == 2
    assert command.forget(["id0001", "unknown"]) == 1
    assert [one.id for one in server.find("s", "f")] == ["id0002"]
    server.put(entry(3, clock))
    assert {one.id for one in command.find("s", "f")} == {"id0002", "id0003"}


def test_file_is_private(tmp_path: Path, clock: Clock) -> None:
    store = SqliteStore(tmp_path / "new" / "a.sqlite3", max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.put(entry(1, clock))
    for file in (tmp_path / "new").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_forgotten_words_are_not_in_the_file(tmp_path: Path, clock: Clock) -> None:
    store = SqliteStore(tmp_path / "a.sqlite3", max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.put(replace(entry(1, clock), answer="a secret answer"))
    store.forget(["id0001"])
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
    with pytest.raises(CacheStoreError, match=r"^the answer cache .*a\.sqlite3 cannot be used \(.+\)$"):
        store.find("s", "f")


def test_locked_file_is_an_error_soon(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "a.sqlite3"
    store = SqliteStore(file, max_entries=10, max_age_s=DAY_S, now_s=clock)
    store.put(entry(1, clock))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CacheStoreError, match="locked"):
        store.put(entry(2, clock))
    assert len(store.find("s", "f")) == 1  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    store.put(entry(2, clock))
    assert len(store.find("s", "f")) == 2


def test_dead_redis_is_an_error_without_the_password(clock: Clock) -> None:
    pytest.importorskip("redis")
    store = RedisStore("redis://me:secret@127.0.0.1:1/0", max_entries=10, max_age_s=DAY_S, now_s=clock)
    with pytest.raises(CacheStoreError, match=r"redis://127\.0\.0\.1:1/0 cannot be used \(ConnectionError\)") as error:
        store.find("s", "f")
    assert "secret" not in str(error.value)
