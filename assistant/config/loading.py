"""Loads settings. Sources, lowest priority first: defaults, files, environment, --set flags, other options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assistant.config.endpoint_settings import values_of
from assistant.config.errors import ConfigError
from assistant.config.files import VARIABLE, config_files
from assistant.config.settings import DEFAULTS, KEYS, SECTIONS, Settings
from assistant.config.sources import (
    ENDPOINTS,
    LISTS,
    TOOL_SERVER_KEYS,
    TOOL_SERVERS,
    Option,
    SourceReading,
    SourceValue,
    from_content,
    from_environment,
    from_file,
    from_options,
    from_overrides,
    unknown_variables,
)
from assistant.config.words import spelled, spelled_without_secret
from assistant.support.paths import HomeError

OTHER_VARIABLES = frozenset({"REPARTEE_TOKEN", VARIABLE})
"""Environment variables that begin with REPARTEE_ but are not settings."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in effect.

    Attributes:
        settings: The checked settings.
        origin: Maps each dotted key to the source of its value: "default", "config.toml:12",
            "environment REPARTEE_TURN_PROFILE", "--set" or "--stt". All endpoints share the key "llm.endpoints", all
            tool servers the key "tools.servers".
        file: The file that was read, if any: the one that was named, else the user's, else the project's.
        available_keys: Environment variables named by endpoints and tool servers that are set and not empty.
    """

    settings: Settings
    origin: Mapping[str, str]
    file: Path | None
    available_keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One setting for display. `value` contains no secret."""

    key: str
    value: str
    origin: str


def load_settings(
    config: Path | None, environ: Mapping[str, str], overrides: Sequence[str], options: Sequence[Option] = ()
) -> Loaded:
    """Merges the settings from all sources.

    Args:
        config: The file asked for. None: the one that REPARTEE_CONFIG names, else the user's, on top of the project's
            (files.py).
        environ: Environment variables.
        overrides: Each "section.key=value". A later one replaces an earlier one.
        options: Command options that stand for a key.

    Raises:
        ConfigError: A source cannot be read or has a value that is not allowed.
    """
    try:
        files = config_files(config, environ)
    except HomeError as error:
        raise ConfigError([f"{VARIABLE}={error}"]) from error
    given: list[SourceValue] = []
    if files.project is not None:
        given += [item for item in _values_or_error(from_file(files.project)) if item.value != _default(item.key)]
    if files.to_read is not None:
        given += _values_or_error(from_file(files.to_read))
    given += _values_or_error(from_environment(environ))
    given += _values_or_error(from_overrides(overrides))
    given += _values_or_error(from_options(options))
    settings = _merged(given)
    key_variables = frozenset(name for endpoint in settings.llm.endpoints for name in endpoint.variables)
    key_variables |= {name for server in settings.tools.servers for name in server.variables}
    key_variables |= set(settings.server.variables)
    if problems := unknown_variables(environ, OTHER_VARIABLES | key_variables):
        raise ConfigError(problems)
    origin = dict.fromkeys((*KEYS, *LISTS), "default") | {item.key: item.origin for item in given}
    at_hand = frozenset(name for name in key_variables if environ.get(name))
    return Loaded(settings, MappingProxyType(origin), files.to_read or files.project, at_hand)


def settings_in(content: bytes, file: Path) -> Settings:
    """Returns the settings of `file` alone, if it had this content. Raises ConfigError."""
    return _merged(_values_or_error(from_content(content, file)))


def render_effective(loaded: Loaded) -> list[ConfigRow]:
    """Returns every setting with its value and origin, in the order of config.toml, without secrets."""
    rows = []
    for section in SECTIONS:
        for dotted in (dotted for dotted in KEYS if dotted.rpartition(".")[0] == section):
            value = loaded.settings.value(dotted)
            rows.append(ConfigRow(dotted, spelled_without_secret(value), loaded.origin[dotted]))
        if ENDPOINTS.startswith(f"{section}."):
            rows += _endpoint_rows(loaded)
        if TOOL_SERVERS.startswith(f"{section}."):
            rows += _tool_server_rows(loaded)
    return rows


def _endpoint_rows(loaded: Loaded) -> list[ConfigRow]:
    origin = loaded.origin[ENDPOINTS]
    if not loaded.settings.llm.endpoints:
        return [ConfigRow(ENDPOINTS, "[]", origin)]
    rows = []
    for index, endpoint in enumerate(loaded.settings.llm.endpoints):
        for name, content in values_of(endpoint).items():
            text, value = str(content), spelled_without_secret(content)
            if name == "api_key_env" and text:
                value += " (set)" if text in loaded.available_keys else " (not set)"
            if name == "headers" and text != "{}":
                lacking = [variable for variable in endpoint.headers.variables if variable not in loaded.available_keys]
                value = spelled(endpoint.headers.shown) + (f" (not set: {', '.join(lacking)})" if lacking else "")
            rows.append(ConfigRow(f"{ENDPOINTS}[{index}].{name}", value, origin))
    return rows


def _tool_server_rows(loaded: Loaded) -> list[ConfigRow]:
    origin = loaded.origin[TOOL_SERVERS]
    if not loaded.settings.tools.servers:
        return [ConfigRow(TOOL_SERVERS, "[]", origin)]
    rows = []
    for index, server in enumerate(loaded.settings.tools.servers):
        for name in TOOL_SERVER_KEYS:
            text = str(getattr(server, name))
            value = spelled_without_secret(getattr(server, name))
            if name in {"env", "token_env"} and text:
                lacking = [name for name in text.split() if name not in loaded.available_keys]
                value += f" (not set: {', '.join(lacking)})" if lacking else " (set)"
            if name == "command" and text:  # Arguments may contain a secret, although `env` is meant for it.
                value = spelled(server.argv[0] + " …" * (len(server.argv) > 1))
            rows.append(ConfigRow(f"{TOOL_SERVERS}[{index}].{name}", value, origin))
    return rows


def _default(dotted: str) -> object:
    return DEFAULTS.value(dotted)


def _values_or_error(reading: SourceReading) -> list[SourceValue]:
    if reading.problems:
        raise ConfigError(reading.problems)
    return reading.given


def _merged(given: Sequence[SourceValue]) -> Settings:
    values: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    for item in given:
        section, _, name = item.key.rpartition(".")
        values[section][name] = item.value
    settings = DEFAULTS
    for section, changed in values.items():
        settings = settings.changed(section, changed) if changed else settings
    return settings
