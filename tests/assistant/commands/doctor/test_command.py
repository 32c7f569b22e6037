"""`repartee doctor`: as a program with real engines or an invalid configuration, what it leaves behind, endpoints."""

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.clocks.virtual_time import run_virtual
from support.models.phrase_whisper import phrase_settings
from support.models.synthetic_piper import tone_voice
from support.programs.program import REPARTEE, repartee

from assistant.commands.doctor import command
from assistant.commands.doctor.measures import measure_model, measure_vad, measure_voice, sound
from assistant.commands.doctor.process import ProbeResult, ProbeRunner
from assistant.commands.doctor.report import ReportSection
from assistant.config.loading import load_settings
from assistant.models.model_choice import ModelChoice
from assistant.setup import build, engine_catalog
from assistant.setup.engine_catalog import ENGINES
from assistant.setup.engine_loader import EngineLoader


@pytest.fixture
def only_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the sections that load packages and engines: six seconds of processor time."""

    def empty(key: str) -> Callable[..., Awaitable[ReportSection]]:
        async def section(*_given: object) -> ReportSection:
            return ReportSection(key, key, ())

        return section

    for key in ("versions", "devices", "engines"):
        monkeypatch.setattr(command, key, empty(key))
    for limit in ("LIMIT_S", "ENDPOINT_LIMIT_S"):  # a child may start late on a busy machine
        monkeypatch.setattr(command, limit, 60.0)
    monkeypatch.setattr(command, "model_choice", lambda _settings: ModelChoice("tiny.en"))


@pytest.mark.usefixtures("only_endpoints")
def test_whisper_is_measured_before_the_time_of_the_checks_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []

    class Runner(ProbeRunner):
        async def examine(self, what: str, limit_s: float) -> ProbeResult:
            asked.append((what, self.until_s - asyncio.get_running_loop().time()))
            await asyncio.sleep(limit_s if what == "times" else 0.0)
            return ProbeResult({})

    async def engines(runner: ProbeRunner, _settings: object) -> ReportSection:
        await runner.examine("tts piper", 8.0)
        return ReportSection("engines", "Engines", ())

    monkeypatch.setattr(command, "ProbeRunner", Runner)
    monkeypatch.setattr(command, "engines", engines)
    choice = ModelChoice("tiny", unmeasured=("tiny", "base.en"))
    monkeypatch.setattr(command, "model_choice", lambda _settings: choice)
    shown: list[str] = []
    loaded = load_settings(None, {}, [])
    report = run_virtual(command.examine(loaded, None, [], {}, shown.append))
    assert shown == ["the speed of speech recognition on this machine (tiny, base.en), 30 s at most"]
    assert asked[0] == ("times", command.MEASURE_LIMIT_S)
    assert dict(asked)["tts piper"] == command.LIMIT_S
    assert report.took_s == command.MEASURE_LIMIT_S


def test_invalid_configuration_exits_with_2() -> None:
    done = repartee("doctor", "--set", "tts.sped=2")
    assert done.returncode == 2
    assert done.stderr.startswith("repartee: ")
    assert "tts.sped" in done.stderr
    as_json = repartee("doctor", "--json", "--set", "tts.sped=2")
    assert as_json.returncode == 2
    assert "tts.sped" in json.loads(as_json.stdout)["problems"][0]


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_doctor_checks_this_machine_and_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [REPARTEE, "doctor", "--json", "--set", f"trace.dir={home / 'traces'}"],
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
        env={**os.environ, "HF_HUB_CACHE": str(home), "XDG_DATA_HOME": str(home)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["ready"] is True
    assert found["took_s"] < 60
    assert list(found["sections"]) == [
        "versions",
        "threads",
        "devices",
        "models",
        "engines",
        "servers",
        "endpoints",
        "tools",
        "services",
        "server",
        "configuration",
    ]
    lines = {line["name"]: line for line in found["sections"]["engines"]}
    places = {"tts.piper.provider", "turn.provider"}
    assert set(lines) == {*(f"{stage} {name}" for stage, name in ENGINES), *places, "all engines"}
    assert lines["vad silero"]["facts"]["in_use"] is True
    for name in ("stt faster-whisper", "all engines"):
        assert (lines[name]["level"], lines[name]["remedy"]) == ("warn", "repartee models pull tiny.en")
    assert list(home.iterdir()) == []
    assert _left_behind(os.fsencode(home)) == []


def _left_behind(mark: bytes) -> list[str]:
    """Returns processes with a mark in their environment: those started here, and their children."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # ended meanwhile, or owned by another user
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("only_endpoints")
def test_endpoint_that_refuses_exits_with_1() -> None:
    screen = StringIO()
    dead = 'llm.endpoints=[{name="dead", url="http://127.0.0.1:9/v1", model="m"}]'
    assert command.doctor(None, [dead], Console(file=screen, width=160), as_json=False) == 1
    shown = screen.getvalue()
    assert "✗ fail  llm dead" in shown
    assert "→ start the server, or check the port in its url" in shown
    assert "✗ Not ready: no conversation can be held. answers: none of" in shown


@pytest.mark.slow
@pytest.mark.real_time
async def test_detector_finds_the_sentence_and_its_end() -> None:
    measured = measure_vad(lambda: build.vad("silero"))
    assert measured.ok
    assert measured.delay_ms < 20
    error_ms = float(measured.text.split("end of speech ")[1].split(" ms")[0])
    assert abs(error_ms) < 150


@pytest.mark.slow
async def test_voice_and_skills_are_measured(tmp_path: Path) -> None:
    settings = load_settings(None, {}, [f"tts.voice={tone_voice(tmp_path)}"]).settings
    for name in ("espeak-ng", "piper"):
        measured = await measure_voice(lambda name=name: engine_catalog.voice(settings, name))  # type: ignore[misc]
        assert measured.ok
        assert measured.rtf is not None
        assert 0 < measured.delay_ms < 3000
    skills = await measure_model(lambda: engine_catalog.skills(settings))
    assert "It's" in skills.text


def test_measured_clip_contains_the_sentence() -> None:
    assert len(sound(126)) == 126 * 320
    quiet, speech = sound(60)[3200:], sound(110)[30000:]
    assert abs(speech).mean() > 20 * abs(quiet).mean()


@pytest.mark.slow
async def test_single_engines_match_those_of_a_conversation(tmp_path: Path) -> None:
    """The catalogue makes its own engines; their descriptions must equal those of `EngineLoader`."""
    settings = load_settings(
        None, {}, [f"tts.voice={tone_voice(tmp_path)}", "tts.speed=1.5", "stt.threads=1", *phrase_settings()]
    ).settings
    loader = EngineLoader(settings, {})
    engines = await loader.engines()
    try:
        alone = engine_catalog.voice(settings, engines.voice.name)
        await alone.load()
        assert alone.detail == engines.voice.detail
        await alone.aclose()
        recognizer = engine_catalog.transcriber(settings, engines.recognizer.name)
        await recognizer.load()
        assert recognizer.detail == engines.recognizer.detail
        await recognizer.aclose()
    finally:
        await engines.recognizer.aclose()
        await loader.aclose()
