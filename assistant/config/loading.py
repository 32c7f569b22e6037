"""Loads settings. Sources, lowest priority first: defaults, config.toml, environment, --set flags, other options."""

import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assistant.config.endpoint_settings import accepts
from assistant.config.ownership import MAX_BYTES, is_ours
from assistant.config.settings import DEFAULTS, KEYS, SECTIONS, Settings
from assistant.config.sources import (
    ENDPOINT_KEYS,
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
from assistant.config.words import spelled

SECRETS = frozenset({"REPARTEE_TOKEN"})
"""Environment variables that begin with REPARTEE_ but are not settings."""


class ConfigError(Exception):
    """Invalid settings.

    The text has one line for each problem of the first source that has any: the place, the key, the value found and the
    values allowed. It contains no secret.

    Attributes:
        problems: The lines.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        """`problems`: one line each, for the user; at least one."""
        # A quoted key or a flag may contain a line break, but each problem must stay on one line.
        self.problems = tuple(" ".join(problem.splitlines()) for problem in problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in effect.

    Attributes:
        settings: The checked settings.
        origin: Maps each dotted key to the source of its value: "default", "config.toml:12",
            "environment REPARTEE_TURN_PROFILE", "--set" or "--stt". All endpoints share the key "llm.endpoints", all
            tool servers the key "tools.servers".
        file: The file that was read, if any.
        ignored: A config.toml in the working directory that was not read because it belongs to another program.
        available_keys: Environment variables named by endpoints and tool servers that are set and not empty.
    """

    settings: Settings
    origin: Mapping[str, str]
    file: Path | None
    available_keys: frozenset[str]
    ignored: Path | None = None

    @property
    def note(self) -> str:
        """Message about the file that was not read; "" if there is none."""
        return "" if self.ignored is None else ignored_note(self.ignored)


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
        config: The file asked for. None: config.toml in the working directory if it belongs to Repartee (ownership.py),
            else the project's own file.
        environ: Environment variables.
        overrides: Each "section.key=value". A later one replaces an earlier one.
        options: Command options that stand for a key.

    Raises:
        ConfigError: A source cannot be read or has a value that is not allowed.
    """
    file, ignored = (config, None) if config is not None else _found_file()
    given: list[SourceValue] = []
    if file is not None:
        given += _values_or_error(from_file(file))
    given += _values_or_error(from_environment(environ))
    given += _values_or_error(from_overrides(overrides))
    given += _values_or_error(from_options(options))
    settings = _merged(given)
    key_variables = frozenset(name for endpoint in settings.llm.endpoints for name in endpoint.variables)
    key_variables |= {name for server in settings.tools.servers for name in server.variables}
    if problems := unknown_variables(environ, SECRETS | key_variables):
        raise ConfigError(problems)
    origin = dict.fromkeys((*KEYS, *LISTS), "default") | {item.key: item.origin for item in given}
    at_hand = frozenset(name for name in key_variables if environ.get(name))
    return Loaded(settings, MappingProxyType(origin), file, at_hand, ignored)


def ignored_note(file: Path) -> str:
    """Message about a file in the working directory that was not read."""
    return f"{file} in this folder belongs to another program and is not used; if it is Repartee's, use --config {file}"


def is_foreign(file: Path) -> bool:
    """Whether the file can be read and belongs to another program."""
    try:
        return not is_ours(file.read_bytes()[:MAX_BYTES])
    except OSError:
        return False  # The error is reported where the file is read.


def settings_in(content: bytes, file: Path) -> Settings:
    """Returns the settings of `file` alone, if it had this content. Raises ConfigError."""
    return _merged(_values_or_error(from_content(content, file)))


def render_effective(loaded: Loaded) -> list[ConfigRow]:
    """Returns every setting with its value and origin, in the order of config.toml, without secrets."""
    rows = []
    for section in SECTIONS:
        for dotted in (dotted for dotted in KEYS if dotted.startswith(f"{section}.")):
            value: object = getattr(getattr(loaded.settings, section), dotted.partition(".")[2])
            rows.append(ConfigRow(dotted, spelled(value), loaded.origin[dotted]))
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
        for name in (name for name in ENDPOINT_KEYS if accepts(endpoint.kind, name)):
            text = str(getattr(endpoint, name))
            value = spelled(getattr(endpoint, name))
            if name == "api_key_env" and text:
                value += " (set)" if text in loaded.available_keys else " (not set)"
            if name == "headers" and text != "{}":
                lacking = [one for one in endpoint.headers.variables if one not in loaded.available_keys]
                value = spelled(endpoint.headers.shown) + (f" (not set: {', '.join(lacking)})" if lacking else "")
            if name == "url" and "?" in text:  # Some services take their key as a query parameter.
                value = spelled(text.partition("?")[0] + "?…")
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
            value = spelled(getattr(server, name))
            if name in {"env", "token_env"} and text:
                lacking = [one for one in text.split() if one not in loaded.available_keys]
                value += f" (not set: {', '.join(lacking)})" if lacking else " (set)"
            if name == "url" and "?" in text:
                value = spelled(text.partition("?")[0] + "?…")
            if name == "command" and text:  # Arguments may contain a secret, although `env` is meant for it.
                value = spelled(server.argv[0] + " …" * (len(server.argv) > 1))
            rows.append(ConfigRow(f"{TOOL_SERVERS}[{index}].{name}", value, origin))
    return rows


def _found_file() -> tuple[Path | None, Path | None]:
    """Returns the file to read, and a config.toml in the working directory that belongs to another program."""
    package = Path(__file__).parents[1]
    candidates = [Path("config.toml"), package / "config.toml"]
    # only in a checkout: an installed package has other packages' files beside it
    if (package.parent / "pyproject.toml").is_file():
        candidates.append(package.parent / "config.toml")
    ignored = candidates.pop(0) if _is_there(candidates[0]) and is_foreign(candidates[0]) else None
    return next((file for file in candidates if _is_there(file)), None), ignored


def _is_there(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # The folder cannot be read; the error is reported where the file is read.
        return True


def _values_or_error(found: SourceReading) -> list[SourceValue]:
    if found.problems:
        raise ConfigError(found.problems)
    return found.given


def _merged(given: Sequence[SourceValue]) -> Settings:
    values: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    for item in given:
        section, _, name = item.key.partition(".")
        values[section][name] = item.value
    sections: dict[str, object] = {}
    for section in SECTIONS:
        make_section: Callable[..., object] = type(getattr(DEFAULTS, section))
        sections[section] = make_section(**values[section])
    make_settings: Callable[..., Settings] = Settings
    return make_settings(**sections)
