"""The matrix of clients and features agrees with the programs, the locks and the page."""

import json
import re
from pathlib import Path

import pytest
from clients.environments import CLIENTS
from clients.expectations import PAGE, TABLE, expected_answers, features_of, page_with, pinned, rendered, titled
from clients.hearing import QuestionRecognizer
from clients.running import CLIENT_PROGRAMS, Client
from soxr import resample
from support.servers.session_server import WHAT_TIME, recording

from audio.stt import SegmentId
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ

EACH_CLIENT = pytest.mark.parametrize("client", CLIENT_PROGRAMS, ids=lambda client: client.name)


def test_page_shows_expected_answers() -> None:
    table = rendered({client.name: expected_answers(client) for client in CLIENT_PROGRAMS})
    assert PAGE.read_text(encoding="utf-8") == page_with(table), "run: python -m tests.clients.matrix"


def test_table_names_every_client_and_feature() -> None:
    assert set(TABLE["clients"]) == {client.name for client in CLIENT_PROGRAMS}
    used = {feature for client in CLIENT_PROGRAMS for feature in features_of(client)}
    assert used == set(TABLE["features"])
    answers = {answer for client in CLIENT_PROGRAMS for answer in expected_answers(client).values()}
    assert answers <= {"works", "refused", "missing"}
    for client, exceptions in TABLE.get("exceptions", {}).items():
        assert client in TABLE["clients"]
        assert set(exceptions) <= set(TABLE["features"])


@EACH_CLIENT
def test_every_client_uses_common_features(client: Client) -> None:
    common = {"text", "speech", "stalled network", "function call", "interruption", "session settings"}
    assert common - set(TABLE["clients"][client.name].get("lacks", ())) <= set(features_of(client))


@EACH_CLIENT
def test_title_names_pinned_version(client: Client) -> None:
    package, version = titled(client).replace(",", "").split(" ")[:2]
    assert pinned(CLIENTS / client.environment)[package] == version


@pytest.mark.parametrize("lock", sorted(CLIENTS.glob("*/requirements.lock")), ids=lambda lock: lock.parent.name)
def test_python_locks_have_hashes_and_no_registry(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert not re.search(r"://|^-|@ |^\s*#", text, re.MULTILINE)
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert [block.split("\n")[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_npm_lock_has_hashes_and_no_registry() -> None:
    text = (CLIENTS / "javascript" / "package-lock.json").read_text(encoding="utf-8")
    packages = {name: package for name, package in json.loads(text)["packages"].items() if name}
    for package in packages.values():
        package.pop("funding", None)
    assert "://" not in json.dumps(packages)
    assert len(packages) > 10
    assert [name for name, package in packages.items() if not package.get("integrity")] == []


@pytest.mark.parametrize(("lost_s", "words"), [(0.0, "what time is it"), (0.2, "what time"), (2.0, "")])
def test_words_are_missing_if_sound_is_missing(lost_s: float, words: str) -> None:
    sound = resample(recording(WHAT_TIME), REPLY_RATE_HZ, MIC_RATE_HZ)
    recognizer, segment = QuestionRecognizer(), SegmentId(0)
    stream = recognizer.open(segment, lambda _interim: None)
    stream.feed(sound[: MIC_RATE_HZ * 3 // 4])
    stream.feed(sound[int(MIC_RATE_HZ * (0.75 + lost_s)) :])
    assert recognizer.transcript_of(segment) == words
