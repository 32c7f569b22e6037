"""Building engines from settings: selected engines, fallbacks, and errors of one sentence."""

import asyncio
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import onnxruntime
import pytest
from support.models.gpu_build import pretend_gpu_build
from support.models.phrase_whisper import phrase_settings
from support.models.synthetic_piper import tone_voice
from support.models.synthetic_smart_turn import counting_network
from support.services.endpoint_services import routed
from support.services.llm_server import answer, serving
from support.texts.text_cases import named_cases

from assistant.config.loading import load_settings
from assistant.end_of_turn.estimator import AUTO
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel
from assistant.pipeline.engines import Engines
from assistant.registry.engine_choice import EngineChoice
from assistant.setup import build
from assistant.setup.derived_settings import turn_settings, wake_phrase_gate
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.listening.end_of_turn_loader import load_end_of_turn_model
from assistant.setup.loading import close_engine
from assistant.text.normalization.alignment import align
from assistant.turns.settings import TurnSettings
from assistant.turns.words.wake_phrase import WakePhraseGate
from audio.errors import EngineError, EngineLoadError
from audio.execution_provider import ProviderRequest
from audio.units import Samples
from llm.chat import AnsweringEndpoint, Finished, Message, Token
from llm.routing.endpoint_selection import GeoPoint
from llm.routing.router import Router
from llm.routing.sized_answer import SizeRules

WHAT_TIME = (Message("user", "what time is it"),)
STORY = (Message("user", "tell me a story"),)


async def end_of_turn_model(loader: EngineLoader) -> AudioEndOfTurnModel | None:
    """Returns the model that this loader loads."""
    return await load_end_of_turn_model(loader, loader._connection)


AUTO_VOICE = "tts.engine=auto"


def loader_of(*overrides: str, environ: dict[str, str] | None = None) -> EngineLoader:
    """Returns a loader; espeak-ng speaks, which is loaded at once, unless the overrides say something of the voice."""
    voice = () if any(one.startswith("tts.") for one in overrides) else ("tts.engine=espeak-ng",)
    return EngineLoader(load_settings(None, {}, [*voice, *overrides]).settings, environ or {})


def endpoint(url: str, **more: str) -> str:
    keys = {"name": "near", "url": url, "model": "m", **more}
    return "llm.endpoints=[{" + ", ".join(f'{key}="{value}"' for key, value in keys.items()) + "}]"


async def said(engines: Engines, messages: Sequence[Message]) -> tuple[str, str]:
    """Returns what answers, and the answer."""
    by, text = engines.model.name, ""
    async for event in engines.model.stream(messages):
        if isinstance(event, AnsweringEndpoint):
            by = event.by
        elif isinstance(event, Token):
            text += event.text
        else:
            assert not isinstance(event, Finished) or event.reason == "stop"
    return by, text.strip()


@asynccontextmanager
async def started(loader: EngineLoader) -> AsyncGenerator[Engines]:
    """Yields the engines of a conversation, and closes all afterwards."""
    engines = await loader.engines()
    try:
        yield engines
    finally:
        await close_engine(engines.recognizer, pytest.fail)
        await loader.aclose(pytest.fail)


def asked(loader: EngineLoader, messages: Sequence[Message]) -> tuple[str, str]:
    async def scene() -> tuple[str, str]:
        async with started(loader) as engines:
            return await said(engines, messages)

    return asyncio.run(scene())


@pytest.mark.slow
def test_skills_answer_as_a_fallback_without_endpoints() -> None:
    loader = loader_of(AUTO_VOICE)
    by, text = asked(loader, WHAT_TIME)
    assert by == "skills"
    assert text.startswith("It's ")
    assert [chosen.stage for chosen in loader.chosen] == ["tts", "llm", "turn", "stt", "vad"]
    assert (
        "llm: skills, instead of a language model, because none is configured in [[llm.endpoints]]" in loader.fallbacks
    )


@pytest.mark.slow
def test_skills_by_choice_are_no_fallback() -> None:
    loader = loader_of("llm.local_model=off")
    asked(loader, WHAT_TIME)
    (llm,) = (chosen for chosen in loader.chosen if chosen.stage == "llm")
    assert (llm.why, llm.fallback) == ("as configured: no language model", False)


