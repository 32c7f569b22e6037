"""Measures `repartee read`: when it is first heard, and when all parts of a document are summarized.

    python -m bench.language_models.documents [--parts 12] [--ttft-ms 100 500] [--parallel 1 4 8]

The language model is `bench.controlled_llm` on loopback: a first token after the given time, then 50 tokens/s. The
voice is espeak-ng. Times count from the request for the reading; loading is not counted. Prints one table.
"""

import argparse
import asyncio
import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assistant.commands.read.command import reading_settings, without_microphone
from assistant.commands.read.opening import ReadingOpening
from assistant.commands.read.written import WrittenConversation
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.config.settings import Settings, TraceSection, TtsSection
from assistant.config.tool_settings import DocumentsSection
from assistant.documents import Document, SplitDocument
from assistant.documents.reading import reading_of
from assistant.documents.splitting import split
from assistant.pipeline.session import Session
from audio.speaker import WavSpeaker
from audio.units import Pcm
from bench.controlled_llm import LlmBehaviour
from bench.language_models.failover import served

SUMMARY = (
    "This part of the guide explains in one sentence how the program is installed and what it needs. "
    "After that it shows the first commands, and says where the settings are kept."
)
PART_CHARS = 500
TICK_S = 0.01


@dataclass(frozen=True, slots=True)
class ReadingFigures:
    """Results of one reading, in ms after the request.

    Attributes:
        sound_ms: The first audible sample.
        summary_ms: The first token of the first summary.
        all_ms: The end of the last summary.
    """

    ttft_ms: float
    parallel: int
    sound_ms: float
    summary_ms: float
    all_ms: float


@dataclass(slots=True)
class _MeasuredOpening(ReadingOpening):
    """Notes when the reading was asked for."""

    asked_s: float = 0.0

    def begin(self, session: Session) -> None:
        """See the base class."""
        self.asked_s = asyncio.get_running_loop().time()
        ReadingOpening.begin(self, session)


@dataclass(slots=True)
class _MeasuredSpeaker:
    """Implements `Output`: a simulated card. Notes the loop time of the first audible sample."""

    speaker: WavSpeaker = field(init=False)
    heard_s: float | None = None

    def __post_init__(self) -> None:
        self.speaker = WavSpeaker(self._write)

    def counters(self) -> dict[str, int]:
        """See `Output`."""
        return {}

    def _write(self, at_s: float, pcm: Pcm) -> None:
        if self.heard_s is None and pcm.any() and self.speaker.begun_s is not None:
            self.heard_s = self.speaker.begun_s + at_s


def document(parts: int) -> Document:
    """Returns a text that is split into this number of parts of `PART_CHARS` characters."""
    return Document("guide.txt", "\n\n".join("Word " * (PART_CHARS // 5 - 2) + "end." for _ in range(parts)))


async def read(settings: Settings, parts: int) -> tuple[float, float, float]:
    """Reads a document and returns `sound_ms`, `summary_ms` and `all_ms`. Ends as soon as all are known."""
    read_document = SplitDocument("guide.txt", split([document(parts)], PART_CHARS))
    reading = reading_of([read_document], settings)
    assert len(reading.selection.asked) == parts
    opening, output = _MeasuredOpening(reading, 0), _MeasuredSpeaker()
    conversation = WrittenConversation(settings, {}, opening, output, once=True, out=io.StringIO(), typed=None)
    async with asyncio.TaskGroup() as tasks:
        holding = tasks.create_task(conversation.hold(), name="conversation")
        while len(reading.ended) < parts or output.heard_s is None:  # noqa: ASYNC110 - there is no event for both
            await asyncio.sleep(TICK_S)
        holding.cancel()
    first = next(part for part in reading.ended if part.number == 1)
    assert first.first_token_s is not None
    ends_s = (output.heard_s, first.first_token_s, max(part.ended_s for part in reading.ended))
    sound_ms, summary_ms, all_ms = ((end_s - opening.asked_s) * 1000 for end_s in ends_s)
    return sound_ms, summary_ms, all_ms


async def compare(parts: int, ttfts_ms: Sequence[float], parallels: Sequence[int]) -> list[ReadingFigures]:
    """Returns the figures of every combination."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for ttft_ms in ttfts_ms:
            async with served([LlmBehaviour(ttft_ms, 50.0, SUMMARY)]) as (server,):
                near = EndpointSection(name="near", url=server.url, model="controlled")
                base = Settings(
                    llm=LlmSection(endpoints=(near,)),
                    tts=TtsSection(engine="espeak-ng"),
                    trace=TraceSection(dir=Path(folder)),
                )
                settings = without_microphone(reading_settings(base))
                for parallel in parallels:
                    section = DocumentsSection(part_chars=PART_CHARS, max_parallel=parallel, max_parts=parts)
                    figures = await read(replace(settings, documents=section), parts)
                    results.append(ReadingFigures(ttft_ms, parallel, *figures))
    return results


def table(figures: Sequence[ReadingFigures]) -> str:
    """Returns the table in markdown."""
    lines = [
        "| first token, ms | at once | first sound, ms | first summary, ms | all summaries, s |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {figure.ttft_ms:.0f} | {figure.parallel} | {figure.sound_ms:.0f} | {figure.summary_ms:.0f} "
        f"| {figure.all_ms / 1000:.1f} |"
        for figure in figures
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=12)
    parser.add_argument("--ttft-ms", type=float, nargs="+", default=[100.0, 500.0])
    parser.add_argument("--parallel", type=int, nargs="+", default=[1, 4, 8])
    options = parser.parse_args()
    print(table(asyncio.run(compare(options.parts, options.ttft_ms, options.parallel))))


if __name__ == "__main__":
    main()
