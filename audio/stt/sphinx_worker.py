"""The process in which pocketsphinx decodes: messages on stdin, messages on stdout (sphinx_wire).

Apart from the conversation because the decoder holds the interpreter lock. It ends when its stdin closes, so that
nothing is left behind by a parent that died.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from importlib.metadata import version

from audio.stt.sphinx_pair import PairResult, SphinxPair
from audio.stt.sphinx_wire import (
    HeardPayload,
    Kind,
    SphinxMessage,
    Unframer,
    frame,
    pack_heard,
    pack_report,
    unpack_order,
)
from audio.units import MIC_RATE_HZ

_PARTIAL_EVERY_SAMPLES = MIC_RATE_HZ // 10
_PARTIAL_WHILE_BEHIND_EVERY_SAMPLES = MIC_RATE_HZ // 2
_WARM_UP = bytes(MIC_RATE_HZ)  # half a second of silence: touches the tables once
_READ_BYTES = 65_536
_SAMPLE_BYTES = 2


class Worker:
    """What one process does with the messages, in order."""

    def __init__(self, send: Callable[[SphinxMessage], None]) -> None:
        self._send = send
        self._pair: SphinxPair | None = None
        self._opening = 0
        self._samples = 0
        self._reported = 0
        self._consumed = 0

    def take(self, message: SphinxMessage, *, behind: bool = False) -> None:
        """Do what a message says. Raises whatever the decoder raises.

        `behind`: others have come already; then partial words are told seldom, for they take the time of the final
        ones.
        """
        if message.kind is Kind.LOAD:
            self._load(message)
            return
        if self._pair is None:
            raise RuntimeError("the first message must be LOAD")
        if message.kind is Kind.OPEN:
            self._end(learn=False)
            self._pair.start()
            self._opening, self._samples, self._reported = message.opening, 0, 0
        elif message.kind is Kind.AUDIO:
            self._audio(message, behind=behind)
        elif message.kind is Kind.RENEW:
            self._end(learn=False)
            self._pair.forget()
            nothing_learned = HeardPayload(self._consumed, 0, low_confidence=False, text="")
            self._send(SphinxMessage(Kind.CLOSED, self._opening, payload=pack_heard(nothing_learned)))
        elif message.opening != self._opening:
            return  # of a segment that has ended
        elif message.kind is Kind.WORDS:
            self._tell(message.request)
        else:
            self._end(learn=message.kind is Kind.CLOSE)

    def _load(self, message: SphinxMessage) -> None:
        order = unpack_order(message.payload)
        pair = SphinxPair(order["commands"], order["cmn"])
        pair.start()
        pair.feed(_WARM_UP)
        pair.result()
        pair.drop()
        self._pair = pair
        self._send(SphinxMessage(Kind.LOADED, payload=pack_report(pair.report(version("pocketsphinx")))))

    def _audio(self, message: SphinxMessage, *, behind: bool) -> None:
        assert self._pair is not None
        samples = len(message.payload) // _SAMPLE_BYTES
        self._consumed += samples
        if message.opening != self._opening:
            return
        self._pair.feed(message.payload)
        self._samples += samples
        every = _PARTIAL_WHILE_BEHIND_EVERY_SAMPLES if behind else _PARTIAL_EVERY_SAMPLES
        if self._samples - self._reported >= every:
            self._tell(request=0)

    def _tell(self, request: int) -> None:
        assert self._pair is not None
        result: PairResult = self._pair.result()
        self._reported = self._samples
        heard = HeardPayload(self._consumed, self._samples, result.low_confidence, result.text)
        self._send(SphinxMessage(Kind.HEARD, self._opening, request, pack_heard(heard)))

    def _end(self, *, learn: bool) -> None:
        if not self._opening or self._pair is None:
            return
        # A segment without words is noise: it says nothing about how a voice sounds on this microphone.
        if learn and self._pair.result().text:
            self._pair.finish()
        else:
            self._pair.drop()
        heard = HeardPayload(self._consumed, self._samples, low_confidence=False, text=self._pair.cmn)
        self._send(SphinxMessage(Kind.CLOSED, self._opening, payload=pack_heard(heard)))
        self._opening = 0


def main() -> None:
    """Serve until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes our stdin
    out = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what a C library prints must not come between the messages

    def send(message: SphinxMessage) -> None:
        data = memoryview(frame(message))
        while data:
            data = data[os.write(out, data) :]

    worker, unframer = Worker(send), Unframer()
    with contextlib.suppress(BrokenPipeError):  # the parent has gone
        try:
            while data := os.read(0, _READ_BYTES):
                messages = list(unframer.receive(data))
                for waiting, message in zip(range(len(messages) - 1, -1, -1), messages, strict=True):
                    worker.take(message, behind=waiting > 0)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  reported to the parent; its text may hold words, its type does not
            send(SphinxMessage(Kind.FAILED, payload=type(error).__name__.encode()))
            raise SystemExit(1) from None


if __name__ == "__main__":
    main()
