"""Services that can answer, and the changes of the configuration by the answers."""

import math
from dataclasses import replace

import pytest

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.settings import DEFAULTS, Settings
from assistant.first_run.answerers import Answerer, answerers, default_of
from assistant.first_run.microphone import judge
from assistant.first_run.plan import Answers, Change, change_of, overridden, shown_values
from assistant.first_run.service import is_address, without_key
from assistant.first_run.voices import VoiceOption
from llm.discovery import FoundServer

OLLAMA = FoundServer("Ollama", "http://127.0.0.1:11434/v1", ("llama3.2", "qwen3"), 1.0)
EMPTY = FoundServer("vLLM", "http://127.0.0.1:8000/v1", (), 1.0)
NEAR = EndpointSection(name="near", url="http://10.0.0.7/v1", model="m")
KEY = "sk-verysecret-123"
CLOUD = Answerer("cloud", "openai", "", "https://api.openai.com/v1", ("gpt-4o-mini",), "OPENAI_API_KEY")


def configured(*endpoints: EndpointSection) -> Settings:
    return replace(DEFAULTS, llm=replace(DEFAULTS.llm, endpoints=endpoints))


def nothing_local(_settings: Settings) -> tuple[EndpointSection | None, str]:
    return None, ""


def local(_settings: Settings) -> tuple[EndpointSection | None, str]:
    return EndpointSection(name="local", kind="local", model="qwen3-0.6b"), ""


def change(answers: Answers, own: Settings = DEFAULTS) -> Change:
    return change_of(answers, own, nothing_local)


def endpoint_of(changed: Change) -> EndpointSection:
    assert changed.endpoint is not None
    return changed.endpoint


# ---- who can answer ----


def test_found_server_is_the_default_and_clouds_name_their_variable() -> None:
    possible = answerers(DEFAULTS, (OLLAMA, EMPTY), {"GROQ_API_KEY": "x"}, nothing_local)
    kinds = [one.kind for one in possible]
    assert kinds == ["server", "download", *["cloud"] * 4, "url", "skills"]
    assert default_of(possible).name == "ollama"
    assert possible[0].label == "Ollama on this machine (llama3.2, qwen3)"
    assert [one.name for one in possible if one.key_is_set] == ["groq"]
    assert "qwen3-0.6b (397 MB to download" in possible[1].label


def test_configured_endpoints_are_kept_by_default() -> None:
    possible = answerers(configured(NEAR), (OLLAMA,), {}, local)
    assert default_of(possible).label == "As configured: near (m)"
    assert "skills" not in [one.kind for one in possible]  # they would not answer alone
    assert [one.label for one in possible if one.kind == "local"] == ["The model on this machine (qwen3-0.6b)"]


def test_without_anything_the_skills_answer() -> None:
    assert default_of(answerers(DEFAULTS, (), {}, nothing_local)).kind == "skills"
    assert default_of(answerers(DEFAULTS, (), {}, local)).kind == "local"


def test_installed_model_that_cannot_run_gives_the_reason() -> None:
    possible = answerers(DEFAULTS, (), {}, lambda _settings: (None, "it needs 9 GB of memory"))
    assert possible[0].label == "A model on this machine: not now, because it needs 9 GB of memory"
    assert possible[0].models == ()


# ---- what changes ----


def test_skipped_questions_change_nothing() -> None:
    assert change(Answers()).is_empty
    assert change(Answers(language="en", answerer=Answerer("keep", "keep", ""), remember=False)).is_empty


def test_language_voice_and_conversations_are_values() -> None:
    voice = VoiceOption("en_US-amy-medium", "piper", "")
    found = change(Answers(language="en-GB", voice=voice, remember=True))
    assert found.values == {"assistant.language": "en-GB", "tts.voice": "en_US-amy-medium", "talk.remember": True}
    assert found.applied_to(DEFAULTS).tts.voice == "en_US-amy-medium"
    assert shown_values(found)[0] == 'assistant.language = "en-GB"'


def test_other_language_drops_the_voice_of_the_former_one() -> None:
    own = replace(DEFAULTS, tts=replace(DEFAULTS.tts, voice="en_US-amy-medium"))
    assert change(Answers(language="de"), own).values == {"assistant.language": "de", "tts.voice": ""}


def test_server_becomes_an_endpoint_and_is_replaced_with_its_other_model() -> None:
    server = Answerer("server", "ollama", "", OLLAMA.url, OLLAMA.models)
    first = change(Answers(answerer=server)).endpoint
    assert first == EndpointSection(name="ollama", url=OLLAMA.url, model="llama3.2")
    own = configured(first)
    assert change(Answers(answerer=server), own).is_empty
    second = change(Answers(answerer=server, model="qwen3"), own)
    assert second.endpoint == replace(first, model="qwen3")
    assert len(second.applied_to(own).llm.endpoints) == 1
    elsewhere = replace(server, url="http://127.0.0.1:1/v1")
    assert endpoint_of(change(Answers(answerer=elsewhere), own)).name == "ollama-2"


