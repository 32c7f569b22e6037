"""Values set in the text of a config.toml."""

import tomllib
from collections.abc import Mapping

import pytest

from assistant.config.edit import with_values
from assistant.config.keys import Value

TEXT = "# mine\n[tts]\nvoice = \"a # b\"  # the voice\nspeed = 1.5\n\n[turn]\nprofile = 'eager'\n"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"tts.voice": "b"}, TEXT.replace('"a # b"', '"b"')),
        ({"tts.speed": 0.9}, TEXT.replace("1.5", "0.9")),
        ({"turn.profile": "auto"}, TEXT.replace("'eager'", '"auto"')),
        ({"tts.engine": "piper"}, TEXT.replace("[tts]\n", '[tts]\nengine = "piper"\n')),
        ({"talk.remember": True}, TEXT + "\n[talk]\nremember = true\n"),
        ({"tts.voice": 'c"\\\n'}, TEXT.replace('"a # b"', '"c\\"\\\\\\u000a"')),
    ],
    ids=["text", "number", "literal text", "new key", "new section", "escapes"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_value_is_set_and_the_rest_stays(values: Mapping[str, Value], expected: str, newline: str) -> None:
    found = with_values(TEXT.replace("\n", newline), values)
    assert found == expected.replace("\n", newline)
    table = tomllib.loads(found)
    assert all(table[key.partition(".")[0]][key.partition(".")[2]] == value for key, value in values.items())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[tts]\nvoice = "b"\n'),
        ("[tts]", '[tts]\nvoice = "b"\n'),
        ("[tts]\n", '[tts]\nvoice = "b"\n'),
        ("x = 1", 'x = 1\n\n[tts]\nvoice = "b"\n'),
        ('tts.voice = "a"', 'tts.voice = "b"'),
        ("[[llm.endpoints]]\nname = 'tts'\n", "[[llm.endpoints]]\nname = 'tts'\n\n[tts]\nvoice = \"b\"\n"),
    ],
    ids=["empty", "header at the end", "header", "no line break at the end", "dotted key", "after a table"],
)
def test_key_is_added_to_any_text(text: str, expected: str) -> None:
    assert with_values(text, {"tts.voice": "b"}) == expected


@pytest.mark.parametrize("value", ['"""a\nb"""', "[\n1]", "{ a = 1 }"], ids=["text", "list", "table"])
def test_value_that_is_not_plain_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"the value of tts\.voice is not on one line"):
        with_values(f"[tts]\nvoice = {value}\n", {"tts.voice": "b"})
