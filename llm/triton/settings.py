"""Keys of [[llm.endpoints]] that only the protocols of Triton have."""

from dataclasses import dataclass
from typing import Annotated, Literal

from declarations.settings import KeyInfo

Backend = Literal["vllm", "tensorrt_llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonSettings:
    """Keys of both protocols of Triton."""

    version: Annotated[str, KeyInfo("Version of the model; empty: chosen by Triton.")] = ""
    backend: Annotated[Backend, KeyInfo("Triton backend, which defines the inputs of the model.")] = "vllm"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateSettings(TritonSettings):
    """Keys of Triton's generate extension."""

    echo: Annotated[bool, KeyInfo("Whether the backend repeats the prompt before its answer.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcSettings(TritonSettings):
    """Keys of Triton's gRPC service."""

    details: Annotated[bool, KeyInfo("Whether token counts are requested, for Triton's vLLM backend since 24.12.")] = (
        False
    )
    keepalive_s: Annotated[
        float,
        KeyInfo("Interval of pings on an idle connection, if the server permits them; 0: no pings.", unit="s", low=1,
              high=3600, zero=True),
    ] = 0.0  # fmt: skip
