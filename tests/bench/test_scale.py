"""Capacity and cost: the pages have what the inputs give, sums add up, more conversations need more of everything."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest

from assistant.config.settings import DEFAULTS
from bench.scale import PARTS, inputs_of, texts, written
from bench.scaling.capacity import Capacity, capacity, cost
from bench.scaling.inputs import ABOUT, SHARES, Inputs
from bench.scaling.limits import breaks_between, gateway_conversations, limits, machine_conversations
from bench.scaling.tables import SIZES

DOCS = Path(__file__).parent.parent.parent / "docs"
USUAL = Inputs()


def test_page_has_what_the_inputs_give() -> None:
    text = (DOCS / "scale.md").read_text(encoding="utf-8")
    assert written(text, USUAL) == text, "run: python -m bench.scale --doc docs/scale.md"


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
        usual_value: float = getattr(USUAL, name)
        much = 1 if name in SHARES else 100 * usual_value
        others = [texts(replace(USUAL, **{name: value})) for value in (0.01 * usual_value, much)]
        changed = {part for part in PARTS for other in others if other[part] != usual[part]}
        assert "inputs" in changed
        assert changed != {"inputs"}, name


@pytest.mark.parametrize(
    "assigned", ["loop_s=0", "loop_s=-1", "loop_s=much", "loop_s=nan", "loop_s=inf", "load=1.1", "price=1"]
)
def test_invalid_input_is_refused(assigned: str) -> None:
    with pytest.raises(ValueError, match=r"loop_s|much|load|price"):
        inputs_of([assigned])


def test_machine_that_carries_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="does not carry a single conversation"):
        texts(inputs_of(["loop_s=1000"]))


def test_measured_inputs_are_those_of_the_performance_page() -> None:
    page = (DOCS / "performance.md").read_text(encoding="utf-8").partition("## Many conversations at once")[2]
    page = page.partition("\n## ")[0]
    (row,) = re.findall(r"^\| 16 \|.*$", page, re.MULTILINE)
    loop_s, engines_s, threads_s, memory_mb = (float(cell) for cell in row.split("|")[9:13])
    found = (USUAL.loop_s, USUAL.engines_s, USUAL.threads_s, USUAL.memory_mb)
    assert found == (loop_s, engines_s, threads_s, memory_mb), (
        "adapt bench/scaling/inputs.py, then write the pages again"
    )


def test_session_limit_is_the_default() -> None:
    assert DEFAULTS.server.max_sessions == USUAL.max_sessions


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


@pytest.mark.parametrize("given", [USUAL, replace(USUAL, load=0.01)], ids=["usual", "slow machines"])
def test_every_limit_is_met_once_and_in_order(given: Inputs) -> None:
    met = [limit for carried, size in pairwise((0, *SIZES)) for limit in breaks_between(given, carried, size)]
    beyond = [limit for limit in limits(given) if limit.conversations >= SIZES[-1]]
    assert met + beyond == limits(given)
    assert [one.conversations for one in met] == sorted(one.conversations for one in met)
    assert all(limit.remedy for limit in limits(given))


def limit_of(name: str) -> int:
    """Returns the number of conversations that a limit carries. `name`: a part of its name."""
    (found,) = [limit.conversations for limit in limits(USUAL) if name in limit.name]
    return found


@pytest.mark.parametrize(
    ("name", "exceeds"),
    [
        ("one gateway machine", lambda needed: needed.gateways > 1),
        ("one Redis", lambda needed: needed.redis > 2),
        ("quota for GPU", lambda needed: needed.gpu_engines * USUAL.gpu_vcpus > USUAL.gpu_quota),
        ("an LLM service", lambda needed: needed.tokens.all > USUAL.llm_quota),
        ("traffic of a Region", lambda needed: needed.down_gb_s > USUAL.egress_gb_s),
    ],
)
def test_limit_is_where_the_table_of_machines_exceeds_it(name: str, exceeds: Callable[[Capacity], bool]) -> None:
    most = limit_of(name)
    assert not exceeds(capacity(USUAL, most))
    assert exceeds(capacity(USUAL, most + 1))


def test_figures_worked_out_by_hand() -> None:
    assert gateway_conversations(USUAL) == 20  # 60 s * 0.5 / 1.44 s
    assert machine_conversations(USUAL) == 246  # 60 s * 0.5 * 16 / (1.44 s + 0.51 s)
    needed = capacity(USUAL, 1_000_000)
    assert needed.gateways == 4066  # 1,000,000 / 246
    assert needed.gpu_engines == 62_500  # 20 s * 2 / 20 + 25 s / 100 = 2.25 s of 60 s * 0.6
    assert needed.cpu_engines == 3355  # 1.61 s of 60 s * 0.5 * 16
    assert needed.tokens.all == pytest.approx(11_263.2e6)  # 7.6 * 1.3 * (1,100 + 40)
    assert needed.up_gb_s + needed.down_gb_s == pytest.approx(810.3, abs=0.1)  # 71.5 kB/s * 8 * (1 + 25 / 60)
    parts = cost(USUAL, needed)
    # $ an hour: 7.6 * 1.3 * 60 * (110 * 0.15 + 990 * 0.075 + 40 * 0.6) / 1e6
    assert parts.llm / 1e6 == pytest.approx(0.0680, abs=5e-5)
    # 0.36465 GB * $0.006 + 0.10725 GB to the clients * $0.05
    assert parts.network / 1e6 == pytest.approx(0.00755, abs=5e-6)
    assert parts.engines / 1e6 == pytest.approx(0.0503, abs=5e-5)  # 1 / 16 of $0.805
