"""`repartee cache`: what is stored is shown and removed."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.setup.answering.answer_cache import cache_store
from llm.cache import CacheEntry
from repartee.cli import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["cache", *arguments])


def entry(number: int, request: str, answer: str, created_s: float = 1_790_000_000) -> CacheEntry:
    return CacheEntry(f"{number}abcdefghijk", "s", f"form {number}", request, "en", request, answer, "near", created_s)


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    """Returns the options that select a store with two answers."""
    overrides = [f"cache.file={tmp_path / 'answers.sqlite3'}", "cache.max_days=3650"]
    store = cache_store(load_settings(None, {}, overrides).settings, {}, 5.0)
    store.store_entry(entry(1, "How high is Mount Everest?", "8,849 metres."))
    store.store_entry(entry(2, "Why is the sky blue?", "Blue light is scattered more."))
    store.used(entry(2, "", ""))
    store.close()
    return [part for override in overrides for part in ("--set", override)]


def test_stats_counts_answers_and_hits(options: list[str]) -> None:
    result = run("stats", *options)
    assert result.exit_code == 0
    assert "2 answers, given again 1 time (1 of them)" in result.stdout


def test_list_shows_requests_and_answers(options: list[str]) -> None:
    shown = " ".join(run("list", *options).stdout.split())
    assert "1abcde" in shown
    assert "8,849" in shown
    assert "scattered" in shown
    only = run("list", "SKY", *options).stdout
    assert "1abcde" not in only
    assert "2abcde" in only


@pytest.mark.parametrize("which", ["1abcde", "everest"])
def test_forget_removes_by_id_or_words(options: list[str], which: str) -> None:
    result = run("forget", which, *options)
    assert (result.exit_code, result.stdout) == (0, "1 answer removed\n")
    assert "1 answer" in run("stats", *options).stdout
    again = run("forget", which, *options)
    assert (again.exit_code, again.stdout) == (1, "0 answers removed\n")


def test_purge_removes_everything(options: list[str]) -> None:
    assert run("purge", *options).stdout == "2 answers removed\n"
    assert "0 answers" in run("stats", *options).stdout
    assert run("list", *options).stdout == "no answers\n"


def test_answers_in_memory_are_in_the_running_program_only() -> None:
    result = run("stats", "--set", "cache.store=memory")
    assert isinstance(result.exception, ConfigError)
    assert "running program" in str(result.exception)


def test_unusable_store_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    result = run("stats", "--set", f"cache.file={tmp_path / 'folder'}")
    assert isinstance(result.exception, ConfigError)
    assert "cannot be used" in str(result.exception)
