"""Endpoints in the text of a config.toml: adding and removing leaves all other text unchanged."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config.edit import table_of, with_table, without_table
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.toml_lines import lines_of_tables

ROOT = Path(__file__).parent.parent.parent.parent
NEAR = EndpointSection(name="near", url="http://127.0.0.1:8000/v1", model="m")

MIXED = '''\
# my settings
[llm]  # slow machine
temperature = 0.2 # cool

# the fast one
[[llm.endpoints]]
name = "a"
url = "http://a/v1"   # upstairs
model = "m"
# spare = true

# the other one
[[ llm.endpoints ]]
name = "b"
url = "http://b/v1"
model = """
m2"""

# who answers
[assistant]
instructions = """
[[llm.endpoints]]
name = "not one"
"""
'''


def names(text: str) -> list[str]:
    return [endpoint["name"] for endpoint in tomllib.loads(text).get("llm", {}).get("endpoints", [])]


def test_table_has_only_non_default_values() -> None:
    assert table_of(NEAR) == '[[llm.endpoints]]\nname = "near"\nurl = "http://127.0.0.1:8000/v1"\nmodel = "m"\n'
    keyed = EndpointSection(name='a "b" \\ \x07', url="https://h/v1", model="m", api_key_env="KEY")
    assert tomllib.loads(table_of(keyed))["llm"]["endpoints"] == [
        {"name": 'a "b" \\ \x07', "url": "https://h/v1", "model": "m", "api_key_env": "KEY"}
    ]


@pytest.mark.parametrize(
    "text",
    ["", "[turn]\nprofile = 'eager'\n", "[turn]\nprofile = 'eager'", "# only this\n", MIXED],
    ids=["empty file", "section", "section without line end", "comment", "mixed"],
)
def test_adding_keeps_the_other_text(text: str) -> None:
    longer = with_table(text, NEAR)
    assert longer.startswith(text)
    assert names(longer) == [*names(text), "near"]


def test_shipped_file_can_be_extended() -> None:
    text = (ROOT / "config.toml").read_text(encoding="utf-8")
    longer = with_table(text, NEAR)
    assert names(longer) == ["near"]
    assert without_table(longer, 0) == text


def test_line_ends_are_kept() -> None:
    longer = with_table("[turn]\r\nprofile = 'eager'\r\n", NEAR)
    assert longer.count("\n") == longer.count("\r\n") == 7
    assert without_table(longer, 0) == "[turn]\r\nprofile = 'eager'\r\n"


def test_removing_keeps_comments_and_other_tables() -> None:
    first = without_table(MIXED, 0)
    assert names(first) == ["b"]
    gone = '\n[[llm.endpoints]]\nname = "a"\nurl = "http://a/v1"   # upstairs\nmodel = "m"'
    assert first == MIXED.replace(gone, "")
    second = without_table(MIXED, 1)
    assert names(second) == ["a"]
    assert "# the other one\n\n# who answers\n[assistant]\n" in second
    assert tomllib.loads(second)["assistant"] == tomllib.loads(MIXED)["assistant"]


def test_table_inside_a_string_is_ignored() -> None:
    with pytest.raises(ValueError, match="number 3"):
        without_table(MIXED, 2)
    assert [table for _, table in lines_of_tables(MIXED)] == [
        "[llm]",
        "[[llm.endpoints]]",
        "[[llm.endpoints]]",
        "[assistant]",
    ]


def test_first_table_of_a_file_is_removed_completely() -> None:
    assert without_table(table_of(NEAR), 0) == ""
    assert without_table(table_of(NEAR) + "\n[turn]\n", 0) == "[turn]\n"


_line = st.sampled_from(
    [
        "",
        "# a comment",
        "[turn]",
        "profile = 'eager' # [[llm.endpoints]]",
        "[[llm.endpoints]]",
        'name = "x"',
        '"""',
        "x = 1",
    ]
)


@given(st.lists(_line, max_size=12).map("\n".join))
def test_text_is_unchanged_after_add_and_remove(text: str) -> None:
    try:
        count = len(names(text))
    except (ValueError, KeyError, TypeError):
        return
    before = text if not text or text.endswith("\n") else text + "\n"
    back = without_table(with_table(text, NEAR), count)
    assert back.rstrip("\n") == before.rstrip("\n")
