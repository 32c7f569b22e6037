"""Loads a Piper voice into onnxruntime, checks it, and synthesizes one sentence at a time, which can be stopped.

piper-tts itself turns text into phonemes and phonemes into ids. This module adds a stop within a sentence and the
durations of the phonemes. Not thread-safe: the phonemizer is a library with globals, under piper's lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import onnxruntime
from piper import PhonemeType, PiperVoice, SynthesisConfig

from audio.errors import EngineLoadError, TtsError
from audio.onnx_messages import NotReadableError
from audio.tts.piper_files import VoiceFiles, mismatch, speaker_id
from audio.tts.piper_graph import VoiceGraph, read_graph, with_output

Device = Literal["auto", "cpu", "cuda"]

_CUDA = "CUDAExecutionProvider"
_CPU = "CPUExecutionProvider"
_FATAL = 4

Sound = npt.NDArray[np.float32]


class StopSwitch:
    """Stops the synthesis of a text, from any thread."""

    def __init__(self) -> None:
        self.options = onnxruntime.RunOptions()
        self.options.log_severity_level = _FATAL  # onnxruntime would print an intended stop as an error

    def stop(self) -> None:
        """Stops the synthesis between two operators; a run that starts later ends at once. Idempotent."""
        self.options.terminate = True

    @property
    def stopped(self) -> bool:
        return bool(self.options.terminate)


class StoppedError(Exception):
    """The synthesis was stopped by its switch."""


@dataclass(frozen=True, slots=True)
class SentenceSound:
    """The audio of one sentence.

    Attributes:
        sound: float32, shape (n,), about -1..1, at the voice's own rate.
        ends: End of every phoneme, in samples of `sound`, int64, shape (phonemes + 1,). The first entry is the start of
            the first phoneme. None if the voice does not provide durations.
    """

    sound: Sound
    ends: npt.NDArray[np.int64] | None


class _Stoppable:
    """The session as piper calls it, with the run options of the current text."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self.switch = StopSwitch()

    def run(self, outputs: object, inputs: object) -> object:
        return self._session.run(outputs, inputs, self.switch.options)


class PiperModel:
    """A loaded voice.

    Attributes:
        rate_hz: Sample rate of its audio.
        provider: Where it is computed: "CPU" or "CUDA".
    """

    def __init__(
        self, files: VoiceFiles, *, speaker: int | str | None, speed: float, device: Device, threads: int | None
    ) -> None:
        """Reads and checks the model: 50 ms for 60 MB from a warm disk. Raises EngineLoadError."""
        config = files.config
        self._length_scale = config.length_scale / speed
        style = SynthesisConfig(speaker_id=speaker_id(files, speaker), length_scale=self._length_scale)
        model, graph = _read(files)
        _check_tables(files, graph)
        session = _session(files, model, device, threads)
        _check_ports(files, session)
        self.rate_hz = config.sample_rate
        self.provider = "CUDA" if _CUDA in session.get_providers() else "CPU"
        self._style = style
        self._session = _Stoppable(session)
        # A local voice never downloads: the folder only keeps piper from using the current one.
        self._voice = PiperVoice(session=self._session, config=config, download_dir=files.model.parent)
        try:
            self.phonemes("a")
        except RuntimeError as unknown:
            raise mismatch(
                files, f'its espeak.voice is "{config.espeak_voice}", which espeak-ng does not have'
            ) from unknown

    def phonemes(self, text: str) -> list[list[str]]:
        """Returns the sentences of a text without "[[" as phonemes known to the voice. Takes 0.2 ms a sentence."""
        known = self._voice.config.phoneme_id_map
        # Piper itself would drop unknown symbols too, but log each of them.
        return [[symbol for symbol in sentence if symbol in known] for sentence in self._voice.phonemize(text)]

    def sentence(self, phonemes: Sequence[str], switch: StopSwitch, speed: float = 1.0) -> SentenceSound:
        """Synthesizes one sentence. `speed` is a factor on the configured speed. Raises StoppedError, TtsError."""
        style = self._style if speed == 1.0 else replace(self._style, length_scale=self._length_scale / speed)
        ids = self._voice.phonemes_to_ids(list(phonemes))
        self._session.switch = switch
        try:
            sound, samples = self._voice.phoneme_ids_to_audio(ids, style, include_alignments=True)
        except Exception as failure:
            # onnxruntime has a class of its own for every code and no root for them.
            if switch.stopped:
                raise StoppedError from failure
            raise TtsError(f"Piper failed inside a chunk ({type(failure).__name__}): load the voice again") from failure
        sound = np.atleast_1d(sound).astype(np.float32, copy=False)
        if sound.ndim != 1 or not np.isfinite(sound).all():
            raise TtsError("Piper's output is not sound: fetch the voice again or choose another one")
        return SentenceSound(sound, self._ends(phonemes, samples, sound.size))

    def _ends(
        self, phonemes: Sequence[str], samples: npt.NDArray[np.int64] | None, size: int
    ) -> npt.NDArray[np.int64] | None:
        """Computes the phoneme ends. The ids are: begin, padding, then each phoneme with a padding after it, end."""
        known = self._voice.config.phoneme_id_map
        padding = len(known["_"])
        ids = np.array([len(known["^"]) + padding, *(len(known[symbol]) + padding for symbol in phonemes)])
        if samples is None or samples.ndim != 1 or samples.size != ids.sum() + len(known["$"]):
            return None
        after = np.concatenate(([0], np.cumsum(samples)))
        # Audio and durations come from one model and must agree; one frame is tolerated for what is cut at the end.
        return after[np.cumsum(ids)] if abs(int(after[-1]) - size) <= self._voice.config.hop_length else None


