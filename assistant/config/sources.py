"""Reads settings from one source at a time: a file, the environment, flags. Collects all problems of a source."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assistant.config.endpoint_settings import (
    RESERVED,
    EndpointSection,
    endpoint_keys,
    endpoint_of,
    key_missing,
    needed_keys,
    problem_with_key,
)
from assistant.config.engine_sections import sections_of_broken_engines
from assistant.config.fixed_keys import FIXED_KEYS, REPLACED_KEYS
from assistant.config.keys import Key, Value, keys_of
from assistant.config.settings import FORMER_KEYS, KEYS, SECTIONS
from assistant.config.toml_lines import lines_of_keys
from assistant.config.tool_settings import ToolServerSection
from assistant.config.words import shown, unknown
from assistant.registry.protocols import PROTOCOLS, default_kind

ENDPOINTS = "llm.endpoints"
TOOL_SERVERS = "tools.servers"
LISTS = {
    ENDPOINTS: '[{name = "…", url = "https://…", model = "…"}]',
    TOOL_SERVERS: '[{name = "…", command = "…"}, {name = "…", url = "https://…"}]',
}
"""Keys whose value is a list, with an example: of tables in the file, of inline tables elsewhere."""

PREFIX = "REPARTEE_"
"""Prefix of every environment variable that is a setting."""

TOOL_SERVER_KEYS = {key.name: key for key in keys_of(ToolServerSection)}

_Listed = TypeVar("_Listed", EndpointSection, ToolServerSection)

_EVERY_KEY = (*KEYS, *LISTS)


def variable_of(dotted: str) -> str:
    """Returns the environment variable of a key."""
    return PREFIX + dotted.replace(".", "_").replace("-", "_").upper()


_VARIABLES = {variable_of(dotted): dotted for dotted in _EVERY_KEY}
_FORMER_VARIABLES = {variable_of(former): variable_of(dotted) for former, dotted in FORMER_KEYS.items()}
_ENDED_KEYS = {**{dotted: f"it is fixed at {value}" for dotted, value in FIXED_KEYS.items()}, **REPLACED_KEYS}
_ENDED_VARIABLES = {variable_of(dotted): clause for dotted, clause in _ENDED_KEYS.items()}
_FORMER_SECTIONS = {dotted.rpartition(".")[0] for dotted in FIXED_KEYS} - set(SECTIONS)
_FILE_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceValue:
    """The value of a key as one source gives it.

    Attributes:
        key: Dotted key.
        origin: As in `Loaded.origin`.
        value: The checked value.
    """

    key: str
    origin: str
    value: Value | tuple[EndpointSection, ...] | tuple[ToolServerSection, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """A command option that stands for a key.

    Attributes:
        flag: As the user types it: "--stt".
        key: Dotted key.
        text: The given value; None if the option was not used.
    """

    flag: str
    key: str
    text: str | None


@dataclass(slots=True)
class SourceReading:
    """Values and problems of a source. Each problem is one line for the user, without secrets."""

    given: list[SourceValue] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def from_environment(environ: Mapping[str, str]) -> SourceReading:
    """Reads the REPARTEE_ variables. `unknown_variables` reports variables that are not settings."""
    reading = SourceReading()
    for name, dotted in _VARIABLES.items():
        if name in environ:
            _read(dotted, environ[name], f"environment {name}", name, reading)
    return reading


def unknown_variables(environ: Iterable[str], secrets: frozenset[str]) -> list[str]:
    """Returns a problem for each REPARTEE_ variable that is neither a setting nor one of `secrets`."""
    names = sorted(name for name in environ if name.startswith(PREFIX) and name not in _VARIABLES)
    return [f"environment {name}: {_unknown_variable(name)}" for name in names if name not in secrets]


def _unknown_variable(name: str) -> str:
    if name in _ENDED_VARIABLES:
        return _ended(_ENDED_VARIABLES[name])
    return f"is now {_FORMER_VARIABLES[name]}" if name in _FORMER_VARIABLES else unknown(name, _VARIABLES)


def _ended(clause: str) -> str:
    return f"is no setting any more; {clause}"


def unknown_key(dotted: str) -> str:
    """Returns the problem with a key that does not exist."""
    if dotted in _ENDED_KEYS:
        return _ended(_ENDED_KEYS[dotted])
    if dotted in FORMER_KEYS:
        section = FORMER_KEYS[dotted].rpartition(".")[0]
        return f"is now {FORMER_KEYS[dotted]}, in the section [{section}]"
    return unknown(dotted, _EVERY_KEY)


def from_overrides(overrides: Sequence[str]) -> SourceReading:
    """Reads the --set flags, each "section.key=value"."""
    reading = SourceReading()
    for override in overrides:
        dotted, equals, text = override.partition("=")
        dotted = dotted.strip()
        if not equals or not dotted:
            reading.problems.append("--set: must be section.key=value, as in --set turn.profile=eager")
        elif dotted not in _EVERY_KEY:
            reading.problems.append(f"--set {dotted}: {unknown_key(dotted)}")
        else:
            _read(dotted, text, "--set", f"--set {dotted}", reading)
    return reading


def from_options(options: Iterable[Option]) -> SourceReading:
    """Reads options that stand for a key. Problems name the option, because that is what the user typed."""
    reading = SourceReading()
    for option in options:
        if option.text is None:
            continue
        try:
            reading.given.append(SourceValue(option.key, option.flag, KEYS[option.key].read(option.text)))
        except ValueError as error:
            reading.problems.append(f"{option.flag} {shown(option.text)}: {error}")
    return reading


def _read(dotted: str, text: str, origin: str, shown_as: str, reading: SourceReading) -> None:
    """Parses `text` and adds the value or the problem to `reading`."""
    if dotted in LISTS:
        _read_list(dotted, text, origin, shown_as, reading)
        return
    try:
        reading.given.append(SourceValue(dotted, origin, KEYS[dotted].read(_unquoted(text))))
    except ValueError as error:
        reading.problems.append(f"{shown_as} = {shown(text)}: {error}")


def _unquoted(text: str) -> str:
    """Returns the content of a text in TOML quotes; any other text unchanged."""
    bare = text.strip()
    if len(bare) < len('""') or bare[0] not in "\"'" or bare[-1] != bare[0]:
        return text
    try:
        # a comment or anything else after the quotes makes this invalid: the list is then not closed
        values = tomllib.loads(f"values = [{bare}]")["values"]
    except ValueError:
        return text
    return values[0] if len(values) == 1 and isinstance(values[0], str) else text


def _read_list(dotted: str, text: str, origin: str, shown_as: str, reading: SourceReading) -> None:
    try:
        raw: object = tomllib.loads(f"list = {text}").get("list")
    except (ValueError, RecursionError):  # The text may contain a secret, so it is not repeated.
        reading.problems.append(f"{shown_as}: must be a list as TOML writes it: {LISTS[dotted]}")
        return
    reader = _Reader(origin, shown_as, {}, reading)
    reader.read_key(dotted, raw)


def from_file(file: Path) -> SourceReading:
    """Reads a TOML file."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_FILE_LIMIT_BYTES + 1)
    except OSError as error:
        problem = f"{file}: cannot be read ({error.strerror}); name another file with --config"
        return SourceReading(problems=[problem])
    return from_content(data, file)


