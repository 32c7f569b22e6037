"""Sources of AWS credentials, their renewal, and the bounded wait for them."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.aws_server import (
    KEY_ID,
    REGION,
    SECRET,
    TOKEN,
    answer,
    own_environment,
    refusal,
    said,
    serving_aws,
)
from support.services.aws_server import event as bedrock_event
from support.services.llm_server import Wait, ask, serving, status

from llm.aws import credentials as aws_credentials
from llm.aws.bedrock import BedrockChat
from llm.aws.credentials import AwsCredentials, CredentialSource, Keys
from llm.errors import LlmError, LlmRefused, LlmUnreachable

HI = answer(said("Hi") + bedrock_event("messageStop", stopReason="end_turn"))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path, keys=False)


@dataclass
class Expiring:
    """A source whose keys expire after the given seconds. Counts its calls."""

    left_s: float = 3600.0
    asked: int = 0
    may_answer: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.may_answer.set()

    def refresh_needed(self, seconds: float) -> bool:
        return self.left_s < seconds

    def get_frozen_credentials(self) -> Keys:
        self.asked += 1
        self.may_answer.wait(10)
        if self.error is not None:
            raise self.error
        return SimpleNamespace(access_key=f"key {self.asked}", secret_key="s", token=None)


def credentials(source: CredentialSource | None, failure: Exception | None = None) -> AwsCredentials:
    def find(_: str | None) -> CredentialSource | None:
        if failure is not None:
            raise failure
        return source

    return AwsCredentials("cloud", None, find=find)


async def settled(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in a thread
            await asyncio.sleep(0.001)


@in_event_loop
async def test_credentials_are_found_once_and_kept() -> None:
    source = Expiring()
    kept = credentials(source)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(kept.current()) for _ in range(5)]
    assert {task.result().access_key for task in waiting} == {"key 1"}
    assert (await kept.current()).access_key == "key 1"
    assert source.asked == 1


@in_event_loop
async def test_credentials_are_renewed_in_background() -> None:
    source = Expiring()
    kept = credentials(source)
    await kept.current()
    source.left_s = 600
    source.may_answer.clear()
    async with asyncio.timeout(10):
        assert (await kept.current()).access_key == "key 1"
        assert (await kept.current()).access_key == "key 1"
    await settled(lambda: source.asked == 2)
    source.left_s = 3600
    source.may_answer.set()
    await settled(lambda: kept._keys is not None and kept._keys.access_key == "key 2")
    assert source.asked == 2


@in_event_loop
async def test_expired_credentials_are_waited_for() -> None:
    source = Expiring()
    kept = credentials(source)
    await kept.current()
    source.left_s = 5
    assert (await kept.current()).access_key == "key 2"


@in_event_loop
async def test_failed_renewal_matters_only_after_expiry() -> None:
    source = Expiring()
    kept = credentials(source)
    await kept.current()
    source.left_s, source.error = 600, RuntimeError("still expired")
    assert (await kept.current()).access_key == "key 1"
    await settled(lambda: kept._failed is not None)
    assert (await kept.current()).access_key == "key 1"
    source.left_s = 1
    with pytest.raises(LlmRefused, match="expired: renew them"):
        await kept.current()
    assert source.asked == 2  # not once per turn


@in_event_loop
async def test_wait_for_slow_source_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_credentials, "FETCH_TIMEOUT_S", 0.05)
    source = Expiring()
    source.may_answer.clear()
    kept = credentials(source)
    with pytest.raises(LlmUnreachable, match=r"no AWS credentials within 0\.05 s"):
        await kept.current()
    monkeypatch.setattr(aws_credentials, "FETCH_TIMEOUT_S", 3600)
    async with asyncio.timeout(5):
        with pytest.raises(LlmUnreachable, match="no AWS credentials"):
            await kept.current()  # no further turn waits for the hanging source
    source.may_answer.set()
    await settled(lambda: kept._keys is not None)
    assert (await kept.current()).access_key == "key 1"
    assert source.asked == 1
    kept.forget()
    assert (await kept.current()).access_key == "key 2"  # the source answers again and is used at once


@in_event_loop
async def test_cancelled_turn_leaves_lookup_running() -> None:
    source = Expiring()
    source.may_answer.clear()
    kept = credentials(source)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await kept.current()
    source.may_answer.set()
    assert (await kept.current()).access_key == "key 1"


@pytest.mark.parametrize(
    ("failure", "expected_text"),
    [
        (None, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role"),
        (OSError("no"), r"could not get its AWS credentials \(OSError\)"),
    ],
    ids=["none found", "look-up failed"],
)
@in_event_loop
async def test_missing_credentials_are_not_looked_up_each_turn(failure: Exception | None, expected_text: str) -> None:
    kept = credentials(None, failure)
    errors = []
    for _ in range(2):
        with pytest.raises(LlmRefused, match=expected_text) as caught:
            await kept.current()
        errors.append(caught.value)
    assert errors[0] is not errors[1]


# botocore's own chain.


def first_keys(profile: str | None = None) -> Keys:
    async def main() -> Keys:
        return await AwsCredentials("cloud", profile).current()

    return asyncio.run(main())


def test_credentials_from_environment_and_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "[work]\naws_access_key_id = id2\naws_secret_access_key = secret2\naws_session_token = token2\n"
    (tmp_path / "credentials").write_text(text, encoding="utf-8")
    keys = first_keys("work")
    assert (keys.access_key, keys.secret_key, keys.token) == ("id2", "secret2", "token2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert first_keys().access_key == KEY_ID
    assert first_keys("work").access_key == "id2"


@pytest.mark.parametrize(
    ("profile", "config", "expected_text"),
    [
        ("nobody", "", "names a profile that is not in ~/.aws"),
        ("a", "[profile a]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = nobody\n", "could not get its AWS"),
        ("a", "[profile a\n", "cannot be read"),
        ("a", "[profile a]\naws_access_key_id = x\n", "has only half of a key"),
    ],
    ids=["unknown profile", "incomplete role", "damaged file", "half a key"],
)
def test_unusable_profile_is_reported(tmp_path: Path, profile: str, config: str, expected_text: str) -> None:
    (tmp_path / "config").write_text(config, encoding="utf-8")
    with pytest.raises(LlmRefused, match=expected_text):
        first_keys(profile)


def test_missing_credentials_are_reported() -> None:
    with pytest.raises(LlmRefused, match="set AWS_ACCESS_KEY_ID"):
        first_keys()


@in_event_loop
async def test_credentials_from_container(monkeypatch: pytest.MonkeyPatch) -> None:
    expires = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    found = {"AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": expires}
    async with serving(status(200, {})) as server:
        server.models = status(200, found)
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/role")
        kept = AwsCredentials("cloud", None)
        assert ((await kept.current()).access_key, (await kept.current()).token) == (KEY_ID, TOKEN)
        assert len(server.seen) == 1


@in_event_loop
async def test_silent_container_does_not_block_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_credentials, "FETCH_TIMEOUT_S", 0.1)
    async with serving(status(200, {})) as server:
        server.models = (Wait(5),)
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/role")
        async with asyncio.timeout(1):
            with pytest.raises(LlmUnreachable):
                await AwsCredentials("cloud", None).current()


@in_event_loop
async def test_expired_keys_are_read_again(tmp_path: Path) -> None:
    """The credentials file is renewed while the program runs."""

    def write(key_id: str) -> None:
        text = f"[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {SECRET}\n"
        (tmp_path / "credentials").write_text(text, encoding="utf-8")

    write(KEY_ID)
    async with serving_aws(refusal(403, "ExpiredTokenException", message="expired"), HI) as server:
        chat = BedrockChat("cloud", "m", region=REGION, url=server.url)
        with pytest.raises(LlmError, match="credentials that expired"):
            await ask(chat)
        write("AKIDOTHER")
        with pytest.raises(LlmError, match="does not accept its AWS credentials"):
            await ask(chat)
        write(KEY_ID)
        assert await ask(chat)
        await chat.aclose()
