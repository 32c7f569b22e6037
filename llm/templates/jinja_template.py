"""Renders Jinja chat templates as Hugging Face does: same switches, names and functions, in a sandbox.

A template is untrusted code. The sandbox gives it no access to files and private attributes, and it cannot change its
arguments, which are plain dicts and strings.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from jinja2 import TemplateSyntaxError, nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.ext import Extension, loopcontrols
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from llm.templates.template_file import TOKENIZER_CONFIG, TemplateError, TemplateSource

Turn = dict[str, object]
"""A message in the form that templates use: role, content, and optionally tool_calls."""

RENDER_ERRORS = (JinjaError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that a template's mistakes and its `raise_exception` cause."""


class GenerationBlock(Extension):
    """Supports `{% generation %}`, which marks assistant text for training. Its content is rendered unchanged."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Returns the nodes inside the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class JinjaTemplate:
    """A compiled template and the special tokens that it may use."""

    def __init__(self, source: TemplateSource) -> None:
        """Compiles the template. Raises TemplateError for invalid Jinja and for special tokens that no file defines."""
        self._tokens = dict(source.tokens or {})
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationBlock, loopcontrols],
            autoescape=False,  # prompts are not HTML
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise_exception
        try:
            names = find_undeclared_variables(environment.parse(source.text))
            self._template = environment.from_string(source.text)
        except TemplateSyntaxError as error:
            raise TemplateError(f"line {error.lineno} is not Jinja ({error.message}): fetch it again") from error
        if source.tokens is None and (unknown := sorted(names & {"bos_token", "eos_token"})):
            remedy = f"put the model's {TOKENIZER_CONFIG} beside it"
            raise TemplateError(f"it uses {' and '.join(unknown)}, which no file defines: {remedy}")

    def render(self, turns: Sequence[Turn], now: datetime | None) -> str:
        """Returns the prompt up to the beginning of the assistant's answer. Raises one of RENDER_ERRORS.

        `now`: the date for templates that state it; None: the template gets no date function.
        """
        dating = {} if now is None else {"strftime_now": now.strftime}
        return self._template.render(
            **self._tokens, **dating, messages=list(turns), tools=None, documents=None, add_generation_prompt=True
        )


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Encodes JSON without the HTML escapes of Jinja's own filter."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: object) -> None:
    raise JinjaError(str(message))
