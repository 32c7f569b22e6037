"""The threat table in docs/security.md: each row names a defence and a test that exists."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from support.packages import PACKAGES

from web.access.rate_limits import Kind

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "security.md"
HEAD = ("asset", "attack", "defence", "test")

TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
MODULE = re.compile(rf"`((?:{'|'.join(PACKAGES)}|deploy)/[\w/]+(?:\.py)?)`")
LIMITING = re.compile(r"Limits?\b")
"""Beginning of the docstring of a module that is there to limit something."""


def rows() -> list[tuple[str, ...]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]
    return [row for row in cells if row != HEAD]


@functools.cache
def functions_of(file: Path) -> frozenset[str]:
    """Returns the names of the test functions in a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, functions) and node.name.startswith("test_"))


def limiting_modules() -> Iterator[str]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if text.startswith('"""Limit') and LIMITING.match(ast.get_docstring(ast.parse(text)) or ""):
                yield file.relative_to(ROOT).as_posix()


def test_every_row_is_complete() -> None:
    found = rows()
    assert len(found) >= 45
    assert [row for row in found if len(row) != len(HEAD) or not all(row)] == []
    assert len({row[1:3] for row in found}) == len(found), "two rows are the same"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1][:50])
def test_row_names_a_test_that_exists(row: tuple[str, ...]) -> None:
    named = TEST.findall(row[3])
    assert named
    assert TEST.sub("", row[3]).replace("<br>", "") == ""
    for file, name in named:
        assert (ROOT / file).is_file(), file
        assert name in functions_of(ROOT / file), f"{file}::{name}"


def test_named_modules_exist() -> None:
    named = {name for row in rows() for name in MODULE.findall(row[2])}
    assert len(named) > 30
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_rate_has_a_row() -> None:
    defences = " ".join(row[2] for row in rows())
    assert [kind for kind in get_args(Kind) if f"`{kind}`" not in defences] == []


def test_every_module_that_limits_something_has_a_row() -> None:
    named = {name for row in rows() for name in MODULE.findall(row[2])}
    limiting = list(limiting_modules())
    assert len(limiting) >= 3
    assert [name for name in limiting if name not in named] == []
