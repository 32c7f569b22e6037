"""Chooses where ONNX Runtime computes (its "execution provider"), and checks that a session really computes there.

onnxruntime itself continues on the CPU if a provider cannot start. Here that is an error for a provider that the
configuration names, and a reported fallback for "auto".
"""

from collections.abc import Mapping
from ctypes import CDLL
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, cast, runtime_checkable

from audio.errors import EngineLoadError
from audio.private_file import make_private_folder

if TYPE_CHECKING:
    import onnxruntime

Provider = Literal["auto", "cpu", "cuda", "tensorrt"]
"""A provider as configured. auto: CUDA if this onnxruntime is built with it, else the CPU."""

BUILD_TIMEOUT_S = 600.0
"""Time limit of a load with TensorRT, which may build engines for minutes."""

ProviderInUse = Literal["cpu", "cuda", "tensorrt"]

ProviderOptions = tuple[str, dict[str, str]]
"""A provider's name and options as onnxruntime takes them."""

SHOWN: Mapping[ProviderInUse, str] = MappingProxyType({"cpu": "CPU", "cuda": "CUDA", "tensorrt": "TensorRT"})
"""Names of the providers on the screen."""

PACKAGE = "onnxruntime-gpu"
"""Package with CUDA and TensorRT. It replaces the package onnxruntime; only one of them may be installed."""

_FOREIGN: Mapping[ProviderInUse, str] = MappingProxyType(
    {"tensorrt": "TensorrtExecutionProvider", "cuda": "CUDAExecutionProvider", "cpu": "CPUExecutionProvider"}
)
"""Names that onnxruntime uses, the best provider first."""

_CUDA_OPTIONS = {"cudnn_conv_algo_search": "HEURISTIC"}
"""onnxruntime's default, the exhaustive search for convolutions, would run for every length of input."""

_FATAL = 4
_NO_GPU = "its libraries or the GPU are missing"
_MAX_REASON = 200
"""Longest text of onnxruntime in a message, in characters."""


class ProviderUnavailableError(EngineLoadError):
    """A configured provider that onnxruntime does not have or cannot start; names the key and the remedy."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A provider that the configuration requests for one engine.

    Attributes:
        key: Key of the configuration, for messages; "" for an engine that only computes on the CPU.
        provider: The provider.
        fp16: Whether TensorRT may compute in float16. Other providers have no such option.
        engine_cache: Folder in which TensorRT keeps the engines it has built, a folder for each model; None: it builds
            them at every start.
    """

    key: str
    provider: Provider = "auto"
    fp16: bool = False
    engine_cache: Path | None = None

    def load_timeout_s(self, usual_s: float) -> float:
        """Returns the time limit of a load, `usual_s` except with TensorRT."""
        return max(usual_s, BUILD_TIMEOUT_S) if self.provider == "tensorrt" else usual_s


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session and where it computes.

    Attributes:
        session: The session.
        provider: The provider in use, as the session reports it.
        fallback: Why it computes on the CPU although "auto" chose another provider, as a clause; "" if it does not.
    """

    session: "onnxruntime.InferenceSession"
    provider: ProviderInUse
    fallback: str = ""


@runtime_checkable
class ProviderUser(Protocol):
    """An engine on ONNX Runtime.

    Attributes:
        provider: Where the loaded engine computes; None before it is loaded.
        fallback: See `OpenedSession.fallback`; "" before it is loaded.
    """

    provider: ProviderInUse | None
    fallback: str


def fallback_of(engine: object) -> str:
    """Returns `OpenedSession.fallback` of a loaded engine; "" if it is not one on ONNX Runtime."""
    return engine.fallback if isinstance(engine, ProviderUser) else ""


def available_providers() -> tuple[ProviderInUse, ...]:
    """Returns the providers that the installed onnxruntime is built with, the best first; a GPU may still be missing.

    Raises ImportError if onnxruntime cannot be imported.
    """
    import onnxruntime  # noqa: PLC0415 - on use: it takes 95 ms

    return providers_named(onnxruntime.get_available_providers())


def providers_named(foreign: list[str]) -> tuple[ProviderInUse, ...]:
    """Returns the providers of a list of onnxruntime's names, the best first; without those not used here."""
    return tuple(name for name, foreign_name in _FOREIGN.items() if foreign_name in foreign)


def chosen_provider(request: ProviderRequest, available: tuple[ProviderInUse, ...]) -> ProviderInUse:
    """Returns the provider to start.

    Raises ProviderUnavailableError if this onnxruntime is not built with it, or if it has no float16.
    """
    if request.fp16 and request.provider != "tensorrt":
        fp16 = f"{request.key.rpartition('.')[0]}.fp16"
        raise ProviderUnavailableError(
            f'{fp16} = true: only TensorRT computes in float16 here; set {request.key} = "tensorrt", or {fp16} = false'
        )
    if request.provider == "auto":
        return "cuda" if "cuda" in available else "cpu"
    if request.provider not in available:
        here = ", ".join(SHOWN[name] for name in available) or "none"
        raise ProviderUnavailableError(
            f'{request.key} = "{request.provider}": the installed onnxruntime has no {SHOWN[request.provider]} '
            f'(it has: {here}); replace the package onnxruntime by {PACKAGE}, or set {request.key} = "auto"'
        )
    return request.provider


