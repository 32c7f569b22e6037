"""Adds endpoints to the configuration file and removes them. Every change is checked before the file is replaced."""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.endpoint_tables import with_table, without_table
from assistant.config.errors import ConfigError
from assistant.config.files import VARIABLE, config_files
from assistant.config.keys import Value
from assistant.config.loading import load_settings, settings_in
from assistant.config.settings import DEFAULTS, Settings
from assistant.config.value_lines import with_values
from assistant.config.words import unknown
from assistant.support.atomic_file import write_whole
from assistant.support.paths import HomeError
from audio.private_file import make_private_folder


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

    def add(self, endpoint: EndpointSection) -> None:
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
