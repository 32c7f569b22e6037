"""The page is self-contained, whatever the traces hold."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from trace_samples import DEMO, demo_records, printed, slower, write_trace

from assistant.trace_report.commands import ReportFormats, report
from assistant.trace_report.counting import count_turns
from assistant.trace_report.page import page
from assistant.trace_report.reading import Record, TraceError

pytestmark = pytest.mark.slow
"""Most tests draw a page, which takes half a second."""


def page_of(path: Path, slowest: int = 10) -> str:
    tally, records = count_turns([path], slowest, lambda what: None)
    return page(tally, tally.figures(), records)


class Elements(HTMLParser):
    """Collects every element and attribute, and checks that all open elements are closed."""

    VOID = frozenset(("meta",))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def demo_page() -> str:
    return page_of(DEMO)


def test_page_fetches_and_runs_nothing(demo_page: str) -> None:
    elements = Elements(demo_page)
    assert elements.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(elements.names)
    named = {value for name, value in elements.attributes if name in {"src", "href", "xlink:href", "data"}}
    assert all(value.startswith("#") for value in named)
    assert not re.search(r"@import|url\((?!#)", demo_page)


def test_page_has_plots_for_all_turns_and_each_slowest_turn(demo_page: str) -> None:
    text = demo_page
    assert Elements(text).names.count("svg") == 2 + 5
    headings = re.findall(r"<h3>turn (\d)", text)
    assert headings == ["5", "1", "2", "3", "4"]


def test_at_most_ten_turns_are_drawn_singly(tmp_path: Path) -> None:
    records: list[Record] = [record for ms in range(4) for record in slower(demo_records(), "tts", ms * 50)]
    path = write_trace(tmp_path / "many.jsonl", records)
    page_file = tmp_path / "page.html"
    printed(lambda console: report([path], ReportFormats(html=page_file), console))
    assert page_file.read_text(encoding="utf-8").count("<h3>") == 10


def test_names_from_trace_stay_text(tmp_path: Path) -> None:
    hostile = "<script>alert('1')</script>&\""
    records = demo_records()
    for record in records:
        record["engines"] |= {"answered_by": hostile, "stt": hostile, "tts": hostile}
        record |= {"conversation": hostile, "outcome": hostile, "fallbacks": [hostile], "error": hostile}
        tried = f"attempt 1: {hostile}: first, answered after 80 ms"
        record["events"].append({"name": "tried", "at_ms": 0.0, "detail": tried})
        record["spans"][0]["name"] = "<b>" if record["spans"][0]["name"] != "endpoint" else "endpoint"
    text = page_of(write_trace(tmp_path / "hostile.jsonl", records))
    assert "Endpoints asked" in text
    elements = Elements(text)
    assert not {"script", "b"} & set(elements.names)
    assert elements.open == []


def test_page_is_reproducible(demo_page: str) -> None:
    assert page_of(DEMO) == demo_page


def test_turns_without_latency_have_a_page(tmp_path: Path) -> None:
    silent = demo_records()[0] | {"response_latency_ms": None, "stages": {}, "no_latency_reason": "no words"}
    text = page_of(write_trace(tmp_path / "silent.jsonl", [silent]))
    assert "none of them has a response latency" in text
    assert "svg" not in Elements(text).names


def test_invalid_slow_turn_is_named(tmp_path: Path) -> None:
    records = demo_records()[:1]
    for span in records[0]["spans"]:
        del span["after"]
    with pytest.raises(
        TraceError, match=r"a\.jsonl, line 1 is not a record as in docs/lab/trace-record\.md: 'after' is missing\.$"
    ):
        page_of(write_trace(tmp_path / "a.jsonl", records))


def test_turn_without_speech_times_is_drawn(tmp_path: Path) -> None:
    records = demo_records()[:1]
    del records[0]["playout_start_ms"]
    assert "<h3>turn 1" in page_of(write_trace(tmp_path / "a.jsonl", records))


@pytest.mark.parametrize(
    "more",
    [{"name": "a $x_{$ b"}, {"name": "天気"}, {"stage": "a newer stage"}],
    ids=["formula characters", "Japanese", "unknown stage"],
)
def test_any_endpoint_name_can_be_drawn(tmp_path: Path, more: Record) -> None:
    records = demo_records()[:1]
    records[0]["spans"][0] |= more
    drawn = page_of(write_trace(tmp_path / "a.jsonl", records))
    assert more.get("name", "silence") in drawn
