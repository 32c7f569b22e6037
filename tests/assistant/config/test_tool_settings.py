"""Tool servers in the configuration: allowed values, display, and errors for misplaced secrets."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.texts.text_cases import named_cases

from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded, load_settings, render_effective
from assistant.config.settings import Settings
from assistant.config.tool_settings import ToolServerSection, ToolsSection
from assistant.setup.derived_settings import session_settings, tool_settings

SECRET = "hunter2"


def loaded(text: str, tmp_path: Path, environ: Mapping[str, str] | None = None) -> Loaded:
    file = tmp_path / "given.toml"
    file.write_text(text)
    return load_settings(file, environ or {}, ())


def problems(text: str, tmp_path: Path) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        loaded(text, tmp_path)
    return [problem.removeprefix(f"{tmp_path}{os.sep}") for problem in refused.value.problems]


PROGRAM = '[[tools.servers]]\nname = "notes"\ncommand = "notes --folder \'my notes\'"\nenv = "REPARTEE_NOTES HOME"\n'
ADDRESS = '[[tools.servers]]\nname = "home"\nurl = "https://h/mcp?key=hunter2"\ntoken_env = "HOME_TOKEN"\n'


def test_program_and_address_are_read(tmp_path: Path) -> None:
    found = loaded(PROGRAM + ADDRESS, tmp_path, {"REPARTEE_NOTES": SECRET, "HOME_TOKEN": SECRET})
    notes, home = found.settings.tools.servers
    assert notes.argv == ["notes", "--folder", "my notes"]
    assert notes.variables == ("REPARTEE_NOTES", "HOME")
    assert home.variables == ("HOME_TOKEN",)
    assert found.available_keys == {"REPARTEE_NOTES", "HOME_TOKEN"}
    shown = {row.key: row.value for row in render_effective(found)}
    assert shown["tools.servers[0].env"] == '"REPARTEE_NOTES HOME" (not set: HOME)'
    assert shown["tools.servers[1].token_env"] == '"HOME_TOKEN" (set)'
    assert shown["tools.servers[1].url"] == '"https://h/mcp?…"'
    assert shown["tools.servers[0].command"] == '"notes …"'
    assert SECRET not in str(shown)


def test_missing_servers_are_shown_as_empty(tmp_path: Path) -> None:
    found = {row.key: (row.value, row.origin) for row in render_effective(loaded("", tmp_path))}
    assert found["tools.servers"] == ("[]", "default")


def test_environment_may_define_servers() -> None:
    inline = '[{name = "notes", command = "notes"}]'
    found = load_settings(Path(os.devnull), {"REPARTEE_TOOLS_SERVERS": inline}, ())
    assert found.settings.tools.servers == (ToolServerSection(name="notes", command="notes"),)
    assert found.origin["tools.servers"] == "environment REPARTEE_TOOLS_SERVERS"


A = "[[tools.servers]]\nname = 'a'\n"
EITHER = "1: tools.servers[0]: must have either a command or a url"
ADDRESSES = "must be an http:// or https:// address without a user name or password, or empty"


@named_cases(
    ("text", "problem"),
    {
        "servers as a number": (
            "[tools]\nservers = 3\n",
            "2: tools.servers: must be a list of tables, each of which begins with the line [[tools.servers]]",
        ),
        "missing name": ("[[tools.servers]]\nurl = 'http://h/mcp'\n", "1: tools.servers[0].name: is missing"),
        "space in name": (
            "[[tools.servers]]\nname = 'a b'\ncommand = 'c'\n",
            '2: tools.servers[0].name = "a b": must be 1 to 31 letters, digits and -',
        ),
        "neither command nor url": (A, EITHER),
        "command and url": (f"{A}command = 'c'\nurl = 'http://h'\n", EITHER),
        "env for a url": (
            f"{A}url = 'http://h'\nenv = 'E'\n",
            "1: tools.servers[0]: env is for a command, and token_env for a url",
        ),
        "unclosed quote": (
            f'{A}command = "\'c"\n',
            "1: tools.servers[0]: command must have a closing quote for each opening one",
        ),
        "port zero": (
            f"{A}url = 'http://h:0/'\n",
            "1: tools.servers[0]: url must be an address with a host and, optionally, a port from 1 to 65535",
        ),
        "ftp address": (f"{A}url = 'ftp://hunter2'\n", f"3: tools.servers[0].url: {ADDRESSES}"),
        "unknown key": (
            f"{A}command = 'c'\nargs = []\n",
            "4: tools.servers[0].args: no such setting; the known names are name, command, url, env, token_env, only, "
            "background, wait, trusted",
        ),
        "duplicate name": (
            PROGRAM + PROGRAM,
            '6: tools.servers[1].name = "notes": already used; each server needs its own name',
        ),
    },
)
def test_error_is_one_sentence(text: str, problem: str, tmp_path: Path) -> None:
    assert problems(text, tmp_path) == [f"given.toml:{problem}"]


def test_duplicate_names_are_always_refused() -> None:
    one = ToolServerSection(name="a", command="c")
    with pytest.raises(ValueError, match='two are named "a"'):
        ToolsSection(servers=(one, one))


@pytest.mark.parametrize(
    ("section", "language", "moment"),
    [
        (ToolsSection(), "en-GB", "One moment."),
        (ToolsSection(), "de", "Einen Moment."),
        (ToolsSection(moment="Attendez."), "fr", "Attendez."),
        (ToolsSection(), "it", ""),
        (ToolsSection(moment_after_s=0), "en", ""),
    ],
    ids=["English", "German", "configured text", "unsupported language", "disabled"],
)
def test_moment_is_in_the_conversation_language(section: ToolsSection, language: str, moment: str) -> None:
    plain = Settings()
    assistant = type(plain.assistant)(language=language)
    settings = Settings(assistant=assistant, tools=section)
    assert tool_settings(settings).moment == moment
    assert session_settings(settings).tools == tool_settings(settings)


@pytest.mark.parametrize(
    ("background", "wait", "mode"),
    [
        ("", "", ""),
        ("report other", "", "background"),
        ("*", "", "background"),
        ("*", "report", "wait"),
        ("report", "*", "background"),
        ("other", "*", "wait"),
        ("report", "report", "wait"),
    ],
)
def test_mode_of_a_tool_goes_by_its_name_and_then_by_all(background: str, wait: str, mode: str) -> None:
    section = ToolServerSection(name="home", command="c", background=background, wait=wait)
    assert section.mode_of("report") == mode
