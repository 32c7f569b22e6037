"""Changes endpoints and single values in the configuration file, and leaves all other text as it is.

Every change is checked before the file is replaced.
"""

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.config.endpoint_settings import EndpointSection, defaults_of, values_of
from assistant.config.errors import ConfigError
from assistant.config.files import VARIABLE, config_files
from assistant.config.keys import Value
from assistant.config.loading import load_settings, settings_in
from assistant.config.settings import DEFAULTS, Settings
from assistant.config.sources import ENDPOINTS
from assistant.config.toml_lines import lines_of_keys, lines_of_tables
from assistant.config.words import spelled, unknown
from assistant.support.atomic_file import write_whole
from assistant.support.paths import HomeError
from audio.private_file import make_private_folder

_HEADER = f"[[{ENDPOINTS}]]"

_INSIDE = f"[{ENDPOINTS}."
"""Beginning of the header of a table that belongs to the endpoint before it, such as its headers."""

_ASSIGNMENT = re.compile(
    r"""(?P<before>\s*[\w.-]+\s*=\s*)(?:"(?!"")(?:[^"\\]|\\.)*"|'(?!'')[^']*'|[^\s#"'\[{]+)(?P<after>\s*(?:\#.*)?)"""
)
"""A key and a value on one line: a text, a number or a boolean."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file that may be changed. It need not exist yet.

    Attributes:
        path: Path as the user gave it.
        creates_folder: Whether writing creates the folder: that of the user's own file.
    """

    path: Path
    creates_folder: bool = False

    @property
    def exists(self) -> bool:
        """Whether the file exists; False where its folder cannot be read (writing then reports the error)."""
        try:
            return self.path.exists()
        except OSError:
            return False

    def settings(self) -> Settings:
        """Returns the settings of this file alone. Raises ConfigError."""
        return load_settings(self.path, {}, ()).settings if self.exists else DEFAULTS

    def add_endpoint(self, endpoint: EndpointSection) -> None:
        """Appends an endpoint. Raises ConfigError if its name is taken or the file cannot be changed."""
        before = self.settings()
        if endpoint.name in _names(before.llm.endpoints):
            removal = f"`repartee endpoints remove {endpoint.name}`"
            remedy = f"to replace it, {removal}, then add it again; to keep it, give another NAME"
            raise ConfigError([f'{self.path}: the endpoint "{endpoint.name}" already exists; {remedy}'])
        expected = _with_endpoints(before, (*before.llm.endpoints, endpoint))
        self._replace(with_table(self._text(), endpoint), expected)

    def change(
        self, values: Mapping[str, Value], endpoint: EndpointSection | None = None, *, private: bool = False
    ) -> None:
        """Sets values, and adds an endpoint or replaces the one of its name, all in one step.

        Args:
            values: By dotted key.
            endpoint: The endpoint; None: the endpoints stay.
            private: Whether the file becomes readable by its owner only, because the endpoint contains a key.

        Raises:
            ConfigError: A value is not allowed, or the file cannot be changed.
        """
        before = self.settings()
        expected, text = before, self._text()
        try:
            for dotted, value in values.items():
                expected = _with_setting(expected, dotted, value)
            if endpoint is not None:
                endpoints = expected.llm.endpoints
                names = _names(endpoints)
                if endpoint.name in names:
                    index = names.index(endpoint.name)
                    text = without_table(text, index)
                    endpoints = (*endpoints[:index], *endpoints[index + 1 :])
                text = with_table(text, endpoint)
                expected = _with_endpoints(expected, (*endpoints, endpoint))
            text = with_values(text, values)
        except ValueError as error:
            raise ConfigError([f"{self.path}: {error}; edit the file by hand. The file is unchanged"]) from error
        self._replace(text, expected, private=private, whole=True)

    def remove(self, name: str) -> EndpointSection:
        """Removes an endpoint and returns it. Raises ConfigError if it does not exist or the file cannot be changed."""
        before = load_settings(self.path, {}, ()).settings  # reports a missing file as an error
        endpoints = before.llm.endpoints
        names = _names(endpoints)
        if name not in names:
            if not names:
                raise ConfigError([f'{self.path}: there is no endpoint "{name}", because none is configured'])
            known = f"no such endpoint; the endpoints are {', '.join(names)}"
            raise ConfigError([f'{self.path}: "{name}": {unknown(name, names, known)}'])
        index = names.index(name)
        try:
            text = without_table(self._text(), index)
        except ValueError as error:
            raise self._not_in_tables() from error
        self._replace(text, _with_endpoints(before, (*endpoints[:index], *endpoints[index + 1 :])))
        return endpoints[index]

    def _text(self) -> str:
        if not self.exists:
            return ""
        try:
            return self.path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise self._unwritable("cannot be read", error) from error

    def _replace(self, text: str, expected: Settings, *, private: bool = False, whole: bool = False) -> None:
        """Replaces the file with `text`, if that has exactly the expected settings.

        `whole`: whether other settings than endpoints were to change; used for the error text.
        """
        try:
            marked = self.exists and self.path.read_bytes().startswith(codecs.BOM_UTF8)
            content = text.encode("utf-8-sig" if marked else "utf-8")
            if not _has_settings(content, self.path, expected):
                raise self._not_in_sections() if whole else self._not_in_tables()
            if self.creates_folder:
                make_private_folder(self.path.parent)
            write_whole(self.path, content, private=private)
        except UnicodeEncodeError as error:
            what = "a value contains characters that UTF-8 cannot encode; change it"
            raise ConfigError([f"{self.path}: {what}"]) from error
        except OSError as error:
            raise self._unwritable("cannot be written", error) from error

    def _unwritable(self, what: str, error: OSError) -> ConfigError:
        return ConfigError([f"{self.path}: {what} ({error.strerror}); name another file with --config"])

    def _not_in_sections(self) -> ConfigError:
        remedy = "write each section as a [section] table and each endpoint as a [[llm.endpoints]] table, or edit the "
        return ConfigError(
            [f"{self.path}: these settings cannot be changed; {remedy}file by hand. The file is unchanged"]
        )

    def _not_in_tables(self) -> ConfigError:
        remedy = "write each endpoint as a [[llm.endpoints]] table, or edit the file by hand"
        return ConfigError(
            [f"{self.path}: this command cannot change the endpoints in this file; {remedy}. The file is unchanged"]
        )


