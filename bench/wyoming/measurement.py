"""One measurement, and its file."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Part = Literal["stt file", "stt interim", "stt live", "tts", "tts live"]
"""Kind of request: of wyoming-bench without and with pauses between the chunks; of this bench in real time."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of one request, the word errors of one run, or the processor time of one part.

    Attributes:
        server: Name of the program.
        part: What is measured.
        mode: `streaming`, `non_streaming`, or empty.
        sample: Name of the recording or text; `words` for word errors, `processor` for processor time.
        total_ms: Until the transcript or the last sound; live: from the end of the sound or text.
        first_ms: Until the first words or the first sound.
        audio_s: Sound that was sent or made.
        errors: Word errors.
        words: Words of the transcripts.
        processor_s: Processor time of the server with its processes.
    """

    server: str
    part: Part
    mode: str
    sample: str
    total_ms: float | None = None
    first_ms: float | None = None
    audio_s: float = 0.0
    errors: int = 0
    words: int = 0
    processor_s: float | None = None


def append_rows(path: Path, rows: Iterable[Measurement]) -> None:
    """Appends measurements to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(row)) + "\n" for row in rows)


def read_rows(path: Path) -> list[Measurement]:
    """Returns the measurements of a file."""
    return [Measurement(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
