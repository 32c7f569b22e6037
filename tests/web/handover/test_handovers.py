"""Claims of conversations in a real Redis, and the settings of the hand-over."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.clocks.virtual_time import run_virtual
from support.servers.gateways import PATIENT_S, SECRET, SharedRedis, handovers
from support.servers.redis_process import running_redis

from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.config.server_settings import ServerSection
from assistant.history.history import HistorySnapshot
from web.handover.handovers import Handovers, handovers_of
from web.handover.sealing import Seal, token_hash
from web.handover.snapshot import VERSION, Snapshot
from web.handover.store import ENDED, PREFIX, SECRETS, HandoverStore, StoreError
from web.observation.metrics import Metrics
from web.wire.values.session_config import SessionConfig

SNAPSHOT = Snapshot("sess_1", SessionConfig(instructions="Be brief."), HistorySnapshot(), last_turn=3)


def outcomes(metrics: Metrics) -> dict[str, float]:
    """Returns how often each outcome was counted that occurred."""
    samples = [one for family in metrics.registry.collect() for one in family.samples]
    return {one.labels["outcome"]: one.value for one in samples if one.name == "repartee_handovers_total" and one.value}


async def test_one_gateway_of_many_gets_a_conversation(redis_url: str) -> None:
    metrics = Metrics()
    first, gateways = handovers(redis_url), [handovers(redis_url, metrics) for _ in range(8)]
    assert not await gateways[0].keeps("token")
    assert await first.save("token", "first", SNAPSHOT) == "kept"
    assert await gateways[0].keeps("token"), "asking takes nothing"
    claims = [gateway.claim("token", f"owner {number}") for number, gateway in enumerate(gateways)]
    found = await asyncio.gather(*claims)
    assert sorted(found, key=lambda one: one == "in_progress") == [SNAPSHOT, *["in_progress"] * 7]
    assert outcomes(metrics) == {"in_progress": 7}
    winner = f"owner {found.index(SNAPSHOT)}"
    confirms = [gateway.confirm("token", f"owner {number}") for number, gateway in enumerate(gateways)]
    assert [n for n, won in enumerate(await asyncio.gather(*confirms)) if won] == [found.index(SNAPSHOT)]
    assert outcomes(metrics) == {"continued": 1, "in_progress": 7}
    assert await gateways[0].save("token", winner, SNAPSHOT) == "kept"
    # The first owner notices it, and can neither write nor delete any more.
    assert await first.renew("token", "first") == "taken"
    assert await first.save("token", "first", SNAPSHOT) == "taken"
    await first.drop("token", "first")
    assert SharedRedis(redis_url).client.exists(PREFIX + token_hash("token")) == 1
    for gateway in (first, *gateways):
        await gateway.aclose()


async def test_write_after_closing_is_made_and_leaves_no_connection(redis_url: str) -> None:
    gateway = handovers(redis_url)
    await gateway.aclose()
    assert await gateway.save("token", "one", SNAPSHOT) == "kept"
    clients = SharedRedis(redis_url).client.client_list()
    assert len(clients) == 1, "only the one that asks"


async def test_new_owner_writes_and_is_followed_by_the_next(redis_url: str) -> None:
    one, two = handovers(redis_url), handovers(redis_url)
    await one.save("token", "one", SNAPSHOT)
    assert await two.claim("token", "two") == SNAPSHOT
    assert await two.confirm("token", "two")
    assert await two.save("token", "two", SNAPSHOT) == "kept"
    assert await two.renew("token", "two") == "kept"
    assert await one.claim("token", "one again") == SNAPSHOT
    assert await one.confirm("token", "one again")
    assert await two.renew("token", "two") == "taken"
    await one.drop("token", "one again")
    assert await two.renew("token", "two") == "missing"
    await one.aclose()
    await two.aclose()


async def test_other_version_is_refused_and_left_for_its_gateways(redis_url: str) -> None:
    metrics = Metrics()
    newer, older = handovers(redis_url, version=VERSION + 1), handovers(redis_url, metrics)
    await newer.save("token", "newer", SNAPSHOT)
    assert not await older.keeps("token")
    assert await older.claim("token", "older") is None
    assert outcomes(metrics) == {"other_version": 1}
    assert await newer.renew("token", "newer") == "kept"
    assert await newer.claim("token", "newer too") == SNAPSHOT
    await newer.aclose()
    await older.aclose()


@pytest.mark.parametrize("kind", ["changed", "of another conversation", "of another secret"])
async def test_conversation_that_was_tampered_with_is_refused(kind: str, redis_url: str) -> None:
    metrics = Metrics()
    gateway, key, redis = handovers(redis_url, metrics), PREFIX + token_hash("token"), SharedRedis(redis_url)
    await gateway.save("token", "owner", SNAPSHOT)
    await gateway.save("other", "owner", SNAPSHOT)
    sealed = redis.client.hget(key, "sealed")
    replaced = {
        "changed": sealed[:-1] + bytes([sealed[-1] ^ 1]),
        "of another conversation": redis.client.hget(PREFIX + token_hash("other"), "sealed"),
        "of another secret": Seal("another secret of gateways").close("token", VERSION, b"x"),
    }
    redis.client.hset(key, "sealed", replaced[kind])
    assert await gateway.claim("token", "next") is None
    assert outcomes(metrics) == {"damaged": 1}
    assert await gateway.renew("token", "owner") == "kept", "its gateway still has it"
    assert redis.client.hget(key, "claimant") is None
    await gateway.aclose()


class Clock:
    """A gateway's clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


