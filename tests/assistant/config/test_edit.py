"""Changes of the configuration file: complete and checked, or none."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.programs.forbidden_folder import forbid

from assistant.config.edit import ConfigFile, file_to_edit
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.config.settings import DEFAULTS

NEAR = EndpointSection(name="near", url="http://127.0.0.1:8000/v1", model="m")
FAR = EndpointSection(name="far", url="https://h/v1", model="m", api_key_env="KEY")
TEXT = "# mine\n[turn]\nprofile = 'eager'  # quick\n"


@pytest.fixture
def file(tmp_path: Path) -> ConfigFile:
    (tmp_path / "config.toml").write_text(TEXT, encoding="utf-8")
    return ConfigFile(tmp_path / "config.toml")


def only(file: ConfigFile) -> None:
    """Asserts that no draft was left."""
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]


def refused(file: ConfigFile, endpoint: EndpointSection = NEAR) -> str:
    before = file.path.read_bytes()
    with pytest.raises(ConfigError) as error:
        file.add_endpoint(endpoint)
    assert file.path.read_bytes() == before
    only(file)
    return str(error.value)


def test_file_is_unchanged_after_add_and_remove(file: ConfigFile) -> None:
    file.add_endpoint(NEAR)
    file.add_endpoint(FAR)
    assert file.settings().llm.endpoints == (NEAR, FAR)
    assert file.settings().turn.profile == "eager"
    assert file.path.read_text(encoding="utf-8").startswith(TEXT)
    assert file.remove("near") == NEAR
    assert file.settings().llm.endpoints == (FAR,)
    file.remove("far")
    assert file.path.read_text(encoding="utf-8") == TEXT
    only(file)


def test_missing_file_is_created(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "config.toml")
    assert not file.exists
    assert file.settings() == DEFAULTS
    file.add_endpoint(NEAR)
    assert file.settings().llm.endpoints == (NEAR,)
    only(file)


def test_taken_name_is_refused(file: ConfigFile) -> None:
    file.add_endpoint(NEAR)
    said = refused(file)
    assert said == (
        f'{file.path}: the endpoint "near" already exists; to replace it, `repartee endpoints remove near`, '
        "then add it again; to keep it, give another NAME"
    )


@pytest.mark.parametrize("name", ["", "neer", "b"], ids=["empty", "misspelled", "other"])
def test_unknown_endpoint_cannot_be_removed(file: ConfigFile, name: str) -> None:
    with pytest.raises(ConfigError, match=r"there is no endpoint .*, because none is configured"):
        file.remove(name)
    file.add_endpoint(NEAR)
    meant = "; did you mean near\\?$" if name == "neer" else "$"
    with pytest.raises(ConfigError, match=f"no such endpoint; the endpoints are near{meant}"):
        file.remove(name)


@pytest.mark.parametrize(
    "text",
    [
        '[llm]\nendpoints = [{name = "a", url = "http://a/v1", model = "m"}]\n',
        'llm.endpoints = [{name = "a", url = "http://a/v1", model = "m"}]\n',
        "llm = {temperature = 0.5}\n",
    ],
    ids=["array in a section", "dotted key", "inline table"],
)
def test_endpoints_not_written_as_tables_are_kept(file: ConfigFile, text: str) -> None:
    file.path.write_text(text, encoding="utf-8")
    assert "write each endpoint as a [[llm.endpoints]] table, or edit the file by hand" in refused(file)
    if "endpoints" in text:
        with pytest.raises(ConfigError, match="by hand"):
            file.remove("a")
        assert file.path.read_text(encoding="utf-8") == text


def test_unknown_header_never_removes_another_endpoint(file: ConfigFile) -> None:
    """The quoted header is not recognized, so counting would take the second table for the first."""
    text = "".join(
        f'[[{header}]]\nname = "{name}"\nurl = "http://h/v1"\nmodel = "m"\n'
        for header, name in (('llm."endpoints"', "a"), ("llm.endpoints", "b"))
    )
    file.path.write_text(text, encoding="utf-8")
    for name in ("a", "b"):
        with pytest.raises(ConfigError, match="by hand"):
            file.remove(name)
    assert file.path.read_text(encoding="utf-8") == text


def test_invalid_file_is_not_changed(file: ConfigFile) -> None:
    file.path.write_text("[turn]\nprofil = 'eager'\n", encoding="utf-8")
    assert "turn.profil: no such setting" in refused(file)


def test_encoding_mode_and_links_are_kept(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    (tmp_path / "real.toml").chmod(0o640)
    (tmp_path / "config.toml").symlink_to("real.toml")
    file = ConfigFile(tmp_path / "config.toml")
    file.add_endpoint(NEAR)
    assert (tmp_path / "config.toml").is_symlink()
    written = (tmp_path / "real.toml").read_bytes()
    assert written.startswith(b"\xef\xbb\xbf# mine\r\n")
    assert written.count(b"\xef\xbb\xbf") == 1
    assert written.count(b"\n") == written.count(b"\r\n")
    assert (tmp_path / "real.toml").stat().st_mode & 0o777 == 0o640
    assert file.settings().llm.endpoints == (NEAR,)


def test_write_error_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written \(No such file or directory\); name another file"):
        ConfigFile(tmp_path / "nowhere" / "config.toml").add_endpoint(NEAR)


def test_unreadable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match=r"cannot be written \(Permission denied\); name another file"):
        ConfigFile(tmp_path / "config.toml").add_endpoint(NEAR)


def test_file_does_not_exceed_the_readable_size(file: ConfigFile) -> None:
    file.path.write_text(TEXT + "#" * ((1 << 20) - len(TEXT)), encoding="utf-8")
    refused(file)


def test_non_utf_8_name_is_refused(file: ConfigFile) -> None:
    named = replace(NEAR, name=os.fsdecode(b"h\xe9"))
    assert refused(file, named) == f"{file.path}: a value contains characters that UTF-8 cannot encode; change it"


def test_right_file_is_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, named = tmp_path / "asked.toml", tmp_path / "named.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert file_to_edit(asked, {"REPARTEE_CONFIG": str(named)}).path == asked
    assert file_to_edit(None, {"REPARTEE_CONFIG": str(named)}).path == named
    assert file_to_edit(None, {}).path == tmp_path / "xdg" / "repartee" / "config.toml"


def test_folder_of_the_users_file_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    file_to_edit(None, {}).add_endpoint(NEAR)
    assert [endpoint.name for endpoint in load_settings(None, {}, ()).settings.llm.endpoints] == ["near"]


def test_unknown_home_folder_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "")
    with pytest.raises(ConfigError, match="no home folder is known for the configuration; set HOME"):
        file_to_edit(None, {})


def test_values_and_an_endpoint_are_changed_in_one_step(file: ConfigFile) -> None:
    file.change({"tts.voice": "en_US-joe-medium", "turn.profile": "patient"}, NEAR)
    settings = file.settings()
    assert settings.tts.voice == "en_US-joe-medium"
    assert settings.turn.profile == "patient"
    assert settings.llm.endpoints == (NEAR,)
    assert "# mine\n" in file.path.read_text(encoding="utf-8")
    assert "# quick" in file.path.read_text(encoding="utf-8")
    only(file)


def test_endpoint_of_the_same_name_is_replaced(file: ConfigFile) -> None:
    file.add_endpoint(NEAR)
    file.add_endpoint(FAR)
    other = replace(NEAR, model="n")
    file.change({}, other)
    assert file.settings().llm.endpoints == (FAR, other)


def test_file_with_a_key_is_private(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "new" / "config.toml", creates_folder=True)
    file.change({}, FAR, private=True)
    assert file.path.stat().st_mode & 0o777 == 0o600
    file.path.chmod(0o644)
    file.change({"tts.speed": 1.2})
    assert file.path.stat().st_mode & 0o777 == 0o644
    file.change({}, NEAR, private=True)
    assert file.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("tts = { voice = 'a' }\n", {"tts.voice": "b"}, "by hand. The file is unchanged"),
        ("[tts]\nvoice = '''a'''\n", {"tts.voice": "b"}, "is not on one line; edit the file by hand"),
        (TEXT, {"assistant.language": "English!"}, "must be a language code such as en or de"),
    ],
    ids=["inline table", "long text", "not allowed"],
)
def test_change_that_is_not_possible_leaves_the_file(
    file: ConfigFile, text: str, values: dict[str, str], said: str
) -> None:
    file.path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        file.change(values)
    assert said in str(error.value)
    assert file.path.read_text(encoding="utf-8") == text
