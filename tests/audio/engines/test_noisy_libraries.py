"""Library output is kept away from the screen."""

import subprocess
import sys

PROGRAM = """
import os, sys
from audio.noisy_libraries import hushed
os.write(2, b"before ")
with hushed() as screen:
    os.write(2, b"noise ")
    screen.write("screen ")
    screen.flush()
    sys.stderr.write("python ")
os.write(2, b"after")
"""


def test_only_library_output_is_suppressed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stderr == "before screen python after"


def test_library_output_stays_suppressed_until_exit() -> None:
    program = PROGRAM.replace("hushed()", "hushed(lambda: True)") + "sys.stderr.write('words')\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "before screen python words"


def test_missing_standard_error_is_accepted() -> None:
    program = (
        "from audio.noisy_libraries import hushed\nwith hushed() as screen:\n    screen.write('x')\nprint('went on')"
    )
    command = ["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "went on\n"
