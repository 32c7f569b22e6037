"""Models that a configuration needs, and those found on the disk."""

from pathlib import Path

import faster_whisper.utils
import pytest
from support.programs.forbidden_folder import forbid
from support.texts.text_cases import text_cases

from assistant.models.catalogue import KINDS, MODELS, named
from assistant.models.needs import (
    Need,
    at_hand,
    engine_of_voice,
    folder_of,
    installed,
    is_path,
    lacking_model,
    missing,
    needed,
    rows,
    size_text,
    unknown_models,
)
from assistant.registry.voices import VOICES
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.tts.piper.catalogue import VOICE_OF_LANGUAGE, piper_voice

WHISPER_FILES = ("config.json", "tokenizer.json", "vocabulary.txt", "model.bin")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def write(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"x")
    return folder


def needs_of(
    language: str = "en",
    stt_model: str = "base.en",
    tts_engine: str = "auto",
    voice: str = "",
) -> list[tuple[str, str]]:
    wanted = needed(language=language, stt_model=stt_model, tts_engine=tts_engine, voice=voice)
    return [(need.kind, need.name) for need in wanted if need.kind != "smart-turn"]


# ---- the catalogue ----


def test_whisper_models_are_stored_where_faster_whisper_looks() -> None:
    ours = {name: model.repository for name, model in MODELS.items() if model.kind == "whisper"}
    assert set(ours) == {"tiny", "tiny.en", "base", "base.en", "small", "small.en", "large-v3-turbo"}
    theirs = faster_whisper.utils._MODELS
    assert ours == {name: theirs[name] for name in ours}
    others = {name: named(name) for name in theirs}
    assert {name: model.repository for name, model in others.items() if model is not None} == theirs


def test_every_model_is_described_completely() -> None:
    for name, model in MODELS.items():
        assert model.name == name
        assert model.licence
        assert model.size_mb
        assert KINDS[model.kind].without
        assert len({file.name for file in model.files}) == len(model.files)
        assert all(file.name and "/" not in file.name for file in model.files)
    assert SMART_TURN.files[0].sha256


def test_voice_of_a_language_speaks_it() -> None:
    for language, name in VOICE_OF_LANGUAGE.items():
        assert MODELS[name].covers(language)
    assert not MODELS["base.en"].covers("de")
    assert MODELS["base"].covers("de")
    assert MODELS["base.en"].covers("en-GB")


@text_cases(
    ("name", "path"),
    [
        ("it_IT-riccardo-x_low", "it/it_IT/riccardo/x_low/it_IT-riccardo-x_low.onnx"),
        ("en_GB-northern_english_male-medium", "en/en_GB/northern_english_male/medium/"),
        ("en_US-libritts_r-medium", "en/en_US/libritts_r/medium/en_US-libritts_r-medium.onnx"),
    ],
)
def test_voice_name_determines_its_files(name: str, path: str) -> None:
    voice = named(name)
    assert voice is not None
    assert voice.files[-1].path.startswith(path)
    assert voice.languages == (name.partition("_")[0],)


@pytest.mark.parametrize(
    "name", ["en-us", "base.en", "en_US-lessac", "en_US-lessac-huge", "../en_US-x-low", "en_US-a/b-low"]
)
def test_other_names_are_not_voices(name: str) -> None:
    assert piper_voice(name) is None


# ---- needed models ----


def test_configuration_needs_the_models_of_its_engines() -> None:
    assert needs_of() == [("whisper", "base.en")]
    assert needs_of(tts_engine="piper") == [("whisper", "base.en"), ("piper", "en_US-joe-medium")]
    assert needs_of(stt_model="./mine", tts_engine="espeak-ng") == [("whisper", "./mine")]


def test_voice_is_the_configured_or_the_languages_default() -> None:
    assert needs_of("de-AT")[1:] == [("piper", "de_DE-thorsten-medium")]
    assert needs_of("de", voice="de_DE-eva_k-x_low")[1:] == [("piper", "de_DE-eva_k-x_low")]
    assert needs_of("de", voice="~/v/eva.onnx")[1:] == [("piper", "~/v/eva.onnx")]


