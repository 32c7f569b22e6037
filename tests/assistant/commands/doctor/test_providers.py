"""Results that show where models on ONNX Runtime compute. No engine runs here."""

import pytest
from support.models.gpu_build import GPU_BUILD

from assistant.checks.result import CheckResult
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.providers import provider_findings
from assistant.config.loading import load_settings

CPU_BUILD = ["AzureExecutionProvider", "CPUExecutionProvider"]


def findings(overrides: list[str], **found: object) -> list[CheckResult]:
    return provider_findings(load_settings(None, {}, overrides).settings, ProbeResult(found), 4)


def test_providers_in_use_are_shown() -> None:
    tts, turn = findings([], available_providers=CPU_BUILD, providers={"tts_provider": "CPU", "turn_provider": "CPU"})
    assert (tts.level, tts.text) == ("ok", "auto: CPU; onnxruntime has CPU")
    assert (turn.name, turn.level, len(turn.cells)) == ("turn.provider", "ok", 4)


def test_fallback_is_a_warning() -> None:
    tts, turn = findings(
        [],
        available_providers=GPU_BUILD,
        providers={"tts_provider": "CPU; on the CPU, because no GPU", "turn_provider": "CUDA"},
    )
    assert (tts.level, turn.level) == ("warn", "ok")
    assert tts.text == "auto: CPU; onnxruntime has TensorRT, CUDA, CPU; on the CPU, because no GPU"
    assert "onnxruntime-gpu" in tts.remedy


@pytest.mark.parametrize("wanted", ["cuda", "tensorrt"])
def test_missing_provider_is_a_failure_with_the_package(wanted: str) -> None:
    _, turn = findings([f"turn.provider={wanted}"], available_providers=CPU_BUILD, providers={}, error="no CUDA")
    assert turn.level == "fail"
    assert "onnxruntime-gpu" in turn.remedy
    assert turn.facts["available"] == ["cpu"]


def test_provider_of_an_engine_on_the_cluster_is_not_looked_for_here() -> None:
    (turn,) = findings(["tts.engine=ray", "tts.piper.provider=cuda"], available_providers=CPU_BUILD)
    assert turn.name == "turn.provider"


def test_unchecked_engines_have_no_verdict() -> None:
    tts, _ = findings(["tts.piper.provider=cuda"])
    assert (tts.level, tts.text) == ("info", "cuda: not loaded")


def test_missing_provider_of_an_unused_engine_is_no_failure() -> None:
    tts, _ = findings(
        ["tts.engine=espeak-ng", "tts.piper.provider=cuda"], available_providers=CPU_BUILD, providers={}, error=""
    )
    assert (tts.level, tts.text) == ("info", "cuda: not loaded; onnxruntime has CPU")
