"""Tests advice on turns whose remedy is known."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.conversations.simulation import Utterance
from support.conversations.trace_samples import TIME, demo_records, simulated_records, slower, write_trace
from typer.testing import CliRunner

from assistant.commands.trace import trace
from assistant.config.settings import KEYS as SETTINGS
from assistant.replay import conversations as trace_replaying
from assistant.replay.advice import TRIED, Advice, advice
from assistant.replay.advice_report import advice_json, advice_lines
from assistant.replay.findings import CUT_INTO, KEYS, MIN_TURNS, AdviceInputs, AdviceItem, turn_gain_of
from assistant.replay.settings import change_of
from assistant.replay.turns import RecordedConversation, conversation_of
from assistant.trace.latency import STAGES
from assistant.trace.waterfall import shown
from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Tally
from assistant.trace_report.reading import Record
from assistant.turns.settings import TurnSettings


@cache
def held(hangover_ms: float = 700) -> Sequence[Record]:
    """Returns a short turn that is answered after a long wait, and one with a pause of 340 ms."""
    turns = TurnSettings(hangover_ms=hangover_ms, speculate_after_ms=40)
    utterances = [TIME, Utterance(6000, 6700, "a small coffee"), Utterance(7040, 7600, "with milk")]
    return simulated_records(utterances, length_ms=11000, turns=turns, replies=("Ten.", "Here you are."))


def evidence(records: Sequence[Record], times: int = 1, replays: int = 0) -> AdviceInputs:
    tally = Tally()
    for record in list(records) * times:
        tally.add_turn("c", facts_of(record))
    turns = tuple(turn_gain_of(record) for record in records if record["response_latency_ms"] is not None) * times
    replayed = tuple(conversation_of(records).replayed([change_of(tried) for tried in TRIED])) if replays else ()
    return AdviceInputs(tally.figures(), turns, replayed * replays)


def findings_of(found: Advice, stage: str) -> list[AdviceItem]:
    return [finding for finding in found.findings if finding.stage == stage]


def test_every_named_key_can_be_set() -> None:
    assert set(KEYS) == set(STAGES)
    named = {key for keys in KEYS.values() for key in keys} | {
        each.partition("=")[0] for tried in TRIED for each in tried
    }
    assert named - set(SETTINGS) <= {"llm.endpoints"}


def test_busy_machine_is_named_first() -> None:
    busy = [{**record, "busy_others": 0.85} for record in held()[:1]]
    lines = list(advice_lines(advice(evidence([*busy, *held()[1:]], times=10))))
    assert lines[1].startswith("this machine was busy in 10 turns: other programs used 85 % of its processors")
    assert not any("busy" in line for line in advice_lines(advice(evidence(held(), times=10))))


def test_shorter_wait_is_advised_with_its_cost() -> None:
    found = advice(evidence(held(), times=10, replays=10))
    assert found.replayed == 20
    finding = findings_of(found, "endpoint_wait")[0]
    assert finding.certainty == "measured"
    assert finding.keys == ("turn.hangover_ms=200",)
    assert finding.gain[50].value == pytest.approx(500, abs=160)
    assert finding.cut_ins is not None
    was, now = finding.cut_ins
    assert was is not None
    assert now is not None
    assert (was.count, now.count) == (0, 10)
    assert "with 10 more cut-ins" in finding.says
    assert "turn.hangover_ms=200" in finding.says


def test_longer_wait_is_advised_if_it_saves_cut_ins() -> None:
    found = advice(evidence(held(200), times=10, replays=10))
    longer = [finding for finding in findings_of(found, "endpoint_wait") if "turn.hangover_ms=400" in finding.keys]
    assert [finding.certainty for finding in longer] == ["cannot tell"]
    assert "later in the median, with 10 fewer cut-ins" in longer[0].says


def test_advice_states_that_no_other_wait_helps() -> None:
    turns = TurnSettings(hangover_ms=200, speculate_after_ms=40)
    records = simulated_records([TIME], turns=turns, replies=("Ten.",))
    (finding,) = findings_of(advice(evidence(records, times=10, replays=10)), "endpoint_wait")
    assert finding.says.startswith("None of the 9 other settings")
    assert finding.gain == {}


def advice_on_wait_300(quick: int, slow: int) -> AdviceItem | None:
    """Returns the advice on a wait of 300 ms, for `quick` turns that waited 200 ms and `slow` ones that waited 700."""
    changes = [change_of(tried) for tried in TRIED]
    was = [tuple(conversation_of(held(ms)).replayed(changes))[:1] for ms in (200, 700)]
    found = advice(AdviceInputs(evidence(held()).figures, (), was[0] * quick + was[1] * slow))
    return next((each for each in findings_of(found, "endpoint_wait") if each.keys == ("turn.hangover_ms=300",)), None)


def test_unproven_tail_does_not_justify_slower_median() -> None:
    assert advice_on_wait_300(quick=9, slow=1) is None
    finding = advice_on_wait_300(quick=450, slow=50)
    assert finding is not None
    assert finding.certainty == "measured"
    assert finding.says.startswith("Answers would come 100 ms later in the median and 400 ms sooner at p95")
    assert finding.says.endswith("set turn.hangover_ms=300, if the slow ones matter more.")


def advice_on_change(was_ms: Sequence[float], now_ms: Sequence[float]) -> AdviceItem:
    """Returns the advice on the eager profile if it had changed the first latencies to the second."""
    changes = [change_of(tried) for tried in TRIED]
    (replayed, *_), *_ = conversation_of(held()).replayed(changes)
    turns = [
        replace(replayed, was=replace(replayed.was, latency_ms=was), now=replace(replayed.now, latency_ms=now))
        for was, now in zip(was_ms, now_ms, strict=True)
    ]
    same = [replace(turn, now=turn.was, same=True) for turn in turns]
    replays = tuple((turn, *[other] * (len(TRIED) - 1)) for turn, other in zip(turns, same, strict=True))
    return findings_of(advice(AdviceInputs(evidence(held()).figures, (), replays)), "endpoint_wait")[0]


@pytest.mark.parametrize(
    ("slow_now_ms", "quick_now_ms", "wording"),
    [
        (500, 300, "as soon as now in the median and 400 ms sooner at p95, with no more cut-ins: set"),
        (500, 300.3, "as soon as now in the median and 400 ms sooner at p95, with no more cut-ins: set"),
        (1200, 200, "100 ms sooner in the median and 300 ms later at p95, with no more cut-ins: set"),
        (500, 200, "100 ms sooner in the median, with no more cut-ins: set"),
    ],
    ids=[
        "equal median, faster tail",
        "nearly equal median, faster tail",
        "faster median, slower tail",
        "faster median and tail",
    ],
)
def test_median_and_tail_are_both_shown_if_they_disagree(slow_now_ms: float, quick_now_ms: float, wording: str) -> None:
    finding = advice_on_change([300] * 180 + [900] * 20, [quick_now_ms] * 180 + [slow_now_ms] * 20)
    assert finding.says.startswith(f"Answers would come {wording}")
    assert "matter more" not in finding.says


def test_gain_with_too_few_turns_is_not_denied() -> None:
    finding = advice_on_change([300, 310, 900], [300, 310, 500])
    assert (finding.certainty, finding.gain) == ("cannot tell", {})
    assert finding.says.endswith("is proven to answer sooner or to cut in less: p95 needs 59 turns.")


def test_proven_gain_comes_before_larger_possible_gain() -> None:
    found = findings_of(advice(evidence(held(), times=10, replays=10)), "endpoint_wait")
    sure = [finding.certainty == "measured" for finding in found]
    assert sure == sorted(sure, reverse=True)
    assert any(sure)


def test_few_turns_give_no_advice() -> None:
    found = advice(evidence(held(), replays=1))
    assert found.tail is None
    assert {finding.certainty for finding in found.findings} == {"cannot tell"}


def test_conversation_without_beginning_is_reported(tmp_path: Path) -> None:
    beheaded = write_trace(tmp_path / "beheaded.jsonl", held()[1:])
    done = CliRunner().invoke(trace, ["advise", str(beheaded)])
    assert "The beginning of the conversation is missing" in done.stdout
    assert "of this version" not in done.stdout


def test_old_traces_are_reported_as_not_replayable() -> None:
    (finding,) = findings_of(advice(evidence(demo_records())), "endpoint_wait")
    assert finding.certainty == "cannot tell"
    assert "lack the events that a replay needs" in finding.says


@pytest.mark.parametrize(
    ("stage", "key"),
    [("stt", "stt.engine"), ("llm_first_token", "llm.endpoints"), ("tts", "tts.voice"), ("transport", "")],
    ids=["stt", "llm_first_token", "tts", "transport"],
)
def test_stage_that_makes_slow_turns_slow_comes_first(stage: str, key: str) -> None:
    slow = slower(demo_records(), stage, 300)
    for record in slow:
        record["stages"][stage]["slack_ms"] = 300.0
    found = advice(evidence([*demo_records() * 16, *slow * 4]))
    assert found.tail is not None
    assert found.tail.stage == stage
    first = found.findings[0]
    assert first.stage == stage
    assert first.certainty == "at most"
    assert first.gain[95].value == pytest.approx(300, abs=60)
    assert key in (*first.keys, "")
    text = "\n".join(advice_lines(found))
    assert f"slow turns are slow by {shown(stage)}" in text
    assert first.says in text


def test_tail_stage_comes_first_if_only_slowest_turns_are_slow() -> None:
    slow = slower(demo_records(), "tts", 300)
    found = advice(evidence([*demo_records() * 19, *slow]))
    assert found.findings[0].stage == "tts"
    assert found.findings[0].certainty == "cannot tell"


def test_two_engines_are_compared() -> None:
    others = slower(demo_records(), "tts", 100)
    for record in others:
        record["engines"]["tts"] = "piper"
        record["stages"]["tts"]["slack_ms"] = 100.0
        for span in record["spans"]:
            if span["name"] == "tts":
                span["end_ms"] += 100
    (finding,) = findings_of(advice(evidence([*demo_records(), *others], times=4)), "tts")
    assert "espeak-ng took 4 ms in the median, piper 104." in finding.says


def test_answers_without_model_are_not_compared_with_models() -> None:
    records: list[Record] = []
    for name in ("skills", "itself", "apology", "near"):
        for record in slower(demo_records(), "llm_first_token", 100):
            record["engines"]["answered_by"] = name
            record["stages"]["llm_first_token"]["slack_ms"] = 100.0
            records.append(record)
    (finding,) = findings_of(advice(evidence(records, times=4)), "llm_first_token")
    assert "These traces hold one endpoint, so there is nothing to compare it with." in finding.says


def test_unused_tokens_include_all_requested_endpoints() -> None:
    records = slower(demo_records() * 4, "llm_first_token", 100)
    for record in records:
        record["stages"]["llm_first_token"]["slack_ms"] = 100.0
    tries = ("near: first, failed after 20 ms, 137 tokens in vain", "far: hedge, answered after 80 ms")
    records[0]["events"] += [{"name": "tried", "at_ms": 0.0, "detail": f"attempt 1: {tried}"} for tried in tries]
    (finding,) = findings_of(advice(evidence(records)), "llm_first_token")
    assert finding.says.endswith(
        "A second endpoint was asked, too, once (llm.hedge_share limits that); of all requests, 137 tokens were wasted."
    )


def test_advice_is_for_the_last_of_two_recognizers() -> None:
    records: list[Record] = []
    for name, times, ms in (("faster-whisper", 5, 100.0), ("pocketsphinx", 1, 500.0), ("faster-whisper", 1, 100.0)):
        for record in slower(demo_records(), "stt", ms)[:4] * times:
            record = json.loads(json.dumps(record))  # noqa: PLW2901 - the same one several times
            record["engines"]["stt"] = name
            record["stages"]["stt"]["slack_ms"] = ms
            records.append(record)
    found = advice(evidence(records))
    assert found.engines == {"recognizers": {"faster-whisper": 24, "pocketsphinx": 4}}
    (finding,) = findings_of(found, "stt")
    assert "These traces hold 2 recognizers: faster-whisper, pocketsphinx." in finding.says
    assert "To compare them, 1 more turn is needed with pocketsphinx." in finding.says
    assert "The gain is for faster-whisper, which was used last." in finding.says
    assert finding.turns == 24
    assert finding.gain[50].value == pytest.approx(100, abs=1)
    assert "recognizers: faster-whisper (24 turns), pocketsphinx (4 turns)" in "\n".join(advice_lines(found))


def with_playout(records: Sequence[Record], ms: float, counters: dict[str, int]) -> list[Record]:
    """Returns the same turns with this playout time."""
    copies = slower(records, "playout", ms - 18)
    for record in copies:
        record["stages"]["playout"]["slack_ms"] = ms
        record["counters"] = counters
    return copies


@pytest.mark.parametrize(
    ("ms", "counters", "advised"),
    [
        (18.0, {}, False),
        (300.0, {"underruns": 0}, False),
        (40.0, {"speaker_latency_ms": 22}, False),
        (300.0, {"speaker_latency_ms": 280}, True),
    ],
    ids=["demo", "slow demo", "device at its least", "slow device"],
)
def test_other_output_device_is_advised_only_if_one_was_slow(
    ms: float, counters: dict[str, int], advised: bool
) -> None:
    usual = with_playout(demo_records(), 18.0, counters)
    found = advice(evidence([*usual * 4, *with_playout(demo_records(), ms, counters) * 16]))
    assert any("another output device" in finding.says for finding in found.findings) is advised


@pytest.mark.parametrize("times", [1, 9], ids=["once", "nine times"])
def test_remedy_is_given_only_for_proven_gain(times: int) -> None:
    slow = slower(demo_records()[:1], "first_sentence", 300)
    for record in slow:
        record["stages"]["first_sentence"]["slack_ms"] = 300.0
    found = advice(evidence([*held(), *slow] if times == 1 else held(), times=times, replays=times))
    for finding in found.findings:
        assert finding.certainty == "cannot tell" or finding.gain[50].enough
        if finding.certainty == "cannot tell":
            assert ": set " not in finding.says
            assert "use a faster endpoint" not in finding.says
    unproven = findings_of(found, "endpoint_wait")[-1]
    assert "Cannot tell yet: " in unproven.says or unproven.certainty == "measured"


def test_too_few_turns_give_no_imperative() -> None:
    found = advice(evidence(held(), times=9, replays=9))
    assert found.turns < MIN_TURNS
    text = "\n".join(advice_lines(found))
    assert "too few turns to say what to do: at least 20 are needed" in text
    assert ": set " not in text
    assert "too few turns to say" not in "\n".join(advice_lines(advice(evidence(held(), times=10, replays=10))))


def test_faster_setting_is_advised_with_its_price_on_recordings() -> None:
    found = advice(evidence(held(), times=10, replays=10))
    for finding in findings_of(found, "endpoint_wait"):
        assert finding.price or finding.gain[50].value <= 0
    eager = next(each for each in findings_of(found, "endpoint_wait") if each.keys == ("turn.profile=eager",))
    price = "of turns with a pause, on recordings, it cuts into 86 %; 64 % with auto, 39 % with patient"
    assert eager.price == price
    assert f"  price: {price}" in list(advice_lines(found))


def test_prices_are_those_of_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lab" / "turn-taking.md").read_text(encoding="utf-8")
    table = page[page.index("Recordings not used for fitting (33 of the 89") :]
    for setting, cut in CUT_INTO.items():
        name = setting.removeprefix("turn.profile=").replace("auto", "balanced")
        name = f"fixed, {name.partition('=')[2]} ms" if "hangover" in name else name
        row = next(line for line in table.splitlines() if line.startswith(f"| {name} |"))
        assert row.split("|")[3].strip().startswith(f"{cut} %,"), setting


def test_only_turns_of_the_last_recognizer_are_replayed(tmp_path: Path) -> None:
    first, other = ([record | {"engines": {"stt": name}} for record in held()] for name in ("whisper", "pocketsphinx"))
    files = [
        write_trace(tmp_path / f"{number}.jsonl", [record | {"conversation": str(number)} for record in records])
        for number, records in enumerate([other, other, first])
    ]
    found = trace_replaying.collect_inputs(files, pytest.fail)
    assert len(found.turns) == 6
    assert len(found.replays) == 2
    says = "recognizers: pocketsphinx (4 turns), whisper (2 turns); advice for whisper, used last"
    assert says in list(advice_lines(advice(found)))


def test_traces_without_a_sound_device_are_named() -> None:
    text = "\n".join(advice_lines(advice(evidence(demo_records(), times=5))))
    assert "no sound device played these replies" in text
    device = with_playout(demo_records(), 18.0, {"speaker_latency_ms": 22})
    assert "no sound device" not in "\n".join(advice_lines(advice(evidence(device, times=5))))


def test_turns_missing_for_advice_are_counted() -> None:
    found = advice(evidence(held(), replays=2))
    (finding,) = [each for each in findings_of(found, "endpoint_wait") if each.keys == ("turn.hangover_ms=200",)]
    assert finding.says.startswith("In these 4 turns answers would have come ")
    assert finding.says.endswith("with turn.hangover_ms=200. Cannot tell yet: 16 more turns are needed.")


def test_json_holds_complete_advice() -> None:
    plain = json.loads(advice_json(advice(evidence(held(), times=10, replays=10))))
    assert plain["turns"] == 20
    assert plain["findings"][0]["gain"]["50"]["value"] > 0


def test_advise_and_replay_commands(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.jsonl", held())

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(trace, [*arguments])
        return done.exit_code, done.output

    code, out = run("advise", str(path))
    assert code == 0
    assert out.startswith("2 turns with a response latency, 2 of them replayed\n")
    assert json.loads(run("advise", str(path), "--json")[1])["replayed"] == 2
    code, out = run("replay", str(path), "--set", "turn.hangover_ms=200")
    assert code == 0
    assert "2 spoken turns of 1 conversation, replayed with turn.hangover_ms=200: 2 decided differently" in out
    assert "with the recorded settings every decision is as recorded, in the same order (times are not compared)" in out
    assert "now 1 of" in out
    plain = json.loads(run("replay", str(path), "--set", "turn.hangover_ms=200", "--json")[1])
    assert [turn["now"]["cut_ins"] for turn in plain["turns"]] == [0, 1]
    assert plain["turns"][0]["assumed"] == ["answer"]


def test_errors_are_one_line(tmp_path: Path) -> None:
    old = write_trace(tmp_path / "old.jsonl", demo_records())
    beheaded = write_trace(tmp_path / "beheaded.jsonl", held()[1:])
    empty = write_trace(tmp_path / "empty.jsonl", [])
    failed = write_trace(tmp_path / "failed.jsonl", [record | {"error": "the endpoint failed"} for record in held()])
    unplaced = write_trace(
        tmp_path / "unplaced.jsonl", [{k: v for k, v in held()[0].items() if k != "turn_events_before"}]
    )
    for arguments, said in (
        (("replay", str(beheaded)), "the beginning of the conversation is missing"),
        (("replay", str(empty)), f"{empty}: it has no turns."),
        (("advise", str(failed)), "no turn has a response latency"),
        (
            ("advise", str(unplaced)),
            "line 1, or a later one of its conversation, is not a record as in docs/lab/trace-record.md",
        ),
        (("replay", str(old)), "no turn can be replayed"),
        (("replay", str(old), "--set", "stt.threads=4"), "stt.threads cannot be replayed"),
    ):
        done = CliRunner().invoke(trace, list(arguments))
        assert done.exit_code == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_only_latest_turns_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoken = list(held())
    files = [
        write_trace(tmp_path / f"{number}.jsonl", [record | {"conversation": str(number)} for record in spoken])
        for number in range(6)
    ]
    replayed: list[str] = []

    def conversation(records: Sequence[Record]) -> RecordedConversation:
        replayed.append(records[0]["conversation"])
        return conversation_of(records)

    monkeypatch.setattr(trace_replaying, "MAX_REPLAYED", len(spoken) + 1)
    monkeypatch.setattr(trace_replaying, "conversation_of", conversation)
    found = trace_replaying.collect_inputs(files, pytest.fail)
    assert replayed == ["4", "5"], "a replay takes some 10 ms a turn"
    assert len(found.replays) == len(spoken) + 1
    assert found.figures.turns == 6 * len(spoken)