def test_espeak_voice_needs_no_model() -> None:
    assert needs_of(voice="en-us")[1:] == []


def test_piper_without_a_voice_for_the_language_is_reported() -> None:
    assert needs_of("fi")[1:] == []
    wanted = needed(language="fi", stt_model="tiny", tts_engine="piper", voice="")
    assert missing(wanted[1]).startswith("missing: tts.voice is empty; the known names are en_US-joe-medium, ")


@pytest.mark.parametrize(
    "name", ["./base", "~/base", "/models/base", "my/models/base", "a/voice.onnx", "voice.onnx", "."]
)
def test_paths_are_recognized(name: str) -> None:
    assert is_path(name)
    assert engine_of_voice(name) is VOICES.get("piper")


@text_cases("name", [*MODELS, "en-us", "", "owner/name"])
def test_names_are_recognized(name: str) -> None:
    assert not is_path(name)


# ---- installed models ----


def cache(home: Path, commit: str, *names: str) -> Path:
    return write(home / "hf" / "hub" / "models--Systran--faster-whisper-base.en" / "snapshots" / commit, *names)


def test_fresh_machine_has_no_models() -> None:
    assert [name for name, model in MODELS.items() if installed(model)] == []


def test_model_downloaded_by_another_program_is_found(home: Path) -> None:
    snapshot = cache(home, "b" * 40, *WHISPER_FILES)
    assert at_hand(Need("base.en", "whisper", "")) == snapshot


def test_revision_in_the_cache_has_priority(home: Path) -> None:
    cache(home, "a" * 40, *WHISPER_FILES)
    snapshot = cache(home, "b" * 40, *WHISPER_FILES)
    write(snapshot.parents[1] / "refs")
    (snapshot.parents[1] / "refs" / "main").write_text(f"{'b' * 40}\n")
    assert at_hand(Need("base.en", "whisper", "")) == snapshot


@pytest.mark.parametrize("lacking", WHISPER_FILES)
def test_model_with_a_missing_file_is_incomplete(home: Path, lacking: str) -> None:
    cache(home, "a" * 40, *(name for name in WHISPER_FILES if name != lacking))
    assert at_hand(Need("base.en", "whisper", "")) is None


@pytest.mark.parametrize("vocabulary", ["vocabulary.json", "vocabulary.txt"])
def test_uncatalogued_model_needs_one_vocabulary(home: Path, vocabulary: str) -> None:
    folder = home / "hf/hub/models--mine--base/snapshots/x"
    write(folder, "config.json", "tokenizer.json", "model.bin")
    assert at_hand(Need("mine/base", "whisper", "")) is None
    (folder / vocabulary).touch()
    assert at_hand(Need("mine/base", "whisper", "")) is None
    write(folder, vocabulary)
    assert at_hand(Need("mine/base", "whisper", "")) == folder


def test_empty_file_or_broken_link_is_missing(home: Path) -> None:
    snapshot = cache(home, "a" * 40, *WHISPER_FILES)
    (snapshot / "model.bin").write_bytes(b"")
    assert at_hand(Need("base.en", "whisper", "")) is None
    (snapshot / "model.bin").unlink()
    (snapshot / "model.bin").symlink_to("../../blobs/gone")
    assert at_hand(Need("base.en", "whisper", "")) is None


@pytest.mark.parametrize(
    ("variable", "value", "place"),
    [
        ("HF_HUB_CACHE", "cache", "cache"),
        ("HUGGINGFACE_HUB_CACHE", "cache", "cache"),
        ("HF_HOME", "home", "home/hub"),
        ("XDG_CACHE_HOME", "xdg", "xdg/huggingface/hub"),
    ],
    ids=["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"],
)
def test_cache_is_where_huggingface_hub_has_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, place: str
) -> None:
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv(variable, str(home / value))
    assert folder_of("whisper") == home / place


