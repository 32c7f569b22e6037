"""The sections of config.toml that are about tools; see `assistant/config/settings.py`."""

import shlex
from dataclasses import dataclass
from typing import Annotated

from assistant.config.keys import ConfigSection, KeyInfo, has_host

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerSection(ConfigSection):
    """An MCP server whose tools the language model may call: a program (command) or an address (url)."""

    name: Annotated[
        str,
        KeyInfo(
            "What screen and trace call it, and what its tools' names begin with.",
            pattern=r"[A-Za-z0-9][A-Za-z0-9-]{0,30}",  # without "_", which is where the tool's own name begins
            form="1 to 31 letters, digits and -",
        ),
    ]
    command: Annotated[
        str,
        KeyInfo(
            "Program and arguments, as in a shell but run without one; empty: it is reached by url.",
            private=True,
        ),
    ] = ""
    url: Annotated[
        str,
        KeyInfo(
            "Address of its streamable HTTP, as in https://host/mcp; empty: it is run by command.",
            pattern=r"(https?://[^\s/?#@]+([/?#]\S*)?)?",
            form="an http:// or https:// address without a user name or password, or empty",
            private=True,
        ),
    ] = ""
    env: Annotated[
        str,
        KeyInfo(
            "Names of environment variables that a program gets besides PATH, HOME and the like.",
            pattern=rf"({_VARIABLE})?(\s+{_VARIABLE})*\s*",
            form="names of environment variables (not what they hold), separated by blanks, or empty",
            private=True,
        ),
    ] = ""
    token_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that holds the bearer token of an address; empty: no token.",
            pattern=rf"({_VARIABLE})?",
            form="the name of an environment variable that holds the token (not the token itself), or empty",
            private=True,
        ),
    ] = ""
    only: Annotated[
        str,
        KeyInfo(
            "The tools to offer, by their names at the server; empty: all.",
            pattern=r"([^\s]+)?(\s+[^\s]+)*\s*",
            form="names separated by blanks, or empty",
        ),
    ] = ""

    def __post_init__(self) -> None:
        """Raises ValueError: the key, and what is allowed."""
        ConfigSection.__post_init__(self)
        if bool(self.command.strip()) == bool(self.url):
            raise ValueError("must have either a command or a url")
        if self.url and not has_host(self.url):
            raise ValueError("url must be an address with a host and, if any, a port from 1 to 65535")
        if (self.env and self.url) or (self.token_env and not self.url):
            raise ValueError("env is for a command, and token_env for a url")
        try:
            shlex.split(self.command)
        except ValueError:
            raise ValueError("command must have a closing quote for each opening one") from None

    @property
    def argv(self) -> list[str]:
        """`command`, cut where a shell would."""
        return shlex.split(self.command)

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables it needs."""
        return tuple(self.env.split()) + ((self.token_env,) if self.token_env else ())


@dataclass(frozen=True, slots=True)
class ToolsSection(ConfigSection):
    """Functions that the language model may call in the midst of a reply."""

    timeout_s: Annotated[float, KeyInfo("Longest wait for one call.", unit="s", low=0.1, high=120)] = 8.0
    moment_after_s: Annotated[
        float,
        KeyInfo(
            "When a call takes longer and nothing was said yet, the person is asked for a moment; 0: never.",
            unit="s",
            low=0.2,
            high=60,
            zero=True,
        ),
    ] = 1.5
    moment: Annotated[str, KeyInfo("In these words; empty: those of the conversation's language.")] = ""
    max_rounds: Annotated[
        int, KeyInfo("How often in a turn the model may call before it has to answer.", unit="rounds", low=1, high=10)
    ] = 3
    max_result_chars: Annotated[
        int, KeyInfo("Longest result that the model gets to see.", unit="characters", low=100, high=100000)
    ] = 4000
    servers: tuple[ToolServerSection, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError: the key, and what is allowed."""
        ConfigSection.__post_init__(self)
        names = [server.name for server in self.servers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'servers: two are named "{name}"; each needs a name of its own')
