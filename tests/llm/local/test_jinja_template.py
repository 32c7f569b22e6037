"""Jinja features that models' templates use."""

from datetime import datetime

import pytest
from jinja2.exceptions import SecurityError
from support.texts.text_cases import named_cases

from llm.templates.jinja_template import JinjaTemplate, Turn
from llm.templates.template_file import TemplateError, TemplateSource

HI: list[Turn] = [{"role": "user", "content": 'Hi <b>&"é"'}]


def rendered(text: str, now: datetime | None = None) -> str:
    return JinjaTemplate(TemplateSource(text, {"bos_token": "<s>", "unk_token": "<u>"})).render(HI, now)


@named_cases(
    ("text", "prompt"),
    {
        "no HTML escapes": ("{{ messages[0]['content'] }}", 'Hi <b>&"é"'),
        "trimmed blocks": ("  {% if true %}\n  a\n  {% endif %}\nb\n", "  a\nb"),
        "special tokens": ("{{ bos_token }}{{ unk_token }}{{ eos_token }}", "<s><u>"),
        "JSON": ("{{ messages[0] | tojson }}", '{"role": "user", "content": "Hi <b>&\\"é\\""}'),
        "sorted JSON": ("{{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}", '{"a":2,"b":1}'),
        "indented JSON": ("{{ [1] | tojson(indent=1) }}", "[\n 1\n]"),
        "break": ("{% for i in range(9) %}{% if i > 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "012"),
        "generation block": ("{% generation %}a{% endgeneration %}", "a"),
        "date function": ("{% if strftime_now is defined %}dated{% else %}plain{% endif %}", "plain"),
        "default arguments": ("{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", "TrueTrueTrue"),
    },
)
def test_template_features_are_rendered(text: str, prompt: str) -> None:
    assert rendered(text) == prompt


def test_date_function_uses_given_time() -> None:
    assert rendered("{{ strftime_now('%Y-%m-%d') }}", datetime(2026, 3, 7).astimezone()) == "2026-03-07"


@pytest.mark.parametrize(
    "text",
    [
        "{{ messages.clear() }}",
        "{{ ''.__class__.mro }}",
        "{{ messages[0].update(a=1) }}",
    ],
    ids=["clear messages", "inspect class", "update message"],
)
def test_sandbox_refuses_unsafe_templates(text: str) -> None:
    with pytest.raises(SecurityError):
        rendered(text)
    assert HI == [{"role": "user", "content": 'Hi <b>&"é"'}]


def test_endless_loop_is_refused() -> None:
    with pytest.raises(OverflowError):
        rendered("{% for i in range(10 ** 9) %}x{% endfor %}")


def test_undefined_special_tokens_are_refused() -> None:
    with pytest.raises(TemplateError, match=r"uses bos_token and eos_token, which no file defines: put .*_config.json"):
        JinjaTemplate(TemplateSource("{{ bos_token }}{{ eos_token }}", None))
    JinjaTemplate(TemplateSource("{{ bos_token }}", {}))
    JinjaTemplate(TemplateSource("{{ messages }}", None))


def test_invalid_jinja_error_names_line() -> None:
    with pytest.raises(TemplateError, match=r"line 2 is not Jinja \(.*\): fetch it again"):
        JinjaTemplate(TemplateSource("a\n{% nonsense %}", None))
