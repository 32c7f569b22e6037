"""The choice of the recognizer's model by what turns cost: pure decisions, as tables."""

import math

import pytest

from assistant.models.turn_cost import (
    ALLOWED_MS,
    MAX_TURNS,
    MIN_TURNS,
    DecodeTime,
    Line,
    ModelCost,
    agreed_ms,
    choose,
    expected_shares,
    merged,
)


def costs(decode_ms: dict[str, float | None], turns_ms: dict[str, list[float]] | None = None) -> dict[str, ModelCost]:
    """Returns the costs of models, the smallest first, where a wait takes half a decode."""
    turns = turns_ms or {}
    return {
        name: ModelCost(None if time_ms is None else DecodeTime(time_ms), 0.5, tuple(turns.get(name, ())))
        for name, time_ms in decode_ms.items()
    }


@pytest.mark.parametrize(
    ("decode_ms", "chosen"),
    [
        ({"tiny.en": 80.0, "base": 170.0, "small": 600.0}, "base"),
        ({"tiny.en": 20.0, "base": 60.0, "small": 170.0}, "small"),
        ({"tiny.en": 80.0, "base": 171.0}, "tiny.en"),
        ({"tiny.en": 900.0, "base": 1800.0}, "tiny.en"),
        ({"tiny.en": 109.0, "base": None}, "tiny.en"),
        ({"tiny.en": None, "base": None}, "tiny.en"),
        ({"tiny.en": None, "base": 100.0}, "base"),
        ({"tiny.en": math.inf, "base": 900.0}, "base"),
        ({"tiny.en": math.inf, "base": math.inf}, "tiny.en"),
    ],
)
def test_largest_model_within_the_limit_is_chosen(decode_ms: dict[str, float | None], chosen: str) -> None:
    choice = choose(costs(decode_ms))
    assert choice.name == chosen
    assert choice.unmeasured == tuple(name for name, time_ms in decode_ms.items() if time_ms is None)


SLOW, FAST = [ALLOWED_MS + 1] * MIN_TURNS, [ALLOWED_MS - 1] * MIN_TURNS
FEW = SLOW[:-1]
EASY = [ALLOWED_MS * 0.3] * MIN_TURNS
BUSY = [ALLOWED_MS * 0.7] * MIN_TURNS


@pytest.mark.parametrize(
    ("decode_ms", "turns_ms", "in_use", "chosen"),
    [
        # estimates alone
        ((60, 150), {}, "", "base"),
        ((60, 150), {}, "base", "base"),
        ((60, 150), {}, "tiny", "tiny"),  # 225 ms: within the limit, but not by the margin
        ((60, 130), {}, "tiny", "base"),
        # turns with the model in use
        ((60, 150), {"base": SLOW}, "base", "tiny"),
        ((60, 150), {"base": FAST}, "base", "base"),
        ((60, 150), {"base": FEW}, "base", "base"),
        ((60, 200), {"base": FAST}, "base", "base"),  # real turns count more than the estimate
        # three slow turns of sixty are p95; four are more
        ((60, 150), {"base": [100.0] * 57 + [900.0] * 3}, "base", "base"),
        ((60, 150), {"base": [100.0] * 56 + [900.0] * 4}, "base", "tiny"),
        # only the latest turns count
        ((60, 150), {"base": [900.0] * 60 + [100.0] * MAX_TURNS}, "base", "base"),
        # turns with the smaller model show what the larger one would cost
        ((60, 130), {"tiny": EASY}, "tiny", "base"),
        ((60, 130), {"tiny": BUSY}, "tiny", "tiny"),
        # the larger model broke the limit, and these turns still count
        ((60, 130), {"tiny": EASY, "base": SLOW}, "tiny", "tiny"),
        # none is fast enough
        ((60, 130), {"tiny": SLOW}, "tiny", "tiny"),
    ],
)
def test_turns_decide_with_a_margin_for_the_larger_model(
    decode_ms: tuple[float, float], turns_ms: dict[str, list[float]], in_use: str, chosen: str
) -> None:
    known = costs(dict(zip(("tiny", "base"), decode_ms, strict=True)), turns_ms)
    assert choose(known, in_use).name == chosen
    assert choose(known, chosen).name == chosen  # a start after it agrees


def test_step_down_goes_to_the_largest_model_that_fits() -> None:
    known = costs({"tiny": 20.0, "base": 50.0, "small": 140.0}, {"small": SLOW})
    assert choose(known, "small").name == "base"
    known = costs({"tiny": 20.0, "base": 50.0, "small": 140.0}, {"small": [900.0] * MIN_TURNS})
    assert choose(known, "small").name == "tiny"  # on so busy a machine base takes three times its estimate


