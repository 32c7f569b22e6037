"""Runs some of the conversations of bench.under_load.load in a process of its own, and prints a line for each turn.

python -m bench.under_load.load_client --url ws://127.0.0.1:8765/v1/realtime --first 0 --sessions 8 --of 16 --turns 6
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import Model
from bench.conversations.recordings import Recording, chosen, read_recordings
from bench.serving.rows import Row
from bench.serving.scenarios import ANSWERED_WITHIN_S, Stage, conversation
from bench.under_load.load_figures import LoadTurn, turn_line


async def converse(
    url: str,
    recordings: Sequence[Recording],
    log: Path,
    sessions: Sequence[int],
    *,
    of: int,
    stagger_s: float,
    answered_within_s: float = ANSWERED_WITHIN_S,
) -> list[LoadTurn]:
    """Runs these conversations at once.

    Args:
        url: URL of the server.
        recordings: What each says, beginning at another place.
        log: The language model's log.
        sessions: Indexes of the conversations.
        of: Number of conversations of all processes.
        stagger_s: Time between the beginnings of two conversations.
        answered_within_s: Time limit of an answer.
    """
    model = Model("", log)

    async def run_session(session: int) -> list[LoadTurn]:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(session * stagger_s)
        first = session * len(recordings) // of
        began_s = loop.time()
        stage = Stage(url, model, LlmBehaviour(), "sessions", session=session, answered_within_s=answered_within_s)
        rows = await conversation(stage, [*recordings[first:], *recordings[:first]])
        return [_turn(row, loop.time() - began_s) for row in rows]

    async with asyncio.TaskGroup() as people:
        tasks = [people.create_task(run_session(session)) for session in sessions]
    return [turn for task in tasks for turn in task.result()]


def _turn(row: Row, connected_s: float) -> LoadTurn:
    return LoadTurn(row.session, row.latency_ms, row.cut_in, row.lost, row.late_ms, round(connected_s, 1))


def main() -> None:
    """Runs the conversations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True, help="log of the controlled language model")
    parser.add_argument("--first", type=int, required=True, help="index of the first conversation")
    parser.add_argument("--sessions", type=int, required=True, help="number of conversations of this process")
    parser.add_argument("--of", type=int, required=True, help="number of conversations of all processes")
    parser.add_argument("--turns", type=int, required=True)
    parser.add_argument("--stagger-s", type=float, required=True)
    parser.add_argument("--answered-within-s", type=float, default=ANSWERED_WITHIN_S)
    options = parser.parse_args()
    plain = chosen(read_recordings(options.manifest), "plain", options.turns)
    recordings = [plain[number % len(plain)] for number in range(options.turns)]
    sessions = range(options.first, options.first + options.sessions)
    for turn in asyncio.run(
        converse(
            options.url,
            recordings,
            options.log,
            sessions,
            of=options.of,
            stagger_s=options.stagger_s,
            answered_within_s=options.answered_within_s,
        )
    ):
        print(turn_line(turn))


if __name__ == "__main__":
    main()
