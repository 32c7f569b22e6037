"""Makes the installed onnxruntime look like a build with CUDA and TensorRT on a machine without a GPU."""

from typing import Any

import onnxruntime
import pytest

GPU_BUILD = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
"""Providers of a build with CUDA and TensorRT, by onnxruntime's names."""


def pretend_gpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes onnxruntime claim the GPU providers; sessions are real and get only the CPU."""
    real = onnxruntime.InferenceSession

    def session(model: Any, options: Any, *, providers: list[Any], enable_fallback: int) -> Any:
        return real(model, options, providers=[providers[-1]], enable_fallback=enable_fallback)

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: GPU_BUILD)
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    monkeypatch.setattr(onnxruntime, "set_default_logger_severity", lambda _severity: None)
