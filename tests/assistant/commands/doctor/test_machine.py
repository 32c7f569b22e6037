"""Results for packages, threads, sound cards and the disk in each of their states."""

from pathlib import Path

import pytest

from assistant.checks.serving import trace_finding
from assistant.commands.doctor.machine import (
    configuration,
    cuda_finding,
    devices_section,
    package_finding,
    threads,
)
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.report import ReportSection
from assistant.config.loading import load_settings
from assistant.registry.protocols import PROTOCOLS
from assistant.support.cpu import Cores, cores, engine_threads


def levels(section: ReportSection) -> dict[str, str]:
    return {finding.name: finding.level for finding in section.findings}


def test_packages_are_installed_missing_or_broken() -> None:
    imported = ProbeResult({"soxr": 3.5, "httpx": "OSError: libsomething.so is missing"})
    fine = package_finding("soxr", "soxr", "1.1.0", imported)
    assert (fine.level, fine.ms, fine.text) == ("ok", 3.5, "1.1.0")
    gone = package_finding("numpy", "numpy", "", imported)
    assert (gone.level, gone.remedy) == ("fail", "run `make setup` again, or `pip install numpy`")
    optional = package_finding("py-nanotts", "py_nanotts", "", imported, required=False)
    assert (optional.level, optional.remedy) == ("info", "")
    kinds = [one for one in PROTOCOLS.all() if "botocore" in one.packages]
    protocol = package_finding("botocore", "botocore", "", imported, required=False, protocols=kinds)
    assert protocol.text == "not installed; LLM endpoints of kind bedrock and sagemaker need it"
    assert "'.[aws]'" in protocol.remedy
    broken = package_finding("httpx", "httpx", "0.28", imported)
    assert broken.level == "fail"
    assert "libsomething" in broken.text
    unknown = package_finding("piper-tts", "piper", "1.8", ProbeResult({}, "crashed (SIGILL)"))
    assert unknown.level == "warn"
    assert "SIGILL" in unknown.text


def test_graphics_card_is_reported() -> None:
    assert cuda_finding(ProbeResult({"cuda_devices": 1, "providers": ["CUDAExecutionProvider"]})).text.startswith(
        "1 CUDA "
    )
    assert cuda_finding(ProbeResult({}, "crashed")).level == "info"


def test_more_threads_than_cores_is_a_warning() -> None:
    environ = {"OMP_NUM_THREADS": "16", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "all"}
    found = threads(Cores(4, None), 0.5, 8, environ)
    assert levels(found) == {
        "cores": "ok",
        "switch interval": "ok",
        "stt.threads": "warn",
        "OMP_NUM_THREADS": "warn",
        "OPENBLAS_NUM_THREADS": "ok",
        "MKL_NUM_THREADS": "warn",
    }
    remedies = {finding.name: finding.remedy for finding in found.findings}
    assert remedies["stt.threads"] == "set stt.threads = 0"
    assert remedies["OMP_NUM_THREADS"] == "unset OMP_NUM_THREADS, or set it to 4 or less"


@pytest.mark.parametrize(
    "value",
    ["", "0", "-1", "all", "²", "9" * 5000],
    ids=["empty", "zero", "negative", "word", "superscript digit", "5000 digits"],
)
def test_invalid_thread_variable_is_reported(value: str) -> None:
    found = threads(Cores(4, None), 0.5, 0, {"OMP_NUM_THREADS": value}).findings[-1]
    assert (found.name, found.level) == ("OMP_NUM_THREADS", "warn")
    assert "which is not a number of threads" in found.text


@pytest.mark.parametrize(
    ("usable", "quota", "whisper", "piper"),
    [(1, None, 1, 1), (2, None, 1, 1), (4, None, 2, 2), (32, None, 4, 2), (16, 3.9, 2, 2)],
    ids=["1 core", "2 cores", "4 cores", "32 cores", "quota of 3.9 of 16 cores"],
)
def test_thread_counts_follow_the_cores(usable: int, quota: float | None, whisper: int, piper: int) -> None:
    found = Cores(usable, quota)
    assert (engine_threads(0, found, 4), engine_threads(0, found, 2)) == (whisper, piper)
    assert (engine_threads(3, found, 4), engine_threads(3, found, 2)) == (3, 3)
    row = {finding.name: finding for finding in threads(found, 0.5, 0, {}).findings}["stt.threads"]
    assert row.level == "ok"
    assert row.text.startswith(f"0, chosen by the number of cores: {whisper} for faster-whisper, {piper} for piper")


def test_container_quota_limits_the_cores() -> None:
    found = threads(Cores(16, 1.4), 5.0, 2, {})
    assert levels(found) == {"cores": "warn", "switch interval": "warn", "stt.threads": "warn"}
    assert "limited to 1.4" in found.findings[0].text
    assert cores().usable >= 1


def test_sound_cards_are_reported() -> None:
    both = {"portaudio": "PortAudio V19", "inputs": 2, "outputs": 1, "input": "USB", "output": ""}
    found = devices_section(ProbeResult(both), "0.5")
    assert levels(found) == {"sounddevice": "ok", "microphone": "ok", "loudspeaker": "warn"}
    assert found.findings[1].text == "USB (one of 2)"
    none = devices_section(ProbeResult({"portaudio": "", "inputs": 0, "outputs": 0}), "0.5")
    assert levels(none) == {"sounddevice": "ok", "devices": "warn"}
    assert "browser" in none.findings[1].text


def test_missing_portaudio_names_its_package() -> None:
    (finding,) = devices_section(ProbeResult({}, "OSError: PortAudio library not found"), "0.5").findings
    assert finding.remedy == "apt-get install libportaudio2"
    (finding,) = devices_section(ProbeResult({}, "ModuleNotFoundError: No module named 'sounddevice'"), "").findings
    assert finding.remedy.endswith("`pip install sounddevice`")


def test_trace_folder_check_leaves_no_file(tmp_path: Path) -> None:
    fine = trace_finding(tmp_path / "not" / "yet")
    assert fine.level == "ok"
    assert "created when the first turn ends" in fine.text
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert trace_finding(tmp_path / "file").level == "warn"
    assert trace_finding(tmp_path / "file" / "below").level == "warn"


def test_unwritable_trace_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # root may write everywhere
    finding = trace_finding(tmp_path)
    assert finding.level == "warn"
    assert "Permission denied" in finding.text
    assert "trace.dir" in finding.remedy


def test_changed_settings_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[turn]\nprofile = 'patient'\n[tts]\nspeed = 1.0\n")
    finding = configuration(load_settings(file, {}, []), {}).findings[0]
    assert finding.text == f"{file}; changed: turn.profile"
