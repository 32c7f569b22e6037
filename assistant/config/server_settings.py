"""Section of config.toml for `repartee serve`; see `assistant/config/settings.py`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from assistant.config.keys import ConfigSection
from assistant.config.toml_table import TomlTable
from declarations.settings import KeyInfo

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Prompts(TomlTable):
    """Prompts: names and texts, in which {{name}} stands for a variable."""

    __slots__ = ()
    max_chars: ClassVar[int] = 200_000

    @classmethod
    def form(cls) -> str:
        """See `TomlTable.form`."""
        return 'a table of texts, as in { support = "You help customers of {{company}}." }'

    @classmethod
    def _check(cls, raw: Mapping[str, object]) -> None:
        if not all(_NAME.fullmatch(name) and isinstance(text, str) and text.strip() for name, text in raw.items()):
            raise ValueError(f"must be {cls.form()}; a name has letters, digits, -, _ and .")

    @property
    def texts(self) -> dict[str, str]:
        """The texts by name."""
        return {name: str(text) for name, text in self.values.items()}


NO_PROMPTS = Prompts()

PromptsKey = Annotated[
    Prompts,
    KeyInfo("Prompts that a client may name in `session.prompt`; {{name}} stands for a variable that it gives."),
]


_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?"
_ORIGIN = rf"https?://{_HOST}"
_VARIABLE = r"([A-Za-z_][A-Za-z0-9_]*)?"


Admission = Literal["measured", "fixed"]
"""Limits on the number of conversations: their number alone, or also the measured load."""


@dataclass(frozen=True, slots=True)
class ServerSection(ConfigSection):
    """The server of `repartee serve`: its address and its limits."""

    host: Annotated[
        str,
        KeyInfo(
            "Address the server listens on; beyond this machine (0.0.0.0) it requires a token in REPARTEE_TOKEN.",
            pattern=r"[A-Za-z0-9.:_-]+",
            form="a host name or an IP address, without a port",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, KeyInfo("Port the server listens on; 0: any free port.", low=1, high=65535, zero=True)] = 8765
    wyoming: Annotated[
        str,
        KeyInfo(
            "Address of a Wyoming server for Home Assistant and other voice services; empty: none. The protocol has no "
            "token: whoever reaches the address may use it.",
            pattern=r"((tcp|unix)://\S+)?",
            form="an address as in tcp://127.0.0.1:10300, tcp://0.0.0.0:10300 or unix:///run/repartee.sock, or empty",
        ),
    ] = ""
    allowed_hosts: Annotated[
        str,
        KeyInfo(
            "Further host names of the server that requests may use, for example behind a proxy.",
            pattern=rf"({_HOST})?(\s+{_HOST})*\s*",
            form="names with or without a port, separated by blanks, as in voice.example voice.local:8765",
        ),
    ] = ""
    allowed_origins: Annotated[
        str,
        KeyInfo(
            "Further web origins whose pages may connect; the server's own page always may.",
            pattern=rf"({_ORIGIN})?(\s+{_ORIGIN})*\s*",
            form="origins separated by blanks, as in https://app.example",
        ),
    ] = ""
    max_sessions: Annotated[
        int, KeyInfo("Maximum number of conversations at the same time.", unit="sessions", low=1, high=1000)
    ] = 32
    admission: Annotated[
        Admission,
        KeyInfo(
            "Whether the measured load also limits the number of conversations; fixed: only server.max_sessions does."
        ),
    ] = "measured"
    max_session_s: Annotated[float, KeyInfo("Longest conversation of one connection.", unit="s", low=1, high=86400)] = (
        3600.0
    )
    idle_timeout_s: Annotated[
        float,
        KeyInfo(
            "Time without any message after which a connection is closed; 0: never.",
            unit="s",
            low=1,
            high=86400,
            zero=True,
        ),
    ] = 0.0
    resume_s: Annotated[
        float,
        KeyInfo("How long a conversation can be resumed after its connection broke.", unit="s", low=0, high=3600),
    ] = 60.0
    drain_s: Annotated[
        float,
        KeyInfo("After SIGTERM: longest wait for active turns to finish; 0: no wait.", unit="s", low=0, high=600),
    ] = 10.0
    max_audio_requests: Annotated[
        int,
        KeyInfo(
            "Maximum number of requests to /v1/audio at the same time, besides the conversations; 0: no such path.",
            unit="requests",
            low=1,
            high=100,
            zero=True,
        ),
    ] = 2
    keep_conversations: Annotated[
        bool,
        KeyInfo("Whether the server keeps the conversations of browsers whose users ask for it, in the data folder."),
    ] = True
    keep_days: Annotated[
        int,
        KeyInfo(
            "Days after its last turn until a browser's conversation is deleted; 0: never.",
            unit="days",
            low=1,
            high=36500,
            zero=True,
        ),
    ] = 365
    client_choices: Annotated[
        str,
        KeyInfo(
            "Further settings that a client may choose for its conversation: language, voice, endpoint (one of "
            "[[llm.endpoints]], by name), words (in the trace); empty: none.",
            pattern=r"((language|voice|endpoint|words)(\s+(language|voice|endpoint|words))*\s*)?",
            form="names separated by blanks, of language, voice, endpoint and words, or empty",
        ),
    ] = "language voice endpoint"
    wake_words: Annotated[
        str,
        KeyInfo(
            "Wake words that a client may wait for by their sound, of those that are installed; empty: none. Each "
            "conversation that waits costs 0.6 % of a core.",
            pattern=r"\s*(\w+(\s+\w+)*\s*)?",
            form="names separated by blanks, as for talk.wake_word, or empty",
        ),
    ] = "okay_nabu hey_jarvis hey_mycroft alexa"
    prompts: PromptsKey = NO_PROMPTS
    tls_cert: Annotated[
        str,
        KeyInfo(
            "PEM file of the certificate, intermediate ones included, to serve https:// and wss://; empty: no TLS. A "
            "renewed file is loaded without a restart.",
            form="a file's path, or empty",
        ),
    ] = ""
    tls_key: Annotated[
        str, KeyInfo("PEM file of the certificate's private key, without a passphrase.", form="a file's path, or empty")
    ] = ""
    tls_self_signed: Annotated[
        bool,
        KeyInfo("Whether to serve https:// and wss:// with a certificate that the server makes and renews itself."),
    ] = False

    redis_url: Annotated[
        str,
        KeyInfo(
            "Address of the Redis server in which several gateways keep running conversations, so that a client can "
            "resume at any of them; empty: none.",
            pattern=r"((rediss?|unix)://(?!\S*password=)([^\s:/@]+@)?[^\s@]+)?",
            form="an address without a password, as in redis://127.0.0.1:6379/0, or empty",
            private=True,
        ),
    ] = ""
    redis_password_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that holds the password of that Redis server; empty: none.",
            pattern=_VARIABLE,
            form="the name of an environment variable that holds the password (not the password itself), or empty",
            private=True,
        ),
    ] = ""
    handover_key_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that holds the secret with which conversations in Redis are encrypted, "
            "the same at all gateways; empty: the server's token in REPARTEE_TOKEN.",
            pattern=_VARIABLE,
            form="the name of an environment variable that holds the secret (not the secret itself), or empty",
            private=True,
        ),
    ] = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables that the settings name."""
        return tuple(filter(None, (self.redis_password_env, self.handover_key_env)))

    @property
    def hosts(self) -> tuple[str, ...]:
        """`allowed_hosts` as a tuple."""
        return tuple(self.allowed_hosts.split())

    @property
    def origins(self) -> tuple[str, ...]:
        """`allowed_origins` as a tuple."""
        return tuple(self.allowed_origins.split())