@pytest.mark.slow
def test_missing_models_are_reported_with_remedies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    loader = loader_of(AUTO_VOICE)
    asked(loader, WHAT_TIME)
    by_stage = {chosen.stage: chosen for chosen in loader.chosen}
    stt, tts, turn = (by_stage[stage] for stage in ("stt", "tts", "turn"))
    assert [(chosen.name, chosen.fallback) for chosen in (stt, tts)] == [("no recognizer", True), ("hibari", False)]
    assert "repartee models pull tiny.en" in stt.why
    assert "repartee models pull smart-turn" in turn.why


@pytest.mark.slow
@pytest.mark.parametrize(
    ("voice", "lacks"),
    [
        (
            "en_US-amy-medium",
            "the Piper voice en_US-amy-medium is not downloaded; fetch it: repartee models pull en_US-amy-medium",
        ),
        ("./gone/eva.onnx", "the Piper voice is missing: there is no gone/eva.onnx; correct tts.voice"),
    ],
    ids=["catalogue voice", "path"],
)
def test_espeak_replaces_a_missing_piper_voice(
    voice: str, lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    async def scene(loader: EngineLoader) -> None:
        await (await loader._make_voice()).aclose()

    loader = loader_of(f"tts.voice={voice}")
    asyncio.run(scene(loader))
    assert loader.fallbacks == [f"tts: espeak-ng, instead of piper, because {lacks}"]
    with pytest.raises(EngineLoadError, match="espeak-ng has no voice"):
        asyncio.run(scene(loader_of("tts.engine=espeak-ng", f"tts.voice={voice}")))


def installed_voice(data: Path, name: str) -> Path:
    """Installs a voice that speaks tones as a voice of the catalogue."""
    folder = data / "repartee/voices"
    folder.mkdir(parents=True, exist_ok=True)
    return tone_voice(folder, name=name)


def chosen_voice(*overrides: str) -> EngineChoice:
    """Loads the voice of a conversation. Returns how it was chosen."""

    async def scene() -> EngineChoice:
        loader = loader_of(*overrides)
        await (await loader._make_voice()).aclose()
        (chosen,) = loader.chosen
        return chosen

    return asyncio.run(scene())


async def test_lexicon_changes_what_is_said_and_not_the_history() -> None:
    lexicon = 'tts.lexicon={Siobhan = "Shivawn", nginx = "/ˈɛndʒɪnˌɛks/"}'
    loader = loader_of("tts.engine=espeak-ng", lexicon, *phrase_settings())
    async with started(loader) as engines:
        said = engines.normalize_text("Siobhan has 3 km left, and nginx.")
        async with aclosing(engines.voice.speak("Go, nginx.")) as chunks:
            marks = [mark async for chunk in chunks for mark in chunk.marks]
    words = ["Go, nginx."[mark.text_start : mark.text_end] for mark in marks]
    assert said == "Shivawn has three kilometers left, and nginx."
    assert words == ["Go,", "nginx."]
    written = align("Siobhan has 3 km left, and nginx.", said)
    assert written.written(len("Shivawn has")) == len("Siobhan has")


def test_other_voice_of_the_engine_speaks_if_its_default_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    installed_voice(tmp_path, "en_US-amy-medium")
    chosen = chosen_voice("tts.engine=piper")
    assert (chosen.name, chosen.fallback) == ("piper", False)
    assert chosen.detail.startswith("en_US-amy-medium ")


@pytest.mark.parametrize("language", ["en", "en-GB"])
def test_hibari_speaks_english_by_default(language: str) -> None:
    chosen = chosen_voice(AUTO_VOICE, f"assistant.language={language}")
    assert (chosen.name, chosen.detail, chosen.fallback) == ("hibari", "heart (en_US), speed 1", False)


def test_configured_voice_is_not_replaced_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    installed_voice(tmp_path, "en_US-amy-medium")
    assert chosen_voice("tts.voice=en_US-lessac-medium").name == "espeak-ng"


def test_espeak_replaces_a_damaged_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    installed_voice(tmp_path, "en_US-amy-medium").write_bytes(b"\x00damaged")
    chosen = chosen_voice("tts.voice=en_US-amy-medium")
    assert (chosen.name, chosen.fallback) == ("espeak-ng", True)
    assert "en_US-amy-medium.onnx is damaged" in chosen.why
    assert f"tts: espeak-ng, {chosen.why}" in caplog.text
    with pytest.raises(EngineLoadError, match="is damaged"):
        chosen_voice("tts.engine=piper", "tts.voice=en_US-amy-medium")


class _Unfit:
    """A model that loads and fails when it is used."""

    provider, fallback = "cpu", ""

    def __init__(self, path: Path, *, provider: ProviderRequest) -> None:
        pass

    def probability(self, _pcm: object) -> float:
        raise EngineError("Smart Turn failed inside onnxruntime")


def test_failing_smart_turn_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.setup.listening.end_of_turn_loader.at_hand", lambda _need: tmp_path)
    monkeypatch.setattr("audio.end_of_turn.smart_turn.service.SmartTurn", _Unfit)
    loader = loader_of()
    assert asyncio.run(end_of_turn_model(loader)) is None
    (turn,) = loader.chosen
    assert (turn.name, turn.fallback) == ("estimate", True)
    assert "without Smart Turn: Smart Turn failed" in turn.why


class _Slow:
    """Skills that never finish loading."""

    def load(self, _language: str) -> None:
        time.sleep(0.1)


def test_engine_that_does_not_load_in_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.setup.engine_loader.LOAD_TIMEOUT_S", 0.01)
    monkeypatch.setattr(build, "skills", _Slow)
    with pytest.raises(EngineLoadError, match=r"^skills did not load within 0\.01 s: run `repartee doctor`"):
        asyncio.run(loader_of().open())


@pytest.mark.slow
@named_cases(
    ("before", "messages", "by"),
    {
        "skills first, known request": ("true", WHAT_TIME, "skills"),
        "skills first, other request": ("true", STORY, "near"),
        "model first, known request": ("false", WHAT_TIME, "near"),
    },
)
async def test_skills_before_the_model_is_a_setting(before: str, messages: Sequence[Message], by: str) -> None:
    async with (
        serving(answer("Once upon a time.")) as server,
        started(loader_of(endpoint(server.url), f"skills.before_llm={before}")) as engines,
    ):
        who, text = await said(engines, messages)
    assert who == by
    assert (text == "Once upon a time.") == (by == "near")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (("skills.enabled=false",), "nothing can answer"),
        ((endpoint("http://127.0.0.1:9/v1", api_key_env="MY_KEY"),), "MY_KEY is not set"),
        (("tts.voice=nobody",), "tts.voice"),
        (
            ("assistant.language=de", "stt.engine=faster-whisper", "stt.model=tiny.en"),
            r'tiny.en supports only English: set stt.model = "tiny"',
        ),
    ],
    ids=["nothing answers", "missing key", "unknown voice", "language of the model"],
)
def test_error_for_unusable_settings_is_one_sentence(overrides: tuple[str, ...], told: str) -> None:
    with pytest.raises(EngineLoadError, match=told) as refused:
        asyncio.run(loader_of(*overrides).engines())
    assert "\n" not in str(refused.value)


