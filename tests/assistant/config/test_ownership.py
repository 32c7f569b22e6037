"""A config.toml in the working directory is read only if it belongs to Repartee."""

from pathlib import Path

import pytest
from program import repartee

from assistant.config.edit import file_to_edit
from assistant.config.loading import ConfigError, load_settings
from assistant.config.ownership import is_ours

OURS = {
    "empty": "",
    "comments": "# nothing is set\n",
    "one section": '[turn]\nprofile = "eager"\n',
    "one common section": "[server]\nport = 8765\n",
    "a mistyped key": "[turn]\nhangover = 3\n",
    "a mistyped key of a common section": '[server]\nport = 1\nhsot = "x"\n',
    "half a key": '[turn]\nspeculate = "x"\n',
    "a mistyped section": "[tutn]\na = 1\n",
    "a mistyped list": '[[llm.endpoint]]\nname = "x"\n',
    "a section that there is not": '[turn]\nprofile = "eager"\n[foo]\nx = 1\n',
    "a key above all sections": 'language = "en"\n',
    "a section that is no table": "turn = 3\n",
    "broken": "[turn]\nhangover_ms 3\n",
    "a value without quotes": "[turn]\nprofile = eager\n",
    "it says so": '# settings of Repartee\n[something]\nelse = "x"\n',
}
THEIRS = {
    "unknown": "[zzz]\n",
    "a web site": 'title = "x"\nbaseURL = "https://x"\nlanguageCode = "en"\n[params]\na = 1\n',
    "a web application": '[server]\nhost = "0.0.0.0"\nport = 80\n[database]\nurl = "x"\n',
    "a dashboard": '[server]\nport = 8501\nheadless = true\n[theme]\nprimaryColor = "x"\n',
    "a dashboard's server": "[server]\nport = 8501\nheadless = true\nenableCORS = false\n",
    "a build": '[build]\nrustflags = ["-C"]\n',
    "an editor": 'theme = "x"\n[editor]\nline-number = "relative"\n',
    "a coding assistant": 'model = "x"\n[mcp_servers.x]\ncommand = "y"\n',
    "another language model program": '[llm]\nprovider = "x"\napi_base = "y"\n[db]\nx = 1\n',
    "versions of tools": '[tools]\nripgrep = "1"\nnode = "20"\n',
    "a service": "debug = true\n[server]\nport = 3\n",
    "a template": "{{ template }}\n[a]\n",
    "no TOML": "a = b\n",
    "no text": "\x00\x01\x02",
}


@pytest.mark.parametrize("name", OURS)
def test_config_file_of_repartee_is_recognized(name: str) -> None:
    assert is_ours(OURS[name].encode())


@pytest.mark.parametrize("name", THEIRS)
def test_config_file_of_another_program_is_recognized(name: str) -> None:
    assert not is_ours(THEIRS[name].encode())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the working directory, with another program's config.toml."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.toml"
    file.write_text(THEIRS["a dashboard"])
    return file


@pytest.mark.usefixtures("here")
def test_file_of_another_program_is_ignored_with_a_note() -> None:
    found = load_settings(None, {}, [])
    assert found.ignored == Path("config.toml")
    assert found.file != Path("config.toml")
    assert found.settings.server.port == 8765
    assert found.note.endswith("is not used; if it is Repartee's, use --config config.toml")


@pytest.mark.usefixtures("here")
def test_file_of_another_program_is_read_if_named() -> None:
    with pytest.raises(ConfigError, match=r"\[theme\]: no such section"):
        load_settings(Path("config.toml"), {}, [])


def test_mistake_in_own_file_is_an_error(here: Path) -> None:
    here.write_text(OURS["a section that there is not"])
    with pytest.raises(ConfigError, match=r"\[foo\]: no such section"):
        load_settings(None, {}, [])


@pytest.mark.usefixtures("here")
def test_file_of_another_program_is_not_changed() -> None:
    with pytest.raises(ConfigError, match="belongs to another program; name another file with --config"):
        file_to_edit(None, None)


@pytest.mark.parametrize("command", [["config"], ["models"], ["trace", "report"]], ids=" ".join)
def test_commands_run_beside_a_file_of_another_program(here: Path, command: list[str]) -> None:
    done = repartee(*command, cwd=here.parent)
    assert "no such section" not in done.stderr
    assert "config.toml in this folder belongs to another program" in done.stderr
    assert done.returncode == (2 if command[0] == "trace" else 0)  # there is no trace
