"""Traces for tests: one from the demo, and records of simulated conversations.

`PYTHONPATH=.:tests python tests/support/conversations/trace_samples.py` in the repository's root writes the golden
reports anew.
"""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.simulation import Simulation, Utterance

from assistant.trace_report import commands as trace_commands
from assistant.trace_report.reading import Record, read_records

RECORDINGS = Path(__file__).parents[2] / "assistant" / "recordings"
DEMO = RECORDINGS / "demo.jsonl"
"""The five turns of `repartee demo`: skills, pocketsphinx, espeak-ng; the fourth is interrupted."""

TIME = Utterance(1000, 1800, "what time is it")


def demo_records() -> list[Record]:
    """Returns the demo's records as they are read, with the present names."""
    return [dict(record) for record in read_records([DEMO], lambda _warning: None)]


def simulated_records(utterances: Sequence[Utterance], **more: object) -> list[Record]:
    """Returns the records of a simulated conversation."""
    simulation = Simulation(utterances, **more)  # type: ignore[arg-type]
    return [json.loads(record.to_json()) for record in simulation.run().records]


def slower(records: Sequence[Record], stage: str, by_ms: float) -> list[Record]:
    """Returns the same turns with one stage longer, so that the stages still add up."""
    copies: list[Record] = json.loads(json.dumps(list(records)))
    for record in copies:
        record["stages"][stage]["ms"] += by_ms
        record["response_latency_ms"] += by_ms
    return copies


def write_trace(path: Path, records: Sequence[Record]) -> Path:
    """Writes a trace of these records."""
    path.write_text("".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records), encoding="utf-8")
    return path


def printed(print_to: Callable[[Console], object], width: int = trace_commands.PIPE_COLUMNS) -> str:
    """Returns what a command prints in a pipe. Strips rich's trailing spaces."""
    text = io.StringIO()
    print_to(Console(file=text, highlight=False, width=width))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def goldens() -> dict[str, str]:
    """Returns what the commands print about the demo's turns, by file name."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(RECORDINGS)
        file = Path(DEMO.name)
        return {
            "demo.show.txt": printed(lambda console: trace_commands.show([file], None, console)),
            "demo.report.txt": printed(
                lambda console: trace_commands.report([file], trace_commands.ReportFormats(), console)
            ),
            "demo.compare.txt": printed(lambda console: trace_commands.compare(file, file, console)),
        }


if __name__ == "__main__":
    for name, text in goldens().items():
        (RECORDINGS / name).write_text(text, encoding="utf-8")
