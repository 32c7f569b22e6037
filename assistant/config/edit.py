"""Endpoints written into the file of settings, and taken out of it: whole and checked, or not at all."""

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
    """A file of settings that may be changed; it need not be there yet.

    Attributes:
        path: As the person named it.
    """

    path: Path

    @property
    def exists(self) -> bool:
        """Whether it is there, as far as it may be looked at: whoever writes it finds out."""
        try:
            return self.path.exists()
        except OSError:
            return False

    def settings(self) -> Settings:
        """What it alone sets. Raises ConfigError."""
        return load_settings(self.path, {}, ()).settings if self.exists else DEFAULTS

    def add(self, endpoint: EndpointSection) -> None:
        """Append an endpoint. Raises ConfigError: the name is taken, or the file cannot be changed so."""
        before = self.settings()
        if endpoint.name in _names(before.llm.endpoints):
            remedy = f"give another NAME, or `repartee endpoints remove {endpoint.name}` first"
            raise ConfigError([f'{self.path}: the endpoint "{endpoint.name}" is there already; {remedy}'])
        wanted = (*before.llm.endpoints, endpoint)
        self._replace(with_table(self._text(), endpoint), before, wanted)

    def remove(self, name: str) -> EndpointSection:
        """Take an endpoint out, and return it. Raises ConfigError: there is none, or the file cannot be changed so."""
        before = load_settings(self.path, {}, ()).settings  # where there is no file, that is what is wrong
        endpoints = before.llm.endpoints
        names = _names(endpoints)
        if name not in names:
            there = f"; there are {', '.join(names)}" if names else "; there is none"
            raise ConfigError([f'{self.path}: "{name}": {unknown(name, names, f"no such endpoint{there}")}'])
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
        """Put the text into the file's place, if it says what is wanted and nothing else has changed."""
        expected = replace(before, llm=replace(before.llm, endpoints=tuple(wanted)))
        try:
            marked = self.exists and self.path.read_bytes().startswith(codecs.BOM_UTF8)
            content = text.encode("utf-8-sig" if marked else "utf-8")
            if not _says(content, self.path, expected):
                raise self._not_in_tables()
            write_whole(self.path, content)
        except UnicodeEncodeError as error:
            raise ConfigError([f"{self.path}: cannot hold what is not UTF-8; write it otherwise"]) from error
        except OSError as error:
            raise self._unwritable("cannot be written", error) from error

    def _unwritable(self, what: str, error: OSError) -> ConfigError:
        return ConfigError([f"{self.path}: {what} ({error.strerror}); name another file with --config"])

    def _not_in_tables(self) -> ConfigError:
        remedy = "write each endpoint as a [[llm.endpoints]] table, or edit the file by hand"
        return ConfigError([f"{self.path}: its endpoints cannot be changed from here; {remedy}. It is as it was"])


def file_to_edit(config: Path | None, in_effect: Path | None) -> ConfigFile:
    """The file that a change of the configuration belongs into.

    Args:
        config: The one asked for.
        in_effect: The one that was read in its place, if any.

    Returns:
        The one asked for, else the one in effect, else config.toml in the working directory. Never the file of an
        installed package: what it holds are the defaults, and an update replaces it.

    Raises:
        ConfigError: config.toml in the working directory is another program's.
    """
    if config is not None:
        return ConfigFile(config)
    if in_effect is None or in_effect.resolve().parent == Path(__file__).resolve().parents[1]:
        if is_foreign(FILE):
            raise ConfigError([f"{FILE} in this folder is another program's; name another file with --config"])
        return ConfigFile(FILE)
    return ConfigFile(in_effect)


def _says(content: bytes, file: Path, expected: Settings) -> bool:
    try:
        return settings_in(content, file) == expected
    except ConfigError:
        return False


def _names(endpoints: Sequence[EndpointSection]) -> list[str]:
    return [endpoint.name for endpoint in endpoints]
