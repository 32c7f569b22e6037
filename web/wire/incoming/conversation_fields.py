"""Parses `truncation`, `prompt`, `tracing` and other fields about a whole conversation."""

import re
from collections.abc import Mapping
from dataclasses import replace

from web.wire.values.fields import (
    IDENTIFIER,
    TEXT,
    Field,
    FieldError,
    Refusals,
    accepted,
    checked,
    hint,
    json_text,
    missing_here,
    not_supported,
    number,
    one_of,
    text,
    whole,
    wrong_type,
    wrong_value,
)
from web.wire.values.session_config import PromptReference, SessionOffer, Tracing, Truncation

MIN_HISTORY_TOKENS = 100
MAX_TRACING_CHARS = 4000

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_.-]{1,64})\s*\}\}")


REASONING = hint(json_text)
"""The language model's reasoning is set in the server's configuration."""


def truncation_field(offer: SessionOffer) -> Field:
    """Returns the field `truncation`."""

    def check(value: object, path: str, refusals: Refusals) -> Truncation:
        if isinstance(value, str):
            return Truncation(one_of("auto", "disabled")(value, path))
        if not isinstance(value, dict):
            raise wrong_type(path, value, "'auto', 'disabled' or an object")
        fields = accepted(value, path, _RETENTION, refusals)
        tokens = fields.get("token_limits", {}).get("post_instructions")
        if tokens is not None and tokens > offer.max_history_tokens:
            where = f"{path}.token_limits.post_instructions"
            limit = offer.max_history_tokens
            refusals.add_error(
                wrong_value(where, f"is {tokens}", f"at most {limit}, the server's llm.max_history_tokens")
            )
            tokens = limit
        return Truncation("retention_ratio", fields["retention_ratio"], tokens)

    return Field(lambda value, path: check(value, path, Refusals()), parts=check)


_LIMITS = {"post_instructions": Field(whole(MIN_HISTORY_TOKENS, 1_000_000))}
_RETENTION = {
    "type": Field(one_of("retention_ratio"), required=True),
    "retention_ratio": Field(number(0, 1), required=True),
    "token_limits": Field(lambda value, path: checked(value, path, _LIMITS)),
}


def prompt_field(offer: SessionOffer) -> Field:
    """Returns the field `prompt`: the name of a prompt of the configuration, and values for its variables."""

    def check(value: object, path: str, refusals: Refusals) -> PromptReference:
        fields = accepted(value, path, _PROMPT, refusals)
        name: str = fields["id"]
        if name not in offer.prompts:
            # The names are not listed: a client may be anybody.
            raise FieldError(
                "invalid_value", f"{path}.id is {name!r}, which is not in server.prompts of the server", f"{path}.id"
            )
        return _filled(name, offer.prompts[name], fields.get("variables", {}), f"{path}.variables", refusals)

    return Field(lambda value, path: check(value, path, Refusals()), parts=check)


def _filled(name: str, template: str, values: Mapping[str, str], path: str, refusals: Refusals) -> PromptReference:
    """Returns the prompt with its variables replaced. Raises FieldError if one has no value."""
    names = dict.fromkeys(_VARIABLE.findall(template))
    for variable in names:
        if variable not in values:
            where = f"{path}.{variable}"
            raise FieldError("missing_required_parameter", f"{where} is missing: prompt {name!r} needs it", where)
    for variable in values:
        if variable not in names:
            where = f"{path}.{variable}"
            refusals.add_error(
                FieldError("unknown_parameter", f"prompt {name!r} has no variable {variable!r}", where[:128])
            )
    filled = _VARIABLE.sub(lambda match: values[match[1]], template)
    return PromptReference(name, tuple((variable, values[variable]) for variable in names), filled)


def _variables(value: object, path: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    return {name: _variable(inner, f"{path}.{name}") for name, inner in value.items()}


def _variable(value: object, path: str) -> str:
    if isinstance(value, dict) and value.get("type") in ("input_image", "input_file"):
        raise not_supported(path, "a variable of a prompt is a text")
    if isinstance(value, dict):
        value = checked(value, path, _INPUT_TEXT)["text"]
    content: str = TEXT(value, path)
    return content


_INPUT_TEXT = {"type": Field(one_of("input_text"), required=True), "text": Field(TEXT, required=True)}
_PROMPT = {
    "id": Field(IDENTIFIER, required=True),
    "variables": Field(_variables, essential=True),
    "version": Field(missing_here("prompts of this server have no versions; leave it out")),
}


def tracing_check(value: object, path: str) -> Tracing:
    """Checks `tracing`: "auto", or an object with names for the traces."""
    if isinstance(value, str):
        one_of("auto")(value, path)
        return Tracing()
    if not isinstance(value, dict):
        raise wrong_type(path, value, "'auto', an object or null")
    return replace(Tracing(), **checked(value, path, _TRACING))


def _short_json(value: object, path: str) -> str:
    encoded = json_text(value, path)
    if len(encoded) > MAX_TRACING_CHARS:
        raise wrong_value(path, f"has {len(encoded)} characters", f"at most {MAX_TRACING_CHARS}")
    return encoded


_TRACING: dict[str, Field] = {
    "workflow_name": Field(text(max_chars=512)),
    "group_id": Field(text(max_chars=512)),
    "metadata": Field(_short_json),
}
