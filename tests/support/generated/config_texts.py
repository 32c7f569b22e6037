"""Generates config.toml from assistant/config/settings.py.

`python tests/support/generated/config_texts.py` in the repository's root writes it; tests/assistant/config/ compares
it.
"""

import textwrap
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from assistant.config.endpoint_settings import EndpointSection, defaults_of, endpoint_keys, needed_keys, values_of
from assistant.config.everyday_keys import EVERYDAY_KEYS
from assistant.config.keys import Key, keys_of
from assistant.config.settings import DEFAULTS, SECTIONS
from assistant.config.sources import TOOL_SERVER_KEYS
from assistant.config.tool_settings import ToolServerSection
from assistant.config.words import spelled
from assistant.registry.protocols import PROTOCOLS, protocol_of

ROOT = Path(__file__).parents[3]
CONFIG_FILE = ROOT / "config.toml"
DOCS_FILE = ROOT / "docs" / "configuration.md"

_HEAD = (
    "Repartee's settings: every key with its meaning and its default. Write what you want to change into your own "
    "file, ~/.config/repartee/config.toml, or name a file with --config. REPARTEE_<SECTION>_<KEY> in the environment "
    "overrides the files, and the flag --set section.key=value overrides both; `repartee config --all` shows what is "
    f"in effect and where it comes from.\n\nThe everyday keys: {', '.join(EVERYDAY_KEYS)}. The others are for few."
)
_ENDPOINTS_HEAD = (
    "Services that run a language model; without any, a model on this machine answers (llm.local_model), or else the "
    "built-in skills. Each [[llm.endpoints]] is one. Keys are never written here: api_key_env names the environment "
    "variable that holds one."
)
_EXAMPLES = (
    EndpointSection(name="local", url="http://127.0.0.1:8000/v1", model="qwen2.5-7b-instruct"),
    EndpointSection(name="cloud", url="https://api.openai.com/v1", model="gpt-4o-mini", api_key_env="OPENAI_API_KEY"),
)

_TOOL_SERVERS_HEAD = (
    "MCP servers whose tools the language model may call (docs/tools.md); they need the extra repartee[mcp]. Each "
    "[[tools.servers]] is one."
)
_TOOL_SERVER_DEFAULTS = {field.name: field.default for field in fields(ToolServerSection)}
_TOOL_SERVER_EXAMPLES = (
    ToolServerSection(name="notes", command="python -m notes_server --folder notes", env="NOTES_KEY"),
    ToolServerSection(name="home", url="http://127.0.0.1:8123/mcp", token_env="HOME_TOKEN"),
)


@dataclass(frozen=True, slots=True)
class EndpointKey:
    """A key of [[llm.endpoints]], with the kinds in which it is the same."""

    key: Key
    kinds: tuple[str, ...]

    @property
    def of_all(self) -> bool:
        """Whether every kind has it."""
        return self.kinds == PROTOCOLS.names

    @property
    def default(self) -> str:
        """A sentence with the default, or with the kinds that require the key."""
        spared = [kind for kind in self.kinds if self.key.name not in needed_keys(kind)]
        if not spared:
            return "Required."
        exception = f"Required, except for {' and '.join(spared)}. " if len(spared) < len(self.kinds) else ""
        return f"{exception}Default: {spelled(defaults_of(spared[0])[self.key.name])}."

    @property
    def text(self) -> str:
        """The meaning, with what it is for single kinds."""
        notes: dict[str, list[str]] = {}
        for kind in self.kinds:
            if note := protocol_of(kind).notes.get(self.key.name):
                notes.setdefault(note, []).append(kind)
        more = "".join(f"; {', '.join(kinds)}: {note}" for note, kinds in notes.items())
        return f"{self.key.about.text.removesuffix('.')}{more}."


def all_endpoint_keys() -> list[EndpointKey]:
    """Returns the keys of all kinds; a kind's own keys come last."""
    found: list[EndpointKey] = []
    for kind in PROTOCOLS.names:
        for key in endpoint_keys(kind).values():
            same = next((one for one in found if one.key == key), EndpointKey(key, ()))
            found = [one for one in found if one is not same]
            found.append(EndpointKey(key, (*same.kinds, kind)))
    order = [key.name for key in keys_of(EndpointSection)]
    return sorted(found, key=lambda one: order.index(one.key.name) if one.key.name in order else len(order))


def config_toml() -> str:
    """Returns the complete config.toml."""
    parts = [_comment(_HEAD)]
    for section in SECTIONS:
        values = DEFAULTS.section(section)
        parts.append(f"\n[{section}]  # {_meaning(type(values))}\n")
        for key in sorted(keys_of(type(values)), key=lambda key: f"{section}.{key.name}" not in EVERYDAY_KEYS):
            parts.append(_comment(_about(key)))
            parts.append(f"{key.name} = {_value(getattr(values, key.name))}\n")
        if section == "llm":
            parts.append(_endpoint_examples())
        if section == "tools":
            parts.append(_tool_server_examples())
    return "".join(parts)


def _endpoint_examples() -> str:
    parts = ["\n", _comment(_ENDPOINTS_HEAD)]
    for one in all_endpoint_keys():
        kinds = "" if one.of_all else f" ({', '.join(one.kinds)})"
        parts.append(_comment(f"  {one.key.name}{kinds}: {_about(one.key, one.text)} {one.default}"))
    for example in _EXAMPLES:
        values, defaults = values_of(example), defaults_of(example.kind)
        told = [name for name, value in values.items() if name == "kind" or value != defaults.get(name)]
        lines = [f"{name} = {_value(values[name])}" for name in told]
        parts.append(_comment("\n".join(["", "[[llm.endpoints]]", *lines])))
    return "".join(parts)


def _tool_server_examples() -> str:
    parts = ["\n", _comment(_TOOL_SERVERS_HEAD)]
    for name, key in TOOL_SERVER_KEYS.items():
        default = _TOOL_SERVER_DEFAULTS[name]
        told = "Required." if default is MISSING else f"Default: {spelled(default)}."
        parts.append(_comment(f"  {name}: {_about(key)} {told}"))
    for example in _TOOL_SERVER_EXAMPLES:
        values = {name: getattr(example, name) for name in TOOL_SERVER_KEYS}
        lines = [f"{name} = {_value(one)}" for name, one in values.items() if one != _TOOL_SERVER_DEFAULTS[name]]
        parts.append(_comment("\n".join(["", "[[tools.servers]]", *lines])))
    return "".join(parts)


def _about(key: Key, meaning: str = "") -> str:
    text = meaning or key.about.text
    plain = key.kind is bool or key.allowed == "a text"
    return text if plain else f"{text} {key.allowed[0].upper()}{key.allowed[1:]}."


def _comment(text: str) -> str:
    lines = [short for line in text.split("\n") for short in _wrapped(line)]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _wrapped(line: str) -> list[str]:
    indent = "    " if line.startswith(" ") else ""
    return textwrap.wrap(line, 112, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _value(value: object) -> str:
    text = spelled(value)
    if len(text) < 100:
        return text
    return '"""\\\n' + "\n".join(f"{line} \\" for line in textwrap.wrap(text[1:-1], 114))[:-2] + '"""'


def _meaning(section: type) -> str:
    return (section.__doc__ or "").partition("\n")[0]


if __name__ == "__main__":
    CONFIG_FILE.write_text(config_toml(), encoding="utf-8")