def test_settings_reach_turn_taking() -> None:
    def made(*overrides: str, recognizer: str = "faster-whisper") -> TurnSettings:
        return turn_settings(load_settings(None, {}, overrides).settings, recognizer)

    patient = made("turn.profile=patient", "turn.speculate_after_ms=120")
    assert (patient.hangover_ms, patient.speculate_after_ms) == (700, 120)
    assert (made("turn.hangover_ms=333").hangover_ms, made("turn.hangover_ms=333").profile) == (333, None)
    assert made("turn.speculate_after_ms=0").speculate_after_ms is None
    assert (made().profile, made().rechecks.settle_ms) == (AUTO, 160)
    third = made(recognizer="a third")
    assert (third.rechecks.settle_ms, third.stuck_after_s) == (0, 10)
    for key in ("llm.first_token_timeout_s", "stt.timeout_s", "tts.timeout_s"):
        assert made(f"{key}=30", recognizer="a third").stuck_after_s == 32, key
    assert made("turn.hangover_ms=100").rechecks.settle_ms == 100


@pytest.mark.parametrize("engine", ["silero", "cascade", "webrtc"])
async def test_every_detector_can_be_selected(engine: str) -> None:
    loader = loader_of(f"vad.engine={engine}")
    vad, _ = loader._make_vads()
    assert vad.name == engine
    assert loader.chosen[0].name == engine


