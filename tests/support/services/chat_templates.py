"""Chat templates in the formats that model makers describe, written for the tests."""

MISTRAL = """{{ bos_token }}{% for message in messages %}
{% if message.role not in ("user", "assistant") %}{{ raise_exception("no place for " + message.role) }}{% endif %}
{% if (message.role == "user") != (loop.index0 is even) %}{{ raise_exception("roles must take turns") }}{% endif %}
{% if message.role == "user" %}[INST] {{ message.content }} [/INST]{% endif %}
{% if message.role == "assistant" %}{{ message.content + eos_token }}{% endif %}
{% endfor %}"""
"""Alternating questions and answers only. Line ends after blocks vanish, as trim_blocks does."""

GEMMA = """{{ bos_token }}
{%- if messages[0].role == "system" %}{{ raise_exception("System role not supported") }}{% endif %}
{%- for message in messages %}
    {%- if (message.role == "user") != (loop.index0 % 2 == 0) %}{{ raise_exception("must alternate") }}{% endif %}
    {%- set role = "model" if message.role == "assistant" else message.role %}
    {{- "<start_of_turn>" + role + "\n" + message.content | trim + "<end_of_turn>\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<start_of_turn>model\n" }}{% endif %}"""

FORGETFUL = """{% for message in messages %}{% if message.role != "system" %}
<|{{ message.role }}|>{{ message.content }}<|end|>{% endif %}{% endfor %}<|assistant|>"""
"""Drops system messages without an error."""

HERMES = """{% for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls %}
        {{- "<|im_start|>assistant\n" }}
        {%- for call in message.tool_calls %}
            {{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
            {{- call.function.arguments | tojson }}
            {{- "}</tool_call>" }}
        {%- endfor %}
        {{- "<|im_end|>\n" }}
    {%- elif message.role == "tool" %}
        {{- "<|im_start|>user\n<tool_response>" + message.content + "</tool_response><|im_end|>\n" }}
    {%- else %}
        {{- "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\n" }}{% endif %}"""
"""ChatML with function calls."""

DATED = """{{ bos_token }}Today is {{ strftime_now("%d %b %Y") }}.
{% for message in messages %}
    {% generation %}
    <|{{ message.role }}|>{{ message.content }}{{ eos_token }}
    {% endgeneration %}
    {% if loop.index > 99 %}{% break %}{% endif %}
{% endfor %}<|assistant|>"""

MISTRAL_CALLS = """{% set ns = namespace(index=0, calls=[]) %}{% for message in messages %}
{% if message.role == "user" or (message.role == "assistant" and not message.tool_calls) %}
{% if (message.role == "user") != (ns.index % 2 == 0) %}{{ raise_exception("roles must alternate") }}{% endif %}
{% set ns.index = ns.index + 1 %}{% endif %}{% endfor %}"""
"""Alternation with function calls: calls and their results do not count."""

LLAMA_CALLS = """{% for message in messages %}{% if message.tool_calls %}
{% if message.tool_calls | length != 1 %}{{ raise_exception("only single tool-calls at once") }}{% endif %}
{% set arguments = message.tool_calls[0].function.arguments %}
{% if arguments is not mapping %}{{ raise_exception("arguments must be an object") }}{% endif %}
{{ arguments | tojson }}{% endif %}{% endfor %}"""
"""One call a message, with arguments that were decoded."""

HARMONY_CALLS = """{% set ns = namespace(open=[], last="") %}{% for message in messages %}
{% if message.role == "tool" %}{% if message.tool_call_id not in ns.open %}
{{ raise_exception("no previous assistant message with this tool call") }}{% endif %}
{% set ns.open = ns.open | reject("equalto", message.tool_call_id) | list %}
{% elif ns.open %}{{ raise_exception("a tool call has no result") }}{% endif %}
{% if message.role == ns.last and message.role != "tool" and message.role != "system" %}
{{ raise_exception("two messages of one role") }}{% endif %}{% set ns.last = message.role %}
{% if message.tool_calls %}{% set ns.open = message.tool_calls | map(attribute="id") | list %}{% endif %}
{% endfor %}{% if ns.open %}{{ raise_exception("a tool call has no result") }}{% endif %}"""
"""Each result belongs to a call of the message before, and each call has one."""
