"""The engines of replicas, without Ray."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import numpy as np
import pytest
from support.models.gpu_build import pretend_gpu_build
from support.models.phrase_whisper import PHRASE, phrase_whisper
from support.models.synthetic_piper import tone_voice
from support.models.synthetic_smart_turn import counting_network

from assistant.cluster import application
from assistant.cluster.replicas import RecognizerReplica, TurnEndReplica, VoiceReplica, WatchedThread, local_settings
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.models.needs import Need
from assistant.setup import build
from assistant.setup.voices import choice as voice_choice
from audio import hang_detection
from audio.cluster import SERVICES
from audio.cluster.wire import received_chunk, received_info, sent_pcm
from audio.end_of_turn.smart_turn.network import SmartTurn
from audio.errors import EngineError, EngineLoadError, TtsError
from audio.stt.whisper.cluster.wire import received_decode
from audio.tts import Chunk
from audio.units import MIC_RATE_HZ

LOUD = np.random.default_rng(0).normal(0, 3000, 3 * MIC_RATE_HZ).astype(np.int16)


def settings_with(*assignments: str) -> Settings:
    engines = (
        "stt.engine=ray",
        "tts.engine=ray",
        "turn.smart_turn=ray",
        "stt.faster-whisper.device=cpu",
        "stt.threads=1",
    )
    return load_settings(None, {}, [*engines, *assignments]).settings


@pytest.fixture(scope="module")
def whisper() -> RecognizerReplica:
    return RecognizerReplica(local_settings(settings_with(f"stt.model={phrase_whisper()}")), "1.0+abc")


async def test_whisper_replica_decodes_and_counts(whisper: RecognizerReplica) -> None:
    before = received_info(await whisper.describe())
    decoded = await whisper.answer("decode", sent_pcm(LOUD), "en", True, False, "")
    assert decoded is not None
    assert received_decode(decoded, LOUD).text == PHRASE
    info = received_info(await whisper.describe())
    assert (info.served, info.ongoing) == (before.served + 1, 0)
    assert (info.version, info.device, info.multilingual) == ("1.0+abc", "cpu", True)
    assert "int8" in info.detail


async def test_whisper_replica_hears_first_word_and_language(whisper: RecognizerReplica) -> None:
    word = received_decode(await whisper.answer("first_word", sent_pcm(LOUD), "en"), LOUD)
    assert word.first_word is not None
    language, probability = await whisper.answer("detect_language", sent_pcm(LOUD))
    assert language
    assert 0 < probability <= 1


async def test_cancelled_decode_becomes_unwanted(whisper: RecognizerReplica, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    class Model:
        def answer(self, wanted: Callable[[], bool], *_asked: object) -> None:
            began.set()
            while wanted():
                time.sleep(0.001)
            ended.set()

    monkeypatch.setattr(whisper, "_model", Model())
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(whisper.answer("decode", sent_pcm(LOUD), "en", True, False, ""))
        assert await asyncio.to_thread(began.wait, 30)
        assert not ended.is_set()
        task.cancel()
    assert await asyncio.to_thread(ended.wait, 30)


async def test_voice_replica_speaks_after_its_health_was_checked(tmp_path: Path) -> None:
    replica = VoiceReplica(local_settings(settings_with(f"tts.voice={tone_voice(tmp_path)}")), "1.0+abc")
    await replica.check_health()
    assert "en_US-tone-low" in received_info(await replica.describe()).detail
    chunks = [received_chunk(item) async for item in replica.speak("Hello there.", 1.0)]
    assert sum(chunk.pcm.size for chunk in chunks) > 5000
    assert received_info(await replica.describe()).served == 1
    await replica._voice.aclose()


async def test_voice_replica_reports_fallback_to_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpu_build(monkeypatch)
    replica = VoiceReplica(local_settings(settings_with(f"tts.voice={tone_voice(tmp_path)}")), "1.0+abc")
    detail = received_info(await replica.describe()).detail
    assert ", on the CPU, because onnxruntime cannot start CUDA here" in detail
    await replica._voice.aclose()


async def test_engine_that_hangs_fails_the_health_check(monkeypatch: pytest.MonkeyPatch) -> None:
    thread, ends, began = WatchedThread("engine", lambda: None), threading.Event(), threading.Event()

    def work() -> bool:
        began.set()
        return ends.wait(30)

    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(thread.run(work))
        assert await asyncio.to_thread(began.wait, 30)
        await thread.check()
        monkeypatch.setattr(hang_detection, "BLOCKED_S", 0.001)
        await asyncio.sleep(0.01)
        with pytest.raises(EngineError, match="engine hangs: it has neither computed nor waited"):
            await thread.check()
        ends.set()
        assert await working
    await thread.check()


async def test_engine_that_failed_is_tried_at_the_health_check() -> None:
    trials: list[Exception | None] = [MemoryError("on the device"), None]

    def trial() -> None:
        if (result := trials.pop(0)) is not None:
            raise result

    def fail() -> None:
        raise OSError("it failed")

    thread = WatchedThread("engine", trial)
    await thread.check()
    with pytest.raises(OSError, match="it failed"):
        await thread.run(fail)
    with pytest.raises(MemoryError):
        await thread.check()
    await thread.check()  # it works again
    await thread.check()
    assert not trials


async def test_whisper_replica_is_healthy_again_after_a_failed_decode(whisper: RecognizerReplica) -> None:
    with pytest.raises(Exception, match="xx"):
        await whisper.answer("decode", sent_pcm(LOUD), "xx", True, False, "")
    await whisper.check_health()


async def test_voice_that_failed_is_loaded_again_at_the_health_check(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenVoice:
        name, detail, loads = "piper", "a voice", 0

        async def load(self) -> None:
            self.loads += 1

        async def speak(self, _text: str, _speed: float) -> AsyncGenerator[Chunk]:
            if self.loads == 1:
                raise TtsError("Piper hung and was abandoned: load the voice again")
            yield Chunk(LOUD)

    replica, voice = VoiceReplica(local_settings(settings_with()), "1.0+abc"), BrokenVoice()
    monkeypatch.setattr(replica, "_voice", voice)
    with pytest.raises(TtsError):
        [item async for item in replica.speak("Hello.", 1.0)]
    await replica.check_health()
    await replica.check_health()
    assert voice.loads == 2
    assert [item async for item in replica.speak("Hello.", 1.0)]


async def test_another_downloaded_voice_of_the_language_replaces_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Need(str(tone_voice(tmp_path, name="de_DE-tone-low", language="de_DE")), "piper", "text to speech")
    monkeypatch.setattr(voice_choice, "other_voice", lambda _engine, _language: other)
    replica = VoiceReplica(local_settings(settings_with("assistant.language=de")), "1.0+abc")
    detail = received_info(await replica.describe()).detail
    assert "de_DE-tone-low" in detail
    assert "not downloaded" in detail or "missing" in detail
    await replica._voice.aclose()


async def test_language_without_a_piper_voice_is_spoken_by_espeak() -> None:
    replica = VoiceReplica(local_settings(settings_with("assistant.language=eo")), "1.0+abc")
    detail = received_info(await replica.describe()).detail
    assert detail.startswith("espeak-ng")
    assert "no piper model is known for eo" in detail
    await replica._voice.aclose()


async def test_voice_replica_without_piper_says_why() -> None:
    replica = VoiceReplica(local_settings(settings_with("assistant.language=de")), "1.0+abc")
    detail = received_info(await replica.describe()).detail
    assert detail.startswith("espeak-ng")  # Pico, the next best, does not run on a cluster
    assert "instead of piper, because" in detail
    await replica._voice.aclose()


def test_replica_without_its_model_names_the_command() -> None:
    with pytest.raises(EngineLoadError, match="models pull"):
        RecognizerReplica(local_settings(settings_with("stt.model=tiny.en")), "1.0+abc")


def test_network_without_batches_judges_one_sound_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(counting_network())  # its shape is for one sound
    network = SmartTurn(path)
    assert not network.use_batches()
    sounds = [LOUD, LOUD[:8000], LOUD // 2]
    assert network.probabilities(sounds) == [network.probability(sound) for sound in sounds]


async def test_turn_end_replica_judges_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(counting_network())
    monkeypatch.setattr(build, "place_of", lambda _need: path)
    replica = TurnEndReplica(local_settings(settings_with()), "1.0+abc")
    assert received_info(await replica.describe()).detail.endswith(", one at a time, CPU")
    found = await replica.judge([sent_pcm(LOUD), sent_pcm(LOUD // 2)])
    assert len(found) == 2
    assert all(0 <= one <= 1 for one in found)
    assert received_info(await replica.describe()).served == 2


def test_turn_end_replica_computes_where_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(counting_network())
    monkeypatch.setattr(build, "place_of", lambda _need: path)
    pretend_gpu_build(monkeypatch)
    with pytest.raises(EngineLoadError, match=r'turn\.provider = "cuda": onnxruntime cannot start CUDA'):
        TurnEndReplica(local_settings(settings_with("turn.provider=cuda")), "1.0+abc")


def test_replicas_get_no_addresses_and_instructions() -> None:
    sent = local_settings(settings_with("home.url=http://home.example:8123", "assistant.instructions=Be brief."))
    assert sent.home.url == ""
    assert sent.assistant.instructions == ""
    assert (sent.stt.engine, sent.tts.engine, sent.turn.smart_turn) == ("faster-whisper", "auto", "auto")


def test_replicas_get_the_settings_of_engines() -> None:
    sent = local_settings(settings_with("tts.piper.speaker=3"))
    assert sent.value("tts.piper.speaker") == 3
    assert application.version_of(settings_with("tts.piper.speaker=3")) != application.version_of(settings_with())


@pytest.mark.parametrize(("cpus", "threads"), [("2", 2), ("0.5", 1), ("0", 0)])
def test_engines_have_as_many_threads_as_their_replica_reserves_cores(cpus: str, threads: int) -> None:
    given = load_settings(None, {}, ["stt.engine=ray", f"cluster.replica_cpus={cpus}"]).settings
    assert local_settings(given).stt.threads == threads
    assert local_settings(settings_with(f"cluster.replica_cpus={cpus}")).stt.threads == 1  # stt.threads is set


def test_version_is_the_same_for_equal_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[stt]\nengine = "ray"\nmodel = "tiny.en"\n[stt.faster-whisper]\ndevice = "cpu"\n')
    read = load_settings(file, {}, []).settings
    given = load_settings(None, {}, ["stt.faster-whisper.device=cpu", "stt.model=tiny.en", "stt.engine=ray"]).settings
    assert application.version_of(read) == application.version_of(given)


def test_version_changes_with_the_settings_of_replicas_only() -> None:
    version = application.version_of(settings_with())
    assert application.version_of(settings_with("server.port=9000", "cluster.address=127.0.0.1:9")) == version
    assert application.version_of(settings_with("tts.speed=1.5")) != version


def test_only_engines_set_to_ray_are_deployed() -> None:
    assert application.services_of(settings_with("tts.engine=auto")) == ("recognizer", "turn-end")
    assert application.services_of(load_settings(None, {}, []).settings) == ()


class Applications:
    """The part of Ray Serve that knows the deployed applications."""

    def __init__(self, *names: str) -> None:
        self.applications = set(names)
        self.delete = self.applications.remove

    def status(self) -> "Applications":
        return self

    def start(self, proxy_location: str) -> None: ...

    def run(self, _built: object, name: str, route_prefix: None) -> None:
        self.applications.add(name)


def test_application_of_an_older_version_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "built", lambda _serve, _settings, _service: None)
    settings, before = settings_with(), ("repartee-whisper", "repartee-voice", "other")
    serve = Applications(*before)
    application.deploy(serve, settings, "recognizer")
    assert serve.applications == {"repartee-recognizer", "repartee-voice", "other"}
    serve = Applications(*before)
    assert [application.remove(serve, settings, service) for service in SERVICES] == [True, True, False]
    assert serve.applications == {"other"}