def several(*tables: str) -> str:
    return "llm.endpoints=[" + ", ".join("{" + table + "}" for table in tables) + "]"


NEAR = 'name="near", url="http://127.0.0.1:9/v1", model="m"'
FAR = 'name="far", url="http://127.0.0.1:9/v1", model="m"'


def test_conversations_share_a_router_over_several_endpoints() -> None:
    placed = "latitude=52.5, longitude=13.4"
    loader = loader_of(
        several(f"{NEAR}, {placed}, tier=2, weight=3.0, price_in_per_million=2.0, patience_s=4.0", FAR),
        "llm.policy=geo",
        "llm.latitude=48.9",
        "llm.longitude=2.4",
        "llm.hedge_share=0.05",
    )
    model = routed(loader.settings, loader.environ)
    assert isinstance(model, Router)
    assert model.detail == "2 endpoints, geo: near, far"
    assert model.routing.budget.share == 0.05
    near, far = model.routing.endpoints
    assert (near.tier, near.weight, near.price_in_per_million, near.patience_s) == (2, 3.0, 2.0, 4.0)
    assert near.place == GeoPoint(52.5, 13.4)
    assert far.place is None
    assert model.routing.here == GeoPoint(48.9, 2.4)


def test_sizes_of_endpoints_reach_the_router() -> None:
    loader = loader_of(
        several(f'{NEAR}, size="small"', f'{FAR}, size="large"'), "llm.bridge=true", "llm.escalate_below=0.5"
    )
    model = routed(loader.settings, loader.environ)
    assert isinstance(model, Router)
    assert [endpoint.size for endpoint in model.routing.endpoints] == ["small", "large"]
    assert model.sizes == SizeRules("en", escalate=True, min_probability=0.5, bridge=True)
    assert model.detail == "2 endpoints, latency: near (small), far (large)"
    plain = routed(loader_of(several(NEAR, FAR)).settings, {})
    assert isinstance(plain, Router)
    assert plain.sizes is None


@pytest.mark.slow
@pytest.mark.parametrize("summary", [False, True])
async def test_history_is_summarized_by_the_language_model_if_wanted(summary: bool) -> None:
    loader = loader_of(several(NEAR), f"llm.summary={str(summary).lower()}")
    async with started(loader) as engines:
        assert ("" if engines.summarizer is None else engines.summarizer.name) == (
            "near" if summary else ""
        )  # the skills would answer a request in its place
        assert engines.warm_connections is not None


def test_single_endpoint_needs_no_router() -> None:
    assert routed(loader_of(several(NEAR)).settings, {}).name == "near"


def test_policy_geo_requires_a_location() -> None:
    with pytest.raises(EngineLoadError, match=r"llm\.latitude"):
        routed(loader_of(several(NEAR, FAR), "llm.policy=geo").settings, {})


NOTES = 'tools.servers=[{name="notes", command="/nowhere/notes"}]'


@pytest.mark.slow
def test_tools_without_model_or_server_are_reported() -> None:
    async def fallback(*overrides: str) -> str:
        loader = loader_of("tts.engine=espeak-ng", NOTES, *overrides)
        await loader.open()
        await loader.aclose(pytest.fail)
        return next(line for line in loader.fallbacks if line.startswith("tools: "))

    alone = asyncio.run(fallback())
    assert (
        alone
        == "tools: none, instead of [[tools.servers]], because only a language model calls tools; add [[llm.endpoints]]"
    )
    lost = asyncio.run(fallback(endpoint("http://127.0.0.1:9/v1")))
    assert lost.startswith("tools: mcp, with problems: the tool server notes is not available (no such program)")


