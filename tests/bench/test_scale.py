"""Capacity and cost: the pages have what the inputs give, sums add up, more conversations need more of everything."""

import re
from dataclasses import astuple, fields, replace
from itertools import pairwise
from pathlib import Path

import pytest

from bench.scale import PARTS, inputs_of, texts, written
from bench.scale_capacity import Cost, capacity, cost
from bench.scale_inputs import ABOUT, Inputs
from bench.scale_limits import breaks_until, gateway_conversations, limits, machine_conversations
from bench.scale_tables import CHOICES, SIZES

DOCS = Path(__file__).parent.parent.parent / "docs"
USUAL = Inputs()


@pytest.mark.parametrize(
    ("page", "parts"),
    [(DOCS / "scale.md", PARTS[:-1]), (DOCS / "lab" / "scale.md", PARTS[-1:])],
    ids=["guide", "inputs"],
)
def test_page_has_what_the_inputs_give(page: Path, parts: tuple[str, ...]) -> None:
    text = page.read_text(encoding="utf-8")
    assert written(text, USUAL, parts) == text, "run: python -m bench.scale with --doc and --inputs-doc"


def test_guide_is_two_pages_long() -> None:
    assert len((DOCS / "scale.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_other_inputs_give_other_tables() -> None:
    usual, other = texts(USUAL), texts(inputs_of(["loop_s=3.44", "input_price=0.3"]))
    assert [part for part in PARTS if usual[part] == other[part]] == []


def test_every_input_has_meaning_and_source() -> None:
    assert list(ABOUT) == [field.name for field in fields(Inputs)]
    assert [name for name, about in ABOUT.items() if not about.text] == []
    assert [
        name
        for name, about in ABOUT.items()
        if about.kind == "measured" and not re.search(r"\]\(|bench|run", about.source)
    ] == []


def test_every_input_changes_a_result() -> None:
    usual = texts(USUAL)
    for name in ABOUT:
        others = [texts(replace(USUAL, **{name: factor * getattr(USUAL, name)})) for factor in (0.01, 100)]
        changed = {part for part in PARTS for other in others if other[part] != usual[part]}
        assert "inputs" in changed
        assert changed != {"inputs"}, name


@pytest.mark.parametrize("assigned", ["loop_s=0", "loop_s=-1", "loop_s=much", "price=1"])
def test_invalid_input_is_refused(assigned: str) -> None:
    with pytest.raises(ValueError, match=r"loop_s|much|price"):
        inputs_of([assigned])


@pytest.mark.parametrize("size", SIZES)
def test_parts_of_the_cost_add_up(size: int) -> None:
    for engines, llm, webrtc, _ in CHOICES:
        found = cost(USUAL, capacity(USUAL, size, webrtc=webrtc), engines, llm)
        assert found.total == pytest.approx(sum(astuple(found)))
        assert len(astuple(found)) == len(fields(Cost)) == 5
        assert min(astuple(found)) > 0


def test_shown_cost_of_one_adds_up_to_that_of_all() -> None:
    for line in texts(USUAL)["cost"].splitlines()[2:]:
        size, *parts, one, everything = (float(cell.strip().replace(",", "")) for cell in line.strip("|").split("|"))
        assert sum(parts) == pytest.approx(one, abs=0.0003)
        assert one * size == pytest.approx(everything, rel=0.002, abs=0.5)


def test_cached_and_new_tokens_are_the_whole_prompt() -> None:
    tokens = capacity(USUAL, 1000).tokens
    requests = 1000 * USUAL.turns * USUAL.attempts
    assert tokens.new + tokens.cached == pytest.approx(requests * USUAL.prompt_tokens)
    assert tokens.all == pytest.approx(requests * (USUAL.prompt_tokens + USUAL.answer_tokens))


def test_machines_carry_their_conversations() -> None:
    for size in SIZES:
        needed = capacity(USUAL, size)
        assert (needed.gateways - 1) * machine_conversations(USUAL) < size
        assert needed.gateways * machine_conversations(USUAL) >= size
        busy_s = size * USUAL.engines_s / 60
        assert busy_s <= needed.cpu_engines * USUAL.machine_vcpus * USUAL.load * 1.000001


def test_needs_and_total_cost_grow_with_conversations() -> None:
    needs = [capacity(USUAL, size) for size in SIZES]
    for fewer, more in pairwise(needs):
        for name in ("gateways", "cpu_engines", "piper_engines", "gpu_engines", "redis", "llm_replicas"):
            assert getattr(fewer, name) <= getattr(more, name)
        assert cost(USUAL, fewer).total < cost(USUAL, more).total


def test_one_conversation_gets_cheaper_with_size() -> None:
    each = [cost(USUAL, capacity(USUAL, size)).total / size for size in SIZES]
    assert each == sorted(each, reverse=True)


def test_every_limit_is_met_once_and_in_order() -> None:
    met = [limit for size in SIZES for limit in breaks_until(USUAL, size)]
    beyond = [limit for limit in limits(USUAL) if limit.conversations >= SIZES[-1]]
    below = [limit for limit in limits(USUAL) if limit.conversations < SIZES[0] / 10]
    assert below + met + beyond == limits(USUAL)
    assert met[0].conversations == gateway_conversations(USUAL)
    assert all(limit.remedy for limit in limits(USUAL))


def test_webrtc_trades_processor_time_for_traffic() -> None:
    socket, webrtc = capacity(USUAL, 10_000), capacity(USUAL, 10_000, webrtc=True)
    assert webrtc.gateways > socket.gateways
    assert webrtc.up_gb_s + webrtc.down_gb_s < (socket.up_gb_s + socket.down_gb_s) / 5
