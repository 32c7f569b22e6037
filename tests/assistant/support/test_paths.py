"""Expansion of the home folder, and errors without one."""

import pwd
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from assistant.models.needs import folder_of
from assistant.storage.conversation_store import conversations_folder
from assistant.support.paths import HomeError, at_home


def test_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert at_home("~/models") == tmp_path / "models"
    assert at_home("models") == Path("models")


def test_unknown_user_is_reported() -> None:
    with pytest.raises(HomeError, match=r"^~nobody-of-this-name/m: there is no such home folder; correct"):
        at_home("~nobody-of-this-name/m")


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imitates a container that runs a program under a user id without an entry in /etc/passwd."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize(
    "ask",
    [lambda: folder_of("whisper"), lambda: folder_of("piper"), lambda: conversations_folder({})],
    ids=["Whisper models", "Piper voices", "conversations"],
)
def test_missing_home_names_the_variables(ask: Callable[[], Path]) -> None:
    with pytest.raises(HomeError, match=r"^~/\..*: no home folder is known\. Set HOME; or XDG_DATA_HOME.*HF_HOME"):
        ask()


def test_empty_home_is_not_the_root_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    with pytest.raises(HomeError, match=r"^~/m: no home folder is known\. Set HOME"):
        at_home("~/m")
    assert at_home("/m") == Path("/m")


@pytest.mark.usefixtures("homeless")
def test_variables_replace_a_missing_home(monkeypatch: pytest.MonkeyPatch) -> None:
    variables: Mapping[str, str] = {"XDG_DATA_HOME": "/data", "HF_HOME": "/hub"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert folder_of("whisper") == Path("/hub/hub")
    assert folder_of("piper") == Path("/data/repartee/voices")
    assert conversations_folder(variables) == Path("/data/repartee/conversations")