def from_content(data: bytes, file: Path) -> SourceReading:
    """Reads the content of a TOML file."""
    reading = SourceReading()
    if len(data) > _FILE_LIMIT_BYTES:
        what = "larger than 1 MiB, so it is not a configuration file; name another file with --config"
        reading.problems.append(f"{file}: {what}")
        return reading
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        table = tomllib.loads(text)
    except RecursionError:
        reading.problems.append(f"{file}: not valid TOML: nested too deeply")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reading.problems.append(f"{file}:{line}: not UTF-8; save the file as UTF-8")
    except ValueError as error:
        reading.problems.append(_syntax_problem(file, str(error)))
    else:
        _Reader(str(file), str(file), lines_of_keys(text), reading).read_document(table)
    return reading


def _syntax_problem(file: Path, what: str) -> str:
    what = re.sub(r"Cannot declare \((.*?),?\) twice", _declared_twice, what)
    what = re.sub(r"Cannot overwrite a value|Invalid value(?= \()", lambda match: _IN_OTHER_WORDS[match[0]], what)
    if place := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", what, re.DOTALL):
        return f"{file}:{place[2]}: not valid TOML: {place[1]} (column {place[3]})"
    return f"{file}: not valid TOML: {what}"


_IN_OTHER_WORDS = {
    "Cannot overwrite a value": "a key is set twice; leave one of them out",
    "Invalid value": 'not a value; put a text in straight quotes, as in "eager"',
}
"""Replacements for the parser's texts about the most frequent mistakes."""


def _declared_twice(match: re.Match[str]) -> str:
    names = ".".join(name.strip(" '") for name in match[1].split(","))
    return f"[{names}] is declared a second time; put its keys under the first"


