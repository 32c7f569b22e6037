"""A real conversation, from its audio to a collector: header, record and spans belong to one trace."""

import asyncio
import json
from io import StringIO
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from rich.console import Console
from support.conversations.real_time_conversation import WHAT_TIME
from support.engines.scripted_engines import script_recognizer
from support.services import otlp_collector
from support.services.llm_server import answer, serving

from assistant.commands.demo import demo
from assistant.config.loading import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.parametrize("there", [True, False], ids=["collector present", "collector missing"])
def test_turn_has_one_trace_id_in_model_file_and_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    script_recognizer(monkeypatch, "what time is it")
    screen = StringIO()

    async def held() -> tuple[dict[str, object], list[str], list[Span]]:
        async with serving(answer("It is noon.")) as model, serving(otlp_collector.answer()) as collector:
            url = collector.url.removesuffix("/v1") if there else "http://127.0.0.1:9"
            given = [
                "skills.before_llm=false",
                "tts.engine=espeak-ng",
                f"trace.dir={tmp_path / 'traces'}",
                f"trace.otlp_url={url}",
                f'llm.endpoints=[{{name="mine", url="{model.url}", model="m7"}}]',
            ]
            console = Console(file=screen, width=250)
            await demo(WHAT_TIME, tmp_path / "out", load_settings(None, {}, given), {}, console, ports=[])
            headers = [seen.headers["traceparent"] for seen in model.posts]
        (line,) = (tmp_path / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
        return json.loads(line), headers, otlp_collector.spans(collector)

    record, headers, spans = asyncio.run(held())
    assert record["outcome"] == "answered"
    assert headers
    assert {header.split("-")[1] for header in headers} == {record["trace_id"]}
    missing = "the OpenTelemetry collector at http://127.0.0.1:9 (trace.otlp_url) cannot be reached"
    assert screen.getvalue().count(missing) == (not there)
    if not there:
        assert spans == []
        return
    assert {span.trace_id.hex() for span in spans} == {record["trace_id"]}
    answers = {
        span.span_id.hex(): otlp_collector.attributes(span.attributes) for span in spans if span.name == "chat m7"
    }
    assert {header.split("-")[2] for header in headers} == set(answers)
    (heard,) = [each for each in answers.values() if not each["repartee.dropped"]]
    assert heard["gen_ai.provider.name"] == "openai"
    root = otlp_collector.attributes(spans[0].attributes)
    assert root["repartee.response_latency_ms"] == record["response_latency_ms"]
