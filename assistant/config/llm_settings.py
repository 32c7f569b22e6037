"""Sections of config.toml for the language model and the answer cache; see `assistant/config/settings.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.keys import ConfigSection
from declarations.settings import KeyInfo

CacheStoreKind = Literal["sqlite", "memory", "redis"]
RoutingPolicy = Literal["latency", "geo", "ordered", "weighted"]


@dataclass(frozen=True, slots=True)
class LlmSection(ConfigSection):
    """The language model."""

    first_token_timeout_s: Annotated[
        float, KeyInfo("Longest wait for the first token of an answer.", unit="s", low=0.1, high=120)
    ] = 8.0
    max_tokens: Annotated[int, KeyInfo("Longest answer of the model.", unit="tokens", low=1, high=32768)] = 400
    temperature: Annotated[float, KeyInfo("Sampling temperature; 0: always the most likely token.", low=0, high=2)] = (
        0.7
    )
    max_history_turns: Annotated[
        int,
        KeyInfo(
            "Maximum number of turns sent as history; when there are more, the older half is dropped.",
            unit="turns",
            low=1,
            high=1000,
        ),
    ] = 20
    max_history_tokens: Annotated[
        int,
        KeyInfo(
            "Maximum number of tokens of history, estimated as four bytes each; when there are more, half are kept.",
            unit="tokens",
            low=100,
            high=1000000,
        ),
    ] = 2000
    summary: Annotated[
        bool,
        KeyInfo(
            "Whether old turns are summarized in the background, by an endpoint of size small if there is one, before "
            "the history is full; otherwise they are dropped."
        ),
    ] = False
    local_model: Annotated[
        str,
        KeyInfo(
            "Language model that this program runs where no endpoint is configured: the name or file of one; auto: the "
            "best that is downloaded; off: none.",
            pattern=r".*\S.*",
            form="auto, off, the name of a model or the path of a GGUF file",
        ),
    ] = "auto"
    policy: Annotated[
        RoutingPolicy,
        KeyInfo(
            "Which of several endpoints is asked; latency: the lowest recent time to the first token; geo: the same, "
            "and the nearest until times are known; ordered: the first; weighted: at random, by weight."
        ),
    ] = "latency"
    hedge_share: Annotated[
        float,
        KeyInfo(
            "Share of requests, and of tokens, that may also go to a second endpoint when the first takes longer than "
            "usual; 0: never.",
            low=0,
            high=0.5,
        ),
    ] = 0.1
    escalate: Annotated[
        bool,
        KeyInfo("Whether an endpoint of size large is asked when one of size small declines to answer."),
    ] = True
    escalate_below: Annotated[
        float,
        KeyInfo(
            "Mean probability of a small model's first tokens below which a large one is asked, where the service "
            "reports it; the first sentence is held until then; 0: it does not count.",
            low=0,
            high=1,
        ),
    ] = 0.0
    bridge: Annotated[
        bool,
        KeyInfo(
            "Whether a small model says the first sentence of a large model's answer, so that it is heard sooner. Only "
            "where the reply has no tools."
        ),
    ] = False
    latitude: Annotated[
        float,
        KeyInfo(
            "Latitude of this machine, for policy geo; 0 with longitude 0: not known.",
            unit="degrees",
            low=-90,
            high=90,
        ),
    ] = 0.0
    longitude: Annotated[
        float, KeyInfo("Longitude of this machine, east positive.", unit="degrees", low=-180, high=180)
    ] = 0.0
    endpoints: tuple[EndpointSection, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        names = [endpoint.name for endpoint in self.endpoints]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'endpoints: two are named "{name}"; each needs a name of its own')

    @property
    def placed(self) -> bool:
        """Whether this machine's location is set."""
        return bool(self.latitude or self.longitude)


@dataclass(frozen=True, slots=True)
class CacheSection(ConfigSection):
    """Answer cache: requests that were answered before are answered without the language model (docs/cache.md)."""

    enabled: Annotated[
        bool,
        KeyInfo(
            "Whether requests and answers are stored, which are personal data, to answer the same requests again. "
            "trace.words and talk.remember do not matter here."
        ),
    ] = False
    store: Annotated[
        CacheStoreKind,
        KeyInfo(
            "Where answers are stored; sqlite: a file; memory: nowhere but in the program, until it ends; redis: a "
            "server for several processes."
        ),
    ] = "sqlite"
    file: Annotated[str, KeyInfo("File of the store sqlite; empty: answers.sqlite3 beside the kept conversations.")] = (
        ""
    )
    redis_url: Annotated[
        str,
        KeyInfo(
            "Address of the store redis.",
            pattern=r"(rediss?|unix)://\S+",
            form="an address as in redis://127.0.0.1:6379/0",
            private=True,
        ),
    ] = "redis://127.0.0.1:6379/0"
    threshold: Annotated[
        float,
        KeyInfo(
            "Cosine similarity from which requests may be the same; 0: as calibrated for the embedding model; 1: only "
            "the same words.",
            low=0.5,
            high=1,
            zero=True,
        ),
    ] = 0.0
    max_days: Annotated[
        float, KeyInfo("Age at which a stored answer is removed.", unit="days", low=0.01, high=3650)
    ] = 30.0


@dataclass(frozen=True, slots=True)
class MemorySection(ConfigSection):
    """Memory: what the user said about themselves, for later conversations (docs/memory.md)."""

    enabled: Annotated[
        bool,
        KeyInfo(
            "Whether facts about the user are remembered, which are personal data: what the user asks to remember, and "
            "what the language model draws from kept conversations."
        ),
    ] = False
