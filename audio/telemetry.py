"""Switches off what libraries report about their users. Each package that imports one of them calls this first."""

import os
from collections.abc import Mapping
from types import MappingProxyType

TELEMETRY_OFF: Mapping[str, str] = MappingProxyType(
    {
        # Read when it is imported. Without it, 1.31 writes an id of the device and a database of events into
        # ~/.cache/Microsoft and sends them to mobile.events.data.microsoft.com.
        "ORT_DISABLE_TELEMETRY": "1",
        # huggingface_hub, which faster-whisper imports, and hf_xet: reports of use and of downloads.
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        # The head of a cluster reports hourly to usage-stats.ray.io.
        "RAY_USAGE_STATS_ENABLED": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
)
"""Environment variables of the libraries, and their values. The other locked packages report nothing by themselves."""


def switch_off_telemetry() -> None:
    """Sets the variables for this process and its children, also where the environment says otherwise."""
    os.environ.update(TELEMETRY_OFF)