def file_to_edit(config: Path | None, environ: Mapping[str, str]) -> ConfigFile:
    """Returns the file that a change of the configuration belongs in: the one that was named, else the user's.

    Args:
        config: The file of --config, if any.
        environ: Environment variables; REPARTEE_CONFIG names a file where --config does not.

    Raises:
        ConfigError: No file was named, and there is no home folder.
    """
    try:
        files = config_files(config, environ)
    except HomeError as error:
        raise ConfigError([f"{VARIABLE}={error}"]) from error
    if files.own is None:
        raise ConfigError(["no home folder is known for the configuration; set HOME, or name a file with --config"])
    return ConfigFile(files.own, creates_folder=not files.is_named)


def _has_settings(content: bytes, file: Path, expected: Settings) -> bool:
    try:
        return settings_in(content, file) == expected
    except ConfigError:
        return False


def _names(endpoints: Sequence[EndpointSection]) -> list[str]:
    return [endpoint.name for endpoint in endpoints]


def _with_endpoints(settings: Settings, endpoints: tuple[EndpointSection, ...]) -> Settings:
    return replace(settings, llm=replace(settings.llm, endpoints=endpoints))


def _with_setting(settings: Settings, dotted: str, value: Value) -> Settings:
    """Returns the text with the setting changed. Raises ValueError if the value is not allowed."""
    section, _, name = dotted.rpartition(".")
    return settings.changed(section, {name: value})


def table_of(endpoint: EndpointSection) -> str:
    """Returns the endpoint as TOML, with a line for each key that differs from its default."""
    defaults = defaults_of(endpoint.kind)
    lines = [f"{name} = {spelled(value)}" for name, value in values_of(endpoint).items() if value != defaults.get(name)]
    return "\n".join([_HEADER, *lines]) + "\n"


def with_table(text: str, endpoint: EndpointSection) -> str:
    """Returns the text with the endpoint's table appended, with the line endings of the text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text if not text or text.endswith("\n") else text + newline
    return before + (newline if before else "") + table_of(endpoint).replace("\n", newline)


def without_table(text: str, index: int) -> str:
    """Returns the text without its endpoint number `index`, counted from 0.

    Removes the table from its header to its last key, the tables inside it and the empty lines before it. Comments
    before and after it stay, because they may be about something else.

    Raises ValueError if there is no such table.
    """
    tables = lines_of_tables(text)
    headers = [number for number, table in tables if table == _HEADER]
    if index >= len(headers):
        raise ValueError(f"there is no {_HEADER} number {index + 1}")
    lines = text.split("\n")
    first = headers[index] - 1
    after = (number - 1 for number, table in tables if number - 1 > first and not table.startswith(_INSIDE))
    end = next(after, len(lines))
    while end > first + 1 and _is_blank_or_comment(lines[end - 1]):
        end -= 1
    while first > 0 and not lines[first - 1].strip():
        first -= 1
    while first == 0 and end < len(lines) - 1 and not lines[end].strip():
        end += 1
    return "\n".join(lines[:first] + lines[end:])


def _is_blank_or_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def with_values(text: str, values: Mapping[str, Value]) -> str:
    """Returns the text with each dotted key set to its value. Comments and line endings stay.

    A key that is there is changed in its line; a new one is added below the header of its section, or in a new section
    at the end. Raises ValueError if the value that is there does not fit on one line.
    """
    for dotted, value in values.items():
        text = _with_value(text, dotted, spelled(value))
    return text


def _with_value(text: str, dotted: str, toml: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    number = lines_of_keys(text).get(dotted)
    if number is not None:
        line = lines[number - 1].removesuffix("\r")
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            raise ValueError(f"the value of {dotted} is not on one line")
        lines[number - 1] = match["before"] + toml + match["after"] + lines[number - 1][len(line) :]
        return "\n".join(lines)
    section, _, name = dotted.rpartition(".")
    added = f"{name} = {toml}"
    header = next((number for number, table in lines_of_tables(text) if table == f"[{section}]"), None)
    if header is not None:
        if header == len(lines):  # the file ends with the header, without a line break
            return f"{text}{newline}{added}{newline}"
        lines.insert(header, added + newline.removesuffix("\n"))
        return "\n".join(lines)
    before = text if not text or text.endswith("\n") else text + newline
    return before + (newline if before else "") + f"[{section}]{newline}{added}{newline}"
