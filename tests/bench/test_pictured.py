"""The pictures of README and docs show what set-up brings."""

import re
from pathlib import Path

import pytest

from assistant.config.settings import Settings
from bench.pictured import SETUP_RECOGNIZER, check_recognizer
from bench.talk_picture import ENGINES

ROOT = Path(__file__).parents[2]


def test_another_recognizer_than_set_up_brings_is_refused() -> None:
    check_recognizer(SETUP_RECOGNIZER)
    with pytest.raises(SystemExit, match=r"would show pocketsphinx, .*: repartee models pull tiny\.en"):
        check_recognizer("pocketsphinx")


def test_one_that_was_asked_for_is_taken() -> None:
    check_recognizer("pocketsphinx", ["turn.profile=eager", "stt.engine=pocketsphinx"])


def test_the_scripted_picture_shows_it() -> None:
    (shown,) = [engine for engine in ENGINES if engine.stage == "stt"]
    assert (shown.name, shown.fallback) == (SETUP_RECOGNIZER, False)


def test_set_up_fetches_the_default_model_of_that_recognizer() -> None:
    model = Settings().stt.model
    assert f"fetch_model {model} " in (ROOT / "deploy/setup.sh").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", ["talk.svg", "terminal.svg"])
def test_the_kept_picture_of_a_terminal_shows_it(picture: str) -> None:
    drawn = re.sub(r"<[^>]+>", " ", (ROOT / "docs" / picture).read_text(encoding="utf-8"))
    assert SETUP_RECOGNIZER in drawn
    assert "pocketsphinx" not in drawn
