"""Settings that several voices declare."""

from dataclasses import dataclass
from typing import Annotated

from audio.execution_provider import Provider
from declarations.settings import KeyInfo


@dataclass(frozen=True, slots=True)
class OnnxSettings:
    """Settings of a voice on ONNX Runtime, to inherit from."""

    provider: Annotated[
        Provider,
        KeyInfo(
            "Where the voice computes; auto: CUDA if onnxruntime is built with it, else the CPU.",
            formerly="tts.provider",
        ),
    ] = "auto"
    fp16: Annotated[
        bool,
        KeyInfo("Whether the voice computes in float16; only with provider = tensorrt.", formerly="tts.fp16"),
    ] = False
