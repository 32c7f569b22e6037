"""Commands that draw pictures, on an installation without matplotlib: the reason and the remedy."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from support.conversations.trace_samples import DEMO
from typer.testing import CliRunner

from assistant.commands.llm_endpoints.cli import endpoints
from assistant.commands.trace import trace
from assistant.config.errors import ConfigError
from assistant.support import plots

REMEDY = "pictures need matplotlib: run `.venv/bin/pip install -e '.[plots]'` in Repartee's folder"


@pytest.fixture(autouse=True)
def _without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(plots, "find_spec", nothing)


def test_trace_page_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(trace, ["report", str(DEMO), "--html", str(page)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(f"{page}: {REMEDY}.\n")
    assert not page.exists()


def test_picture_of_endpoints_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    picture = tmp_path / "waits.svg"
    done = CliRunner().invoke(endpoints, ["--svg", str(picture)])
    assert isinstance(done.exception, ConfigError)
    assert f"{picture}: {REMEDY}" in str(done.exception)
    assert done.stdout == ""
