"""Speech to text by pocketsphinx: works offline and at once; understands the built-in commands, guesses the rest."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence

from audio.errors import EngineLoadError, SttError
from audio.stt import SegmentId, Transcript
from audio.stt.sphinx_process import SphinxProcess
from audio.stt.sphinx_wire import HeardPayload, Kind, LoadOrder, LoadReport, SphinxMessage
from audio.units import Pcm, Samples, samples_of_s

_log = logging.getLogger(__name__)


class PocketsphinxRecognizer:
    """One conversation's recognizer, in a process of its own. Implements `Recognizer`."""

    name = "pocketsphinx"

    def __init__(
        self,
        commands: Sequence[str],
        *,
        language: str = "en",
        start_timeout_s: float = 20.0,
        lane_s: float = 10.0,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            commands: Sentences to be understood exactly: lower-case words, contractions and numbers as spoken.
            language: Of the conversation; only English has a model.
            start_timeout_s: How long loading may take.
            lane_s: How much sound may wait to be decoded before the process counts as hanging. Five seconds may come at
                once, where a process was started in the midst of speech.
        """
        self._commands = tuple(commands)
        self._language = language
        self._start_timeout_s = start_timeout_s
        self._lane_samples = samples_of_s(lane_s)
        self._process: SphinxProcess | None = None
        self._stream: PocketsphinxStream | None = None
        self._openings = itertools.count(1)
        self._report: LoadReport | None = None
        self._cmn = ""

    @property
    def detail(self) -> str:
        """Version, model and commands; before `load` only that it is not loaded."""
        if self._report is None:
            return "pocketsphinx, not loaded"
        report = self._report
        line = f"pocketsphinx {report['version']}, US English, {report['kept']} commands, own process"
        if report["left_out"]:
            line += f"; {_left_out(report)}"
        return line

    @property
    def unknown(self) -> Sequence[str]:
        """The words of the commands that its dictionary lacks; empty before `load`."""
        return self._report["missing"] if self._report else ()

    @property
    def works(self) -> bool:
        """See `Recognizer.works`."""
        return self._process is not None and self._process.alive

    @property
    def pid(self) -> int:
        """The id of the process; 0 where there is none."""
        return 0 if self._process is None else self._process.pid

    async def load(self) -> None:
        """Start a process, or a new one for one that died or hangs. Raises EngineLoadError."""
        if self._language.partition("-")[0].lower() != "en":
            raise EngineLoadError(
                f"pocketsphinx understands English only, not {self._language!r}: "
                'use faster-whisper with a model for that language, or set assistant.language = "en".'
            )
        await self.aclose()
        try:
            async with asyncio.timeout(self._start_timeout_s):
                self._process = await SphinxProcess.start(self._on_heard, self._lane_samples)
                self._report = await self._process.load(LoadOrder(commands=list(self._commands), cmn=self._cmn))
        except TimeoutError:
            raise EngineLoadError(
                f"pocketsphinx did not load within {self._start_timeout_s:g} s: free some CPU or memory and try again."
            ) from None
        except (OSError, SttError) as error:
            raise EngineLoadError(
                f"pocketsphinx could not be loaded ({error}): install the package pocketsphinx again."
            ) from error
        finally:
            if self._report is None:
                await self.aclose()
        if self._report["left_out"]:
            _log.info("pocketsphinx: %s", _left_out(self._report))

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> "PocketsphinxStream":
        """Begin a segment; one still open is cancelled. Raises SttError where the process is dead."""
        if self._process is None:
            raise SttError("pocketsphinx is not loaded; load the recognizer first.")
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        stream = PocketsphinxStream(self._process, segment, next(self._openings), on_interim)
        self._stream = stream
        return stream

    def reset(self) -> bool:
        """See `Recognizer.reset`."""
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        if self._process is None or not self._process.alive:
            return False
        self._process.send(SphinxMessage(Kind.RENEW))
        self._process.cmn = self._cmn = ""
        return True

    async def aclose(self) -> None:
        """Kill the process; takes at most a second. Idempotent."""
        process, self._process, self._report, self._stream = self._process, None, None, None
        if process is not None:
            self._cmn = process.cmn or self._cmn
            await process.stop()

    def _on_heard(self, opening: int, heard: HeardPayload) -> None:
        if self._stream is not None:
            self._stream.progress(opening, heard)


class PocketsphinxStream:
    """One segment. Implements `RecognitionStream`."""

    def __init__(
        self, process: SphinxProcess, segment: SegmentId, opening: int, on_interim: Callable[[Transcript], None]
    ) -> None:
        """Begin; `opening` names it in the messages. Raises SttError."""
        self.segment = segment
        self._process = process
        self._opening = opening
        self._on_interim = on_interim
        self._latest = ""
        self._open = True
        process.send(SphinxMessage(Kind.OPEN, opening))

    def feed(self, pcm: Pcm) -> None:
        """Send samples to the process. Raises SttError where it is dead or its lane full, or after the end."""
        self._check_open()
        if len(pcm):  # of nothing its decoder dies
            self._process.send(SphinxMessage(Kind.AUDIO, self._opening, payload=pcm.tobytes()), samples=len(pcm))

    def probability_dip(self) -> None:
        """Nothing: its decoder runs along."""

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """The words of everything fed so far. Raises SttError where the process dies, or after the end."""
        self._check_open()
        return self._words(await self._process.ask(self._opening))

    def close(self) -> None:
        """End the segment; the decoder keeps what it learned about the microphone."""
        self._end(Kind.CLOSE)

    def cancel(self) -> None:
        """End the segment as if it had not been. Words already asked for still come."""
        self._end(Kind.CANCEL)

    def progress(self, opening: int, heard: HeardPayload) -> None:
        """The process tells the words so far of some opening; only a change of this one is a partial."""
        if self._open and opening == self._opening and heard.text != self._latest:
            self._latest = heard.text
            self._on_interim(self._words(heard))

    def _words(self, heard: HeardPayload) -> Transcript:
        return Transcript(self.segment, Samples(self.segment + heard.samples), heard.text, heard.low_confidence)

    def _check_open(self) -> None:
        if not self._open:
            raise SttError(f"Segment {self.segment} has ended; open a new one.")

    def _end(self, kind: Kind) -> None:
        if not self._open:
            return
        self._open = False
        if self._process.alive:
            self._process.send(SphinxMessage(kind, self._opening))


def _left_out(report: LoadReport) -> str:
    """Returns how many commands were left out, and the number of unknown words."""
    commands, words = report["left_out"], len(report["missing"])
    left_out = "1 command is" if commands == 1 else f"{commands} commands are"
    unknown = "1 word is" if words == 1 else f"{words} words are"
    return f"{left_out} left out because {unknown} not in its dictionary"
