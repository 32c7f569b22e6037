"""A real conversation, from its audio to a collector: header, record and spans belong to one trace."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.real_time_conversation import WHAT_TIME
from support.engines.scripted_engines import script_recognizer
from support.services import otlp_collector
from support.services.llm_server import answer, serving

from assistant.commands.demo import demo
from assistant.config.loading import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def test_turn_has_one_trace_id_in_model_file_and_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_recognizer(monkeypatch, "what time is it")
    async with serving(answer("It is noon.")) as model, serving(otlp_collector.answer()) as collector:
        given = [
            "skills.before_llm=false",
            "tts.engine=espeak-ng",
            f"trace.dir={tmp_path / 'traces'}",
            f"trace.otlp_url={collector.url.removesuffix('/v1')}",
            f'llm.endpoints=[{{name="mine", url="{model.url}", model="m7"}}]',
        ]
        console = Console(file=StringIO(), width=250)
        await demo(WHAT_TIME, tmp_path / "out", load_settings(None, {}, given), {}, console, ports=[])
        headers = [seen.headers["traceparent"] for seen in model.posts]
    (line,) = (tmp_path / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    record, spans = json.loads(line), otlp_collector.spans(collector)
    assert record["outcome"] == "answered"
    assert headers
    assert {header.split("-")[1] for header in headers} == {record["trace_id"]}
    assert {span.trace_id.hex() for span in spans} == {record["trace_id"]}
    answers = {
        span.span_id.hex(): otlp_collector.attributes(span.attributes) for span in spans if span.name == "chat m7"
    }
    assert {header.split("-")[2] for header in headers} == set(answers)
    (heard,) = [each for each in answers.values() if not each["repartee.dropped"]]
    assert heard["gen_ai.provider.name"] == "openai"
    root = otlp_collector.attributes(spans[0].attributes)
    assert root["repartee.response_latency_ms"] == record["response_latency_ms"]
