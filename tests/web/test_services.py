"""The services of a server by its settings."""

from dataclasses import replace

import pytest

from assistant.config.errors import ConfigError
from assistant.config.server_settings import ServerSection
from assistant.config.settings import Settings, SkillsSection, TraceSection
from audio.errors import EngineLoadError
from web.observation.metrics import Metrics
from web.services import create_services

COLLECTOR = replace(Settings(), trace=TraceSection(otlp_url="http://127.0.0.1:4318"))


def test_spans_are_exported_only_with_otlp_url() -> None:
    without = create_services(Settings(), {}, Metrics()).background_tasks
    metrics = Metrics()
    *others, task = create_services(COLLECTOR, {}, metrics).background_tasks
    assert len(others) == len(without)
    export = task.__self__  # type: ignore[attr-defined]  # a method of the export
    export.dropped = 3
    assert metrics.registry.get_sample_value("repartee_exports_dropped") == 3


def test_invalid_otlp_headers_are_reported_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "no pairs")
    with pytest.raises(EngineLoadError, match="OTEL_EXPORTER_OTLP_HEADERS"):
        create_services(COLLECTOR, {}, Metrics())


def test_timers_and_lists_are_stored_unless_the_setting_is_off() -> None:
    stored = create_services(Settings(), {}, Metrics()).background_tasks
    off = replace(Settings(), skills=SkillsSection(store_timers=False))
    assert len(create_services(off, {}, Metrics()).background_tasks) == len(stored) - 2


def test_conversations_are_handed_over_only_with_redis_url() -> None:
    without = create_services(Settings(), {}, Metrics())
    assert without.handovers is None
    shared = replace(Settings(), server=ServerSection(redis_url="redis://127.0.0.1:1"))
    made = create_services(shared, {"REPARTEE_TOKEN": "a-token-of-enough-characters"}, Metrics())
    assert len(made.background_tasks) == len(without.background_tasks) + 1
    assert made.handovers is not None
    assert made.handovers.health() == "ready"
    with pytest.raises(ConfigError, match="REPARTEE_TOKEN"):
        create_services(shared, {}, Metrics())
