"""Traces on disk: one line per finished turn, written aside so that no turn waits for a disk."""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from assistant.support.background_writer import BackgroundWriter, append_whole
from assistant.trace.folder import KEEP_ALL, RetentionLimits, tidy
from assistant.trace.record import TurnRecord
from audio.private_file import make_private_folder, open_private


class TraceFile:
    """Appends records to one file per conversation. Lives on the event loop; the disk is touched in a thread.

    Attributes:
        path: The file; made with its first record.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        complain: Callable[[str], None],
        limits: RetentionLimits = KEEP_ALL,
        *,
        count_lost: Callable[[int, str], None] | None = None,
        complain_lost: Callable[[str], None] | None = None,
    ) -> None:
        """A trace file `directory`/`name`.jsonl; `complain` hears one sentence when the disk fails.

        With its first record, traces beyond `limits` are removed from `directory`. `count_lost` is told whenever
        records are lost: how many, and why; `complain_lost` hears the sentences about them in place of `complain`.
        """
        self.path = directory / f"{name}.jsonl"
        self._complain = complain
        self._limits = limits
        self._tidied = limits == KEEP_ALL
        self._lines: BackgroundWriter[str] = BackgroundWriter(
            self.path,
            # Not of this object: a thread may hold on to what it ran for a moment, and to a whole conversation with it.
            partial(_append, self.path),
            complain,
            waits="it is tried again until the conversation ends. Check trace.dir and the free space.",
            lost=lambda turns: f"{'a turn is' if turns == 1 else f'{turns} turns are'} not in the trace.",
            count_lost=count_lost,
            complain_lost=complain_lost,
            afterwards=self._tidy,
        )

    @property
    def dropped(self) -> int:
        """Records lost, because too many waited or the disk did not take them in the end."""
        return self._lines.dropped

    def put(self, record: TurnRecord) -> None:
        """Have a record written; never blocks."""
        self._lines.put([record.to_json()])

    async def run(self) -> None:
        """The writer's task: writes what comes until it is cancelled, and then what is left."""
        await self._lines.run()

    async def _tidy(self) -> None:
        """Once. As with writing, the thread goes on if nobody waits any longer."""
        if self._tidied:
            return
        self._tidied = True
        now_s = datetime.now(UTC).timestamp()
        try:
            await asyncio.get_running_loop().run_in_executor(None, tidy, self.path, self._limits, now_s)
        except OSError as error:
            self._complain(f"{self.path.parent}: old traces cannot be removed ({error.strerror or error}).")


def _append(path: Path, lines: Sequence[str]) -> None:
    """Add whole lines, or nothing; a file or folder that is missing is made anew. Raises OSError."""
    make_private_folder(path.parent)
    file = open_private(path, os.O_WRONLY | os.O_APPEND)
    try:
        append_whole(file, "".join(f"{line}\n" for line in lines).encode())
    finally:
        os.close(file)
