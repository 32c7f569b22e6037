"""Writes traces to disk, one line for each finished turn, in a separate task, so that no turn waits for the disk."""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from assistant.support.background_writer import BackgroundWriter, append_whole
from assistant.support.disk_threads import TRACE_THREADS
from assistant.trace.folder import KEEP_ALL, RetentionLimits, remove_expired
from assistant.trace.record import TurnRecord
from audio.private_file import make_private_folder, open_private


class TraceFile:
    """Appends records to one file per conversation. Not thread-safe: call it on the event loop.

    It accesses the disk in a thread.

    Attributes:
        path: The file, created with its first record.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        report_problem: Callable[[str], None],
        limits: RetentionLimits = KEEP_ALL,
        *,
        count_lost: Callable[[int, str], None] | None = None,
        report_lost: Callable[[str], None] | None = None,
    ) -> None:
        """Creates the writer of `directory`/`name`.jsonl.

        Args:
            directory: Folder of traces.
            name: Name of the file, without its suffix.
            report_problem: Receives one sentence when the disk fails.
            limits: Traces beyond them are removed from `directory` after the first record.
            count_lost: Called when records are lost, with their number and the reason.
            report_lost: Receives the sentences about lost records, instead of `report_problem`.
        """
        self.path = directory / f"{name}.jsonl"
        self._report_problem = report_problem
        self._limits = limits
        self._removed_old = limits == KEEP_ALL
        self._writer: BackgroundWriter[str] = BackgroundWriter(
            self.path,
            # Not a bound method: a thread keeps its last callable for a while, and with it would keep the conversation.
            partial(_append, self.path),
            report_problem,
            threads=TRACE_THREADS,
            waits="writing is retried until the conversation ends. Check trace.dir and the free space.",
            lost=lambda turns: f"{'a turn is' if turns == 1 else f'{turns} turns are'} not in the trace.",
            count_lost=count_lost,
            report_lost=report_lost,
            afterwards=self._remove_old,
        )

    @property
    def dropped(self) -> int:
        """Number of lost records: too many waited, or the disk did not accept them in the end."""
        return self._writer.dropped

    def queue_record(self, record: TurnRecord) -> None:
        """Queues a record. Never blocks."""
        self._writer.queue_entries([record.to_json()])

    async def run(self) -> None:
        """Writes queued records until it is cancelled, and then the remaining ones."""
        await self._writer.run()

    async def _remove_old(self) -> None:
        """Removes old traces, once. The thread continues even if its caller is cancelled."""
        if self._removed_old:
            return
        self._removed_old = True
        now_s = datetime.now(UTC).timestamp()
        try:
            await asyncio.get_running_loop().run_in_executor(
                TRACE_THREADS, remove_expired, self.path, self._limits, now_s
            )
        except OSError as error:
            self._report_problem(f"{self.path.parent}: old traces cannot be removed ({error.strerror or error}).")


def _append(path: Path, lines: Sequence[str]) -> None:
    """Appends whole lines or nothing; creates the file and folder if missing. Raises OSError."""
    make_private_folder(path.parent)
    file = open_private(path, os.O_WRONLY | os.O_APPEND)
    try:
        append_whole(file, "".join(f"{line}\n" for line in lines).encode())
    finally:
        os.close(file)
