"""Settings: allowed values, sources, and agreement of file and documentation."""

import dataclasses
import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.generated import config_texts
from support.programs.forbidden_folder import forbid
from support.texts.text_cases import named_cases

from assistant.commands.read.command import PART_TIMEOUT_S
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.everyday_keys import EVERYDAY_KEYS
from assistant.config.fixed_keys import FIXED_KEYS, REPLACED_KEYS
from assistant.config.llm_settings import LlmSection
from assistant.config.loading import ConfigRow, Loaded, load_settings, render_effective, settings_in
from assistant.config.settings import DEFAULTS, KEYS, SECTIONS, Settings
from assistant.config.sources import Option, variable_of
from assistant.config.toml_lines import lines_of_keys
from assistant.config.turn_settings import TurnSection
from assistant.documents import MAX_FILE_MB
from assistant.documents.reading import CONTEXT_CHARS
from assistant.home.connection import REFRESH_S
from assistant.setup.answering import answer_cache, services
from assistant.setup.build import CLUSTER_DECODES
from assistant.setup.voices.factory import VOLUME_DBFS
from assistant.tools import ToolSettings
from assistant.turns.settings import TurnSettings
from assistant.weather.service import FORECAST_KEPT_S
from audio.cluster import ray_connection
from audio.cluster.ray_connection import application_of
from audio.speaker import DUCK_DB
from llm import chat
from web.client_audio.client_speaker import AHEAD_MS
from web.connections.socket_reader import MAX_MESSAGE_BYTES
from web.services import KEEP_PER_BROWSER


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes to a working directory without settings."""
    monkeypatch.chdir(tmp_path)


def loaded(
    text: str | bytes | None = None, environ: Mapping[str, str] | None = None, overrides: Sequence[str] = ()
) -> Loaded:
    file = Path("given.toml")
    file.write_bytes(text if isinstance(text, bytes) else (text or "").encode())
    return load_settings(file, environ or {}, overrides)


def problems(
    text: str | bytes | None = None, environ: Mapping[str, str] | None = None, overrides: Sequence[str] = ()
) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as refused:
        loaded(text, environ, overrides)
    assert str(refused.value) == "\n".join(refused.value.problems)
    return refused.value.problems


ENDPOINT = '[[llm.endpoints]]\nname = "near"\nurl = "http://127.0.0.1:8000/v1"\nmodel = "m"\n'

# Defaults, file and documentation


def test_defaults_are_those_other_parts_expect() -> None:
    assert (DEFAULTS.assistant.language, DEFAULTS.assistant.greeting) == ("en", "")
    assert DEFAULTS.turn == TurnSection("auto", 0, 40, 40, 10.0)
    assert (DEFAULTS.vad.engine, DEFAULTS.stt.engine, DEFAULTS.tts.engine) == ("silero", "auto", "auto")
    assert (DEFAULTS.stt.timeout_s, DEFAULTS.tts.timeout_s) == (3.0, 3.0)
    assert (DEFAULTS.tts.voice, DEFAULTS.tts.speed) == ("", 1.0)
    assert (DEFAULTS.llm.first_token_timeout_s, DEFAULTS.llm.max_history_turns) == (8.0, 20)
    assert DEFAULTS.llm.endpoints == ()
    assert (DEFAULTS.skills.enabled, DEFAULTS.skills.before_llm) == (True, True)
    assert (DEFAULTS.trace.dir, DEFAULTS.trace.words) == (Path("traces"), False)


def test_shipped_file_matches_the_settings() -> None:
    assert config_texts.CONFIG_FILE.read_text(encoding="utf-8") == config_texts.config_toml()


def test_shipped_file_has_every_key_in_order_with_its_default() -> None:
    table = tomllib.loads(config_texts.CONFIG_FILE.read_text(encoding="utf-8"))
    named = []
    for section in SECTIONS:
        keys: dict[str, Any] = functools.reduce(lambda inner, name: inner[name], section.split("."), table)
        named += [f"{section}.{name}" for name in keys if f"{section}.{name}" not in SECTIONS]
    sections = [name.rpartition(".")[0] for name in KEYS]
    assert named == sorted(KEYS, key=lambda name: (sections.index(name.rpartition(".")[0]), name not in EVERYDAY_KEYS))
    assert load_settings(config_texts.CONFIG_FILE, {}, ()).settings == Settings()


def test_commented_endpoints_work_when_uncommented() -> None:
    lines = config_texts.CONFIG_FILE.read_text(encoding="utf-8").split("\n")
    begin = lines.index("# [[llm.endpoints]]")
    end = next(n for n in range(begin, len(lines)) if lines[n].startswith("[") or not lines[n])
    found = loaded("\n".join(line.removeprefix("#").strip() for line in lines[begin:end]))
    assert [endpoint.name for endpoint in found.settings.llm.endpoints] == ["local", "cloud"]
    assert found.settings.llm.endpoints[1].api_key_env == "OPENAI_API_KEY"


def test_every_key_is_described() -> None:
    fields = [f"{s}.{field.name}" for s in SECTIONS for field in dataclasses.fields(DEFAULTS.section(s))]
    every = [*KEYS, "assistant.languages", "llm.endpoints", "tools.servers"]
    assert every == sorted(fields, key=every.index)
    for dotted, key in KEYS.items():
        assert key.about.text.endswith("."), dotted
        assert "\n" not in key.about.text
        assert key.kind not in (int, float) or None not in (key.about.low, key.about.high), dotted


@pytest.mark.parametrize("suffix", ["_ms", "_s"], ids=["ms", "s"])
def test_units_in_names_match_the_described_units(suffix: str) -> None:
    named = [(dotted, key) for dotted, key in KEYS.items() if dotted.endswith(suffix)]
    assert named
    assert {key.about.unit.lower() for _, key in named} == {suffix.removeprefix("_")}


# Sources and their order


def test_project_file_is_read_without_another() -> None:
    found = load_settings(None, {}, ())
    assert found.settings == Settings()
    assert found.file is not None
    assert found.file.read_bytes() == config_texts.CONFIG_FILE.read_bytes()


@pytest.fixture
def users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the file of the user's configuration, which does not exist yet, in an existing folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    file = tmp_path / "xdg" / "repartee" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def test_users_file_is_read(users_file: Path) -> None:
    users_file.write_text('[turn]\nprofile = "eager"\n')
    found = load_settings(None, {}, ())
    assert (found.settings.turn.profile, found.file) == ("eager", users_file)
    assert found.origin["turn.profile"] == f"{users_file}:2"
    assert found.origin["turn.hangover_ms"] == "default"


def test_users_file_overrides_the_project_file_key_by_key(
    users_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project.toml"
    project.write_text("[turn]\nhangover_ms = 200\nspeculate_after_ms = 210\nstuck_after_s = 12.0\n")
    monkeypatch.setattr("assistant.config.files._project_file", lambda: project)
    users_file.write_text("[turn]\nhangover_ms = 300\n")
    found = load_settings(None, {}, ())
    assert (found.settings.turn.hangover_ms, found.settings.turn.speculate_after_ms) == (300, 210)
    assert found.origin["turn.hangover_ms"] == f"{users_file}:2"
    assert found.origin["turn.speculate_after_ms"] == f"{project}:3"


def test_project_file_is_the_origin_only_of_changed_values() -> None:
    assert set(load_settings(None, {}, ()).origin.values()) == {"default"}


def test_file_of_the_environment_precedes_the_users_file(users_file: Path, tmp_path: Path) -> None:
    users_file.write_text("[turn]\nhangover_ms = 200\nspeculate_after_ms = 210\n")
    named = tmp_path / "repartee.toml"
    named.write_text("[turn]\nhangover_ms = 300\n")
    found = load_settings(None, {"REPARTEE_CONFIG": str(named)}, ())
    assert (found.settings.turn.hangover_ms, found.file) == (300, named)
    assert found.settings.turn.speculate_after_ms == DEFAULTS.turn.speculate_after_ms
    assert load_settings(users_file, {"REPARTEE_CONFIG": str(named)}, ()).settings.turn.hangover_ms == 200


@pytest.mark.parametrize("name", ["config.toml", "repartee.toml"])
@pytest.mark.parametrize("content", ["[turn]\nhangover_ms = 200\n", "[theme]\nprimaryColor = 1\n", "no TOML"])
def test_file_in_the_working_directory_is_not_read(name: str, content: str) -> None:
    Path(name).write_text(content)
    assert load_settings(None, {}, ()).settings == Settings()


def test_missing_file_of_the_environment_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^gone\.toml: cannot be read \(No such file"):
        load_settings(None, {"REPARTEE_CONFIG": "gone.toml"}, ())


def test_unknown_home_folder_leaves_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "")
    assert load_settings(None, {}, ()).settings == Settings()
    with pytest.raises(ConfigError, match=r"^REPARTEE_CONFIG=~/x\.toml: no home folder is known"):
        load_settings(None, {"REPARTEE_CONFIG": "~/x.toml"}, ())


def test_each_source_overrides_the_one_below() -> None:
    file = "[turn]\nhangover_ms = 200\nspeculate_after_ms = 200\nstuck_after_s = 20\n"
    environ = {"REPARTEE_TURN_HANGOVER_MS": "300", "REPARTEE_TURN_SPECULATE_AFTER_MS": "301", "PATH": "/bin"}
    found = loaded(file, environ, ["turn.hangover_ms=400", "turn.hangover_ms=500"])
    turn = found.settings.turn
    assert (turn.hangover_ms, turn.speculate_after_ms, turn.stuck_after_s) == (500, 301, 20.0)
    assert turn.interrupt_after_ms == 40
    keys = ("turn.hangover_ms", "turn.speculate_after_ms", "turn.stuck_after_s", "turn.interrupt_after_ms")
    environment = "environment REPARTEE_TURN_SPECULATE_AFTER_MS"
    assert [found.origin[key] for key in keys] == ["--set", environment, "given.toml:4", "default"]


def test_option_for_a_key_overrides_all_sources() -> None:
    options = [Option("--stt", "stt.engine", "faster-whisper"), Option("--tts", "tts.engine", None)]
    found = load_settings(None, {}, ["stt.engine=faster-whisper", "tts.engine=espeak-ng"], options)
    assert (found.settings.stt.engine, found.origin["stt.engine"]) == ("faster-whisper", "--stt")
    assert (found.settings.tts.engine, found.origin["tts.engine"]) == ("espeak-ng", "--set")


def test_flags_and_variables_parse_every_type() -> None:
    found = loaded(
        "",
        {"REPARTEE_TRACE_DIR": "/tmp/t", "REPARTEE_TRACE_WORDS": "TRUE", "REPARTEE_ASSISTANT_GREETING": "a = b"},
        ["tts.speed=2", "skills.enabled=0", "turn.profile=patient"],
    ).settings
    assert (found.trace.dir, found.trace.words, found.assistant.greeting) == (Path("/tmp/t"), True, "a = b")
    assert (found.tts.speed, found.skills.enabled, found.turn.profile) == (2.0, False, "patient")
    assert isinstance(found.tts.speed, float)


@named_cases(
    ("text", "greeting"),
    {
        "double quotes": ('"Good day"', "Good day"),
        "single quotes": (" 'Good day' ", "Good day"),
        "escaped quotes": (r'"a \"b\" c"', 'a "b" c'),
        "two quoted words": ('"Hi" and "bye"', '"Hi" and "bye"'),
        "key on next line": ('"Hi"\nx = "bye"', '"Hi"\nx = "bye"'),
        "single quote character": ('"', '"'),
        "apostrophe": ("it's", "it's"),
    },
)
def test_text_may_be_in_toml_quotes(text: str, greeting: str) -> None:
    for environ, flags in (({"REPARTEE_ASSISTANT_GREETING": text}, []), ({}, [f"assistant.greeting={text}"])):
        assert load_settings(None, environ, flags).settings.assistant.greeting == greeting
    assert load_settings(None, {}, ['turn.profile = "patient"']).settings.turn.profile == "patient"


def test_every_key_has_a_variable_and_a_flag() -> None:
    for dotted in KEYS:
        text = str(DEFAULTS.value(dotted))
        variable = variable_of(dotted)
        assert loaded("", {variable: text}).origin[dotted] == f"environment {variable}"
        assert loaded("", {}, [f"{dotted}={text}"]).origin[dotted] == "--set"


@pytest.mark.parametrize(
    ("text", "environ", "flags", "said"),
    [
        ("[tts]\nspeaker = 3\n", {}, [], "tts.speaker: is now tts.piper.speaker, in the section [tts.piper]"),
        ("", {"REPARTEE_TTS_SPEAKER": "3"}, [], "REPARTEE_TTS_SPEAKER: is now REPARTEE_TTS_PIPER_SPEAKER"),
    ],
    ids=[
        "file",
        "environment",
    ],
)
def test_key_that_moved_is_refused_with_its_new_name(
    text: str, environ: dict[str, str], flags: list[str], said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        loaded(text, environ, flags)


@pytest.mark.parametrize(
    ("text", "environ", "flags", "said"),
    [
        (
            "[turn]\npre_roll_ms = 200\n",
            {},
            [],
            "toml:2: turn.pre_roll_ms: is no setting any more; it is fixed at 300 ms",
        ),
        ("", {"REPARTEE_TURN_PRE_ROLL_MS": "3"}, [], "REPARTEE_TURN_PRE_ROLL_MS: is no setting any more; it is fixed"),
        ("[stt]\ninitial_prompt = 'Ada'\n", {}, [], "is no setting any more; name the words in stt.hot_words"),
    ],
    ids=["file", "environment", "other remedy"],
)
def test_key_that_became_a_constant_is_refused_with_its_value(
    text: str, environ: dict[str, str], flags: list[str], said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        loaded(text, environ, flags)


def test_everyday_keys_exist_and_are_explained() -> None:
    assert set(EVERYDAY_KEYS) <= KEYS.keys()
    guide = config_texts.DOCS_FILE.read_text(encoding="utf-8").split("## The usual keys\n")[1].split("\n## ")[0]
    assert [name for name in EVERYDAY_KEYS if f"`{name}`" not in guide] == []


def test_fixed_values_are_those_of_the_constants() -> None:
    turns, tools = TurnSettings(), ToolSettings()
    meteo = {urlsplit(url).hostname for url in (services.FORECAST_URL, services.GEOCODING_URL)}
    assert meteo == {"api.open-meteo.com", "geocoding-api.open-meteo.com"}
    assert dict(FIXED_KEYS) == {
        "turn.max_turn_s": f"{turns.max_turn_s:g} s",
        "turn.pre_roll_ms": f"{turns.pre_roll_ms:g} ms",
        "llm.token_gap_timeout_s": f"{chat.TOKEN_GAP_TIMEOUT_S:g} s",
        "llm.connect_timeout_s": f"{chat.CONNECT_TIMEOUT_S:g} s",
        "cache.max_entries": f"{answer_cache.MAX_ENTRIES} answers",
        "home.timeout_s": f"{services.HOME_TIMEOUT_S:g} s",
        "home.refresh_s": f"{REFRESH_S:g} s",
        "weather.forecast_url": "the service of Open-Meteo",
        "weather.geocoding_url": "the service of Open-Meteo",
        "weather.timeout_s": f"{services.WEATHER_TIMEOUT_S:g} s",
        "weather.cache_minutes": f"{FORECAST_KEPT_S / 60:g} minutes",
        "tools.max_rounds": f"{tools.max_rounds} rounds",
        "tools.max_result_chars": f"{tools.max_result_chars} characters",
        "tools.background_timeout_s": f"{tools.background_timeout_s:g} s",
        "tools.max_background": f"{tools.max_background} calls",
        "documents.context_chars": f"{CONTEXT_CHARS} characters",
        "documents.max_file_mb": f"{MAX_FILE_MB} MB",
        "documents.timeout_s": f"{PART_TIMEOUT_S:g} s",
        "tts.volume_dbfs": f"{VOLUME_DBFS:g} dBFS",
        "speaker.duck_db": f"{DUCK_DB:g} dB",
        "server.max_message_bytes": f"{MAX_MESSAGE_BYTES >> 20} MiB",
        "server.ahead_ms": f"{AHEAD_MS:g} ms",
        "server.keep_per_browser": f"{KEEP_PER_BROWSER} conversations",
        "cluster.application": application_of("voice").removesuffix("-voice"),
        "cluster.timeout_s": f"{ray_connection.CONNECT_TIMEOUT_S:g} s",
        "cluster.decodes": f"{CLUSTER_DECODES} decodes",
    }


def test_no_setting_is_fixed() -> None:
    assert (FIXED_KEYS.keys() | REPLACED_KEYS.keys()) & KEYS.keys() == set()


def test_section_of_an_engine_is_read_from_every_source() -> None:
    assert loaded("[tts.piper]\nspeaker = 3\n").settings.value("tts.piper.speaker") == 3
    assert loaded("[tts]\npiper.speaker = 3\n").settings.value("tts.piper.speaker") == 3
    assert loaded("", {"REPARTEE_TTS_PIPER_SPEAKER": "3"}).settings.value("tts.piper.speaker") == 3
    for wrong in ("[tts.piper]\nspeaker = -1\n", "[tts]\npiper = 3\n", "[tts.pipe]\nspeaker = 3\n"):
        with pytest.raises(ConfigError, match=r"given.toml:\d: tts.pipe"):
            loaded(wrong)


def test_endpoints_of_the_environment_replace_those_of_the_file() -> None:
    inline = '[{name = "far", url = "https://far.example/v1", model = "m2"}]'
    found = loaded(ENDPOINT, {"REPARTEE_LLM_ENDPOINTS": inline})
    assert [endpoint.name for endpoint in found.settings.llm.endpoints] == ["far"]
    assert found.origin["llm.endpoints"] == "environment REPARTEE_LLM_ENDPOINTS"


def test_windows_line_ends_and_byte_order_mark_are_read() -> None:
    found = loaded(b"\xef\xbb\xbf[turn]\r\nhangover_ms = 300\r\n")
    assert (found.settings.turn.hangover_ms, found.origin["turn.hangover_ms"]) == (300, "given.toml:2")


def test_hangover_is_the_profiles_unless_given() -> None:
    assert [TurnSection(p).hangover_in_use_ms for p in ("auto", "eager", "balanced", "patient")] == [400, 250, 400, 700]
    assert TurnSection("patient", hangover_ms=300).hangover_in_use_ms == 300


# Errors: one line each, with file and line, key, value and allowed values


@named_cases(
    ("text", "line"),
    {
        "below minimum": (
            "[turn]\nhangover_ms = 50",
            "given.toml:2: turn.hangover_ms = 50: must be 0 or a whole number from 100 to 3000 ms",
        ),
        "float for a whole number": (
            "[turn]\nhangover_ms = 300.0",
            "given.toml:2: turn.hangover_ms = 300.0: must be 0 or a whole number from 100 to 3000 ms",
        ),
        "NaN": ("[tts]\nspeed = nan", "given.toml:2: tts.speed = nan: must be a number from 0.5 to 2"),
        "number for a text": ("[tts]\nvoice = 3", "given.toml:2: tts.voice = 3: must be a text"),
        "list for a text": (
            "[stt.faster-whisper]\ndevice = ['cpu']",
            'given.toml:2: stt.faster-whisper.device = a list: must be "auto", "cpu" or "cuda"',
        ),
        "unknown choice": (
            '\n[turn]\nprofile = "hasty"',
            'given.toml:3: turn.profile = "hasty": must be "auto", "eager", "balanced" or "patient"',
        ),
        "empty folder": ('[trace]\ndir = ""', 'given.toml:2: trace.dir = "": must be a folder\'s path'),
        "number for a boolean": ("[trace]\nwords = 1", "given.toml:2: trace.words = 1: must be true or false"),
        "language name instead of code": (
            '[assistant]\nlanguage = "English"',
            'given.toml:2: assistant.language = "English": must be a language code such as en or de, a list such as '
            '["en", "de"], or auto',
        ),
        "misspelled key": (
            "[turn]\nhangover = 300",
            "given.toml:2: turn.hangover: no such setting; did you mean turn.hangover_ms?",
        ),
        "key of another section": (
            "[turn]\nspeed = 2",
            "given.toml:2: turn.speed: no such setting; did you mean tts.speed?",
        ),
        "key without section": (
            'language = "en"',
            "given.toml:1: language: no such setting; did you mean assistant.language?",
        ),
        "misspelled section": ("[tutn]\na = 1", "given.toml:1: [tutn]: no such section; did you mean turn?"),
        "unknown section": ("[zzz]", "given.toml:1: [zzz]: no such section"),
        "section as a number": ("turn = 3", "given.toml:1: turn: must be a table that begins with the line [turn]"),
        "endpoints as a text": (
            "[llm]\nendpoints = 'x'",
            "given.toml:2: llm.endpoints: must be a list of tables, each of which begins with the line "
            "[[llm.endpoints]]",
        ),
        "endpoint as a number": (
            "[llm]\nendpoints = [1]",
            "given.toml: llm.endpoints[0]: must be a table with name, url and model",
        ),
        "misspelled endpoint key": (
            ENDPOINT + "uri = 'x'",
            "given.toml:5: llm.endpoints[0].uri: no such setting; did you mean url?",
        ),
        "duplicate endpoint name": (
            ENDPOINT + ENDPOINT,
            'given.toml:6: llm.endpoints[1].name = "near": already used; each endpoint needs its own name',
        ),
        "reserved endpoint name": (
            ENDPOINT.replace("near", "auto"),
            'given.toml:2: llm.endpoints[0].name = "auto": reserved for --llm; give the endpoint another name',
        ),
        "invalid port": (
            ENDPOINT.replace("127.0.0.1:8000", "127.0.0.1:80000"),
            "given.toml:1: llm.endpoints[0]: url must be an address with a host and, optionally, a port from 1 to "
            "65535",
        ),
        "line break in key": ('[turn]\n"a\\nb" = 3', "given.toml: turn.a b: no such setting"),
    },
)
def test_error_in_a_file_is_one_line(text: str, line: str) -> None:
    assert problems(text) == (line,)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[turn]\nhangover_ms 3\n", ":2", "Expected '='"),
        ("a = " + "9" * 5000, "", "digits"),
        ("a = " + "[" * 50_000, "", "nested too deeply"),
    ],
    ids=["no equals sign", "number with 5000 digits", "nested too deeply"],
)
def test_invalid_toml_is_reported_with_its_line(text: str, line: str, what: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"given.toml{line}: not valid TOML: ")
    assert what in problem


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[turn]\nprofile = eager", '2: not valid TOML: not a value; put a text in straight quotes, as in "eager"'),
        ("[turn]\n[turn]", "2: not valid TOML: [turn] is declared a second time; put its keys under the first"),
        ("[turn]\nprofile = ''\nprofile = ''\n", "3: not valid TOML: a key is set twice; leave one of them out"),
    ],
    ids=["text without quotes", "duplicate section", "duplicate key"],
)
def test_frequent_mistakes_are_explained(text: str, meant: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"given.toml:{meant} (column ")


def test_all_problems_of_a_file_are_reported_together() -> None:
    told = problems("[turn]\nhangover_ms = 1\nprofile = 2\n[tts]\nspeed = 9\n" + ENDPOINT.replace("name", "nme"))
    places = [problem.split(": ", 2)[:2] for problem in told]
    assert places == [
        ["given.toml:2", "turn.hangover_ms = 1"],
        ["given.toml:3", "turn.profile = 2"],
        ["given.toml:5", "tts.speed = 9"],
        ["given.toml:7", "llm.endpoints[0].nme"],
        ["given.toml:6", "llm.endpoints[0].name"],
    ]


@pytest.mark.parametrize("missing", ["name", "url", "model"])
def test_endpoint_requires_name_url_and_model(missing: str) -> None:
    kept = [line for line in ENDPOINT.split("\n") if not line.startswith(missing)]
    assert problems("\n".join(kept)) == (f"given.toml:1: llm.endpoints[0].{missing}: is missing",)


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    for file, why in [(tmp_path / "no.toml", "No such file or directory"), (tmp_path, "Is a directory")]:
        with pytest.raises(ConfigError) as refused:
            load_settings(file, {}, ())
        assert str(refused.value) == f"{file}: cannot be read ({why}); name another file with --config"


def test_unreadable_folder_of_the_users_file_is_reported(users_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users_file.write_text("[turn]\n", encoding="utf-8")
    forbid(users_file.parent, monkeypatch)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read \(Permission denied\); name another"):
        load_settings(None, {}, ())


def test_file_with_wrong_encoding_or_size_is_refused() -> None:
    assert problems(b"[tts]\nvoice = '\xe9'") == ("given.toml:2: not UTF-8; save the file as UTF-8",)
    (problem,) = problems(b"#" * (1 << 20) + b"\n")
    assert "larger than 1 MiB" in problem


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        (
            {"REPARTEE_TURN_HANGOVR_MS": "300"},
            "environment REPARTEE_TURN_HANGOVR_MS: no such setting; did you mean REPARTEE_TURN_HANGOVER_MS?",
        ),
        (
            {"REPARTEE_TURN_HANGOVER_MS": "soon"},
            'REPARTEE_TURN_HANGOVER_MS = "soon": must be 0 or a whole number from 100 to 3000 ms',
        ),
        (
            {"REPARTEE_LLM_ENDPOINTS": "near"},
            'REPARTEE_LLM_ENDPOINTS: must be a list as TOML writes it: [{name = "…", url = "https://…", model = "…"}]',
        ),
        (
            {"REPARTEE_LLM_ENDPOINTS": '[{name = "n", model = "m"}]'},
            "REPARTEE_LLM_ENDPOINTS: llm.endpoints[0].url: is missing",
        ),
    ],
    ids=["misspelled variable", "word for a number", "text for a list", "incomplete endpoint"],
)
def test_error_in_the_environment_is_one_line(environ: Mapping[str, str], line: str) -> None:
    assert problems("", environ) == (line,)


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("turn.profile", "--set: must be section.key=value, as in --set turn.profile=eager"),
        ("turn.profil=eager", "--set turn.profil: no such setting; did you mean turn.profile?"),
        ("tts.speed=inf", '--set tts.speed = "inf": must be a number from 0.5 to 2'),
        ("tts.voice=\0", None),
    ],
    ids=["no equals sign", "misspelled key", "infinity", "zero byte"],
)
def test_error_in_a_flag_is_one_line(flag: str, line: str | None) -> None:
    (problem,) = problems("", {}, [flag])
    assert line is None or problem == line


@pytest.mark.parametrize(
    ("option", "line"),
    [
        (Option("--stt", "stt.engine", ""), '--stt "": must be "auto", "faster-whisper" or "ray"'),
        (
            Option("--stt", "stt.engine", "pocketsphinx"),
            '--stt "pocketsphinx": was removed: set "auto" and run repartee models pull tiny.en',
        ),
        (Option("--port", "server.port", "99999"), '--port "99999": must be 0 or a whole number from 1 to 65535'),
    ],
    ids=[
        "empty",
        "removed",
        "out of range",
    ],
)
def test_error_in_an_option_names_the_option(option: Option, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(None, {}, (), [option])
    assert refused.value.problems == (line,)


def test_sections_always_refuse_invalid_values() -> None:
    with pytest.raises(ValueError, match="hangover_ms must be 0 or"):
        TurnSection(hangover_ms=50)
    with pytest.raises(ValueError, match="max_tokens must be"):
        LlmSection(max_tokens=0)
    near = EndpointSection(name="near", url="http://localhost:1", model="m")
    with pytest.raises(ValueError, match='two are named "near"'):
        LlmSection(endpoints=(near, near))


# Secrets

SECRET = "sk-live-0123456789"


@pytest.mark.parametrize(
    "text",
    [
        f'[llm]\napi_key = "{SECRET}"',
        f'api_key = "{SECRET}"',
        f'{ENDPOINT}api_key = "{SECRET}"',
    ],
    ids=[
        "llm section",
        "top level",
        "endpoint",
    ],
)
def test_secret_in_the_file_is_redirected_to_the_environment(text: str) -> None:
    (problem,) = problems(text)
    assert "name that variable in api_key_env" in problem
    assert SECRET not in problem


def test_no_error_repeats_a_secret() -> None:
    told = [
        *problems(f'{ENDPOINT}api_key_env = "{SECRET}"'),
        *problems(ENDPOINT.replace("127.0.0.1", f"user:{SECRET}@127.0.0.1")),
        *problems("", {"REPARTEE_LLM_API_KEY": SECRET}),
        *problems("", {"REPARTEE_LLM_ENDPOINTS": f'[{{api_key = "{SECRET}"'}),
        *problems("", {}, [f"llm.api_key={SECRET}"]),
        *problems("", {}, [SECRET]),
    ]
    assert len(told) == 6
    assert SECRET not in "".join(told)


def test_key_variables_are_not_unknown_settings() -> None:
    environ = {"REPARTEE_NEAR_KEY": SECRET, "REPARTEE_TOKEN": SECRET}
    found = loaded(ENDPOINT + 'api_key_env = "REPARTEE_NEAR_KEY"', environ)
    assert found.available_keys == {"REPARTEE_NEAR_KEY"}
    assert problems(ENDPOINT, environ)[0].startswith("environment REPARTEE_NEAR_KEY: ")


# Display


def test_every_setting_is_shown_with_value_and_origin() -> None:
    rows = render_effective(loaded("[turn]\nhangover_ms = 300\n", {}, ["tts.voice=a\nb"]))
    assert [row.key for row in rows if row.key not in {"llm.endpoints", "tools.servers"}] == list(KEYS)
    shown = {row.key: (row.value, row.origin) for row in rows}
    assert shown["turn.hangover_ms"] == ("300", "given.toml:2")
    assert shown["turn.profile"] == ('"auto"', "default")
    assert shown["tts.voice"] == ('"a\\u000ab"', "--set")
    assert shown["trace.words"] == ("false", "default")
    assert shown["llm.endpoints"] == ("[]", "default")


@pytest.mark.parametrize(
    ("environ", "state"),
    [({"K": SECRET}, "(set)"), ({"K": ""}, "(not set)"), ({}, "(not set)")],
    ids=["key set", "key empty", "key missing"],
)
def test_endpoints_are_shown_without_their_keys(environ: Mapping[str, str], state: str) -> None:
    text = ENDPOINT.replace("/v1", f"/v1?key={SECRET}") + 'api_key_env = "K"'
    rows = render_effective(loaded(text, environ))
    shown = {row.key: row.value for row in rows}
    assert shown["llm.endpoints[0].api_key_env"] == f'"K" {state}'
    assert shown["llm.endpoints[0].url"] == '"http://127.0.0.1:8000/v1?…"'
    assert SECRET not in str(rows)


@pytest.mark.parametrize(
    ("key", "address", "shown"),
    [
        ("cache.redis_url", f"redis://user:{SECRET}@10.0.0.7:6379/0?password={SECRET}", "redis://…@10.0.0.7:6379/0?…"),
        ("cache.redis_url", f"unix://{SECRET}@/run/redis.sock", "unix://…@/run/redis.sock"),
        ("cache.redis_url", f"redis://10.0.0.7:6379/0?password={SECRET}", "redis://10.0.0.7:6379/0?…"),
        ("cache.redis_url", "redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
    ],
    ids=["user and query", "user only", "query only", "neither"],
)
def test_address_is_shown_without_user_password_and_query(key: str, address: str, shown: str) -> None:
    rows = render_effective(loaded("", {}, [f"{key}={address}"]))
    assert [row.value for row in rows if row.key == key] == [f'"{shown}"']
    assert SECRET not in str(rows)


def rows_or_problems(overrides: Sequence[str]) -> list[ConfigRow] | ConfigError:
    try:
        return render_effective(load_settings(config_texts.CONFIG_FILE, {}, overrides))
    except ConfigError as refused:
        return refused


@given(st.dictionaries(st.sampled_from([k for k in KEYS if k != "trace.dir"]), st.text(max_size=30)))
def test_any_text_is_a_setting_or_a_one_line_error(texts: dict[str, str]) -> None:
    found = rows_or_problems([f"{dotted}={text}" for dotted, text in texts.items()])
    if isinstance(found, ConfigError):
        assert 1 <= len(found.problems) <= len(texts)
        assert str(found).splitlines() == list(found.problems)
    else:
        assert {row.key for row in found if row.origin == "--set"} == set(texts)
        for row in found:
            assert tomllib.loads(f"v = {row.value}")


# Lines


def test_lines_are_reported_only_if_certain() -> None:
    text = 'x = 1\n[a]\ns = """\n[b]\ny = 2\n"""\nz = 3\n"q" = 4\n[[l.e]]\nn = 1\n[[l.e]]\nn = 2\n'
    assert lines_of_keys(text) == {
        "x": 1, "a": 2, "a.s": 3, "a.z": 7, "l.e": 9, "l.e[0]": 9, "l.e[0].n": 10, "l.e[1]": 11, "l.e[1].n": 12,
    }  # fmt: skip


def test_lexicon_is_a_table_of_its_own() -> None:
    text = '[tts]\nspeed = 1.1\n\n[tts.lexicon]\nNiamh = "Neev"\nnginx = "/ˈɛndʒɪnˌɛks/"\n'
    assert loaded(text).settings.tts.lexicon.entries == {"Niamh": "Neev", "nginx": "/ˈɛndʒɪnˌɛks/"}


def test_wrong_entry_of_the_lexicon_is_named() -> None:
    (problem,) = problems('[tts.lexicon]\nNiamh = "Neev"\n"San Jose" = "San Hozay"\n')
    assert problem.endswith('given.toml:1: tts.lexicon = a table: is wrong at "San Jose", which must be one word')


# ---- single sections ----


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:6379", "head.example:6379", "[::1]:6379"])
def test_address_of_a_head_is_accepted(address: str) -> None:
    assert load_settings(None, {}, [f"cluster.address={address}"]).settings.cluster.address == address


@pytest.mark.parametrize("address", ["", "127.0.0.1", "ray://127.0.0.1:10001", "http://127.0.0.1:6379", "a b:1"])
def test_other_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"host:port as in 127\.0\.0\.1:6379"):
        load_settings(None, {}, [f"cluster.address={address}"])


# ---- named prompts ----


FILE = Path("config.toml")


def test_prompts_are_a_table_of_the_server() -> None:
    content = b'[server.prompts]\nsupport = """You help\n{{company}}."""\n"v1.2" = "Be kind."\n'
    assert settings_in(content, FILE).server.prompts.texts == {"support": "You help\n{{company}}.", "v1.2": "Be kind."}
    assert settings_in(b"", FILE).server.prompts.texts == {}


@pytest.mark.parametrize("table", ['"a b" = "x"', 'a = ""', "a = 5", 'a = { text = "x" }'])
def test_prompts_that_are_no_named_texts_are_refused(table: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.prompts .*must be a table of texts"):
        settings_in(f"[server.prompts]\n{table}\n".encode(), FILE)


def test_prompts_are_limited() -> None:
    with pytest.raises(ConfigError, match="at most 200000 characters"):
        settings_in(f"[server.prompts]\na = '{'x' * 200_000}'\n".encode(), FILE)