async def test_conversation_that_redis_keeps_too_long_is_not_continued(redis_url: str) -> None:
    metrics, clock, redis = Metrics(), Clock(), SharedRedis(redis_url)
    gateway = handovers(redis_url, metrics, now=clock)
    await gateway.save("token", "owner", SNAPSHOT)
    redis.client.persist(PREFIX + token_hash("token"))
    clock.time += timedelta(seconds=59)
    assert await gateway.claim("token", "next") == SNAPSHOT
    await gateway.release("token", "next")
    clock.time += timedelta(seconds=2)
    assert await gateway.claim("token", "next") is None
    assert outcomes(metrics) == {"expired": 1}
    assert await gateway.renew("token", "owner") == "kept", "its gateway still runs it"
    assert await gateway.claim("token", "next") == SNAPSHOT
    await gateway.aclose()


async def test_ended_conversation_that_is_written_back_is_not_continued(redis_url: str) -> None:
    clock, redis = Clock(), SharedRedis(redis_url)
    here, elsewhere = handovers(redis_url, now=clock), handovers(redis_url, now=clock)
    await here.save("token", "owner", SNAPSHOT)
    record = redis.client.dump(PREFIX + token_hash("token"))
    await here.drop("token", "owner")
    redis.client.restore(PREFIX + token_hash("token"), 0, record)
    assert await elsewhere.claim("token", "next") is None
    redis.client.delete(ENDED + token_hash("token"))  # whoever may write to Redis may do this, too
    assert await here.claim("token", "next") is None
    clock.time += timedelta(seconds=61)
    assert await elsewhere.claim("token", "next") is None
    for gateway in (here, elsewhere):
        await gateway.aclose()


async def test_client_secret_that_redis_keeps_too_long_opens_nothing(redis_url: str) -> None:
    clock, redis = Clock(), SharedRedis(redis_url)
    gateway = handovers(redis_url, now=clock)
    await gateway.publish_secret("ek_1", SNAPSHOT.config, 10)
    (key,) = redis.client.keys(f"{SECRETS}*")
    redis.client.persist(key)
    assert await gateway.find_secret("ek_1") == SNAPSHOT.config
    clock.time += timedelta(seconds=10)
    assert await gateway.find_secret("ek_1") is None
    await gateway.aclose()


async def test_redis_holds_no_token_and_no_words(redis_url: str) -> None:
    gateway, redis = handovers(redis_url, keep_s=600), SharedRedis(redis_url)
    await gateway.save("a very secret token", "owner", SNAPSHOT)
    (key,) = redis.client.keys("*")
    held = key + b"".join(part for pair in redis.client.hgetall(key).items() for part in pair)
    assert b"very secret" not in held
    assert b"brief" not in held
    assert 0 < redis.client.ttl(key) <= 600
    await gateway.aclose()


async def test_long_token_is_not_looked_up(tmp_path: Path) -> None:
    metrics = Metrics()
    gateway = handovers(f"unix://{tmp_path}/missing.sock", metrics)
    assert await gateway.claim("x" * 65, "owner") is None
    assert outcomes(metrics) == {}
    assert await gateway.claim("x" * 64, "owner") is None
    assert outcomes(metrics) == {"unreachable": 1}
    assert gateway.health() == "failing"
    await gateway.aclose()


