"""Defines how much of each scenario a run plays, and with which clips."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.conversations.recordings import Recording, chosen
from bench.serving.rows import Row
from bench.serving.scenarios import LONG_REPLY, Stage, bargeins, conversation, holds, noises, several, turns


@dataclass(frozen=True, slots=True)
class Plan:
    """Amounts of each scenario.

    Attributes:
        max_clips: Maximum number of clips of one kind; None for all.
        rounds: Repetitions of plain turns and turns with a pause.
        few: Number of clips for slow scenarios.
        swept: Clips for each point of the sweep.
        varied: Clips of one kind for each variant.
        sessions: Number of users at once.
        starts: Number of server starts for the warm-up.
        warm_turns: Number of turns after the first start; two after the others.
        waits_ms: Times to the first token in the sweep, at the LLM's own rate.
        rates: Token rates in the sweep, at the LLM's own time to the first token.
    """

    max_clips: int | None = None
    rounds: int = 1
    few: int = 4
    swept: int = 1
    varied: int = 4
    sessions: int = 8
    starts: int = 3
    warm_turns: int = 6
    waits_ms: tuple[float, ...] = (50, 100, 200, 300, 500, 800)
    rates: tuple[float, ...] = (5, 10, 20, 50, 100)


QUICK = Plan(max_clips=2, few=1, varied=1, sessions=2, starts=1, warm_turns=2, waits_ms=(100, 500), rates=(10, 50))


def varied(plan: Plan) -> Plan:
    """Returns the plan for a variant."""
    return replace(plan, max_clips=min(plan.varied, plan.max_clips or plan.varied), rounds=1)


async def play_scenario(stage: Stage, recordings: Sequence[Recording], plan: Plan) -> list[Row]:
    """Plays a scenario on a running server; no rows without a matching clip. Raises ValueError for warmup."""
    plain, noise = chosen(recordings, "plain", plan.max_clips), chosen(recordings, "noise", plan.max_clips)
    few = chosen(plain, "plain", plan.few)
    rows: list[Row] = []
    match stage.scenario:
        case "turns":
            rows = await turns(stage, plain * plan.rounds)
        case "paused":
            rows = await turns(stage, chosen(recordings, "paused", plan.max_clips) * plan.rounds)
        case "bargein" if few:
            rows = await bargeins(await _with_long_reply(stage), few)
        case "hold" if few and noise:
            rows = await holds(await _with_long_reply(stage), few[0], chosen(noise, "noise", plan.few))
        case "noise":
            rows = await noises(stage, noise)
        case "sessions" if few:
            rows = await several(stage, few, plan.sessions)
        case "sweep":
            rows = await _sweep(stage, chosen(plain, "plain", plan.swept), plan)
        case "warmup":
            raise ValueError("the warm-up needs separate servers: use first_turns")
    return rows


async def first_turns(stage: Stage, recordings: Sequence[Recording], plan: Plan) -> list[Row]:
    """Plays the warm-up on a server that just got ready: the same clip repeatedly."""
    plain = chosen(recordings, "plain", 1)
    return await conversation(stage, plain * (plan.warm_turns if stage.start == 1 else 2)) if plain else []


async def _with_long_reply(stage: Stage) -> Stage:
    behaviour = replace(stage.behaviour, reply=LONG_REPLY)
    await stage.model.configure(behaviour)
    return replace(stage, behaviour=behaviour)


async def _sweep(stage: Stage, recordings: Sequence[Recording], plan: Plan) -> list[Row]:
    own = stage.behaviour
    behaviours = dict.fromkeys(
        [replace(own, ttft_ms=wait) for wait in plan.waits_ms]
        + [replace(own, tokens_per_s=rate) for rate in plan.rates]
    )
    rows: list[Row] = []
    for behaviour in behaviours:
        await stage.model.configure(behaviour)
        rows += await turns(replace(stage, behaviour=behaviour), recordings)
    return rows