def test_voice_needs_its_json_but_not_its_card(home: Path) -> None:
    need = Need("en_US-amy-medium", "piper", "")
    folder = write(home / "data" / "repartee" / "voices", "en_US-amy-medium.onnx")
    assert at_hand(need) is None
    write(folder, "en_US-amy-medium.onnx.json")
    assert at_hand(need) == folder / "en_US-amy-medium.onnx"


def test_file_of_another_size_is_refused(home: Path) -> None:
    write(home / "data" / "repartee" / "turns", "smart-turn-v3.2-cpu.onnx")
    assert installed(SMART_TURN) is None


def test_path_may_replace_a_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(home / "mine", *WHISPER_FILES)
    voice = write(home / "mine", "eva.onnx", "eva.onnx.json") / "eva.onnx"
    monkeypatch.setenv("HOME", str(home))
    assert at_hand(Need(str(folder), "whisper", "")) == folder
    assert at_hand(Need("~/mine/eva.onnx", "piper", "")) == voice
    assert at_hand(Need(str(voice), "smart-turn", "")) == voice


def test_folder_has_priority_over_a_repository(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need = Need("mine/base", "whisper", "speech to text", "stt.model")
    assert missing(need) == "missing: repartee models pull mine/base"
    snapshot = write(home / "hf/hub/models--mine--base/snapshots/x", *WHISPER_FILES)
    assert at_hand(need) == snapshot
    monkeypatch.chdir(home)
    write(home / "mine" / "base", *WHISPER_FILES)
    assert at_hand(need) == Path("mine/base")


def test_missing_file_of_a_path_is_named(home: Path) -> None:
    folder = write(home / "mine", "config.json", "tokenizer.json", "eva.onnx")
    assert missing(Need(str(folder), "whisper", "", "stt.model")) == (
        f"missing: {folder} lacks model.bin; correct stt.model"
    )
    write(folder, "model.bin")
    assert missing(Need(str(folder), "whisper", "", "stt.model")) == (
        f"missing: {folder} lacks vocabulary.json; correct stt.model"
    )
    voice = folder / "eva.onnx"
    assert missing(Need(str(voice), "piper", "", "tts.voice")) == (
        f"missing: {voice} lacks eva.onnx.json; correct tts.voice"
    )
    assert missing(Need(f"{home}/none", "whisper", "", "stt.model")) == (
        f"missing: there is no {home}/none; correct stt.model"
    )


def test_unreadable_model_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(home, monkeypatch)
    monkeypatch.chdir(home)
    need = Need(str(home / "voice.onnx"), "piper", "", "tts.voice")
    assert at_hand(need) is None
    assert missing(need) == f"missing: {home}/voice.onnx cannot be read (Permission denied); correct tts.voice"
    assert not is_path("owner/name")


def test_model_of_another_kind_is_unknown() -> None:
    need = Need("en_US-amy-medium", "whisper", "speech to text", "stt.model")
    assert need.model is None
    assert at_hand(need) is None
    assert missing(need).startswith(
        "missing: stt.model = 'en_US-amy-medium' is not known; the known names are tiny.en, "
    )


@text_cases(
    ("stt_model", "local_model", "problems"),
    [
        (
            "tiyn.en",
            "auto",
            ["stt.model: stt.model = 'tiyn.en' is not known; did you mean tiny.en? The known names are "],
        ),
        ("auto", "qwen", ["llm.local_model: llm.local_model = 'qwen' is not known; "]),
        ("en_US-amy-medium", "tiny", ["stt.model: ", "llm.local_model: "]),
        ("large-v3", "off", []),
        ("owner/name", "./model.gguf", []),
        ("~/models/whisper", "auto", []),
    ],
)
def test_unknown_names_of_models_are_problems(stt_model: str, local_model: str, problems: list[str]) -> None:
    found = [f"{key}: {problem}" for key, problem in unknown_models(stt_model, local_model).items()]
    assert len(found) == len(problems)
    assert all(text.startswith(begin) for text, begin in zip(found, problems, strict=True))


def test_remedy_for_a_language_downloads_no_installed_model(home: Path) -> None:
    (need, *_) = needed(language="de", stt_model="small.en", tts_engine="auto", voice="")
    assert need.language_remedy.endswith("repartee models pull small")
    assert lacking_model(need) == f"the Whisper model {need.language_remedy}"
    small = home / "hf" / "hub" / "models--Systran--faster-whisper-small" / "snapshots" / ("a" * 40)
    write(small, *WHISPER_FILES)
    assert need.language_remedy == 'small.en supports only English: set stt.model = "small"'


@text_cases(
    ("name", "instead"),
    [
        ("base.en", "base"),
        ("small.en", "small"),
        ("medium.en", "medium"),
        ("distil-small.en", "base"),
        ("a/b.en", "base"),
    ],
)
def test_english_model_is_missing_for_another_language(home: Path, name: str, instead: str) -> None:
    cache(home, "a" * 40, *WHISPER_FILES)
    (need, *_) = needed(language="de-AT", stt_model=name, tts_engine="auto", voice="")
    assert at_hand(need) is None
    assert missing(need) == (
        f'missing: {name} supports only English: set stt.model = "{instead}", then repartee models pull {instead}'
    )


# ---- the list ----


def test_list_has_needed_and_installed_models(home: Path) -> None:
    snapshot = cache(home, "a" * 40, *WHISPER_FILES)
    wanted = needed(language="en", stt_model="small.en", tts_engine="piper", voice="")
    lines = rows(wanted)
    assert [(line.name, line.at_hand, line.needed) for line in lines] == [
        ("small.en", False, True),
        ("en_US-joe-medium", False, True),
        ("smart-turn-v3.2", False, True),
        ("base.en", True, False),
    ]
    assert lines[0].where == "missing: repartee models pull small.en"
    assert (lines[0].size, lines[0].licence, lines[0].purpose) == ("486 MB", "MIT", "speech to text")
    assert (lines[3].where, lines[3].purpose) == (str(snapshot), "")


def test_full_list_has_every_model_once() -> None:
    wanted = needed(language="en", stt_model="small.en", tts_engine="auto", voice="")
    names = [line.name for line in rows(wanted, everything=True)]
    assert sorted(names) == sorted(MODELS)


@pytest.mark.parametrize(
    ("size_mb", "text"),
    [(8.7, "8.7 MB"), (148, "148 MB"), (63.2, "63 MB"), (1620, "1.6 GB")],
    ids=["one decimal", "whole MB", "rounded down", "GB"],
)
def test_sizes_are_rounded(size_mb: float, text: str) -> None:
    assert size_text(size_mb) == text


@pytest.mark.parametrize("language", ["en", "de", "fr"])
@pytest.mark.parametrize("model", ["tiny.en", "base.en", "tiny", "base", "small"])
def test_advice_names_no_setting_that_already_has_the_value(language: str, model: str) -> None:
    (need, *_) = needed(language=language, stt_model=model, tts_engine="espeak-ng", voice="")
    assert need.model is not None
    for advice in (missing(need), lacking_model(need)):
        assert f'stt.model = "{model}"' not in advice
        fetches_it = advice.endswith(f"repartee models pull {model}")
        assert fetches_it == need.model.covers(language), advice


def test_misspelled_piper_voice_is_known_before_engines_load() -> None:
    said = "tts.voice = 'de_DE-thorstn' is not known; did you mean de_DE-thorsten-medium?"
    assert unknown_models("base", "auto", "de_DE-thorstn") == {"tts.voice": said}
    for voice in (
        "",
        "de_DE-thorsten-medium",
        "en-us",
        "English (America)",
        "en+f3",
        "./de_DE-thorstn.onnx",
        "xx_XX-y",
    ):
        assert unknown_models("base", "auto", voice) == {}
