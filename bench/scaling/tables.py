"""The tables of bench.scale, in Markdown."""

from collections.abc import Sequence
from itertools import pairwise

from bench.scaling.capacity import Capacity, Cost, EngineChoice, LlmChoice, capacity, cost
from bench.scaling.inputs import ABOUT, PRICES_OF, Inputs
from bench.scaling.limits import Limit, breaks_between, limits

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Numbers of concurrent conversations in the tables."""

CHOICES: tuple[tuple[EngineChoice, LlmChoice, bool, str], ...] = (
    ("gpu", "service", False, "engines on GPUs, LLM service"),
    ("cpu", "service", False, "engines on CPUs, LLM service"),
    ("cpu with Piper", "service", False, "engines on CPUs with Piper, LLM service"),
    ("gpu", "own", False, "engines on GPUs, own LLM"),
    ("cpu", "own", True, "engines on CPUs, own LLM, sound by WebRTC"),
)
"""Ways to run it, the one of the tables first."""


def capacity_table(given: Inputs, sizes: Sequence[int] = SIZES) -> str:
    """Returns machines and traffic by number of conversations."""
    rows = [capacity(given, size) for size in sizes]
    return _table(
        (
            "conversations",
            "gateway machines",
            "engines: on CPUs, or on GPUs",
            "Redis nodes",
            "LLM: million tokens a minute (new / cached / answers)",
            "or own LLM replicas",
            "network up / down, Gb/s",
        ),
        [_capacity_row(row) for row in rows],
    )


def cost_table(given: Inputs, sizes: Sequence[int] = SIZES) -> str:
    """Returns the cost of a conversation for an hour by part, and of all."""
    rows = []
    for size in sizes:
        needed = capacity(given, size)
        rows.append((_number(size), *_cost_cells(cost(given, needed), size)))
    head = ("conversations", "gateways", "engines", "Redis", "network", "LLM", "sum for one, $/h", "for all, $/h")
    return _table(head, rows)


def choices_table(given: Inputs, size: int = SIZES[-1]) -> str:
    """Returns the cost of one conversation for an hour, by the way it is run, at this number of conversations."""
    rows = []
    for engines, llm, webrtc, name in CHOICES:
        costs = cost(given, capacity(given, size, webrtc=webrtc), engines, llm)
        rows.append((name, *_cost_cells(costs, size)[:-1]))
    head = (f"at {_number(size)}", "gateways", "engines", "Redis", "network", "LLM", "sum for one, $/h")
    return _table(head, rows)


def breaks_table(given: Inputs, sizes: Sequence[int] = SIZES) -> str:
    """Returns what breaks on the way to each number of conversations, in this order, and the remedies."""
    rows = []
    for carried, size in pairwise((0, *sizes)):
        breaks = breaks_between(given, carried, size)
        rows += [_limit_row(f"up to {_number(size)}", limit) for limit in breaks]
        if not breaks:
            rows.append((f"up to {_number(size)}", "nothing", "", "one process on one machine"))
    rows += [_limit_row("beyond", limit) for limit in limits(given) if limit.conversations >= sizes[-1]]
    return _table(("conversations", "what breaks", "from", "remedy"), rows)


def summary(given: Inputs) -> str:
    """Returns the results in sentences."""
    last = SIZES[-1]
    needed = capacity(given, last)
    parts = cost(given, needed)
    named = {
        "the gateways": parts.gateways,
        "the speech engines": parts.engines,
        "Redis": parts.redis,
        "the network": parts.network,
        "the language model": parts.llm,
    }
    dearest = sorted(named, key=lambda name: -named[name])
    first, second = limits(given)[:2]
    shares = ", ".join(f"{name} {100 * named[name] / parts.total:.0f} %" for name in dearest)
    cheapest = min(
        cost(given, capacity(given, last, webrtc=webrtc), engines, llm).total for engines, llm, webrtc, _ in CHOICES
    )
    return (
        f"- **The first limits** are {first.name} ({_number(first.conversations)} conversations), then {second.name} "
        f"({_number(second.conversations)}).\n"
        f"- **Cost** of one conversation for an hour at {_number(last)}: ${parts.total / last:.3f}; of it {shares}.\n"
        f"- **{_number(last)} conversations** need {_number(needed.gateways)} gateway machines, "
        f"{_number(needed.gpu_engines)} GPUs or {_number(needed.cpu_engines)} machines with CPUs for speech, and "
        f"{_number(needed.up_gb_s + needed.down_gb_s)} Gb/s. That costs "
        f"${_number(parts.total)} an hour; the cheapest way below, ${_number(cheapest)}."
    )


def inputs_table(given: Inputs) -> str:
    """Returns all inputs with their sources. A value that was replaced has the source "given"."""
    usual = Inputs()
    rows = []
    for name, about in ABOUT.items():
        value: float = getattr(given, name)
        own = value != getattr(usual, name)
        kind = "given" if own else about.kind
        source = "" if own else f"{about.source}, {PRICES_OF}" if about.kind == "list price" else about.source
        rows.append((f"`{name}`", about.text, f"{value:,.10g} {about.unit}".strip(), kind, source))
    return _table(("input", "meaning", "value", "kind", "source"), rows)


def _limit_row(step: str, limit: Limit) -> tuple[str, ...]:
    return step, limit.name, _number(limit.conversations), limit.remedy


def _capacity_row(needed: Capacity) -> tuple[str, ...]:
    tokens = needed.tokens
    return (
        _number(needed.conversations),
        _number(needed.gateways),
        f"{_number(needed.cpu_engines)}, or {_number(needed.gpu_engines)}",
        _number(needed.redis),
        " / ".join(_millions(rate) for rate in (tokens.new, tokens.cached, tokens.answers)),
        _number(needed.llm_replicas),
        f"{_rate(needed.up_gb_s)} / {_rate(needed.down_gb_s)}",
    )


def _cost_cells(costs: Cost, conversations: int) -> tuple[str, ...]:
    parts = (costs.gateways, costs.engines, costs.redis, costs.network, costs.llm, costs.total)
    return (*(f"{part / conversations:.4f}" for part in parts), _number(costs.total))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("|  |", "| |")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2f}"


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:,.3g}" if tokens < 1e9 else f"{tokens / 1e6:,.0f}"


def _rate(gb_s: float) -> str:
    return f"{gb_s:,.0f}" if gb_s >= 10 else f"{gb_s:.2g}"
