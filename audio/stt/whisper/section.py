"""The name of the recognizer, and its section of the configuration."""

from dataclasses import dataclass
from typing import Annotated, Literal

from declarations.settings import KeyInfo

NAME = "faster-whisper"

Device = Literal["auto", "cpu", "cuda"]
ComputeType = Literal[
    "auto", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
]
EncoderWindow = Literal["adaptive", "full", "dynamic"]
"""The part of the window that is encoded.

full: always 30 s. adaptive: as much as there is audio, but not less than released models tolerate. dynamic: as much as
there is audio.
"""


@dataclass(frozen=True, slots=True)
class WhisperSection:
    """Whisper on CTranslate2."""

    device: Annotated[
        Device, KeyInfo("Device for the model; auto: CUDA if available, else the CPU.", formerly="stt.device")
    ] = "auto"
    compute_type: Annotated[
        ComputeType,
        KeyInfo(
            "Number format, if the device supports it; auto: int8 on a CPU, float16 on CUDA.",
            formerly="stt.compute_type",
        ),
    ] = "auto"
    encoder_window: Annotated[
        EncoderWindow,
        KeyInfo(
            "Audio length that is encoded; adaptive: the speech plus 2 s, at least 10 s; full: always 30 s; dynamic: "
            "the speech plus 2 s, for models trained for it.",
            formerly="stt.encoder_window",
        ),
    ] = "adaptive"
