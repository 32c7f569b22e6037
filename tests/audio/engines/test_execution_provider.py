"""Execution providers: the choice, the list for onnxruntime, and what is reported if a provider cannot start."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
from support.models.gpu_build import GPU_BUILD, pretend_gpu_build
from support.models.synthetic_piper import tone_voice
from support.models.synthetic_smart_turn import counting_network

from audio import execution_provider
from audio.end_of_turn.smart_turn.service import SmartTurnService
from audio.errors import EngineLoadError
from audio.execution_provider import (
    PACKAGE,
    Provider,
    ProviderInUse,
    ProviderRequest,
    ProviderUnavailableError,
    available_providers,
    chosen_provider,
    open_session,
    provider_list,
    providers_named,
)
from audio.tts.piper.voice import PiperTts

ALL: tuple[ProviderInUse, ...] = ("tensorrt", "cuda", "cpu")
REFUSAL = "[ONNXRuntimeError] : 1 : FAIL : CUDA failure 2: out of memory ; GPU=0 ; hostname=desk ; file=cuda_call.cc"
"""A text of onnxruntime, which ends with names of the machine and of the source."""


class FakeSession:
    """Stands for a session with the providers that could start."""

    def __init__(self, started: list[str]) -> None:
        self._started = started

    def get_providers(self) -> list[str]:
        return self._started


class FakeRuntime:
    """Replaces sessions of an onnxruntime that is built with CUDA and TensorRT.

    Attributes:
        asked: The providers of each session, in order.
        options: The options of the first provider of each session.
    """

    def __init__(self, *, starts: tuple[str, ...] = (), raises: str = "") -> None:
        """`starts`: providers that start besides the CPU; `raises`: a provider whose session raises."""
        self.asked: list[list[str]] = []
        self.options: list[dict[str, str]] = []
        self._starts = {*starts, "CPUExecutionProvider"}
        self._raises = raises

    def session(self, _model: object, _options: object, *, providers: list[Any], enable_fallback: int) -> FakeSession:
        assert enable_fallback == 0
        names = [name for name, _options in providers]
        self.asked.append(names)
        self.options.append(dict(providers)[names[0]])
        if self._raises in names:
            raise RuntimeError(REFUSAL)
        return FakeSession([name for name in names if name in self._starts])


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeRuntime]:
    def install(**behaviour: Any) -> FakeRuntime:
        fake = FakeRuntime(**behaviour)
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: GPU_BUILD)
        monkeypatch.setattr(onnxruntime, "InferenceSession", fake.session)
        monkeypatch.setattr(onnxruntime, "set_default_logger_severity", lambda _severity: None)
        return fake

    return install


def asked(wanted: Provider, **more: Any) -> ProviderRequest:
    return ProviderRequest("tts.provider", wanted, **more)


def opened(request: ProviderRequest) -> execution_provider.OpenedSession:
    return open_session(b"model", onnxruntime.SessionOptions(), request)


def test_foreign_providers_are_left_out() -> None:
    assert providers_named(["AzureExecutionProvider", "CPUExecutionProvider"]) == ("cpu",)
    assert providers_named(GPU_BUILD[::-1]) == ALL


@pytest.mark.parametrize(
    ("available", "chosen"), [(("cpu",), "cpu"), (("cuda", "cpu"), "cuda"), (ALL, "cuda")], ids=["cpu", "cuda", "all"]
)
def test_auto_is_cuda_if_built_with_it(available: tuple[ProviderInUse, ...], chosen: str) -> None:
    assert chosen_provider(asked("auto"), available) == chosen


@pytest.mark.parametrize("wanted", ["cuda", "tensorrt"])
def test_provider_that_is_not_built_in_is_refused(wanted: Provider) -> None:
    with pytest.raises(ProviderUnavailableError) as refused:
        chosen_provider(asked(wanted), ("cpu",))
    text = str(refused.value)
    assert f'tts.provider = "{wanted}"' in text
    assert "it has: CPU" in text
    assert PACKAGE in text


@pytest.mark.parametrize("wanted", ["auto", "cpu", "cuda"])
def test_float16_without_tensorrt_is_refused(wanted: Provider) -> None:
    with pytest.raises(ProviderUnavailableError, match=r"tts\.fp16 = true: only TensorRT"):
        chosen_provider(asked(wanted, fp16=True), ALL)


def test_tensorrt_has_time_to_build_its_engines() -> None:
    assert asked("tensorrt").load_timeout_s(60.0) >= 600.0
    assert [asked(wanted).load_timeout_s(60.0) for wanted in ("auto", "cpu", "cuda")] == [60.0] * 3


def test_gpu_lists_end_with_the_cpu() -> None:
    assert [name for name, _ in provider_list("cpu", asked("cpu"))] == GPU_BUILD[2:]
    assert [name for name, _ in provider_list("cuda", asked("cuda"))] == GPU_BUILD[1:]
    assert [name for name, _ in provider_list("tensorrt", asked("tensorrt"))] == GPU_BUILD


def test_tensorrt_has_its_cache_and_number_format(tmp_path: Path) -> None:
    (_, options), *_ = provider_list("tensorrt", asked("tensorrt", fp16=True, engine_cache=tmp_path))
    assert options["trt_fp16_enable"] == "True"
    assert options["trt_engine_cache_enable"] == "True"
    assert options["trt_engine_cache_path"] == str(tmp_path)
    (_, plain), *_ = provider_list("tensorrt", asked("tensorrt"))
    assert plain == {"trt_fp16_enable": "False"}


def test_started_provider_is_reported(runtime: Callable[..., FakeRuntime]) -> None:
    fake = runtime(starts=("CUDAExecutionProvider",))
    session = opened(asked("auto"))
    assert (session.provider, session.fallback) == ("cuda", "")
    assert fake.asked == [GPU_BUILD[1:]]


@pytest.mark.parametrize(
    "behaviour", [{}, {"raises": "CUDAExecutionProvider"}], ids=["left out by onnxruntime", "raises"]
)
def test_auto_reports_fallback_to_the_cpu(runtime: Callable[..., FakeRuntime], behaviour: dict[str, str]) -> None:
    runtime(**behaviour)
    session = opened(asked("auto"))
    assert session.provider == "cpu"
    assert session.fallback.startswith("on the CPU, because onnxruntime cannot start CUDA here (")


def test_reason_of_onnxruntime_is_reported_without_the_machine(runtime: Callable[..., FakeRuntime]) -> None:
    runtime(raises="CUDAExecutionProvider")
    fallback = opened(asked("auto")).fallback
    assert fallback.endswith("CUDA failure 2: out of memory)")
    assert "desk" not in fallback


@pytest.mark.parametrize(
    "behaviour", [{}, {"raises": "CUDAExecutionProvider"}], ids=["left out by onnxruntime", "raises"]
)
@pytest.mark.parametrize("wanted", ["cuda", "tensorrt"])
def test_configured_provider_never_falls_back(
    runtime: Callable[..., FakeRuntime], wanted: Provider, behaviour: dict[str, str]
) -> None:
    runtime(**behaviour)
    with pytest.raises(ProviderUnavailableError, match=f'tts.provider = "{wanted}": onnxruntime cannot start'):
        opened(asked(wanted))


def test_cuda_does_not_replace_configured_tensorrt(runtime: Callable[..., FakeRuntime]) -> None:
    runtime(starts=("CUDAExecutionProvider",))
    with pytest.raises(ProviderUnavailableError, match="cannot start TensorRT here"):
        opened(asked("tensorrt"))


def test_cpu_is_not_tried_with_a_gpu(runtime: Callable[..., FakeRuntime]) -> None:
    fake = runtime(starts=("CUDAExecutionProvider",))
    assert opened(asked("cpu")).provider == "cpu"
    assert fake.asked == [GPU_BUILD[2:]]


def test_nvidia_packages_are_loaded_before_a_gpu_session(
    runtime: Callable[..., FakeRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime(starts=("CUDAExecutionProvider",))
    loaded: list[str] = []
    monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: loaded.append("nvidia"))
    monkeypatch.setattr(execution_provider, "find_spec", lambda _name: None)
    opened(asked("auto"))
    assert loaded == []
    monkeypatch.setattr(execution_provider, "find_spec", lambda name: name)
    opened(asked("cpu"))
    assert loaded == []
    opened(asked("auto"))
    assert loaded == ["nvidia"]


def test_missing_library_is_named(
    runtime: Callable[..., FakeRuntime], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime()
    library = tmp_path / "capi" / "libonnxruntime_providers_cuda.so"
    library.parent.mkdir()
    library.write_bytes(b"no library")
    monkeypatch.setattr(onnxruntime, "__file__", str(tmp_path / "__init__.py"))
    assert str(library) in opened(asked("auto")).fallback


def test_engine_folder_is_private(runtime: Callable[..., FakeRuntime], tmp_path: Path) -> None:
    runtime(starts=("TensorrtExecutionProvider", "CUDAExecutionProvider"))
    folder = tmp_path / "cache" / "tensorrt"
    assert opened(asked("tensorrt", engine_cache=folder)).provider == "tensorrt"
    assert [one.stat().st_mode & 0o077 for one in (tmp_path / "cache", folder, *folder.iterdir())] == [0, 0, 0]


def test_models_of_the_same_structure_do_not_share_engines(runtime: Callable[..., FakeRuntime], tmp_path: Path) -> None:
    fake = runtime(starts=("TensorrtExecutionProvider",))
    request = asked("tensorrt", engine_cache=tmp_path)
    file = tmp_path / "voice.onnx"
    file.write_bytes(b"first voice")
    for model in (b"first voice", b"second voice", file):
        open_session(model, onnxruntime.SessionOptions(), request)
    first, second, of_file = (options["trt_engine_cache_path"] for options in fake.options)
    assert first == of_file != second
    assert {Path(first).parent, Path(second).parent} == {tmp_path}


def test_engine_folder_that_cannot_be_created_is_reported(runtime: Callable[..., FakeRuntime], tmp_path: Path) -> None:
    runtime(starts=("TensorrtExecutionProvider",))
    (tmp_path / "file").touch()
    with pytest.raises(ProviderUnavailableError, match="cannot be created"):
        opened(asked("tensorrt", engine_cache=tmp_path / "file" / "tensorrt"))


def test_piper_reports_its_fallback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pretend_gpu_build(monkeypatch)

    async def loaded() -> tuple[str | None, str]:
        voice = PiperTts(tone_voice(tmp_path))
        await voice.load()
        await voice.aclose()
        return voice.provider, voice.fallback

    with caplog.at_level(logging.WARNING):
        provider, fallback = asyncio.run(loaded())
    assert provider == "cpu"
    assert "cannot start CUDA" in fallback
    assert "Piper computes on the CPU, because" in caplog.text


def test_smart_turn_reports_its_fallback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pretend_gpu_build(monkeypatch)
    file = tmp_path / "counting.onnx"
    file.write_bytes(counting_network())
    service = SmartTurnService(file, too_slow_s=60)
    with caplog.at_level(logging.WARNING):
        asyncio.run(service.load())
    assert service.provider == "cpu"
    assert "cannot start CUDA" in service.fallback
    assert "Smart Turn computes on the CPU, because" in caplog.text


@pytest.mark.skipif("cuda" in available_providers(), reason="this onnxruntime has CUDA")
def test_smart_turn_refuses_a_missing_provider(tmp_path: Path) -> None:
    file = tmp_path / "counting.onnx"
    file.write_bytes(counting_network())
    service = SmartTurnService(file, provider=ProviderRequest("turn.provider", "cuda"))
    with pytest.raises(EngineLoadError, match=r'turn\.provider = "cuda"'):
        asyncio.run(service.load())
