"""Reads a model's own chat template: a Jinja file, or the JSON file of its tokenizer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TOKENIZER_CONFIG = "tokenizer_config.json"
TEMPLATE_FILE = "chat_template.jinja"
DEFAULT_TEMPLATE = "default"
"""Name of the template for plain conversations, if a model has several."""


class TemplateError(Exception):
    """A template is invalid. The text names the problem and the remedy; the endpoint's name is put before it."""


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A template and its special tokens.

    Attributes:
        text: Jinja source.
        tokens: Text of "bos_token", "eos_token" and others; None if no file defines them.
        special: All control tokens of the tokenizer that the files name.
    """

    text: str
    tokens: Mapping[str, str] | None
    special: frozenset[str] = frozenset()


def read_template(path: Path) -> TemplateSource:
    """Reads a template.

    Args:
        path: A .jinja file, read with the tokenizer_config.json beside it if there is one; or a JSON file with
            `chat_template`.

    Raises:
        TemplateError: The file cannot be used.
    """
    beside = path.parent / TOKENIZER_CONFIG
    if path.suffix == ".json":
        fields = _object_of(path)
        text = _template_in(path, fields)
        config = fields if path.name == TOKENIZER_CONFIG else _object_of(beside) if beside.is_file() else None
    else:
        text = _text_of(path)
        config = _object_of(beside) if beside.is_file() else None
    return TemplateSource(text, None if config is None else _tokens_in(config), _special_in(config or {}))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise TemplateError("the file does not exist: check the path") from error
    except OSError as error:
        raise TemplateError(f"it cannot be read ({error.strerror}): check its permissions") from error
    except UnicodeDecodeError as error:
        raise TemplateError("it is not UTF-8 text: name a .jinja file or a tokenizer_config.json") from error


def _object_of(path: Path) -> dict[str, object]:
    try:
        fields: object = json.loads(_text_of(path))
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"{path.name} is not JSON: fetch it again from the model's repository") from error
    if not isinstance(fields, dict):
        raise TemplateError(f"{path.name} is not a JSON object: fetch it again from the model's repository")
    return fields


def _template_in(path: Path, fields: Mapping[str, object]) -> str:
    template = fields.get("chat_template")
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named.get(DEFAULT_TEMPLATE)
        if not isinstance(template, str):
            names = ", ".join(sorted(str(name) for name in named)) or "none"
            remedy = f"save the one that fits as a .jinja file beside it and name that (it holds: {names})"
            raise TemplateError(f"it has no chat template named {DEFAULT_TEMPLATE!r}: {remedy}")
    if isinstance(template, str):
        return template
    if (beside := path.parent / TEMPLATE_FILE).is_file():
        return _text_of(beside)
    raise TemplateError("it holds no chat_template: name the model's .jinja file, or llama2, llama3 or chatml")


def _tokens_in(config: Mapping[str, object]) -> dict[str, str]:
    """Returns the special tokens. A token that is null in the file becomes "": the model does not have it."""
    return {key: _token_text(value) for key, value in config.items() if key.endswith("_token")}


def _token_text(value: object) -> str:
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else ""


def _special_in(config: Mapping[str, object]) -> frozenset[str]:
    added = config.get("added_tokens_decoder")
    entries = added.values() if isinstance(added, dict) else ()
    return frozenset(
        _token_text(entry) for entry in entries if isinstance(entry, dict) and entry.get("special") is True
    )
