"""Where the time goes between `repartee talk` and "listening": python -m bench.start [--runs N]

Prints what the imports of the command cost (python -X importtime), the largest first, and how long the whole command
takes until it says "ready" in lines. The latter needs a sound card; without one it is left out, and said.
"""

import argparse
import re
import subprocess
import sys
import time

COMMAND = "import assistant.cli, rich.console, assistant.config, assistant.talk, assistant.talk_screen"
SHOWN = 12
READY_WITHIN_S = 30.0

_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)")


def imports_ms() -> list[tuple[str, float]]:
    """Modules and what each cost with all it imports, in ms, the costliest first."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", COMMAND], capture_output=True, text=True, check=True
    )
    found = [(match[4], int(match[2]) / 1000) for match in map(_LINE.match, done.stderr.splitlines()) if match]
    return sorted(found, key=lambda one: -one[1])


def ready_s() -> float | None:
    """From the command to "ready"; None where it does not come that far."""
    began_s = time.monotonic()
    command = [sys.executable, "-c", "from assistant.cli import main; main()", "talk", "--plain"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("ready:"):
                    return time.monotonic() - began_s
                if time.monotonic() - began_s > READY_WITHIN_S:
                    return None
        finally:
            process.kill()
    return None


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of the whole command")
    runs = parser.parse_args().runs
    print("imports, ms, with all that each imports")
    for name, ms in imports_ms()[:SHOWN]:
        print(f"{ms:8.0f}  {name}")
    times = [taken for _ in range(runs) if (taken := ready_s()) is not None]
    if times:
        print(f'command to "ready": {", ".join(f"{taken:.2f}" for taken in times)} s')
    else:
        print('command to "ready": not measured, there is no sound card (`repartee devices`)')


if __name__ == "__main__":
    main()
