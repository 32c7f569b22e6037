"""Keys of earlier versions whose value is now a constant of the program."""

from collections.abc import Mapping
from types import MappingProxyType

FIXED_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "turn.max_turn_s": "60 s",
        "turn.pre_roll_ms": "300 ms",
        "llm.token_gap_timeout_s": "5 s",
        "llm.connect_timeout_s": "3 s",
        "cache.max_entries": "5000 answers",
        "home.timeout_s": "5 s",
        "home.refresh_s": "30 s",
        "weather.forecast_url": "the service of Open-Meteo",
        "weather.geocoding_url": "the service of Open-Meteo",
        "weather.timeout_s": "4 s",
        "weather.cache_minutes": "10 minutes",
        "tools.max_rounds": "3 rounds",
        "tools.max_result_chars": "4000 characters",
        "tools.background_timeout_s": "300 s",
        "tools.max_background": "4 calls",
        "documents.context_chars": "6000 characters",
        "documents.max_file_mb": "20 MB",
        "documents.timeout_s": "30 s",
        "tts.volume_dbfs": "-20 dBFS",
        "speaker.duck_db": "-18 dB",
        "server.max_message_bytes": "16 MiB",
        "server.ahead_ms": "1000 ms",
        "server.keep_per_browser": "500 conversations",
        "cluster.application": "repartee",
        "cluster.timeout_s": "30 s",
        "cluster.decodes": "4 decodes",
    }
)
"""The fixed value of each key, as the user reads it."""

REPLACED_KEYS: Mapping[str, str] = MappingProxyType({"stt.initial_prompt": "name the words in stt.hot_words"})
"""Keys of earlier versions without a fixed value, and what to do instead."""
