"""ALSA's messages about underruns and missing devices never reach standard error."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ALSA")

OPEN = """
import ctypes, sys
try:
    alsa = ctypes.CDLL("libasound.so.2")
except OSError:
    sys.exit(77)
if sys.argv[1] == "silenced":
    from audio.portaudio.listing import silence_alsa
    silence_alsa(sys.platform)
alsa.snd_pcm_open(ctypes.byref(ctypes.c_void_p()), b"no-such-device", 0, 0)
"""


def printed(how: str) -> str:
    done = subprocess.run([sys.executable, "-c", OPEN, how], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("libasound is not installed")
    assert done.returncode == 0
    return done.stderr


def test_alsa_prints_nothing_once_silenced() -> None:
    assert "no-such-device" in printed("as it is")
    assert printed("silenced") == ""
