"""Results for engines: which is in use and why, where it computes, its times and lacks. No engine runs here."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.conversations.voices import voice
from support.models.gpu_build import GPU_BUILD

from assistant.checks.result import CheckResult
from assistant.commands.doctor.engines import (
    InUse,
    chosen_of,
    conversation_finding,
    engine_finding,
    engines,
    enrolled_voices,
    models,
    provider_findings,
    wake_word_findings,
)
from assistant.commands.doctor.process import ProbeResult, ProbeRunner
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.config.turn_settings import VoiceSection
from assistant.enrolment.voice_file import VoiceFile, voices_path
from assistant.speakers.voiceprint import Voiceprint

MEASURED = {"load_ms": 80.4, "first_ms": 3.0, "rtf": 0.25, "delay_ms": 12.34, "text": "words", "ok": True, "threads": 5}
CHOSEN: dict[str, Any] = {
    "chosen": [
        {"stage": "vad", "name": "silero", "why": "as configured", "fallback": False, "load_ms": 40.0},
        {
            "stage": "stt",
            "name": "no recognizer",
            "why": "only typed text is answered, because the x model is not downloaded; fetch it: pull x",
            "fallback": True,
            "load_ms": 9.0,
        },
    ],
    "error": "",
}
CONFIGURED = {"espeak-ng": InUse("as configured", fallback=False)}
STAND_IN = {
    "espeak-ng": InUse("instead of piper, because the voice is not downloaded; fetch it: pull it", fallback=True)
}


@pytest.mark.parametrize(
    ("in_use", "more", "level"),
    [
        (CONFIGURED, {}, "ok"),
        (STAND_IN, {}, "warn"),
        ({"piper": InUse("as configured", fallback=False)}, {}, "info"),
        (CONFIGURED, {"rtf": 1.5}, "warn"),
        (CONFIGURED, {"ok": False}, "warn"),
    ],
    ids=["configured", "fallback", "not configured", "slower than real time", "wrong answer"],
)
def test_working_engine_has_its_level(in_use: Mapping[str, InUse], more: Mapping[str, object], level: str) -> None:
    finding = engine_finding("tts", "espeak-ng", ProbeResult({**MEASURED, **more}), in_use, "")
    assert finding.level == level
    assert finding.ms == 12.34
    assert finding.cells == ("80", "3.0", format(more.get("rtf", 0.25), ".3f"), "12.3")
    assert finding.facts["in_use"] is ("espeak-ng" in in_use)
    assert "pull" not in finding.text  # the missing engine's own result says that


def test_engine_without_audio_has_no_real_time_factor() -> None:
    finding = engine_finding("llm", "skills", ProbeResult({**MEASURED, "rtf": None}), {}, "")
    assert finding.cells[2] == "–"
    assert not finding.text.startswith(("in use", "not in use"))  # unknown


@pytest.mark.parametrize(
    ("in_use", "answer", "level"),
    [
        (CONFIGURED, ProbeResult({}, "crashed (SIGILL)"), "fail"),
        (CONFIGURED, ProbeResult({}, "not tried", unfinished=True), "warn"),
        ({"piper": InUse("", fallback=False)}, ProbeResult({}, "crashed (SIGILL)"), "info"),
    ],
    ids=["configured engine crashed", "configured engine not tried", "other engine crashed"],
)
def test_failing_engine_has_its_level(in_use: Mapping[str, InUse], answer: ProbeResult, level: str) -> None:
    finding = engine_finding("tts", "espeak-ng", answer, in_use, "")
    assert finding.level == level
    assert answer.error in finding.text


def test_missing_model_is_a_warning_if_a_fallback_is_used() -> None:
    missing = "missing: repartee models pull v"
    wanted = engine_finding("tts", "piper", None, STAND_IN, missing)
    assert (wanted.level, wanted.remedy) == ("warn", "repartee models pull v")
    assert engine_finding("tts", "piper", None, CONFIGURED, missing).level == "info"


def test_missing_package_is_told_as_it_is() -> None:
    lack = "the package py-nanotts is not installed: run `pip install py-nanotts`"
    finding = engine_finding("tts", "pico", None, CONFIGURED, lack)
    assert (finding.level, finding.text, finding.remedy) == ("info", lack, "")


def test_failing_conversation_is_essential() -> None:
    fine = conversation_finding(ProbeResult({**CHOSEN, "chosen": CHOSEN["chosen"][:1]}))
    assert (fine.level, fine.ms) == ("ok", 40.0)
    for answer in (ProbeResult({**CHOSEN, "error": "no voice: pull it"}), ProbeResult({}, "no voice: pull it")):
        bad = conversation_finding(answer)
        assert (bad.level, bad.essential, bad.text) == ("fail", True, "no voice: pull it")
    foreign = conversation_finding(ProbeResult({**CHOSEN, "error": "ImportError: no x"}))
    assert foreign.remedy.startswith("run `make setup` again")
    assert chosen_of(ProbeResult(CHOSEN))["stt"]["no recognizer"].fallback


def test_slow_check_of_the_conversation_is_no_failure() -> None:
    for answer in (
        ProbeResult({}, "not checked: no answer within 12 s: it hangs, or this machine is very busy", timed_out=True),
        ProbeResult({}, "not checked: only 2.0 s were left", unfinished=True),
        ProbeResult({}, "not checked: no time was left", unfinished=True),
    ):
        late = conversation_finding(answer)
        assert (late.level, late.essential, late.checked) == ("warn", True, False)
        assert late.text == f"not checked: {answer.error.removeprefix('not checked: ')}"
        assert late.remedy == "run `repartee doctor` again when this machine is less busy"


def test_missing_recognizer_is_a_warning_with_its_remedy() -> None:
    found = conversation_finding(ProbeResult(CHOSEN))
    assert (found.level, found.essential, found.remedy) == ("warn", False, "pull x")
    assert found.text == "only typed text is answered, because the x model is not downloaded"


class ProbeRecorder(ProbeRunner):
    """Records the requested checks instead of running them."""

    async def examine(self, what: str, limit_s: float) -> ProbeResult:
        recorder.append((what, limit_s))
        return ProbeResult(CHOSEN) if what == "conversation" else ProbeResult(MEASURED)


recorder: list[tuple[str, float]] = []


def test_engines_in_use_are_checked_first_and_missing_ones_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    recorder.clear()
    section = asyncio.run(engines(ProbeRecorder("", (), 0.0), Settings()))
    order = [what for what, _ in recorder]
    assert order[:3] == ["conversation", "vad silero", "vad cascade"]  # the one in use first
    assert not {"stt faster-whisper", "tts piper"} & set(order)
    names = [finding.name for finding in section.findings]
    assert names[:2] == ["vad cascade", "vad silero"]
    assert names[-1] == "all engines"
    assert all(len(finding.cells) == len(section.columns) for finding in section.findings)


def test_models_are_listed_with_their_remedies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    whisper = models(Settings(), {}).findings[0]
    assert (whisper.level, whisper.remedy) == ("warn", "repartee models pull tiny.en")
    settings = load_settings(None, {}, ["tts.engine=espeak-ng"]).settings
    assert "en_US-joe-medium" not in {finding.name for finding in models(settings, {}).findings}


CPU_BUILD = ["AzureExecutionProvider", "CPUExecutionProvider"]


def findings(overrides: list[str], **found: object) -> list[CheckResult]:
    return provider_findings(load_settings(None, {}, overrides).settings, ProbeResult(found))


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


@pytest.mark.parametrize(
    ("focus", "names", "level", "text"),
    [
        ("enrolled", (), "warn", "none is kept"),
        ("first", (), "info", "0 kept"),
        ("enrolled", ("Ann", "Ben"), "ok", "2 kept"),
    ],
)
def test_enrolled_voices_are_counted(tmp_path: Path, focus: Any, names: tuple[str, ...], level: str, text: str) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    file = VoiceFile(voices_path(environ), lambda: 0.0)
    for number, name in enumerate(names):
        file.add(Voiceprint(name, voice(number), 12.0))
    finding = enrolled_voices(replace(Settings(), voice=VoiceSection(focus)), environ)
    assert (finding.level, finding.text.startswith(text)) == (level, True)
    assert not any(name in f"{finding}" for name in names)


def test_damaged_file_of_voices_is_a_warning(tmp_path: Path) -> None:
    path = voices_path({"XDG_DATA_HOME": str(tmp_path)})
    path.parent.mkdir()
    path.write_bytes(b"damaged " * 900)
    finding = enrolled_voices(Settings(), {"XDG_DATA_HOME": str(tmp_path)})
    assert (finding.level, "kept aside" in finding.text) == ("warn", True)


def test_voices_are_not_mentioned_without_a_focus() -> None:
    assert "voices of people" not in [finding.name for finding in models(Settings(), {}).findings]


def test_unknown_wake_word_is_a_failure_with_the_known_ones() -> None:
    (finding,) = wake_word_findings(load_settings(None, {}, ["talk.wake_word=computer"]).settings)
    assert (finding.level, finding.name) == ("fail", "wake word")
    assert "okay_nabu" in finding.remedy
    assert wake_word_findings(Settings()) == []


def test_installed_wake_word_is_listed() -> None:
    pytest.importorskip("pymicro_wakeword", reason="the extra wake is not installed")
    (finding,) = wake_word_findings(load_settings(None, {}, ["talk.wake_word=okay_nabu"]).settings)
    assert (finding.level, finding.text) == ("ok", "okay_nabu, by microwakeword")