def provider_list(chosen: ProviderInUse, request: ProviderRequest) -> list[ProviderOptions]:
    """Returns the providers of a session in order: the chosen one, then those for operators that it lacks."""
    cuda: ProviderOptions = (_FOREIGN["cuda"], dict(_CUDA_OPTIONS))
    cpu: ProviderOptions = (_FOREIGN["cpu"], {})
    if chosen == "cpu":
        return [cpu]
    if chosen == "cuda":
        return [cuda, cpu]
    options = {"trt_fp16_enable": str(request.fp16)}
    if request.engine_cache is not None:
        folder = str(request.engine_cache)
        options |= {
            "trt_engine_cache_enable": "True",
            "trt_engine_cache_path": folder,
            "trt_timing_cache_enable": "True",
            "trt_timing_cache_path": folder,
        }
    return [(_FOREIGN["tensorrt"], options), cuda, cpu]


def open_session(model: bytes | Path, options: "onnxruntime.SessionOptions", request: ProviderRequest) -> OpenedSession:
    """Loads a model into onnxruntime with the requested provider.

    Raises:
        ProviderUnavailableError: The configured provider is not there or cannot start.
        Exception: Any class of onnxruntime's own, which have no common root: the model cannot be loaded.
    """
    chosen = chosen_provider(request, available_providers())
    if chosen == "cpu":
        return OpenedSession(_session(model, options, "cpu", request), "cpu")
    if chosen == "tensorrt" and request.engine_cache is not None:
        folder = _folder_of(model, request.engine_cache)
        _create(folder, request.key)
        request = replace(request, engine_cache=folder)
    _prepare_gpu()
    try:
        session = _session(model, options, chosen, request)
    except Exception as error:
        # Also raised for a damaged model: that one fails on the CPU, too, with an error of its own.
        cpu = _session(model, options, "cpu", request)
        reason = _missing_library(chosen) or _reason(error)
        if request.provider != "auto":
            raise _not_started(request, chosen, reason) from error
        return OpenedSession(cpu, "cpu", _fallback(chosen, reason))
    used = provider_in_use(session)
    if used == chosen:
        return OpenedSession(session, used)
    reason = _missing_library(chosen) or _NO_GPU
    if request.provider != "auto":
        raise _not_started(request, chosen, reason)
    return OpenedSession(session, used, _fallback(chosen, reason))


def provider_in_use(session: "onnxruntime.InferenceSession") -> ProviderInUse:
    """Returns the first provider of a loaded session: the one that gets every operator that it has."""
    return providers_named(session.get_providers())[0]


def _session(
    model: bytes | Path, options: "onnxruntime.SessionOptions", chosen: ProviderInUse, request: ProviderRequest
) -> "onnxruntime.InferenceSession":
    import onnxruntime  # noqa: PLC0415 - on use: it takes 95 ms

    providers = cast("list[str | tuple[str, dict[str, str]]]", provider_list(chosen, request))
    # Without enable_fallback=0, onnxruntime retries on the CPU by itself and prints that to standard output.
    return onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)


def _prepare_gpu() -> None:
    """Loads NVIDIA's libraries from their Python packages, where these are installed, and silences onnxruntime."""
    import onnxruntime  # noqa: PLC0415 - on use: it takes 95 ms

    if find_spec("nvidia") is not None:
        onnxruntime.preload_dlls()
    # It prints what is missing to standard error, into the screen of the terminal; `_missing_library` reports it.
    onnxruntime.set_default_logger_severity(_FATAL)


def _missing_library(chosen: ProviderInUse) -> str:
    """Returns the library that a provider lacks, as the loader names it; "" if none is missing."""
    import onnxruntime  # noqa: PLC0415 - on use: it takes 95 ms

    library = Path(onnxruntime.__file__).parent / "capi" / f"libonnxruntime_providers_{chosen}.so"
    if not library.exists():
        return ""
    try:
        CDLL(str(library))
    except OSError as error:
        return str(error)
    return ""


def _reason(error: Exception) -> str:
    """Returns onnxruntime's reason on one line, without the names of the machine and of the source that follow it."""
    text = " ".join(str(error).partition(" ; ")[0].split())
    return text[:_MAX_REASON] or type(error).__name__


def _folder_of(model: bytes | Path, folder: Path) -> Path:
    """Returns the folder for the engines of one model.

    onnxruntime names an engine by the nodes of its graph, and the engine holds the weights: two voices of the same
    structure would get the same file, and one would speak with the voice of the other.
    """
    content = model if isinstance(model, bytes) else model.read_bytes()
    return folder / sha256(content).hexdigest()[:16]


def _create(folder: Path, key: str) -> None:
    try:
        make_private_folder(folder)
    except OSError as error:
        raise ProviderUnavailableError(
            f'{key} = "tensorrt": its folder for engines, {folder}, cannot be created ({error.strerror}): make it '
            "writable"
        ) from error


def _fallback(chosen: ProviderInUse, reason: str) -> str:
    return f"on the CPU, because onnxruntime cannot start {SHOWN[chosen]} here ({reason})"


def _not_started(request: ProviderRequest, chosen: ProviderInUse, reason: str) -> ProviderUnavailableError:
    libraries = "CUDA, cuDNN and TensorRT" if chosen == "tensorrt" else "CUDA and cuDNN"
    return ProviderUnavailableError(
        f'{request.key} = "{request.provider}": onnxruntime cannot start {SHOWN[chosen]} here ({reason}); install the '
        f"libraries of {libraries} (the package {PACKAGE}[cuda,cudnn] brings the first two), or set {request.key} = "
        '"auto"'
    )
