"""The named prompts of the configuration."""

from pathlib import Path

import pytest

from assistant.config.errors import ConfigError
from assistant.config.loading import settings_in

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
