"""Lists sound cards in a separate process.

    python -m audio.portaudio.device_watcher_process   writes the devices as one JSON line for each line it reads

PortAudio sees new devices only after ending all streams. This process has none, so the conversation's streams continue.
It ends when its input ends.
"""

import json
import sys

from audio.portaudio.faults import named
from audio.portaudio.listing import as_facts, fresh, load


def main() -> None:
    """Answers requests until the input ends."""
    for _ in sys.stdin:
        answer: dict[str, object]
        try:
            answer = {"devices": as_facts(fresh(load()))}
        except Exception as error:  # noqa: BLE001 - reported to the caller; silence would look like a hang
            answer = {"error": str(named(error))}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
