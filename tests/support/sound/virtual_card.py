"""A sound card without hardware: a private PulseAudio server with a virtual microphone and a recordable loudspeaker.

    voice (null sink) ─▶ virtual_mic (source)      `speak` plays into it
    virtual_out (null sink) ─▶ its monitor         `Recorder` records it

Its folder is a separate runtime directory, and ALSA has a separate configuration file, so that PortAudio finds only
this server. The variables must be set before the sound libraries are loaded: tested programs run with `environ`, or in
a process whose variables were set by `set_up`.

A recorder keeps both sinks active. Otherwise a null sink renders as far ahead as it may, and its timing is irregular.
That is 50 ms if it need not rewind what it rendered; otherwise two seconds, which would delay every start.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import wave
from collections.abc import Generator, Mapping
from pathlib import Path

import numpy as np
import pytest

from audio.portaudio.owner import shared
from audio.units import Pcm

VOICE, MICROPHONE, SPEAKER = "voice", "virtual_mic", "virtual_out"
RECORDED_HZ = 48_000
_STARTED_WITHIN_S = 10.0
_PROGRAMS = ("pulseaudio", "pactl", "paplay", "parec")

_ALSA = f"""
</usr/share/alsa/alsa.conf>
pcm.!default {{ type pulse }}
ctl.!default {{ type pulse }}
pcm.{MICROPHONE} {{ type pulse device {MICROPHONE} }}
pcm.{SPEAKER} {{ type pulse device {SPEAKER} }}
"""

_CLIENT = "autospawn = no\nenable-shm = no\n"


def _sink(name: str) -> str:
    """Returns the arguments of a null sink; `norewinds` came with PulseAudio 15."""
    return f"sink_name={name} rate={RECORDED_HZ} channels=1 norewinds=1"


class VirtualCard:
    """The server and its card. All methods block; with a running loop, call them from a thread.

    Attributes:
        environ: Environment for a process that uses this card.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` must exist, be empty, and have a short path: socket paths are limited to 108 characters."""
        self._folder = folder
        self._socket = folder / "pulse" / "native"
        (folder / "pulse").mkdir(mode=0o700)
        (folder / "asound.conf").write_text(_ALSA)
        (folder / "client.conf").write_text(_CLIENT)
        folder.chmod(0o700)
        own = {
            "XDG_RUNTIME_DIR": folder,
            "XDG_CONFIG_HOME": folder,
            "PULSE_RUNTIME_PATH": folder / "pulse",
            "PULSE_STATE_PATH": folder,
            "PULSE_CLIENTCONFIG": folder / "client.conf",
            "PULSE_SERVER": f"unix:{self._socket}",
            "ALSA_CONFIG_PATH": folder / "asound.conf",
        }
        self.own_environ: Mapping[str, str] = {name: str(value) for name, value in own.items()}
        self.environ: Mapping[str, str] = {**os.environ, **self.own_environ}
        self._server: subprocess.Popen[bytes] | None = None
        self._keepers: list[subprocess.Popen[bytes]] = []

    # ---- the server ----

    def start(self) -> None:
        """Starts the server. It is ready when this returns."""
        self._socket.unlink(missing_ok=True)
        sinks = [f"module-null-sink {_sink(name)}" for name in (VOICE, SPEAKER)]
        loaded = [
            f"module-native-protocol-unix socket={self._socket} auth-anonymous=1",
            *sinks,
            f"module-remap-source source_name={MICROPHONE} master={VOICE}.monitor",
        ]
        command = [
            "pulseaudio",
            "-n",
            "--daemonize=no",
            "--use-pid-file=no",
            "--exit-idle-time=-1",
            "--disable-shm=yes",
        ]
        command += [word for module in loaded for word in ("-L", module)]
        with (self._folder / "log").open("w") as log:
            self._server = subprocess.Popen(command, env=self.environ, stdout=subprocess.DEVNULL, stderr=log)
        deadline_s = time.monotonic() + _STARTED_WITHIN_S
        while subprocess.run(["pactl", "info"], env=self.environ, capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline_s, (self._folder / "log").read_text()
            time.sleep(0.05)
        self.pactl("set-default-sink", SPEAKER)
        self.pactl("set-default-source", MICROPHONE)
        self._keep_awake(VOICE, SPEAKER)

    def kill(self) -> None:
        """Kills the server."""
        for keeper in self._keepers:
            keeper.kill()
            keeper.wait()
        self._keepers.clear()
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    def hang(self) -> None:
        """Makes the server unresponsive until `wake`."""
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Lets the server continue."""
        assert self._server is not None
        self._server.send_signal(signal.SIGCONT)

    def pactl(self, *words: str) -> str:
        """Sends a command to the server and returns its answer."""
        done = subprocess.run(
            ["pactl", *words], env=self.environ, capture_output=True, text=True, check=True, timeout=10
        )
        return done.stdout

    # ---- plugging ----

    def unplug(self, name: str) -> None:
        """Removes a sink, and with `voice` the microphone. What plays there is moved to the other one, if any."""
        for line in self.pactl("list", "short", "modules").splitlines():
            number, _, what = line.partition("\t")
            if f"sink_name={name} " in what:
                self.pactl("unload-module", number)

    def plug(self, name: str) -> None:
        """Restores it."""
        self.pactl("load-module", "module-null-sink", *_sink(name).split())
        if name == VOICE:
            self.pactl("load-module", "module-remap-source", f"source_name={MICROPHONE}", f"master={VOICE}.monitor")
        self._keep_awake(name)

    def _keep_awake(self, *names: str) -> None:
        commands = [["parec", f"--device={name}.monitor", "--latency-msec=10", "--raw"] for name in names]
        self._keepers += [
            subprocess.Popen(command, env=self.environ, stdout=subprocess.DEVNULL) for command in commands
        ]
        # They may be rendering ahead. A recorder that received sound shows that its sink is active.
        firsts = [subprocess.Popen(command, env=self.environ, stdout=subprocess.PIPE) for command in commands]
        for first in firsts:
            with first:
                assert first.stdout is not None
                first.stdout.read(1)
                first.terminate()

    # ---- sound ----

    def speak(self, sound: Path) -> "subprocess.Popen[bytes]":
        """Plays a WAV into the microphone. The caller waits for the process, or ends it.

        It buffers a fifth of a second. With less, a player that waits a few ms for a processor leaves a gap in the
        sound, which would look like a defect of the program.
        """
        command = ["paplay", f"--device={VOICE}", "--latency-msec=200", str(sound)]
        return subprocess.Popen(command, env=self.environ)


class Recorder:
    """Records a source, by default the loudspeaker. A context manager; the sound is available after it.

    Attributes:
        rate_hz: Sample rate of the recording.
        pcm: The recording.
        began_s: When its first sound came, in `time.monotonic`.
    """

    def __init__(self, card: VirtualCard, source: str = f"{SPEAKER}.monitor", rate_hz: int = 24_000) -> None:
        self.rate_hz = rate_hz
        self.pcm: Pcm = np.zeros(0, np.int16)
        self.began_s = 0.0
        command = ["parec", f"--device={source}", "--latency-msec=10", "--raw", f"--rate={rate_hz}"]
        self._command = [*command, "--channels=1", "--format=s16le"]
        self._environ = card.environ
        self._taken = bytearray()
        self._running = threading.Event()

    def __enter__(self) -> "Recorder":
        self._process = subprocess.Popen(self._command, env=self._environ, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._running.wait(_STARTED_WITHIN_S), "the recorder gave nothing"
        return self

    def stop(self) -> None:
        """Stops recording without waiting. Stop several recorders before waiting for one, so that they end together."""
        self._process.terminate()

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._process.wait()
        self._reader.join()
        self.pcm = np.frombuffer(bytes(self._taken[: len(self._taken) // 2 * 2]), np.int16)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            while block := os.read(pipe.fileno(), 1 << 16):
                self.began_s = self.began_s or time.monotonic()
                self._taken += block
                self._running.set()


def write_wav(path: Path, pcm: Pcm, rate_hz: int) -> Path:
    """Writes a WAV for `speak`."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.tobytes())
    return path


def noise(samples: int, seed: int = 7, level: float = 3000.0) -> Pcm:
    """Returns noise, in which every position is distinguishable.

    It is smooth enough that a shift by half a sample, as by resampling, makes no difference.
    """
    window = np.hanning(18)[1:-1]
    raw = np.random.default_rng(seed).normal(0, level / float(np.sqrt((window**2).sum())), samples + len(window) - 1)
    return np.convolve(raw, window, "valid").clip(-32768, 32767).astype(np.int16)


def found_at(whole: Pcm, part: Pcm) -> tuple[int, float]:
    """Returns where `part` is in `whole`, and the correlation there (1: equal except for loudness)."""
    long, short = whole.astype(np.float64), part.astype(np.float64)
    size = 1 << (len(long) + len(short)).bit_length()
    products = np.fft.irfft(np.fft.rfft(long, size) * np.conj(np.fft.rfft(short, size)), size)
    at = int(np.argmax(products[: max(1, len(long) - len(short) + 1)]))
    there = long[at : at + len(short)]
    return at, float(there @ short / (np.linalg.norm(there) * np.linalg.norm(short) + 1e-9))


def share_found(whole: Pcm, part: Pcm, rate_hz: int) -> float:
    """Returns the share of `part` that is found in `whole` in sequence, in pieces of 250 ms.

    A piece may be 30 ms off the position expected from the previous one: on a busy machine a recorder drops samples, or
    a player is late. That loses the affected piece and shifts the rest.
    """
    at, _ = found_at(whole, part)
    piece, slack = rate_hz // 4, rate_hz * 30 // 1000
    found = 0
    for begin in range(0, len(part) - piece + 1, piece):
        since = max(0, at + begin - slack)
        there = whole[since : at + begin + piece + slack]
        if len(there) < piece:
            continue
        place, likeness = found_at(there, part[begin : begin + piece])
        if likeness > 0.97:
            found += 1
            at = since + place - begin
    return found / (len(part) // piece)


@contextlib.contextmanager
def virtual_card() -> Generator[VirtualCard]:
    """Runs a card, and sets this process's environment for it. Skips the test if PulseAudio is not installed."""
    if any(shutil.which(program) is None for program in _PROGRAMS):
        pytest.skip("needs PulseAudio: apt-get install pulseaudio pulseaudio-utils libasound2-plugins libportaudio2")
    folder = Path(f"/tmp/repartee-card-{os.getpid()}-{time.monotonic_ns() % 10**9}")
    folder.mkdir()
    card = VirtualCard(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in card.own_environ.items():
            patch.setenv(name, value)
        interval_s = sys.getswitchinterval()
        sys.setswitchinterval(0.0005)  # same value as in the program
        lookout = shared()._lookout  # its process has the variables it was started with
        lookout.close()
        try:
            card.start()
            yield card
        finally:
            sys.setswitchinterval(interval_s)
            lookout.close()
            card.kill()
            shutil.rmtree(folder)
