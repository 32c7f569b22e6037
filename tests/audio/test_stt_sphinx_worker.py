"""Tests the messages that the recognizer's process sends, without a decoder."""

import pytest

from audio.stt import sphinx_worker
from audio.stt.sphinx_pair import PairResult
from audio.stt.sphinx_wire import Kind, LoadOrder, LoadReport, SphinxMessage, pack_order, unpack_heard
from audio.stt.sphinx_worker import Worker
from audio.units import MIC_RATE_HZ

TENTH = bytes(2 * (MIC_RATE_HZ // 10))


class CountingPair:
    """Recognizes one word for every 100 ms."""

    cmn = ""

    def __init__(self, _commands: object, _cmn: str) -> None:
        self.tenths = 0

    def report(self, version: str) -> LoadReport:
        return LoadReport(version=version, kept=0, left_out=0, missing=[])

    def start(self) -> None:
        self.tenths = 0

    def feed(self, pcm: bytes) -> None:
        self.tenths += len(pcm) // len(TENTH)

    def result(self) -> PairResult:
        return PairResult(" ".join(["word"] * self.tenths), low_confidence=False)

    def drop(self) -> None:
        pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[SphinxMessage]:
    monkeypatch.setattr(sphinx_worker, "SphinxPair", CountingPair)
    return []


def opened(sent: list[SphinxMessage]) -> Worker:
    worker = Worker(sent.append)
    worker.take(SphinxMessage(Kind.LOAD, payload=pack_order(LoadOrder(commands=[], cmn=""))))
    worker.take(SphinxMessage(Kind.OPEN, 1))
    sent.clear()
    return worker


def test_interim_transcript_is_sent_every_100_ms(sent: list[SphinxMessage]) -> None:
    worker = opened(sent)
    for _ in range(3):
        worker.take(SphinxMessage(Kind.AUDIO, 1, payload=TENTH))
    assert [unpack_heard(message.payload).text for message in sent] == ["word", "word word", "word word word"]


def test_delayed_worker_sends_fewer_interim_and_complete_final_transcripts(
    sent: list[SphinxMessage],
) -> None:
    worker = opened(sent)
    for _ in range(3):
        worker.take(SphinxMessage(Kind.AUDIO, 1, payload=TENTH), behind=True)
    assert sent == []
    worker.take(SphinxMessage(Kind.WORDS, 1, 7))
    assert [(message.request, unpack_heard(message.payload).text) for message in sent] == [(7, "word word word")]
    for _ in range(12):
        worker.take(SphinxMessage(Kind.AUDIO, 1, payload=TENTH), behind=True)
    assert [len(unpack_heard(message.payload).text.split()) for message in sent[1:]] == [8, 13]


def test_worker_that_caught_up_sends_interim_transcripts_again(sent: list[SphinxMessage]) -> None:
    worker = opened(sent)
    worker.take(SphinxMessage(Kind.AUDIO, 1, payload=TENTH), behind=True)
    worker.take(SphinxMessage(Kind.AUDIO, 1, payload=TENTH[:-2]))
    assert [unpack_heard(message.payload).samples for message in sent] == [2 * (MIC_RATE_HZ // 10) - 1]