def test_turns_correct_the_estimates_of_other_models() -> None:
    free = costs({"tiny": 100.0, "base": 200.0, "small": None}, {"tiny": [60.0] * MIN_TURNS})
    assert expected_shares(free) == {"tiny": 60.0, "base": 210.0, "small": None}  # a part is hidden behind the pause
    busy = costs({"tiny": 100.0, "base": 200.0}, {"tiny": [300.0] * MIN_TURNS})
    assert expected_shares(busy) == {"tiny": 300.0, "base": 600.0}


@pytest.mark.parametrize(
    ("decode_ms", "line", "chosen"),
    [
        ({"tiny.en": 60.0, "base": 130.0}, "wide", "tiny.en"),
        ({"tiny.en": 60.0, "base": 130.0}, "telephone", "base"),
        ({"tiny.en": 60.0, "base": 900.0}, "telephone", "tiny.en"),
        ({"tiny.en": 60.0, "base": 130.0, "small": 150.0}, "wide", "small"),
        ({"tiny.en": math.inf, "base": 130.0}, "wide", "base"),
        ({"base": 130.0}, "wide", "base"),
    ],
)
def test_larger_model_is_used_on_lines_where_it_recognizes_more(
    decode_ms: dict[str, float | None], line: Line, chosen: str
) -> None:
    equals = {"base": "tiny.en"} if line == "wide" else {}
    assert choose(costs(decode_ms), "", line, equals).name == chosen


def test_reason_has_the_latency_with_every_model() -> None:
    limit = "keeps p95 of response latency within 500 ms"
    assert choose(costs({"tiny": 109.0, "base": 170.0, "small": 600.0})).why == (
        f"auto: base is the largest that {limit} (estimates: tiny 408 ms, base 500 ms, small 1145 ms)"
    )
    assert choose(costs({"tiny": 60.0, "base": 900.0}, {"tiny": [40.0] * 25}), "tiny").why == (
        f"auto: tiny is the largest that {limit} (estimates: tiny 285 ms in 25 turns, base 1545 ms)"
    )
    assert choose(costs({"tiny": 60.0, "base": 150.0}), "tiny").why == (
        f"auto: tiny is the largest that {limit} (estimates: tiny 335 ms, base 470 ms, used from 449 ms on)"
    )
    assert choose(costs({"tiny": 300.0, "base": None})).why == (
        "auto: no model keeps p95 of response latency within 500 ms, and tiny is the smallest "
        "(estimates: tiny 695 ms, base not measured)"
    )
    assert choose(costs({"tiny": 300.0, "base": 300.0})).why.endswith("(estimates: tiny 695 ms, base over 695 ms)")
    broken = ModelCost(DecodeTime(math.inf, problem="cannot decode (out of memory)"), 0.5)
    assert choose(costs({"tiny": 60.0}) | {"base": broken}).why.endswith("base cannot decode (out of memory))")


def test_reason_says_why_a_smaller_model_is_used_on_a_line() -> None:
    known = costs({"tiny.en": 60.0, "base": 130.0})
    assert choose(known, "", "wide", {"base": "tiny.en"}).why == (
        "auto: tiny.en, because base recognizes no more on a wide line (estimates: tiny.en 335 ms, base 440 ms)"
    )
    assert choose(known, "", "telephone").why.startswith(
        "auto: base is the largest that keeps p95 of response latency within 500 ms on a telephone line ("
    )


def test_reason_says_that_the_machine_was_busy() -> None:
    slow = ModelCost(DecodeTime(400.0, busy=True), 0.5)
    choice = choose({"tiny": ModelCost(DecodeTime(109.0, busy=True), 0.5), "base": slow, "small": slow})
    assert choice.doubtful == ("base", "small")
    assert choice.why.endswith(
        "(estimates: tiny 408 ms, base 845 ms, small over 845 ms; the machine was busy when base and small were "
        "measured: measured again at the next start on a free machine)"
    )


@pytest.mark.parametrize(
    ("earlier", "was_busy", "time", "expected"),
    [
        ([], False, DecodeTime(100.0), ([100.0], False)),
        ([100.0], False, DecodeTime(300.0), ([100.0, 300.0], False)),
        ([1.0, 2.0, 3.0, 4.0, 5.0], False, DecodeTime(6.0), ([2.0, 3.0, 4.0, 5.0, 6.0], False)),
        ([300.0], True, DecodeTime(100.0), ([100.0], False)),
        ([100.0], False, DecodeTime(300.0, busy=True), ([100.0], False)),
        ([300.0], True, DecodeTime(310.0, busy=True), ([300.0, 310.0], True)),
        ([100.0], False, DecodeTime(math.inf), ([math.inf], False)),
        ([math.inf], False, DecodeTime(100.0), ([100.0], False)),
    ],
)
def test_measurements_on_a_free_machine_count(
    earlier: list[float], was_busy: bool, time: DecodeTime, expected: tuple[list[float], bool]
) -> None:
    assert merged(earlier, was_busy, time) == expected


def test_one_slow_measurement_among_several_changes_nothing() -> None:
    assert agreed_ms([100.0, 104.0, 900.0]) == 104.0
