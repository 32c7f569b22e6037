"""A chat template in Jinja, rendered as the model's makers do: the same switches, names and functions, in a sandbox.

A template is a program from the network. The sandbox keeps it from files, private attributes and changes to what it is
given: plain dicts and texts.
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

from llm.template_file import TOKENIZER_CONFIG, TemplateError, TemplateSource

Turn = dict[str, object]
"""A message as templates know it: role, content, and perhaps tool_calls."""

RENDER_ERRORS = (JinjaError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a template's own mistakes, and its `raise_exception`, come out as."""


class GenerationBlock(Extension):
    """`{% generation %}`: marks the assistant's words for training. What is inside is rendered as if it stood alone."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The block's own content."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class JinjaTemplate:
    """One template and the tokens that it may name."""

    def __init__(self, source: TemplateSource) -> None:
        """Raises TemplateError for text that is no Jinja, and for tokens that nobody knows."""
        self._tokens = dict(source.tokens or {})
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationBlock, loopcontrols],
            autoescape=False,  # prompts are no HTML
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
            raise TemplateError(f"it uses {' and '.join(unknown)}, which no file says: {remedy}")

    def render(self, turns: Sequence[Turn], now: datetime | None) -> str:
        """The prompt, up to where the assistant begins to speak. Raises one of RENDER_ERRORS.

        `now`: for templates that say the date, where they may; None: they are offered none.
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
    """Without the escapes for HTML that Jinja's own puts in."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: object) -> None:
    raise JinjaError(str(message))