def test_password_is_sent_and_its_lack_is_refused(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        right, wrong = (HandoverStore(url, word, keep_s=9, timeout_s=PATIENT_S) for word in ("open sesame", "wrong"))
        await right.ping()
        with pytest.raises(StoreError, match="AuthenticationError"):
            await wrong.ping()
        await right.aclose()
        await wrong.aclose()

    with running_redis(tmp_path, "--requirepass", "open sesame") as redis:
        asyncio.run(main(redis.url))


# ---- many writes at once ----


def write_many(monkeypatch: pytest.MonkeyPatch, answer_s: float) -> tuple[list[object], float]:
    """Writes 600 conversations at once; each answer takes this long. Returns the results, and how long it took."""

    async def answer(**_call: object) -> int:
        await asyncio.sleep(answer_s)
        return 1

    async def main() -> tuple[list[object], float]:
        store = HandoverStore("redis://127.0.0.1", None, keep_s=9, timeout_s=0.5)
        monkeypatch.setattr(store, "_put", answer)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        puts = [store.write_conversation(f"token {n}", "owner", VERSION, b"x", b"y") for n in range(600)]
        return await asyncio.gather(*puts, return_exceptions=True), loop.time() - began_s

    return run_virtual(main())


def test_writes_of_many_conversations_share_no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    results, lasted_s = write_many(monkeypatch, 0.02)
    assert set(results) == {True}
    assert lasted_s == pytest.approx(2.0), "four times the limit of one call"


def test_writes_to_a_redis_that_hangs_fail_together(monkeypatch: pytest.MonkeyPatch) -> None:
    results, lasted_s = write_many(monkeypatch, 60)
    assert {type(one) for one in results} == {StoreError}
    assert lasted_s <= 1.0


# ---- settings ----


def section(*assignments: str) -> ServerSection:
    given = [f"server.{one}" for one in assignments]
    return load_settings(Path("/dev/null"), {}, given).settings.server


def made(*assignments: str, **environ: str) -> Handovers | None:
    return handovers_of(section(*assignments), environ, Metrics())


def test_hand_over_is_off_without_redis_or_resumption() -> None:
    assert made() is None
    assert made("redis_url=redis://127.0.0.1", "resume_s=0") is None


def test_token_or_named_secret_encrypts_the_conversations() -> None:
    assert made("redis_url=redis://127.0.0.1", REPARTEE_TOKEN=SECRET) is not None
    assert made("redis_url=rediss://u@cache.example:6380/1", "handover_key_env=KEY", KEY=SECRET) is not None


@pytest.mark.parametrize(
    ("assignments", "environ", "problem"),
    [
        ([], {}, "environment REPARTEE_TOKEN: server.redis_url needs a secret of at least 16 characters"),
        (["handover_key_env=KEY"], {"REPARTEE_TOKEN": SECRET}, "environment KEY: server.redis_url needs a secret"),
        (["handover_key_env=KEY"], {"KEY": "short"}, "environment KEY: server.redis_url needs a secret"),
        (["redis_password_env=PW"], {"REPARTEE_TOKEN": SECRET}, "environment PW: the password of Redis is not set"),
    ],
)
def test_missing_secret_is_refused(assignments: list[str], environ: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        made("redis_url=redis://127.0.0.1", *assignments, **environ)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    "url", ["redis://user:pw@127.0.0.1", "redis://127.0.0.1/?password=pw", "http://127.0.0.1", "a b"]
)
def test_address_with_a_password_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        section(f"redis_url={url}")


@pytest.mark.parametrize("url", ["redis://127.0.0.1:port", "redis://127.0.0.1:99999", "redis://[::1"])
def test_address_that_is_not_valid_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="redis_url is not a valid address"):
        made(f"redis_url={url}", REPARTEE_TOKEN=SECRET)


def test_variables_that_begin_with_the_programs_name_are_allowed() -> None:
    environ = {"REPARTEE_REDIS_PASSWORD": "pw"}
    load_settings(Path("/dev/null"), environ, ["server.redis_password_env=REPARTEE_REDIS_PASSWORD"])
    with pytest.raises(ConfigError):
        load_settings(Path("/dev/null"), environ, [])
