"""Section of config.toml for speech engines on a Ray cluster; see `assistant/config/settings.py`."""

from dataclasses import dataclass
from typing import Annotated

from assistant.config.keys import ConfigSection
from declarations.settings import KeyInfo

_ADDRESS = r"auto|[A-Za-z0-9._-]+:[0-9]{1,5}|\[[0-9A-Fa-f:]+\]:[0-9]{1,5}"


@dataclass(frozen=True, slots=True)
class ClusterSection(ConfigSection):
    """Speech engines on a Ray cluster, for engines that are set to ray (docs/cluster.md)."""

    address: Annotated[
        str,
        KeyInfo(
            "Head of the Ray cluster, of which this machine must be a node; auto: the cluster of this machine.",
            pattern=_ADDRESS,
            form="auto, or host:port as in 127.0.0.1:6379",
        ),
    ] = "auto"
    min_replicas: Annotated[
        int, KeyInfo("Replicas of each engine that always run.", unit="replicas", low=1, high=1000)
    ] = 1
    max_replicas: Annotated[
        int,
        KeyInfo("Replicas of each engine to which the cluster grows under load.", unit="replicas", low=1, high=1000),
    ] = 4
    replica_cpus: Annotated[
        float,
        KeyInfo(
            "CPU cores that are reserved for one replica; it has as many threads, unless stt.threads is set.",
            unit="cores",
            low=0,
            high=64,
        ),
    ] = 1.0
    stt_gpus: Annotated[
        float, KeyInfo("GPUs that are reserved for one replica of the recognizer.", unit="GPUs", low=0, high=8)
    ] = 0.0
    tts_gpus: Annotated[
        float, KeyInfo("GPUs that are reserved for one replica of the voice.", unit="GPUs", low=0, high=8)
    ] = 0.0
