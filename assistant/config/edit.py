"""Adds endpoints to the configuration file and removes them. Every change is checked before the file is replaced."""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.endpoint_tables import with_table, without_table
from assistant.config.files import VARIABLE, config_files
from assistant.config.loading import ConfigError, load_settings, settings_in
from assistant.config.settings import DEFAULTS, Settings
from assistant.config.words import unknown
from assistant.support.atomic_file import write_whole
from assistant.support.paths import HomeError


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
            remedy = f"give another NAME, or `repartee endpoints remove {endpoint.name}` first"
            raise ConfigError([f'{self.path}: the endpoint "{endpoint.name}" already exists; {remedy}'])
        wanted = (*before.llm.endpoints, endpoint)
        self._replace(with_table(self._text(), endpoint), before, wanted)

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
        self._replace(text, before, (*endpoints[:index], *endpoints[index + 1 :]))
        return endpoints[index]

    def _text(self) -> str:
        if not self.exists:
            return ""
        try:
            return self.path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise self._unwritable("cannot be read", error) from error

    def _replace(self, text: str, before: Settings, wanted: Sequence[EndpointSection]) -> None:
        """Replaces the file with `text`, if its endpoints are exactly `wanted` and no other setting has changed."""
        expected = replace(before, llm=replace(before.llm, endpoints=tuple(wanted)))
        try:
            marked = self.exists and self.path.read_bytes().startswith(codecs.BOM_UTF8)
            content = text.encode("utf-8-sig" if marked else "utf-8")
            if not _has_settings(content, self.path, expected):
                raise self._not_in_tables()
            if self.creates_folder:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self.path, content)
        except UnicodeEncodeError as error:
            what = "a value contains characters that UTF-8 cannot encode; change it"
            raise ConfigError([f"{self.path}: {what}"]) from error
        except OSError as error:
            raise self._unwritable("cannot be written", error) from error

    def _unwritable(self, what: str, error: OSError) -> ConfigError:
        return ConfigError([f"{self.path}: {what} ({error.strerror}); name another file with --config"])

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
