"""`repartee endpoints` on the terminal, as JSON and as a file, from constant figures."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from rich.console import Console

from assistant.commands.llm_endpoints.picture import bars, draw
from assistant.commands.llm_endpoints.survey import Survey, show
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.errors import ConfigError
from assistant.endpoint_probe.figures import EndpointMeasurement, ProbeAnswer
from assistant.endpoint_probe.handshake import Handshake


def endpoint(name: str, region: str = "", price_in: float = 0.0, price_out: float = 0.0) -> EndpointSection:
    return EndpointSection(
        name=name,
        url=f"https://{name}.example/v1",
        model="m",
        region=region,
        price_in_per_million=price_in,
        price_out_per_million=price_out,
    )


def answers(*first_ms: float, round_trip_ms: float) -> tuple[ProbeAnswer, ...]:
    return tuple(ProbeAnswer(each, round_trip_ms, 21, 400.0) for each in first_ms)


EDGE = EndpointMeasurement(
    endpoint("edge", "same city", 0.5, 2.5),
    "answers in 7 ms",
    address="https://edge.example/v1",
    handshake=Handshake(0.4, 6.2, 13.0),
    answers=answers(128, 126, 131, 150, 127, round_trip_ms=6.4),
)
FAR = EndpointMeasurement(
    endpoint("far", "overseas"),
    "answers in 148 ms",
    address="https://far.example/v1",
    handshake=Handshake(0.4, 145.0, 301.0),
    answers=answers(268, 265, 266, 300, 270, round_trip_ms=145.2),
)
DOWN = EndpointMeasurement(
    endpoint("down"),
    "no answer",
    "llm endpoint 'down' refuses connections: start the server",
    "https://down.example/v1",
)
SEEN = Survey((FAR, EDGE, DOWN), (), (8000,))

SCREEN = """\
configured (mine.toml)
name  address                  model  state
far   https://far.example/v1   m      answers in 148 ms
edge  https://edge.example/v1  m      answers in 7 ms
down  https://down.example/v1  m      no answer
llm endpoint 'down' refuses connections: start the server

measured (5 short answers each, on a warm connection)
                 connect  TLS  round trip  first token ms  tokens    price of
name  region          ms   ms          ms       p50 / p95   per s  1000 turns
far   overseas       145  301         145       268 / 300      50           –
edge  same city      6.2   13         6.4       128 / 150      50        0.40
price: 1000 turns of 600 prompt tokens and 40 answer tokens, nothing cached

first token, fastest first (▒ network, █ model, ─ to p95)
edge  ▒██████████████████───                        128 ms
far   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒██████████████████─────  268 ms

no language-model server was found on localhost (ports 8000)

1 of 3 endpoints is broken; repair those you need, or remove them:
  down: start the server (repartee endpoints remove down)
next: repartee demo
"""


def screen(seen: Survey, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    show(seen, "mine.toml", None, Console(file=file, width=120))
    file.flush()
    return "".join(line.rstrip() + "\n" for line in raw.getvalue().decode(encoding).splitlines())


def test_screen_shows_table_and_bars() -> None:
    assert screen(SEEN) == SCREEN


def test_screen_uses_ascii_if_needed() -> None:
    seen = screen(SEEN, "ascii")
    assert "edge  .##################---" in seen
    assert "(. network, # model, - to p95)" in seen


def test_table_without_questions_says_so() -> None:
    asked = EndpointMeasurement(EDGE.endpoint, EDGE.state, address=EDGE.address, handshake=EDGE.handshake)
    shown = screen(Survey((asked,), (), ()))
    assert "measured (no answers were requested)" in shown
    assert "first token, fastest first" not in shown


def test_json_has_all_figures() -> None:
    report = json.loads(SEEN.to_json())
    assert report["schema"] == 1
    assert report["turn"] == {"prompt_tokens": 600, "answer_tokens": 40}
    far, edge, down = report["endpoints"]
    assert far["first_token_ms"] == {"p50": 268.0, "p95": 300.0, "all": [268.0, 265.0, 266.0, 300.0, 270.0]}
    assert (far["tls_ms"], far["round_trip_ms"], far["price_of_1000_turns"]) == (301.0, 145.2, None)
    assert (edge["price_of_1000_turns"], edge["tokens_per_s"], edge["region"]) == (0.4, 50.0, "same city")
    assert down["first_token_ms"] == {"p50": None, "p95": None, "all": []}
    assert down["problem"] == DOWN.problem
    assert "\n" not in SEEN.to_json()


def test_key_in_the_address_is_in_no_output() -> None:
    secret = EndpointSection(name="near", url="https://h/v1?key=hush", model="m")
    seen = Survey((EndpointMeasurement(secret, "answers in 2 ms", address=secret.url, handshake=Handshake()),), (), ())
    assert "hush" not in screen(seen) + seen.to_json()


def test_bar_lengths_are_proportional() -> None:
    edge, far = bars([FAR, EDGE, DOWN])
    assert far.count("▒") == round(145.2 / 300 * 44)
    assert len([cell for cell in far if cell in "▒█─"]) == 44
    assert edge.startswith("edge")


def test_round_trip_is_limited_to_the_median() -> None:
    (bar,) = bars([EndpointMeasurement(EDGE.endpoint, "", answers=answers(10.0, round_trip_ms=50.0))])
    assert bar.count("▒") == 44
    assert "█" not in bar


@pytest.mark.parametrize(("form", "content"), [("svg", b"a$^$b (same city)"), ("png", b"\x89PNG")], ids=["svg", "png"])
def test_picture_is_reproducible(form: Literal["svg", "png"], content: bytes, tmp_path: Path) -> None:
    """A name is no formula."""
    shown = [FAR, replace(EDGE, endpoint=replace(EDGE.endpoint, name="a$^$b"))]
    first, second = tmp_path / "a", tmp_path / "b"
    for file in (first, second):
        draw(shown, file, form)
    assert content in first.read_bytes()
    assert first.read_bytes() == second.read_bytes()


def test_drawing_without_data_or_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no endpoint answered, so there is nothing to draw"):
        draw([DOWN], tmp_path / "a.svg", "svg")
    with pytest.raises(ConfigError, match=r"cannot be written \(No such file or directory\); name another file"):
        draw([EDGE], tmp_path / "gone" / "a.svg", "svg")
