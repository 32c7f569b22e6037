"""The model on this machine: when it is used, what replaces it, and when it stands in for other endpoints."""

import os
import sys
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from support.models.synthetic_gguf import ANSWER, write_gguf
from support.services.llm_server import answer, serving

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.config.settings import DEFAULTS, Settings
from assistant.models.catalogue import MODELS
from assistant.models.needs import Need, at_hand, cache_folder_of, missing, rows
from assistant.setup import build
from assistant.setup.derived_settings import needs, use_of_chat_model
from assistant.setup.engine_loader import EngineLoader
from audio.errors import EngineLoadError
from llm.chat import AnsweringEndpoint, ChatEvent, ChatModel, FallbackAnswers, Message, Token
from llm.local import memory

QUESTION = (Message("system", "Answer. "), Message("user", "what time is it?"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def install(name: str) -> Path:
    """Puts a tiny model into the cache in place of a model of the catalogue."""
    model = MODELS[name]
    folder = cache_folder_of(model) / "snapshots" / "abc"
    folder.mkdir(parents=True, exist_ok=True)
    (file,) = model.files
    write_gguf(folder / file.name)
    if file.size_bytes is not None:
        os.truncate(folder / file.name, file.size_bytes)  # sparse
    return folder / file.name


def test_model_is_found_in_hub_cache() -> None:
    need = Need("qwen3-0.6b", "chat", "language model", "model")
    assert at_hand(need) is None
    assert missing(need) == "missing: repartee models pull qwen3-0.6b"
    path = install("qwen3-0.6b")
    assert at_hand(need) == path
    row = rows([need])[0]
    assert (row.size, row.at_hand) == ("397 MB, 1.1 GB RAM", True)


def test_file_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    need = Need(str(path), "chat", "language model", "model")
    assert at_hand(need) is None
    write_gguf(path)
    assert at_hand(need) == path


def test_best_model_that_fits_into_memory_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build.local_endpoint(DEFAULTS) == (None, "")
    install("qwen3-0.6b")
    install("qwen3-1.7b")
    for free_mb, name in ((4000, "qwen3-1.7b"), (1500, "qwen3-0.6b"), (None, "qwen3-1.7b")):
        free_bytes = None if free_mb is None else free_mb * 1_000_000
        monkeypatch.setattr(memory, "available_bytes", lambda free_bytes=free_bytes: free_bytes)
        endpoint, why = build.local_endpoint(DEFAULTS)
        assert endpoint is not None
        assert (endpoint.model, why) == (name, "auto: its model is downloaded")
    monkeypatch.setattr(memory, "available_bytes", lambda: 500_000_000)
    endpoint, why = build.local_endpoint(DEFAULTS)
    assert endpoint is None
    assert why == "qwen3-0.6b needs 1.1 GB of memory, and 500 MB are free"


def local_model(name: str) -> Settings:
    return replace(DEFAULTS, llm=LlmSection(local_model=name))


def test_setting_selects_a_model_or_none() -> None:
    install("qwen3-0.6b")
    assert build.local_endpoint(local_model("off")) == (None, "")
    endpoint, _ = build.local_endpoint(local_model("lfm2-1.2b"))
    assert endpoint is not None
    assert endpoint.model == "lfm2-1.2b"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("qwen3-0.6", r"llm\.local_model = 'qwen3-0\.6' is not known; did you mean qwen3-0\.6b\? The known names are "),
        ("of", r"llm\.local_model = 'of' is not known; did you mean off\? The known names are smollm2-.*, off, or "),
        ("./none.gguf", r"there is no none\.gguf; correct llm\.local_model\.$"),
    ],
)
async def test_setting_that_names_no_model_is_an_error(wanted: str, why: str) -> None:
    with pytest.raises(EngineLoadError, match=why):
        await EngineLoader(local_model(wanted), {}).open()
    (need,) = [need for need in needs(local_model(wanted)) if need.kind == "chat"]
    assert need.key == "llm.local_model"


def test_model_for_another_language_is_not_used() -> None:
    install("gemma-3-1b-it")
    german = replace(DEFAULTS, assistant=replace(DEFAULTS.assistant, language="de"))
    why = 'gemma-3-1b-it does not know the language "de"; get another: repartee models pull qwen3-0.6b'
    assert build.local_endpoint(german) == (None, why)
    assert build.local_endpoint(DEFAULTS)[0] is not None


def test_missing_extra_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    install("qwen3-0.6b")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    endpoint, why = build.local_endpoint(DEFAULTS)
    assert endpoint is None
    assert "run `.venv/bin/pip install -e '.[local]'`" in why


def test_needs_include_models_that_run_here() -> None:
    def chat_models(settings: Settings) -> list[str]:
        return [need.name for need in needs(settings) if need.kind == "chat"]

    assert chat_models(DEFAULTS) == []
    assert chat_models(local_model("qwen3-1.7b")) == ["qwen3-1.7b"]
    install("qwen3-0.6b")
    assert chat_models(DEFAULTS) == ["qwen3-0.6b"]
    assert chat_models(local_model("off")) == []
    section = LlmSection(endpoints=(EndpointSection(name="here", kind="local", model="lfm2-1.2b"),))
    assert chat_models(replace(DEFAULTS, llm=section)) == ["lfm2-1.2b"]


