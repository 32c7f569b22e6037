"""numpy uses no threads of its own, unless requested."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

COUNTED = """
import repartee.cli
import audio.end_of_turn.smart_turn.network, numpy, os
audio.end_of_turn.smart_turn.network.log_mel(numpy.zeros(16_000, numpy.int16))
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize(("wanted", "threads"), [(None, 1), ("2", 2)], ids=["default", "variable set"])
def test_program_runs_without_blas_threads_by_default(wanted: str | None, threads: int) -> None:
    """BLAS threads spin after each product, on cores that the engines need."""
    if (os.cpu_count() or 1) < threads:
        pytest.skip("OpenBLAS takes no more threads than there are cores")
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment = {**kept, **({} if wanted is None else {"OPENBLAS_NUM_THREADS": wanted})}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == threads
