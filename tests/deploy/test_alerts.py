"""deploy/alerts.yml and deploy/prometheus.yml: the alerts use metrics, labels and values that the server has."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from assistant.trace.record import Outcome
from web.observation.metrics import HandoverOutcome, Metrics
from web.process.stall_watchdog import Cause

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
OF_PROMETHEUS = {"job", "instance", "le"}
ENDINGS = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


def served() -> dict[str, set[str]]:
    """Returns the labels of every sample of /metrics, by name."""
    registry = Metrics().registry
    # The library tells the labels only of metrics that have a value.
    labels = {
        name: set(getattr(metric, "_labelnames", ())) | OF_PROMETHEUS
        for name, metric in registry._names_to_collectors.items()
    }
    names = {f"{family.name}{ending}" for family in registry.collect() for ending in ENDINGS.get(family.type, ("",))}
    return {name: labels.get(name, OF_PROMETHEUS) for name in names}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_alert_uses_metrics_of_the_server(alert: dict[str, Any]) -> None:
    known = served()
    named = set(re.findall(r"\brepartee_\w+", alert["expr"]))
    assert named <= set(known)
    assert named or alert["expr"] == 'up{job="repartee"} == 0'
    for name, matchers in re.findall(r"\b(repartee_\w+)\{([^}]*)\}", alert["expr"]):
        assert set(re.findall(r"(\w+)!?=", matchers)) <= known[name]
    labels = {label.strip() for group in re.findall(r"by \(([^)]*)\)", alert["expr"]) for label in group.split(",")}
    assert labels <= OF_PROMETHEUS.union(*(known[name] for name in named))
    shown = set(re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"]))
    assert shown <= (labels or OF_PROMETHEUS.union(*(known[name] for name in named)))


def test_alerts_name_values_that_exist() -> None:
    expressions = " ".join(alert["expr"] for alert in ALERTS)
    for metric, label, known in (
        ("repartee_turns_total", "outcome", Outcome),
        ("repartee_handovers_total", "outcome", HandoverOutcome),
        ("repartee_event_loop_stalls_total", "cause", Cause),
    ):
        named = re.findall(rf'{metric}\{{{label}=~?"([\w|]+)"', expressions)
        assert named
        assert {value for each in named for value in each.split("|")} <= set(get_args(known))


def test_alerts_have_names_severity_and_remedy() -> None:
    names = [alert["alert"] for alert in ALERTS]
    assert len(set(names)) == len(names) > 5
    assert {alert["labels"]["severity"] for alert in ALERTS} == {"page", "ticket"}
    assert [alert for alert in ALERTS if not alert["annotations"]["remedy"].endswith(".")] == []
    assert [alert for alert in ALERTS if not re.fullmatch(r"\d+m", alert["for"])] == []


def test_promtool_accepts_alerts() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    checking = [promtool, "check", "rules", str(DEPLOY / "alerts.yml")]
    done = subprocess.run(checking, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
