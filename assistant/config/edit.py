"""Adds endpoints to the configuration file and removes them. Every change is checked before the file is replaced."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.endpoint_tables import with_table, without_table
from assistant.config.loading import ConfigError, is_foreign, load_settings, settings_in
from assistant.config.settings import DEFAULTS, Settings
from assistant.config.words import unknown
from assistant.support.atomic_file import write_whole

FILE = Path("config.toml")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file that may be changed. It need not exist yet.

    Attributes:
        path: Path as the user gave it.
    """

    path: Path

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


def file_to_edit(config: Path | None, in_effect: Path | None) -> ConfigFile:
    """Returns the file that a change of the configuration belongs in.

    Args:
        config: The file that was asked for, if any.
        in_effect: The file that was read instead, if any.

    Returns:
        `config`, else `in_effect`, else config.toml in the working directory. Never the file inside an installed
        package: it holds the defaults, and an update replaces it.

    Raises:
        ConfigError: The config.toml in the working directory belongs to another program.
    """
    if config is not None:
        return ConfigFile(config)
    if in_effect is None or in_effect.resolve().parent == Path(__file__).resolve().parents[1]:
        if is_foreign(FILE):
            raise ConfigError([f"{FILE} in this folder belongs to another program; name another file with --config"])
        return ConfigFile(FILE)
    return ConfigFile(in_effect)


def _has_settings(content: bytes, file: Path, expected: Settings) -> bool:
    try:
        return settings_in(content, file) == expected
    except ConfigError:
        return False


def _names(endpoints: Sequence[EndpointSection]) -> list[str]:
    return [endpoint.name for endpoint in endpoints]
