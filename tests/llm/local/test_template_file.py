"""Template files as they are distributed with models."""

import json
from pathlib import Path

import pytest
from support.texts.text_cases import named_cases

from llm.templates.template_file import TemplateError, TemplateSource, read_template

BOS_AND_EOS = {"bos_token": {"content": "<s>", "special": True}, "eos_token": "</s>", "pad_token": None}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": ""}


def write(path: Path, fields: object) -> Path:
    path.write_text(fields if isinstance(fields, str) else json.dumps(fields), encoding="utf-8")
    return path


def test_jinja_file_alone(tmp_path: Path) -> None:
    assert read_template(write(tmp_path / "a.jinja", "é{{ x }}")) == TemplateSource("é{{ x }}", None)


def test_jinja_file_beside_tokenizer_config(tmp_path: Path) -> None:
    write(tmp_path / "tokenizer_config.json", BOS_AND_EOS)
    assert read_template(write(tmp_path / "a.jinja", "x")) == TemplateSource("x", TOKENS)


def test_tokenizer_config(tmp_path: Path) -> None:
    added = {"1": {"content": "<s>", "special": True}, "9": {"content": "  ", "special": False}, "3": 4}
    fields = {"chat_template": "x", "added_tokens_decoder": added, **BOS_AND_EOS}
    path = write(tmp_path / "tokenizer_config.json", fields)
    assert read_template(path) == TemplateSource("x", TOKENS, frozenset({"<s>"}))


def test_tokenizer_config_with_separate_template_file(tmp_path: Path) -> None:
    write(tmp_path / "chat_template.jinja", "x")
    assert read_template(write(tmp_path / "tokenizer_config.json", BOS_AND_EOS)) == TemplateSource("x", TOKENS)


def test_chat_template_json(tmp_path: Path) -> None:
    path = write(tmp_path / "chat_template.json", {"chat_template": "x"})
    assert read_template(path) == TemplateSource("x", None)
    write(tmp_path / "tokenizer_config.json", BOS_AND_EOS)
    assert read_template(path) == TemplateSource("x", TOKENS)


def test_default_of_several_templates_is_used(tmp_path: Path) -> None:
    several = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "x"}]
    path = write(tmp_path / "tokenizer_config.json", {"chat_template": several})
    assert read_template(path) == TemplateSource("x", {})


@named_cases(
    ("name", "content", "fault"),
    {
        "truncated JSON": ("a.json", "{", "a.json is not JSON: fetch it again"),
        "list": ("a.json", "[]", "a.json is not a JSON object: fetch it again"),
        "no template": (
            "a.json",
            "{}",
            "holds no chat_template: name the model's .jinja file, or llama2, llama3 or chatml",
        ),
        "template is a number": ("a.json", {"chat_template": 7}, "holds no chat_template"),
        "no default template": (
            "a.json",
            {"chat_template": [{"name": "rag", "template": "x"}]},
            r"no chat template named 'default': .*rag",
        ),
        "template list of numbers": ("a.json", {"chat_template": [3]}, r"no chat template named 'default': .*none"),
    },
)
def test_file_without_template_is_refused(name: str, content: object, fault: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=fault):
        read_template(write(tmp_path / name, content))


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="the file does not exist: check the path"):
        read_template(tmp_path / "a.jinja")
    (tmp_path / "b.jinja").mkdir()
    with pytest.raises(TemplateError, match=r"cannot be read .*: check its permissions"):
        read_template(tmp_path / "b.jinja")
    (tmp_path / "c.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateError, match="not UTF-8 text"):
        read_template(tmp_path / "c.jinja")
