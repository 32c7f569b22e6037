"""Docstrings and comments name only what exists: each identifier in backticks occurs in the code.

A rename that forgets a docstring fails here.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from support.packages import PACKAGES

ROOT = Path(__file__).parents[2]

IDENTIFIER = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
WORD = re.compile(r"\w+")

FOREIGN = frozenset(
    {
        "nohup",  # a command of the shell
        "Ceil",  # an ONNX operator
        "WhisperModel.transcribe",  # faster-whisper
        "transcribe",  # openai/whisper
        "_response_closed",  # httpcore
        "http2.py",  # httpcore
        "additionalModelRequestFields",  # Bedrock
        "guardrailConfig",  # Bedrock
        "ensemble",  # a model of TensorRT-LLM
        "tensorrt_llm_bls",  # a model of TensorRT-LLM
    }
)
"""Identifiers of other programs."""


def docstring(node: ast.AST) -> tuple[int, str] | None:
    """Returns the line and the string of a statement that is only a string, as a docstring is."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.lineno, node.value.value
    return None


def names(tree: ast.Module) -> Iterator[str]:
    """Yields the identifiers of a module and the words of its strings, without docstrings."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if docstring(node) is not None:
            continue
        for _field, value in ast.iter_fields(node):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    yield from WORD.findall(one)
                elif isinstance(one, ast.AST):
                    pending.append(one)


def prose(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the docstrings and comments of a module with the number of their first line."""
    for node in ast.walk(tree):
        if (found := docstring(node)) is not None:
            yield found
    if not re.search("#.*`", text):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_identifiers_in_docstrings_and_comments_exist() -> None:
    known = set(PACKAGES)
    parsed: dict[str, tuple[str, ast.Module]] = {}
    for path in (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.*"))):
        known.update(path.parent.parts, path.name.split("."))
        if path.suffix == ".py":
            text = path.read_text("utf-8")
            tree = ast.parse(text)
            parsed[path.relative_to(ROOT).as_posix()] = text, tree
            known.update(names(tree))
    unknown = [
        f"{path}:{line}: {name}"
        for path, (text, tree) in parsed.items()
        for line, paragraphs in prose(text, tree)
        for name in IDENTIFIER.findall(paragraphs)
        if name not in FOREIGN and not known.issuperset(WORD.findall(name))
    ]
    assert not unknown, unknown


def test_docstrings_do_not_begin_with_a_question() -> None:
    """A docstring says what the thing does or is, in the field's own term."""
    folders = (*PACKAGES, "tests", "bench", "deploy", "examples")
    questions = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in filter(None, map(docstring, ast.walk(ast.parse(path.read_text("utf-8")))))
        if re.match(r"(What|Where|Who|How|Why|Which)\b", text)
    ]
    assert questions == [], "begin with a verb or a noun"
