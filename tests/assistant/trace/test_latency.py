"""Tests of the latency breakdown: sums, hidden work and slack."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.trace.latency import STAGES, Span, account


def turn(
    *, attempt_s: float, endpoint_s: float, stt_s: float, model_s: float, unit_s: float, voice_s: float, play_s: float
) -> dict[str, Span]:
    """Returns the spans of a turn whose speech ended at 0: transcript, LLM, voice and playout follow one another."""
    words = attempt_s + stt_s
    token = words + model_s
    unit = token + unit_s
    sound = unit + voice_s
    commit = max(endpoint_s, words)
    spans = [
        Span("silence", "endpoint_wait", 0.0, attempt_s),
        Span("stt", "stt", attempt_s, words, ("silence",)),
        Span("llm_first_token", "llm_first_token", words, token, ("stt",)),
        Span("first_sentence", "first_sentence", token, unit, ("llm_first_token",)),
        Span("tts", "tts", unit, sound, ("first_sentence",)),
        Span("endpoint", "endpoint_wait", 0.0, endpoint_s),
        Span("commit", "endpoint_wait", endpoint_s, commit, ("endpoint", "stt")),
        Span("playout", "playout", max(commit, sound), max(commit, sound) + play_s, ("tts", "commit")),
    ]
    return {span.name: span for span in spans}


def test_every_stage_counts_without_speculation() -> None:
    spans = turn(attempt_s=0.4, endpoint_s=0.4, stt_s=0.02, model_s=0.1, unit_s=0.06, voice_s=0.005, play_s=0.01)
    shares = account(0.0, spans, "playout")
    assert {stage: round(share.ms, 6) for stage, share in shares.items()} == {
        "endpoint_wait": 400.0,
        "stt": 20.0,
        "queue": 0.0,
        "llm_network": 0.0,
        "llm_first_token": 100.0,
        "first_sentence": 60.0,
        "tts": 5.0,
        "transport": 0.0,
        "playout": 10.0,
    }
    assert all(share.slack_ms == pytest.approx(share.ms) for share in shares.values())


def test_work_hidden_behind_the_silence_timeout_costs_nothing() -> None:
    spans = turn(attempt_s=0.1, endpoint_s=0.4, stt_s=0.02, model_s=0.1, unit_s=0.06, voice_s=0.005, play_s=0.01)
    shares = account(0.0, spans, "playout")
    assert shares["endpoint_wait"].ms == pytest.approx(400)
    assert shares["playout"].ms == pytest.approx(10)
    assert sum(shares[stage].ms for stage in STAGES if stage not in {"endpoint_wait", "playout"}) == pytest.approx(0)
    assert shares["endpoint_wait"].slack_ms == pytest.approx(400 - 185)
    assert shares["llm_first_token"].slack_ms == pytest.approx(0)


def test_late_work_counts_from_the_start_of_its_chain() -> None:
    spans = turn(attempt_s=0.1, endpoint_s=0.2, stt_s=0.02, model_s=0.3, unit_s=0.06, voice_s=0.02, play_s=0.0)
    shares = account(0.0, spans, "playout")
    assert shares["endpoint_wait"].ms == pytest.approx(100)
    assert shares["llm_first_token"].ms == pytest.approx(300)
    assert sum(share.ms for share in shares.values()) == pytest.approx(500)
    # 300 ms of model, but with a free model the gate (200 ms) binds: 120 + 60 + 20 = 200 -> all 300 count.
    assert shares["llm_first_token"].slack_ms == pytest.approx(300)
    assert shares["first_sentence"].slack_ms == pytest.approx(60)


def test_circular_spans_are_rejected() -> None:
    spans = {"a": Span("a", "tts", 0, 1, ("b",)), "b": Span("b", "stt", 0, 1, ("a",))}
    with pytest.raises(ValueError, match="waits for itself"):
        account(0.0, spans, "a")


def test_work_before_the_end_of_speech_does_not_count() -> None:
    spans = {"stt": Span("stt", "stt", -1.0, 0.1), "playout": Span("playout", "playout", 0.1, 0.15, ("stt",))}
    shares = account(0.0, spans, "playout")
    assert shares["stt"].ms == pytest.approx(100)
    assert shares["playout"].ms == pytest.approx(50)
    assert shares["endpoint_wait"].ms == 0


durations = st.floats(0, 2, allow_nan=False)


@given(
    attempt_s=durations,
    endpoint_s=durations,
    stt_s=durations,
    model_s=durations,
    unit_s=durations,
    voice_s=durations,
    play_s=durations,
)
def test_the_stages_always_sum_to_the_latency(**times: float) -> None:
    spans = turn(**times)
    shares = account(0.0, spans, "playout")
    assert sum(share.ms for share in shares.values()) == pytest.approx(spans["playout"].end_s * 1000, abs=1e-6)
    for share in shares.values():
        assert share.ms >= 0
        assert share.slack_ms >= -1e-6


@given(
    spans=st.lists(
        st.tuples(st.sampled_from(STAGES), durations, durations, st.integers(0, 255)), min_size=1, max_size=8
    )
)
def test_stages_of_any_graph_sum_to_the_latency(spans: list[tuple[str, float, float, int]]) -> None:
    graph: dict[str, Span] = {}
    for number, (stage, start, length, links) in enumerate(spans):
        after = tuple(str(other) for other in range(number) if links >> other & 1)
        latest = max((graph[name].end_s for name in after), default=0.0)
        begin = max(start, latest)
        graph[str(number)] = Span(str(number), stage, begin, begin + length, after)  # type: ignore[arg-type]
    last = str(len(spans) - 1)
    shares = account(0.0, graph, last)
    assert sum(share.ms for share in shares.values()) == pytest.approx(graph[last].end_s * 1000, abs=1e-6)
    assert all(share.ms >= 0 for share in shares.values())