def test_configured_model_that_is_missing_is_an_error() -> None:
    section = LlmSection(endpoints=(EndpointSection(name="here", kind="local", model="lfm2-1.2b"),))
    with pytest.raises(
        EngineLoadError, match=r"the language model lfm2-1\.2b is not downloaded; fetch it: repartee models"
    ):
        build.client(section.endpoints[0], replace(DEFAULTS, llm=section), {})


# Loading.


async def text_of(model: ChatModel) -> tuple[str, list[ChatEvent]]:
    async with aclosing(model.stream(QUESTION)) as stream:
        events = [event async for event in stream]
    return "".join(event.text for event in events if isinstance(event, Token)), events


@pytest.mark.slow
async def test_downloaded_model_answers_without_configuration() -> None:
    install("qwen3-0.6b")
    settings = replace(DEFAULTS, skills=replace(DEFAULTS.skills, before_llm=False))
    async with aclosing(EngineLoader(settings, {})) as loader:
        engines = await loader.engines()
        (chosen,) = [one for one in loader.chosen if one.stage == "llm"]
        assert (chosen.name, chosen.why, chosen.fallback) == ("local", "auto: its model is downloaded", False)
        assert chosen.detail.startswith("qwen3-0.6b on this machine, ")
        assert (await text_of(engines.model))[0] == ANSWER


@pytest.mark.slow
async def test_skills_replace_a_model_that_cannot_be_loaded() -> None:
    path = install("qwen3-0.6b")
    with path.open("r+b") as file:
        file.write(b"damaged")
    async with aclosing(EngineLoader(DEFAULTS, {})) as loader:
        await loader.engines()
        (chosen,) = [one for one in loader.chosen if one.stage == "llm"]
        assert (chosen.name, chosen.fallback) == ("skills", True)
        assert "instead of the model on this machine, because" in chosen.why


# Standing in for other endpoints.


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["damaged", "not downloaded"])
async def test_fallback_that_cannot_start_does_not_prevent_the_start(
    trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    if trouble == "damaged":
        install("qwen3-0.6b").write_bytes(b"damaged")
    here = EndpointSection(name="here", kind="local", model="qwen3-0.6b")
    async with serving(answer("From the cloud.")) as cloud:
        section = LlmSection(endpoints=(here, EndpointSection(name="cloud", url=cloud.url, model="m")))
        skills = replace(DEFAULTS.skills, before_llm=False)
        async with aclosing(EngineLoader(replace(DEFAULTS, llm=section, skills=skills), {})) as loader:
            engines = await loader.engines()
            assert (await text_of(engines.model))[0] == "From the cloud."
            (fallback,) = [line for line in loader.fallbacks if line.startswith("llm: ")]
            assert fallback.startswith("llm: cloud, without the fallback here: llm endpoint 'here': ")
            assert "llm: without the fallback here: llm endpoint 'here': " in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("fallback", [True, False])
async def test_model_that_is_no_fallback_must_start(fallback: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    install("qwen3-0.6b")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    here = EndpointSection(name="here", kind="local", model="qwen3-0.6b", fallback=fallback)
    cloud = EndpointSection(name="cloud", url="http://127.0.0.1:9/v1", model="m")
    section = LlmSection(endpoints=(here,) if fallback else (here, cloud))
    with pytest.raises(EngineLoadError, match="not installed"):
        await EngineLoader(replace(DEFAULTS, llm=section), {}).open()


@pytest.mark.slow
async def test_model_stands_in_for_another_endpoint_and_reports_it() -> None:
    """Although it is the first in the file."""
    install("qwen3-0.6b")
    async with AsyncExitStack() as stack:
        async with serving(answer("From the cloud.")) as cloud:
            section = LlmSection(
                endpoints=(
                    EndpointSection(name="here", kind="local", model="qwen3-0.6b"),
                    EndpointSection(name="cloud", url=cloud.url, model="m"),
                ),
                temperature=0,
            )
            settings = replace(DEFAULTS, llm=section)
            clients = [build.client(one, settings, {}) for one in settings.llm.endpoints]
            model = await stack.enter_async_context(aclosing(build.joined(settings, clients)))
            await clients[0].load()
            text, events = await text_of(model)
            assert text == "From the cloud."
            assert not [event for event in events if isinstance(event, FallbackAnswers)]
        for _ in range(2):  # the second time, the circuit breaker is open
            text, events = await text_of(model)
            assert text == ANSWER
            assert [event for event in events if isinstance(event, FallbackAnswers)] == [FallbackAnswers("here")]
            assert [event.by for event in events if isinstance(event, AnsweringEndpoint)][-1] == "here"


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        (LlmSection(), "From now on qwen3-0.6b answers"),
        (LlmSection(local_model="off"), 'is not used: llm.local_model is "off"'),
        (LlmSection(local_model="lfm2-1.2b"), "is not used: lfm2-1.2b answers"),
        (LlmSection(local_model="qwen3-0.6b"), "is used, as your settings say"),
        (LlmSection(endpoints=(EndpointSection(name="far", url="http://far/v1", model="m"),)), "not used: far answers"),
    ],
)
def test_pulled_model_says_whether_it_answers(llm: LlmSection, said: str) -> None:
    install("qwen3-0.6b")
    assert said in use_of_chat_model(replace(DEFAULTS, llm=llm), "qwen3-0.6b")


def test_pulled_model_of_another_language_says_that_it_is_not_used() -> None:
    install("smollm2-135m")
    settings = replace(DEFAULTS, assistant=replace(DEFAULTS.assistant, language="de"))
    assert "does not speak the language de" in use_of_chat_model(settings, "smollm2-135m")
