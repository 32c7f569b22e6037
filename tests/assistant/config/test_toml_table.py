"""A TOML table as the value of one setting."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from assistant.config.toml_table import MAX_CHARS, MAX_DEPTH, Headers, Parameters

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(bool), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(TEXTS.filter(bool), VALUES, max_size=4))
def test_written_table_is_read_back_unchanged(raw: dict[str, object]) -> None:
    try:
        table = Parameters.of(raw)
    except ValueError:
        assert len(str(raw)) > MAX_CHARS or depth(raw) > MAX_DEPTH
        return
    assert table.values == raw
    assert Parameters.read(str(table)) == table
    assert tomllib.loads(f"x = {table}") == {"x": raw}
    assert "\n" not in str(table)


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@pytest.mark.parametrize(
    "text",
    ['"x"', "3", "[]", "{ a = inf }", "{ a = nan }", "{ a = 2026-01-01 }", '{ "" = 1 }', "{ a = ", "{} b = 1"],
    ids=["text", "number", "list", "infinity", "NaN", "date", "empty key", "unclosed table", "two values"],
)
def test_values_outside_json_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a table of texts, numbers"):
        Parameters.read(text)


def test_table_size_is_limited() -> None:
    with pytest.raises(ValueError, match="at most 4000 characters"):
        Parameters.of({"a": "x" * MAX_CHARS})


def test_tables_are_compared_and_hashed_by_value() -> None:
    assert Parameters.of({"a": [1]}) == Parameters.read("{a = [1]}")
    assert hash(Parameters.of({"a": [1]})) == hash(Parameters.of({"a": [1]}))
    assert Parameters.of({"a": 1}) != Parameters.of({"a": 2})


def test_variables_are_expanded_and_values_never_shown() -> None:
    headers = Headers.of({"api-key": "${MY_KEY}", "x-team": "voice $5 {x}", "x-both": "${A} ${MY_KEY}"})
    assert headers.variables == ("MY_KEY", "A")
    assert headers.shown == "api-key (MY_KEY), x-team, x-both (A, MY_KEY)"
    expanded = headers.expanded({"MY_KEY": "secret\n", "A": "b"})
    assert expanded == {"api-key": "secret", "x-team": "voice $5 {x}", "x-both": "b secret"}
    for environ in ({"MY_KEY": "s"}, {"MY_KEY": "s", "A": " "}):
        with pytest.raises(KeyError, match="A"):
            headers.expanded(environ)


@named_cases(
    "raw",
    {
        "number": {"a": 1},
        "space in name": {"a b": "x"},
        "empty value": {"a": ""},
        "line break in value": {"a": "x\ny"},
        "non-ASCII value": {"a": "é"},
        "empty name": {"": "x"},
        "leading space in value": {"a": " x"},
        "list": {"a": ["x"]},
        "colon in name": {"a:": "x"},
    },
)
def test_invalid_headers_are_refused_without_showing_them(raw: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be a table of texts, as in") as refused:
        Headers.of(raw)
    assert "é" not in str(refused.value)


def test_header_names_are_unique() -> None:
    with pytest.raises(ValueError, match="each name once"):
        Headers.of({"X-Team": "a", "x-team": "b"})
