"""Tests conversations assembled from single turns."""

from dataclasses import replace

import pytest

from assistant.end_of_turn.estimator import EndOfTurnProfile
from assistant.end_of_turn.priors import SpeakerPauseStats
from bench.end_of_turn.habits import Key, key_of
from bench.end_of_turn.moments import Moment
from bench.end_of_turn.talks import TURNS, Said, conversations, played, talk_row, turn_pool_of

AT_MS = (100, 200, 400, 800)
PROFILES = EndOfTurnProfile(200, 400, 800, 1.9, 800)


def silence(turn: int, number: int, label: str, lasts_ms: float, *, made: bool = False) -> list[Moment]:
    common = Moment(turn, "s", "", "command", label, made, number, 0, 0.0, lasts_ms, {}, None, "", False)
    return [replace(common, at_ms=at, known_ms=float(at)) for at in AT_MS if at < lasts_ms]


PLAIN = [*silence(0, 0, "gap", 150), *silence(0, 1, "end", 2000)]
PAUSED = [*silence(1, 0, "pause", 600), *silence(1, 1, "end", 2000)]
MADE = [*silence(2, 0, "gap", 150, made=True), *silence(2, 1, "end", 2000, made=True)]
CUT_OFF = silence(3, 0, "pause", 600)
ALL = [*PLAIN, *PAUSED, *MADE, *CUT_OFF]
LOGITS: dict[Key, float] = {key_of(moment): 0.5 if moment.label == "end" else 0.0 for moment in ALL}
POOL = turn_pool_of(ALL)


def test_turns_are_split_by_pauses_and_endless_turns_omitted() -> None:
    assert [[s[0].turn for s in turn] for turn in POOL.plain] == [[0, 0]]
    assert [[s[0].turn for s in turn] for turn in POOL.paused] == [[1, 1]]


def test_wait_is_longer_after_a_cut_in() -> None:
    cut, _, habits = played(POOL.paused[0], SpeakerPauseStats(), LOGITS, PROFILES)
    assert (cut, habits.pauses > 0, habits.recent) == (True, True, (True,))
    for _ in range(2):
        cut, wait_ms, habits = played(POOL.paused[0], habits, LOGITS, PROFILES)
    assert not cut
    assert wait_ms > PROFILES.ceiling_ms


def test_late_resumption_counts_as_interruption() -> None:
    late = turn_pool_of([*silence(1, 0, "pause", 1700), *silence(1, 1, "end", 2000)]).paused[0]
    cut, _, habits = played(late, SpeakerPauseStats(), {key_of(moment): 0.0 for s in late for moment in s}, PROFILES)
    assert (cut, habits.pauses, habits.recent) == (True, 0.0, (False, False))


def test_conversation_has_its_share_of_paused_turns() -> None:
    for share in (0.0, 0.3, 1.0):
        said = conversations(POOL, LOGITS, PROFILES, share)
        assert sum(one.paused for one in said) / len(said) == pytest.approx(share, abs=0.05)
        assert {one.place for one in said} == set(range(TURNS))


def test_learning_pauses_saves_cut_ins_only_for_speakers_who_pause() -> None:
    same = replace(PROFILES, pausing_ms=0)
    for share, saves in ((0.0, False), (1.0, True)):
        alike, learnt = (conversations(POOL, LOGITS, profile, share) for profile in (same, PROFILES))
        assert (sum(one.cut for one in learnt) < sum(one.cut for one in alike)) == saves
        assert (learnt == alike) != saves


def test_row_separates_first_and_later_turns() -> None:
    said = [Said(0, True, True, None), Said(0, False, False, 200.0), Said(1, True, False, 400.0)]
    said += [Said(1, False, False, 200.0), Said(2, False, False, 300.0)]
    assert talk_row(said, 0.5) == "100 % | 0 %, 200 / 200 | 0 %, 400 / 400 | 0 %, 250 / 295"
    assert talk_row(said[:1] + said[2:3], 1.0) == "100 % | – | 0 %, 400 / 400 | –"
