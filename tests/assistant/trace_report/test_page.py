"""The page is self-contained, whatever the traces hold."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from support.conversations.trace_samples import (
    DEMO,
    TIME,
    demo_records,
    printed,
    simulated_records,
    slower,
    write_trace,
)
from support.pages.page_browser import chromium
from typer.testing import CliRunner

from assistant.commands.trace import trace
from assistant.trace_report.commands import ReportFormats, report
from assistant.trace_report.counting import count_turns
from assistant.trace_report.page import page
from assistant.trace_report.plots import DARK_STAGE_COLOURS, STAGE_COLOURS, upper_end
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


@pytest.fixture(scope="module")
def full_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the page of `repartee trace report --html`, with everything that it can show."""
    folder = tmp_path_factory.mktemp("report")
    slow = [record | {"conversation": "slow"} for record in slower(demo_records(), "tts", 4000)[:1]]
    failed = demo_records()[1] | {"conversation": "failed", "error": "the endpoint failed"}
    spoken = simulated_records([TIME], replies=("Ten.",))
    records = [*spoken, *(record for _ in range(8) for record in demo_records()), *slow, failed]
    path = write_trace(folder / "a.jsonl", records)
    file = folder / "page.html"
    done = CliRunner().invoke(trace, ["report", str(path), "--html", str(file)])
    assert done.exit_code == 0, done.output
    return file


def test_page_shows_advice_dates_and_settings(full_page: Path) -> None:
    text = full_page.read_text(encoding="utf-8")
    assert "<h2>What to change</h2>" in text
    assert "42 turns with a response latency" in text
    assert " UTC</small></p></header>" in text
    assert "<h2>Settings of the last turn</h2>" in text
    assert "<dt>end of turn</dt><dd>a silence of " in text
    assert "<dt>stt</dt><dd>pocketsphinx</dd>" in text


def test_few_slow_turns_do_not_stretch_the_axes(full_page: Path) -> None:
    text = full_page.read_text(encoding="utf-8")
    assert " beyond " in text
    assert " cut off, the highest has 4" in text
    assert upper_end(np.array([100.0, 200.0, 300.0])) == 300.0
    assert upper_end(np.array([*[400.0] * 99, 9000.0])) == 600.0


def test_page_of_the_server_has_the_same_stage_colours() -> None:
    style = (Path(__file__).parents[3] / "web" / "static" / "style" / "base.css").read_text(encoding="utf-8")
    for colours, theme in ((DARK_STAGE_COLOURS, ":root {"), (STAGE_COLOURS, ':root[data-theme="light"] {')):
        block = style.partition(theme)[2].partition("}")[0]
        assert dict(re.findall(r"--(\w+): (#\w{6});", block)).items() >= dict(colours).items()


def test_page_has_no_accessibility_violation(full_page: Path) -> None:
    backgrounds: dict[Literal["light", "dark"], str] = {"light": "rgb(253, 253, 251)", "dark": "rgb(13, 17, 19)"}
    with chromium() as browser:
        for theme, background in backgrounds.items():
            shown = browser.new_context(color_scheme=theme).new_page()
            shown.goto(full_page.as_uri())
            for summary in shown.locator("summary").all():
                summary.click()
            assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == background
            assert [shown.locator(landmark).count() for landmark in ("header", "main", "h1")] == [1, 1, 1]
            found = Axe().run(shown).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


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