@pytest.mark.slow
def test_tools_require_an_endpoint_with_function_calls() -> None:
    near = endpoint("http://127.0.0.1:9/", kind="tgi", template="chatml")
    loader = loader_of("tts.engine=espeak-ng", NOTES, near)
    with pytest.raises(EngineLoadError, match=re.escape("no endpoint supports functions (near: their kinds")):
        asyncio.run(loader.open())


@pytest.mark.slow
async def test_cancelled_start_stops_the_tools() -> None:
    silent = f"""tools.servers=[{{name="silent", command="'{sys.executable}' -c 'import time; time.sleep(60)'"}}]"""
    loader = loader_of("tts.engine=espeak-ng", silent, endpoint("http://127.0.0.1:9/v1"))
    async with asyncio.TaskGroup() as group:
        opening = group.create_task(loader.open())
        async with asyncio.timeout(20):
            while not _tool_threads():  # noqa: ASYNC110 - what happens, happens in another thread
                await asyncio.sleep(0.01)
        (thread,) = _tool_threads()
        opening.cancel()
    await asyncio.to_thread(thread.join, 1)
    assert not thread.is_alive()


def _tool_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tools"]


def test_tools_without_the_package_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "assistant.tools.mcp_tools", None)
    with pytest.raises(EngineLoadError, match=re.escape(".venv/bin/pip install -e '.[mcp]'")):
        build.mcp_tools((), {})


def test_talk_modes_reach_turn_taking() -> None:
    assert wake_phrase_gate(load_settings(None, {}, ["talk.mode=open"]).settings) == WakePhraseGate()
    wake = wake_phrase_gate(load_settings(None, {}, ["talk.mode=wake", "talk.listen_s=2"]).settings)
    assert (wake.window, wake.classify("hey computer stop", Samples(0)).text) == (32_000, "stop")
    assert not wake_phrase_gate(load_settings(None, {}, ["talk.mode=wake", "talk.listen_s=0"]).settings).interruptible


def test_slow_smart_turn_is_a_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = tmp_path / "smart.onnx"
    network.write_bytes(counting_network())
    monkeypatch.setattr("assistant.setup.listening.end_of_turn_loader.at_hand", lambda _need: network)
    monkeypatch.setattr("audio.end_of_turn.smart_turn.service._answer_s", lambda _network: 0.262)
    loader = loader_of()
    assert asyncio.run(end_of_turn_model(loader)) is not None
    assert loader.fallbacks == [
        "turn: estimate, Smart Turn uses 4 s of speech: for 8 s it takes 262 ms on this machine"
    ]


def _with_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = tmp_path / "smart.onnx"
    network.write_bytes(counting_network())
    monkeypatch.setattr("assistant.setup.listening.end_of_turn_loader.at_hand", lambda _need: network)
    monkeypatch.setattr("audio.end_of_turn.smart_turn.service._answer_s", lambda _network: 0.0)


def test_trace_names_provider_of_smart_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_network(tmp_path, monkeypatch)
    loader = loader_of("turn.provider=cpu")
    assert asyncio.run(end_of_turn_model(loader)) is not None
    assert loader.traced["turn_provider"] == "CPU"
    assert loader.chosen[0].detail.endswith(", CPU")
    assert loader.fallbacks == []


def test_provider_fallback_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_network(tmp_path, monkeypatch)
    pretend_gpu_build(monkeypatch)
    loader = loader_of()
    assert asyncio.run(end_of_turn_model(loader)) is not None
    reason = "on the CPU, because onnxruntime cannot start CUDA here (its libraries or the GPU are missing)"
    assert loader.fallbacks == [f"turn: estimate, Smart Turn {reason}"]
    assert loader.traced["turn_provider"] == f"CPU; {reason}"


def test_missing_configured_provider_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_network(tmp_path, monkeypatch)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(EngineLoadError, match=r'turn\.provider = "tensorrt": .*onnxruntime-gpu'):
        asyncio.run(end_of_turn_model(loader_of("turn.provider=tensorrt")))


def test_missing_provider_of_piper_is_no_reason_for_espeak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    loader = loader_of("tts.piper.provider=cuda", f"tts.voice={tone_voice(tmp_path)}")
    with pytest.raises(EngineLoadError, match=r'tts\.piper\.provider = "cuda": .*onnxruntime-gpu'):
        asyncio.run(loader._make_voice())
