"""The Silero network, its windows, and errors if it is missing."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import soundfile

from audio import onnx_messages as onnx
from audio.errors import EngineLoadError, VadError
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples
from audio.vad.cascade.detector import CascadeVad
from audio.vad.silero.detector import SileroStream, SileroVad
from audio.vad.silero.network import SileroNetwork, network_path, shared_network

RECORDING = Path(__file__).parents[2] / "recordings" / "rhasspy3_set-timer.wav"
Floats = npt.NDArray[np.float32]


class CountingNetwork(SileroNetwork):
    """The real network; counts its windows."""

    def __init__(self) -> None:
        super().__init__()
        self.windows = 0

    def run(self, window: Floats, h: Floats, c: Floats) -> tuple[float, Floats, Floats]:
        self.windows += 1
        return super().run(window, h, c)


def probabilities(network: SileroNetwork, recording: Path) -> list[float]:
    """Returns the speech probability of each window of a recording."""
    pcm, _ = soundfile.read(recording, dtype="int16")
    stream = SileroStream(network)
    frames = [pcm[at : at + FRAME_SAMPLES] for at in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES)]
    return [window[0] for window in map(stream.push_frame, frames) if window is not None]


def test_frames_give_same_result_as_whole_audio() -> None:
    pcm, _ = soundfile.read(RECORDING, dtype="int16")
    pcm = pcm[: len(pcm) // 2560 * 2560]
    stream = SileroStream(SileroNetwork())
    windows = [stream.push_frame(pcm[at : at + FRAME_SAMPLES]) for at in range(0, len(pcm), FRAME_SAMPLES)]
    streamed = [window[0] for window in windows if window is not None]
    samples = np.concatenate([np.zeros(64), pcm / 32_768]).astype(np.float32)
    whole = np.stack([samples[at : at + 576] for at in range(0, len(pcm), 512)])
    state = np.zeros((1, 1, 128), dtype=np.float32)
    session = onnxruntime.InferenceSession(network_path(), providers=["CPUExecutionProvider"])
    expected = session.run(["speech_probs"], {"input": whole, "h": state, "c": state})[0]
    np.testing.assert_allclose(streamed, np.ravel(expected), atol=1e-4)
    assert max(streamed) > 0.9


def test_window_reports_remaining_samples_of_frame() -> None:
    stream = SileroStream(SileroNetwork())
    silence = np.zeros(FRAME_SAMPLES, dtype=np.int16)
    lefts = [window and window[1] for window in (stream.push_frame(silence) for _ in range(8))]
    assert lefts == [None, 128, None, 256, 64, None, 192, 0]


def test_faster_whisper_is_not_imported() -> None:
    code = "import sys, audio.vad.silero.detector as s; s.SileroVad(); print('faster_whisper' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.strip() == "False"


def test_missing_network_names_file_and_remedy(tmp_path: Path) -> None:
    with pytest.raises(EngineLoadError, match=r"gone\.onnx.*reinstall faster-whisper"):
        SileroNetwork(tmp_path / "gone.onnx")


def test_broken_network_names_file_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a network")
    with pytest.raises(EngineLoadError, match=r"broken\.onnx.*reinstall"):
        SileroNetwork(tmp_path / "broken.onnx")


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineLoadError, match="pip install faster-whisper"):
        network_path()


@pytest.fixture
def other_version(tmp_path: Path) -> Path:
    """Returns a network file of an unknown version: with one more node, whose result is not used."""
    node = onnx.message(onnx.NODE_INPUT, b"h") + onnx.message(onnx.NODE_OUTPUT, b"unused")
    node += onnx.message(onnx.NODE_OPERATOR, b"Identity")
    path = tmp_path / "other.onnx"
    graph = onnx.message(onnx.MODEL_GRAPH, onnx.message(onnx.GRAPH_NODE, node))
    path.write_bytes(network_path().read_bytes() + graph)
    return path


def test_missing_onnxruntime_is_named(monkeypatch: pytest.MonkeyPatch, other_version: Path) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EngineLoadError, match="reinstall onnxruntime"):
        SileroNetwork(other_version)


def test_installed_network_is_computed_by_numpy() -> None:
    assert SileroNetwork().runtime == "numpy"


def test_unknown_version_runs_in_onnxruntime_and_is_logged(
    other_version: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert SileroNetwork(other_version).runtime == "onnxruntime"
    assert "onnxruntime" in caplog.text


@pytest.mark.parametrize("recording", sorted(RECORDING.parent.glob("*.wav")), ids=lambda path: path.stem)
def test_numpy_computes_same_probabilities_as_onnxruntime(other_version: Path, recording: Path) -> None:
    computed = probabilities(SileroNetwork(), recording)
    np.testing.assert_allclose(computed, probabilities(SileroNetwork(other_version), recording), rtol=0, atol=1e-5)


def test_conversations_share_one_network() -> None:
    assert shared_network() is shared_network()


def test_threads_do_not_disturb_each_other() -> None:
    network = SileroNetwork()
    expected = probabilities(network, RECORDING)
    with ThreadPoolExecutor(3) as pool:
        found = [pool.submit(probabilities, network, RECORDING) for _ in range(6)]
        assert all(one.result() == expected for one in found)


def test_runtime_failure_becomes_vad_error() -> None:
    network = SileroNetwork()
    wrong = np.zeros((1, 3), dtype=np.float32)
    with pytest.raises(VadError):
        network.run(wrong, wrong, wrong)


def test_cascade_does_not_run_network_in_quiet_room() -> None:
    network = CountingNetwork()
    vad = CascadeVad(network)
    room = np.random.default_rng(5).normal(0, 10, 500 * FRAME_SAMPLES).round().astype(np.int16)
    for i in range(500):
        vad.process(Frame(Samples(i * FRAME_SAMPLES), room[i * FRAME_SAMPLES : (i + 1) * FRAME_SAMPLES]))
    assert network.windows == 0


def test_cascade_finds_same_speech_as_silero() -> None:
    manifest = (RECORDING.parent / "manifest.jsonl").read_text().splitlines()
    label = next(row for row in map(json.loads, manifest) if row["file"] == RECORDING.name)
    pcm, _ = soundfile.read(RECORDING, dtype="int16")
    network = CountingNetwork()
    onsets = []
    for vad in (SileroVad(network), CascadeVad(network)):
        for at in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            voicing = vad.process(Frame(Samples(at), pcm[at : at + FRAME_SAMPLES]))
            if voicing.speaking:
                onsets.append(voicing.boundary)
                break
    assert abs(onsets[1] - onsets[0]) <= 1_600
    assert onsets[1] / 16_000 <= label["speech_start_s"] + 0.2


def test_cascade_processes_last_half_second_on_activation() -> None:
    pcm, _ = soundfile.read(RECORDING, dtype="int16")
    room = np.random.default_rng(5).normal(0, 10, 100 * FRAME_SAMPLES).round().astype(np.int16)
    pcm = np.concatenate([room, pcm[3_200:]])
    network = CountingNetwork()
    vad = CascadeVad(network)
    at_once = []
    for at in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        before = network.windows
        vad.process(Frame(Samples(at), pcm[at : at + FRAME_SAMPLES]))
        at_once.append(network.windows - before)
    woken = next(i for i, windows in enumerate(at_once) if windows)
    assert woken >= 95
    assert at_once[woken] == 15
    assert max(at_once[woken + 1 : woken + 20]) == 1
