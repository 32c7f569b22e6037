"""Lists where recognizers and voices can compute on this machine, and where they cannot."""

from dataclasses import dataclass

from audio.engines.settings import OnnxSettings
from audio.execution_provider import PACKAGE, SHOWN, ProviderInUse, available_providers

CUDA_TYPES = ("float16", "int8_float16")
"""Number formats in which a recognizer is measured on CUDA."""


@dataclass(frozen=True, slots=True)
class Place:
    """A device or execution provider.

    Attributes:
        name: For the setting of a row; "" if there is only this one.
        overrides: Settings that select it.
        cpu: Whether it is the CPU.
    """

    name: str
    overrides: tuple[str, ...]
    cpu: bool = False


def voice_places(section: str, settings: object, available: tuple[ProviderInUse, ...] | None = None) -> list[Place]:
    """Returns where a voice can compute.

    Args:
        section: Name of its section, as in tts.piper.
        settings: The section.
        available: As in `available_providers`; None: those of this onnxruntime.
    """
    if not isinstance(settings, OnnxSettings):
        return [Place("", (), cpu=True)]
    providers = available_providers() if available is None else available
    places = []
    for provider in sorted(providers, key=tuple(SHOWN).index):
        name = SHOWN[provider] if len(providers) > 1 else ""
        chosen = f"{section}.provider={provider}"
        places.append(Place(name, (chosen, f"{section}.fp16=false"), cpu=provider == "cpu"))
        if provider == "tensorrt":
            places.append(Place(f"{name} float16", (chosen, f"{section}.fp16=true")))
    return places


def voice_absent(available: tuple[ProviderInUse, ...] | None = None) -> tuple[str, str]:
    """Returns the providers that this onnxruntime lacks, and why, with the remedy; two empty texts if there is none."""
    providers = available_providers() if available is None else available
    absent = ", ".join(name for provider, name in SHOWN.items() if provider not in providers)
    return (absent, f"not in this onnxruntime: replace it by the package {PACKAGE}") if absent else ("", "")


def recognizer_places(section: str, gpus: int | None = None) -> list[Place]:
    """Returns where a recognizer with this section can compute. `gpus`: CUDA devices; None: those of this machine."""
    if not (_gpus() if gpus is None else gpus):
        return [Place("", (), cpu=True)]
    cuda = [Place(f"CUDA {name}", (f"{section}.device=cuda", f"{section}.compute_type={name}")) for name in CUDA_TYPES]
    return [Place("CPU", (f"{section}.device=cpu",), cpu=True), *cuda]


def recognizer_absent(gpus: int | None = None) -> tuple[str, str]:
    """Returns the device that a recognizer lacks here, and why; two empty texts if there is none."""
    return ("", "") if (_gpus() if gpus is None else gpus) else ("CUDA", "not measured: there is no CUDA device")


def _gpus() -> int:
    import ctranslate2  # noqa: PLC0415 - on use: it takes 52 ms

    return int(ctranslate2.get_cuda_device_count())
