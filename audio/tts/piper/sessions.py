"""Loads a Piper voice into onnxruntime: its graph in three parts, or whole where it cannot be cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from audio.errors import EngineLoadError
from audio.execution_provider import (
    OpenedSession,
    ProviderInUse,
    ProviderRequest,
    ProviderUnavailableError,
    open_session,
)
from audio.onnx_messages import NotReadableError, with_output
from audio.tts.piper.cut import NotUnderstoodError, VoiceParts, cut
from audio.tts.piper.files import VoiceFiles, mismatch
from audio.tts.piper.graph import VoiceGraph, read_graph
from audio.tts.piper.synthesis import ModelInput, Streamed, Synthesis, Utterance, WholeSentences
from audio.tts.streaming.phonemes import is_audible

_FATAL = 4


@dataclass(frozen=True, slots=True)
class LoadedVoice:
    """A voice's sessions.

    Attributes:
        synthesis: Makes sentences.
        session: One of the sessions.
        whole_because: Why sentences are made whole and not in pieces, as a clause; "" if they are made in pieces.
        provider: Where it computes.
        fallback: See `OpenedSession.fallback`.
    """

    synthesis: Synthesis
    session: onnxruntime.InferenceSession
    whole_because: str
    provider: ProviderInUse
    fallback: str


def load(files: VoiceFiles, provider: ProviderRequest, threads: int | None) -> LoadedVoice:
    """Reads, checks and loads a voice's model. `threads`: see `PiperTts`. Raises EngineLoadError."""
    model, graph = _read(files)
    _check_tables(files, graph)
    try:
        parts = cut(model, graph.frames_of_ids)
        opened = _part_sessions(files, parts, provider, threads)
        encoder, flow, decoder = (session.session for session in opened)
        streamed = Streamed(parts.inner, (encoder, flow, decoder), files.config.sample_rate)
        _find_contexts(files, streamed)
    except NotUnderstoodError as error:
        whole = with_output(model, graph.durations) if graph.durations else model
        session = _session(files, whole, provider, threads)
        _check_ports(files, [session.session])
        return LoadedVoice(
            WholeSentences(session.session), session.session, str(error), session.provider, session.fallback
        )
    # The CPU if any part is there.
    slowest = next((session for session in opened if session.provider == "cpu"), opened[0])
    return LoadedVoice(streamed, encoder, "", slowest.provider, slowest.fallback)


def _part_sessions(
    files: VoiceFiles, parts: VoiceParts, provider: ProviderRequest, threads: int | None
) -> tuple[OpenedSession, OpenedSession, OpenedSession]:
    encoder = _session(files, parts.encoder, provider, threads, many_operators=True)
    flow = _session(files, parts.flow, provider, threads)
    decoder = _session(files, parts.decoder, provider, threads)
    sessions = [session.session for session in (encoder, flow, decoder)]
    _check_ports(files, sessions, {parts.inner.latent, parts.inner.mask, parts.inner.frames})
    return encoder, flow, decoder


def _find_contexts(files: VoiceFiles, streamed: Streamed) -> None:
    """Raises NotUnderstoodError, also for a model that fails: how it fails shows at its first words."""
    ids = files.config.phoneme_id_map
    audible = next(symbol for symbol in ids if is_audible(symbol))
    numbers = np.array([[number for symbol in ("^", "_", audible, "_", "$") for number in ids[symbol]]], np.int64)
    scales = np.array([files.config.noise_scale, 1, files.config.noise_w_scale], np.float32)
    inputs: dict[str, ModelInput] = {
        "input": numbers,
        "input_lengths": np.array([numbers.shape[1]], np.int64),
        "scales": scales,
    }
    if files.config.num_speakers > 1:
        inputs["sid"] = np.array([files.config.default_speaker_id], np.int64)
    options = onnxruntime.RunOptions()
    options.log_severity_level = _FATAL
    try:
        streamed.find_contexts(Utterance(inputs, options))
    except NotUnderstoodError:
        raise
    except Exception as failure:
        # onnxruntime has a class of its own for every code and no root for them.
        raise NotUnderstoodError(f"its parts do not fit together ({type(failure).__name__})") from failure


def _read(files: VoiceFiles) -> tuple[bytes, VoiceGraph]:
    try:
        model = Path(files.model).read_bytes()
        graph = read_graph(model)
    except OSError as refused:
        raise EngineLoadError(f"{files.model} cannot be read ({refused.strerror}): make it readable") from refused
    except NotReadableError as damaged:
        raise EngineLoadError(_broken(files.model)) from damaged
    return model, graph


def _check_tables(files: VoiceFiles, graph: VoiceGraph) -> None:
    config = files.config
    highest = max(index for ids in config.phoneme_id_map.values() for index in ids)
    if graph.symbols is not None and highest >= graph.symbols:
        raise mismatch(files, f"it has phoneme ids up to {highest}, but the model has {graph.symbols}")
    if graph.speakers is not None and config.num_speakers > graph.speakers:
        raise mismatch(files, f"it has {config.num_speakers} speakers, but the model has {graph.speakers}")


def _session(
    files: VoiceFiles, model: bytes, provider: ProviderRequest, threads: int | None, *, many_operators: bool = False
) -> OpenedSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    # Every sentence has another length, so that a pattern of memory is hardly ever used again.
    options.enable_mem_pattern = False
    # Planning it takes most of the loading of an encoder's 2400 operators, and saves memory that it does not need.
    options.enable_mem_reuse = not many_operators
    # A thread that spins while it waits takes the processor from others; two threads then took three times as long.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return open_session(model, options, provider)
    except ProviderUnavailableError:
        raise
    except Exception as refused:
        # onnxruntime has a class of its own for every code and no root for them.
        raise EngineLoadError(_broken(files.model)) from refused


def _check_ports(
    files: VoiceFiles, sessions: Sequence[onnxruntime.InferenceSession], inner: set[str | None] | None = None
) -> None:
    """Checks the inputs of a voice. `inner`: the tensors that connect its parts."""
    names = {port.name for session in sessions for port in session.get_inputs()} - (inner or set())
    if not {"input", "input_lengths", "scales"} <= names or not names <= {"input", "input_lengths", "scales", "sid"}:
        raise EngineLoadError(
            f"{files.model} is a model but not a Piper voice (its inputs are {', '.join(sorted(names))}): set "
            "tts.voice to a Piper voice"
        )
    many = files.config.num_speakers > 1
    if many != ("sid" in names):
        model = "only one" if many else "several"
        raise mismatch(files, f"its num_speakers is {files.config.num_speakers}, but the model has {model}")
    metadata = sessions[0].get_modelmeta().custom_metadata_map.get("sample_rate", "")
    if metadata.isdecimal() and int(metadata) != files.config.sample_rate:
        raise mismatch(files, f"its sample_rate is {files.config.sample_rate}, but the model says {metadata}")


def _broken(model: Path) -> str:
    return f"{model} is damaged or not an ONNX model: fetch the Piper voice again"
