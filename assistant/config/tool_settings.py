"""Sections of config.toml for tools and documents; see `assistant/config/settings.py`."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from assistant.config.keys import ConfigSection, has_host
from assistant.config.mcp_hosts import McpHosts
from assistant.support.paths import HomeError, at_home
from declarations.settings import KeyInfo

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, slots=True)
class DocumentsSection(ConfigSection):
    """Summaries of documents: `repartee read`, and a tool of the language model."""

    folders: Annotated[
        str,
        KeyInfo(
            "Folders whose documents the language model may summarize during a conversation, split as by a shell; "
            "empty: none. `repartee read` reads the files that it is given."
        ),
    ] = ""
    max_parallel: Annotated[
        int,
        KeyInfo("Parts that are asked at the same time; a model on this machine is asked one.", unit="parts",
                low=1, high=64),
    ] = 4  # fmt: skip
    max_parts: Annotated[int, KeyInfo("Largest number of parts in one reading.", unit="parts", low=1, high=1000)] = 40
    max_price: Annotated[
        float,
        KeyInfo(
            "Largest estimated price of one reading, in the currency of price_in_per_million and "
            "price_out_per_million; 0: no limit.",
            low=0,
            high=10000,
        ),
    ] = 0.0
    part_chars: Annotated[
        int, KeyInfo("Longest part that is asked at once.", unit="characters", low=500, high=100000)
    ] = 4000

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        try:
            folders = self.allowed_folders
        except ValueError:
            raise ValueError("folders must have a closing quote for each opening one") from None
        except HomeError as error:
            raise ValueError(f"folders must be folders' paths; {error}") from None
        if any(not folder.is_absolute() for folder in folders):
            raise ValueError("folders must be absolute paths, or begin with ~")

    @property
    def allowed_folders(self) -> tuple[Path, ...]:
        """`folders` as paths."""
        return tuple(at_home(folder) for folder in shlex.split(self.folders))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerSection(ConfigSection):
    """An MCP server whose tools the language model may call: a program (command) or an address (url)."""

    name: Annotated[
        str,
        KeyInfo(
            "Name of the server in displays and traces, and prefix of its tools' names.",
            pattern=r"[A-Za-z0-9][A-Za-z0-9-]{0,30}",  # no "_": it separates the server's name from the tool's name
            form="1 to 31 letters, digits and -",
        ),
    ]
    command: Annotated[
        str,
        KeyInfo(
            "Program and arguments, split as by a shell but run without one; empty: the server is reached by url.",
            private=True,
        ),
    ] = ""
    url: Annotated[
        str,
        KeyInfo(
            "Address for streamable HTTP, as in https://host/mcp; empty: the server is started by command.",
            pattern=r"(https?://[^\s/?#@]+([/?#]\S*)?)?",
            form="an http:// or https:// address without a user name or password, or empty",
            private=True,
        ),
    ] = ""
    env: Annotated[
        str,
        KeyInfo(
            "Names of environment variables passed to the program, besides basic ones such as PATH and HOME.",
            pattern=rf"({_VARIABLE})?(\s+{_VARIABLE})*\s*",
            form="names of environment variables (not what they hold), separated by blanks, or empty",
            private=True,
        ),
    ] = ""
    token_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that contains the bearer token for url; empty: no token.",
            pattern=rf"({_VARIABLE})?",
            form="the name of an environment variable that holds the token (not the token itself), or empty",
            private=True,
        ),
    ] = ""
    only: Annotated[
        str,
        KeyInfo(
            "Tools to offer, by the server's names; empty: all.",
            pattern=r"([^\s]+)?(\s+[^\s]+)*\s*",
            form="names separated by blanks, or empty",
        ),
    ] = ""
    background: Annotated[
        str,
        KeyInfo(
            "Tools that run in the background while the conversation goes on, by the server's names; * for all.",
            pattern=r"([^\s]+)?(\s+[^\s]+)*\s*",
            form="names separated by blanks, *, or empty",
        ),
    ] = ""
    wait: Annotated[
        str,
        KeyInfo(
            "Tools that a reply waits for, if tools.mode or `background` say otherwise; * for all.",
            pattern=r"([^\s]+)?(\s+[^\s]+)*\s*",
            form="names separated by blanks, *, or empty",
        ),
    ] = ""

    trusted: Annotated[
        bool,
        KeyInfo(
            "Whether results of this server may lead to calls of other tools. Otherwise the user has to ask for such a "
            "call, or to confirm it."
        ),
    ] = False

    def mode_of(self, tool: str) -> Literal["", "wait", "background"]:
        """Returns whether a reply waits for this tool; "": as tools.mode says. A name goes before *."""
        waiting, background = self.wait.split(), self.background.split()
        for name in (tool, "*"):
            if name in waiting:
                return "wait"
            if name in background:
                return "background"
        return ""

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        if bool(self.command.strip()) == bool(self.url):
            raise ValueError("must have either a command or a url")
        if self.url and not has_host(self.url):
            raise ValueError("url must be an address with a host and, optionally, a port from 1 to 65535")
        if (self.env and self.url) or (self.token_env and not self.url):
            raise ValueError("env is for a command, and token_env for a url")
        try:
            shlex.split(self.command)
        except ValueError:
            raise ValueError("command must have a closing quote for each opening one") from None

    @property
    def argv(self) -> list[str]:
        """`command`, split as a shell would."""
        return shlex.split(self.command)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables that the server needs."""
        return tuple(self.env.split()) + ((self.token_env,) if self.token_env else ())


@dataclass(frozen=True, slots=True)
class ToolsSection(ConfigSection):
    """Functions that the language model may call during a reply."""

    timeout_s: Annotated[float, KeyInfo("Longest wait for one tool call.", unit="s", low=0.1, high=120)] = 8.0
    moment_after_s: Annotated[
        float,
        KeyInfo(
            "Duration of a call after which `moment` is spoken, if nothing was spoken yet; 0: never.",
            unit="s",
            low=0.2,
            high=60,
            zero=True,
        ),
    ] = 1.5
    moment: Annotated[
        str, KeyInfo("Text spoken while a tool is slow; empty: the standard text of the conversation's language.")
    ] = ""
    mode: Annotated[
        Literal["wait", "background"],
        KeyInfo(
            "Whether a reply waits for a tool, or the tool runs in the background and its result is told later. A "
            "server's keys `wait` and `background` go before it."
        ),
    ] = "wait"
    client_mcp_hosts: Annotated[
        str,
        KeyInfo(
            "Hosts of the MCP servers that clients may name, as host or host:port (host alone: ports 80 and 443); "
            "empty: none.",
            pattern=r"(\S+(\s+\S+)*\s*)?",
            form="hosts separated by blanks, each with an optional port, or empty",
        ),
    ] = ""
    servers: tuple[ToolServerSection, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        McpHosts.of(self.client_mcp_hosts)
        names = [server.name for server in self.servers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'servers: two are named "{name}"; each needs a name of its own')
