"""`repartee endpoints --compare`: the table of locations and its verdict."""

import io
import json
from dataclasses import replace

from rich.console import Console

from assistant.commands.llm_endpoints.comparison import compare, show_comparison
from assistant.commands.llm_endpoints.survey import Survey
from assistant.config.endpoint_settings import EndpointSection
from assistant.endpoint_probe.figures import EndpointMeasurement, ProbeAnswer


def measured(name: str, region: str, round_trip_ms: float, *first_ms: float, model: str = "m") -> EndpointMeasurement:
    return EndpointMeasurement(
        EndpointSection(name=name, url=f"https://{name}.example/v1", model=model, region=region),
        "answers",
        address=f"https://{name}.example/v1",
        answers=tuple(ProbeAnswer(each, round_trip_ms, 21, 400.0) for each in first_ms),
        connects_ms=(round_trip_ms, round_trip_ms + 1, round_trip_ms + 2),
    )


EDGE = measured("lax", "us-west-2-lax-1a", 4.2, 124, 121, 160)
REGION = measured("oregon", "us-west-2", 31.0, 155, 150, 190)
FAR = measured("frankfurt", "eu-central-1", 148.0, 270, 268, 300)
DOWN = measured("down", "", 0.0)

SCREEN = """\
                                    connect ms  first token ms  to the nearest
location          name       model   p50 / p95       p50 / p95              ms
us-west-2-lax-1a  lax        m       5.2 / 6.2       124 / 160         nearest
us-west-2         oregon     m         32 / 33       155 / 190             +31
eu-central-1      frankfurt  m       149 / 150       270 / 300            +146
no answer: down (repartee endpoints says why)

Choose lax (us-west-2-lax-1a): its first token comes 31 ms before that of oregon (us-west-2), \
and 146 ms before that of frankfurt (eu-central-1); 27 of the 31 ms are network.
"""


def screen(*found: EndpointMeasurement, encoding: str = "utf-8") -> str:
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show_comparison(compare(found), Console(file=written, width=160))
    written.seek(0)
    return "".join(f"{line.rstrip()}\n" for line in written.read().splitlines())


def test_locations_are_sorted_and_compared_with_the_nearest() -> None:
    assert screen(FAR, DOWN, EDGE, REGION) == SCREEN


def test_equally_fast_locations_are_chosen_by_price() -> None:
    near = measured("near", "", 4.0, 130)
    assert compare([EDGE, near]).verdict == (
        "lax (us-west-2-lax-1a) and near (near.example) are equally fast (6 ms apart): choose by price."
    )


def test_faster_location_that_is_farther_is_named() -> None:
    slow = measured("lax", "edge", 4.0, 400, model="large")
    compared = compare([slow, REGION])
    assert [row.to_nearest_ms for row in compared.rows] == [-245, 0]
    assert compared.verdict == (
        "Choose oregon (us-west-2): its first token comes 245 ms before that of lax (edge); 0 of the 245 ms are "
        "network. It is not the nearest: lax has the shortest round trip, but its model answers later. "
        "The models differ: their speed is part of it."
    )
    assert "−245" in screen(slow, REGION)
    assert "-245" in screen(slow, REGION, encoding="ascii")


def test_rare_slow_answers_are_mentioned() -> None:
    uneven = measured("lax", "edge", 4.2, 100, 101, 400)
    assert compare([uneven, REGION]).verdict.endswith(
        "Its slowest answers come later than those of oregon (us-west-2) (p95)."
    )


def test_fewer_than_two_answers_are_no_comparison() -> None:
    assert compare([DOWN]).verdict == "No endpoint answered, so there is nothing to compare."
    assert compare([DOWN]).silent == ("down",)
    assert compare([EDGE, DOWN]).verdict.startswith("Only lax (us-west-2-lax-1a) answered")


def test_connection_behind_a_proxy_has_no_figure() -> None:
    hidden = replace(EDGE, connects_ms=())
    assert compare([hidden]).rows[0].connect_ms is None
    assert "  –  " in screen(hidden)


def test_unknown_round_trips_name_no_nearest_location() -> None:
    edge, region = (
        replace(each, connects_ms=(), answers=tuple(replace(answer, round_trip_ms=None) for answer in each.answers))
        for each in (EDGE, REGION)
    )
    compared = compare([edge, region])
    assert (compared.nearest, [row.to_nearest_ms for row in compared.rows]) == ("", [None, None])
    assert [line.rpartition(" ")[2] for line in screen(edge, region).splitlines()[2:4]] == ["–", "–"]
    assert compared.verdict == (
        "Choose lax (us-west-2-lax-1a): its first token comes 31 ms before that of oregon (us-west-2)."
    )
    mixed = compare([edge, FAR])
    assert mixed.nearest == "frankfurt"
    assert "It is not the nearest" not in mixed.verdict


def test_model_of_this_program_is_the_nearest() -> None:
    here = EndpointMeasurement(
        EndpointSection(name="here", kind="local", model="m"), "answers", answers=(ProbeAnswer(90.0, None, 21, 400.0),)
    )
    compared = compare([EDGE, here])
    assert (compared.nearest, compared.rows[0].location) == ("here", "this machine")
    assert "It is not the nearest" not in compared.verdict


def test_location_that_failed_before_all_answers_is_named() -> None:
    broken = replace(EDGE, state="3 of 20 answers", problem="lax: it closed the connection")
    assert "failed before all answers: lax after 3 (repartee endpoints says why)" in screen(broken, REGION)
    assert compare([broken, REGION]).verdict.endswith("But it failed before all answers: see why first.")


def test_comparison_is_part_of_the_json() -> None:
    found = json.loads(Survey((EDGE, REGION), (), ()).to_json(compare([EDGE, REGION])))
    assert found["comparison"]["nearest"] == "lax"
    assert found["comparison"]["rows"][1] == {
        "name": "oregon",
        "location": "us-west-2",
        "model": "m",
        "connect_ms": {"p50": 32.0, "p95": 33.0},
        "first_token_ms": {"p50": 155, "p95": 190},
        "to_nearest_ms": 31.0,
        "answers": 3,
        "is_partial": False,
    }
    assert "comparison" not in json.loads(Survey((EDGE,), (), ()).to_json())