class _Reader:
    """Turns parsed TOML into checked values."""

    def __init__(self, origin: str, source: str, lines: Mapping[str, int], reading: SourceReading) -> None:
        """`origin`: of values; `source`: for problems; `lines`: of dotted keys, where known; `reading`: the results."""
        self._origin = origin
        self._source = source
        self._lines = lines
        self._reading = reading

    def read_document(self, table: Mapping[str, object]) -> None:
        """Reads a whole file."""
        for section, content in table.items():
            if section in _FORMER_SECTIONS | set(SECTIONS) and isinstance(content, dict):
                self._read_section(section, content)
            elif section in SECTIONS:
                self._problem(section, f"must be a table that begins with the line [{section}]")
            elif isinstance(content, dict | list):
                self._problem(f"[{section}]", unknown(section, SECTIONS, "no such section"), location=section)
            else:
                self._problem(section, unknown(section, _EVERY_KEY))

    def _read_section(self, section: str, content: Mapping[str, object]) -> None:
        for name, raw in content.items():
            dotted = f"{section}.{name}"
            if dotted in SECTIONS and isinstance(raw, dict):
                self._read_section(dotted, raw)
            elif dotted in SECTIONS:
                self._problem(dotted, f"must be a table that begins with the line [{dotted}]")
            elif dotted in _EVERY_KEY or not isinstance(raw, dict) or dotted not in sections_of_broken_engines():
                self.read_key(dotted, raw)  # the doctor names an engine that is broken

    def read_key(self, dotted: str, raw: object) -> None:
        """Reads one key."""
        if dotted == ENDPOINTS:
            self._read_tables(dotted, raw, self._endpoint, "endpoint")
        elif dotted == TOOL_SERVERS:
            self._read_tables(dotted, raw, self._tool_server, "server")
        elif dotted not in KEYS:
            self._problem(dotted, unknown_key(dotted))
        else:
            try:
                self._add_value(dotted, KEYS[dotted].check(raw))
            except ValueError as error:
                self._problem(f"{dotted} = {shown(raw)}", str(error), location=dotted)

    def _read_tables(self, dotted: str, raw: object, read: Callable[[str, object], _Listed | None], noun: str) -> None:
        """Reads a list of tables. `read` makes a section of each, or records what is wrong with it."""
        if not isinstance(raw, list):
            self._problem(dotted, f"must be a list of tables, each of which begins with the line [[{dotted}]]")
            return
        sections: dict[str, _Listed] = {}
        for index, item in enumerate(raw):
            section = read(f"{dotted}[{index}]", item)
            if section is not None and section.name in sections:
                name = f"{dotted}[{index}].name"
                problem = f"already used; each {noun} needs its own name"
                self._problem(f"{name} = {shown(section.name)}", problem, location=name)
            elif section is not None:
                sections[section.name] = section
        self._add_value(dotted, tuple(sections.values()))

    def _endpoint(self, dotted: str, raw: object) -> EndpointSection | None:
        if not isinstance(raw, dict):
            self._problem(dotted, "must be a table with name, url and model")
            return None
        kind = next((kind for kind in PROTOCOLS.names if kind == raw.get("kind")), default_kind())
        keys = endpoint_keys(kind)
        if PROTOCOLS.get(kind) is None:  # its own keys are not known; the doctor names the package
            raw = {name: value for name, value in raw.items() if name in keys}
        refused = {name: problem for name in raw if (problem := problem_with_key(kind, name))}
        needed = dict.fromkeys(needed_keys(kind), key_missing(kind))
        endpoint = self._section(dotted, raw, lambda **values: endpoint_of(values), keys, needed, refused)
        if endpoint is not None and endpoint.name in RESERVED:
            problem = "reserved for --llm; give the endpoint another name"
            self._problem(f"{dotted}.name = {shown(endpoint.name)}", problem, location=f"{dotted}.name")
        return endpoint

    def _tool_server(self, dotted: str, raw: object) -> ToolServerSection | None:
        if not isinstance(raw, dict):
            self._problem(dotted, "must be a table with a name and a command or a url")
            return None
        return self._section(dotted, raw, ToolServerSection, TOOL_SERVER_KEYS, {"name": "is missing"}, {})

    def _section(  # noqa: PLR0917
        self,
        dotted: str,
        table: Mapping[str, object],
        make: Callable[..., _Listed],
        keys: Mapping[str, Key],
        needed: Mapping[str, str],
        refused: Mapping[str, str],
    ) -> _Listed | None:
        """Makes a section of a table. Returns None if anything is wrong with it.

        Args:
            dotted: Dotted key of the table.
            table: The parsed table.
            make: Makes the section from the values.
            keys: All keys of the section.
            needed: Required keys, with the problem text if they are missing.
            refused: Keys that are not allowed here, with the problem text.
        """
        problems = len(self._reading.problems)
        values: dict[str, Value] = {}
        for name, value in table.items():
            if name not in keys or name in refused:
                others = [key for key in keys if key not in refused]
                self._problem(f"{dotted}.{name}", refused.get(name) or unknown(name, others, listed=True))
                continue
            try:
                values[name] = keys[name].check(value)
            except ValueError as error:
                seen = "" if keys[name].about.private else f" = {shown(value)}"
                self._problem(f"{dotted}.{name}{seen}", str(error), location=f"{dotted}.{name}")
        for name, problem in needed.items():
            if name not in table:
                self._problem(f"{dotted}.{name}", problem, location=dotted)
        if len(self._reading.problems) > problems:
            return None
        try:
            return make(**values)
        except ValueError as error:
            self._problem(dotted, str(error))
            return None

    def _add_value(
        self, dotted: str, value: Value | tuple[EndpointSection, ...] | tuple[ToolServerSection, ...]
    ) -> None:
        line = self._lines.get(dotted)
        self._reading.given.append(SourceValue(dotted, f"{self._origin}:{line}" if line else self._origin, value))

    def _problem(self, key: str, what: str, location: str = "") -> None:
        line = self._lines.get(location or key)
        self._reading.problems.append(
            f"{self._source}:{line}: {key}: {what}" if line else f"{self._source}: {key}: {what}"
        )
