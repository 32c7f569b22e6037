"""Synthesizes texts with Pico: requests on stdin, sound on stdout. Run as its own process, by the path of this file.

The library holds the GIL and cannot be stopped inside a text, so it would stall every conversation of its process. A
request is a line of JSON: [voice, speed, text]. The answer is a little-endian int32 and that many bytes of int16 sound
at 16 kHz; -1 and no sound if Pico refuses the text. The argument is the processor time in seconds that a text may take
until the system ends the process. The process ends with its input, so it never outlives its parent.
It imports no module of Repartee, which keeps it at 15 MB and its start at 0.1 s.
"""

import json
import signal
import struct
import sys
from contextlib import suppress

MEMORY_BYTES = 512 << 20


def main() -> None:
    """Answers requests until the input ends."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to the whole terminal: the parent decides
    _limit_resources()
    from py_nanotts import NanoTTS  # noqa: PLC0415 - within the limits

    library, limit_s = NanoTTS(), float(sys.argv[1])
    _answer(b"")  # it is loaded
    for line in sys.stdin.buffer:
        voice, speed, text = json.loads(line)
        _limit_computing(limit_s)
        try:
            pcm = library.speak(text, voice=voice, speed=speed)
        except RuntimeError:
            pcm = None
        _limit_computing(0)
        _answer(pcm)


def _answer(pcm: bytes | None) -> None:
    sys.stdout.buffer.write(struct.pack("<i", -1 if pcm is None else len(pcm)) + (pcm or b""))
    sys.stdout.buffer.flush()


def _limit_computing(limit_s: float) -> None:
    """Lets the system end the process after so much more processor time; 0: never."""
    with suppress(AttributeError):  # Windows: only the parent's hang detection
        signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)


def _limit_resources() -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):  # the system may refuse one
            resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent has closed the pipe
        main()