def test_key_is_named_by_its_variable_or_stored_on_request() -> None:
    named = change(Answers(answerer=CLOUD, variable="OPENAI_API_KEY"))
    assert (endpoint_of(named).api_key_env, named.private) == ("OPENAI_API_KEY", False)
    answers = Answers(answerer=CLOUD, variable="OPENAI_API_KEY", key=KEY)
    stored = change(answers)
    assert (endpoint_of(stored).api_key_env, stored.private) == ("", True)
    assert endpoint_of(stored).headers.values == {"Authorization": f"Bearer {KEY}"}
    assert KEY not in repr(answers) + "".join(shown_values(stored))


@pytest.mark.parametrize("key", ["a b", "a\nb", "ключ", "x" * 600, "${HOME}"])
def test_malformed_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match=r"^the key contains characters that no key has; copy it again$"):
        change(Answers(answerer=CLOUD, key=key))


@pytest.mark.parametrize("variable", ["REPARTEE_TOKEN", "path", "A=B", "A B", "1A"])
def test_name_of_the_environment_variable_is_checked(variable: str) -> None:
    with pytest.raises(ConfigError, match=r"^the environment variable of the key must have a name of capitals"):
        change(Answers(answerer=CLOUD, variable=variable))


def test_service_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="lists no models: name one"):
        change(Answers(answerer=Answerer("url", "url", "", "http://10.0.0.7/v1")))


def test_reserved_name_is_not_used() -> None:
    found = change(Answers(answerer=Answerer("server", "auto", "", "http://127.0.0.1:1/v1", ("m",))))
    assert endpoint_of(found).name == "auto-2"


def test_skills_switch_the_local_model_off_only_if_there_is_one() -> None:
    skills = Answers(answerer=Answerer("skills", "skills", ""))
    assert change_of(skills, DEFAULTS, nothing_local).is_empty
    off = change_of(skills, DEFAULTS, local)
    assert off.values == {"llm.local_model": "off"}
    on = Answers(answerer=Answerer("local", "local", "", models=("qwen3-0.6b",)))
    assert change_of(on, off.applied_to(DEFAULTS), local).values == {"llm.local_model": "auto"}


def test_skills_leave_a_model_on_that_does_not_know_the_language() -> None:
    def english_only(settings: Settings) -> tuple[EndpointSection | None, str]:
        return local(settings) if settings.assistant.language == "en" else nothing_local(settings)

    skills = Answers(language="de", answerer=Answerer("skills", "skills", ""))
    assert change_of(skills, DEFAULTS, english_only).values == {"assistant.language": "de"}


def test_answer_that_equals_the_settings_in_effect_is_not_written() -> None:
    in_effect = replace(
        DEFAULTS,
        tts=replace(DEFAULTS.tts, engine="espeak-ng"),
        assistant=replace(DEFAULTS.assistant, language="de"),
        talk=replace(DEFAULTS.talk, remember=True),
    )
    espeak = VoiceOption("espeak-ng", "espeak-ng", "")
    answers = Answers(language="de", voice=espeak, remember=True)
    assert change_of(answers, DEFAULTS, nothing_local, in_effect=in_effect).is_empty
    other = change_of(replace(answers, language="fr"), DEFAULTS, nothing_local, in_effect=in_effect)
    assert other.values == {"assistant.language": "fr"}


def test_local_model_beside_endpoints_is_an_endpoint() -> None:
    on = Answers(answerer=Answerer("local", "local", "", models=("qwen3-0.6b",)))
    found = change_of(on, configured(NEAR), local)
    assert found.endpoint == EndpointSection(name="local", kind="local", model="qwen3-0.6b")
    assert shown_values(found) == ["LLM endpoint local: qwen3-0.6b on this machine"]


def test_variables_that_replace_a_value_are_named() -> None:
    origin = {"tts.voice": "environment REPARTEE_TTS_VOICE", "tts.engine": "default"}
    assert overridden({"tts.voice": "", "tts.engine": "auto"}, origin) == ["REPARTEE_TTS_VOICE"]


# ---- microphone, keys, addresses ----


@pytest.mark.parametrize(
    ("loudest_dbfs", "expected"),
    [(-math.inf, "silent"), (math.nan, "silent"), (-60, "silent"), (-50, "quiet"), (-20, "fine"), (-1, "clipped")],
)
def test_levels_are_judged_in_words(loudest_dbfs: float, expected: str) -> None:
    found = judge(loudest_dbfs)
    assert found.verdict == expected
    assert found.text.endswith(".")


def test_key_is_removed_from_the_words_of_a_service() -> None:
    assert without_key(f"Incorrect API key provided: {KEY}.", KEY) == "Incorrect API key provided: …."
    assert without_key("no key", "") == "no key"


@pytest.mark.parametrize(
    ("text", "fits"),
    [("https://h/v1", True), ("http://[::1]:1/v1", True), ("ftp://h", False), ("https://", False), ("h", False)],
)
def test_address_is_recognized(text: str, fits: bool) -> None:
    assert is_address(text) is fits


@pytest.mark.parametrize(
    ("url", "name"), [("http://10.0.0.7:8000/v1", "10.0.0.7"), ("https://llm.example.org/v1", "llm.example.org")]
)
def test_own_address_is_named_by_its_host(url: str, name: str) -> None:
    assert endpoint_of(change(Answers(answerer=Answerer("url", "url", "", url, ("m",))))).name == name
