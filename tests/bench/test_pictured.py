"""The pictures of README and docs show the recognizer that setup installs."""

import re
from pathlib import Path

import pytest

from assistant.config.settings import Settings
from assistant.setup.derived_settings import needs
from bench.program.pictured import SETUP_RECOGNIZER, check_recognizer
from bench.program.talk_picture import ENGINES

ROOT = Path(__file__).parents[2]


def test_other_recognizer_than_that_of_setup_is_rejected() -> None:
    check_recognizer(SETUP_RECOGNIZER)
    with pytest.raises(SystemExit, match=r"would show another, .*: run repartee models pull tiny\.en"):
        check_recognizer("another")


def test_explicitly_requested_recognizer_is_accepted() -> None:
    check_recognizer("no recognizer", ["turn.profile=eager", "stt.engine=auto"])


def test_scripted_picture_shows_setup_recognizer() -> None:
    (shown,) = [engine for engine in ENGINES if engine.stage == "stt"]
    assert (shown.name, shown.fallback) == (SETUP_RECOGNIZER, False)


def test_setup_fetches_default_model_of_recognizer() -> None:
    model = next(need.name for need in needs(Settings()) if need.kind == "whisper")
    assert f"fetch_model {model} " in (ROOT / "deploy/setup.sh").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", ["talk.svg", "terminal.svg"])
def test_stored_terminal_picture_shows_setup_recognizer(picture: str) -> None:
    drawn = re.sub(r"<[^>]+>", " ", (ROOT / "docs" / picture).read_text(encoding="utf-8"))
    assert "pocketsphinx" not in drawn
    assert picture == "terminal.svg" or SETUP_RECOGNIZER in drawn  # the demo names engines only in place of others