def reads_digits(files: VoiceFiles) -> bool:
    """Whether the voice's text goes through espeak-ng. Other voices treat a digit as a letter they may not know."""
    return files.config.phoneme_type == PhonemeType.ESPEAK


def _read(files: VoiceFiles) -> tuple[bytes, VoiceGraph]:
    try:
        model = Path(files.model).read_bytes()
        graph = read_graph(model)
    except OSError as refused:
        raise EngineLoadError(f"{files.model} cannot be read ({refused.strerror}): make it readable") from refused
    except NotReadableError as damaged:
        raise EngineLoadError(_broken(files.model)) from damaged
    return (with_output(model, graph.durations) if graph.durations else model), graph


def _check_tables(files: VoiceFiles, graph: VoiceGraph) -> None:
    config = files.config
    highest = max(index for ids in config.phoneme_id_map.values() for index in ids)
    if graph.symbols is not None and highest >= graph.symbols:
        raise mismatch(files, f"it has phoneme ids up to {highest}, but the model has {graph.symbols}")
    if graph.speakers is not None and config.num_speakers > graph.speakers:
        raise mismatch(files, f"it has {config.num_speakers} speakers, but the model has {graph.speakers}")


def _session(files: VoiceFiles, model: bytes, device: Device, threads: int | None) -> onnxruntime.InferenceSession:
    available = onnxruntime.get_available_providers()
    if device == "cuda" and _CUDA not in available:
        raise EngineLoadError(
            "this onnxruntime has no CUDA for Piper: install onnxruntime-gpu instead, or set the device to auto"
        )
    cuda = device != "cpu" and _CUDA in available
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    if threads is not None:
        options.intra_op_num_threads = threads
    # onnxruntime's default, the exhaustive search for convolutions, would run for every length of sentence.
    providers = [(_CUDA, {"cudnn_conv_algo_search": "HEURISTIC"}), _CPU] if cuda else [_CPU]
    try:
        session = onnxruntime.InferenceSession(model, options, providers=providers)
    except Exception as refused:
        # onnxruntime has a class of its own for every code and no root for them.
        raise EngineLoadError(_broken(files.model)) from refused
    if device == "cuda" and _CUDA not in session.get_providers():
        raise EngineLoadError("onnxruntime cannot use CUDA here: install its CUDA libraries, or set the device to auto")
    return session


def _check_ports(files: VoiceFiles, session: onnxruntime.InferenceSession) -> None:
    names = {port.name for port in session.get_inputs()}
    if not {"input", "input_lengths", "scales"} <= names or not names <= {"input", "input_lengths", "scales", "sid"}:
        raise EngineLoadError(
            f"{files.model} is a model but not a Piper voice (its inputs are {', '.join(sorted(names))}): set "
            "tts.voice to a Piper voice"
        )
    many = files.config.num_speakers > 1
    if many != ("sid" in names):
        model = "only one" if many else "several"
        raise mismatch(files, f"its num_speakers is {files.config.num_speakers}, but the model has {model}")
    metadata = session.get_modelmeta().custom_metadata_map.get("sample_rate", "")
    if metadata.isdecimal() and int(metadata) != files.config.sample_rate:
        raise mismatch(files, f"its sample_rate is {files.config.sample_rate}, but the model says {metadata}")


def _broken(model: Path) -> str:
    return f"{model} is damaged or not an ONNX model: fetch the Piper voice again"
