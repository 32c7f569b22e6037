"""The scripted server's session description and turn records."""

from typing import Any

ENGINES = [
    {"stage": "vad", "name": "silero", "detail": "20 ms frames", "why": "as configured", "fallback": False},
    {
        "stage": "stt",
        "name": "no recognizer",
        "detail": "",
        "why": "only typed text is answered, because the Whisper model tiny.en is not downloaded; fetch it: "
        "repartee models pull tiny.en",
        "fallback": True,
    },
    {"stage": "llm", "name": "skills", "detail": "built-in skills", "why": "as configured", "fallback": False},
    {
        "stage": "tts",
        "name": "espeak-ng",
        "detail": "English, 170 words a minute",
        "why": "as asked",
        "fallback": False,
    },
]

Event = dict[str, Any]


def trace_of(turn: int, outcome: str, end_ms: float | None, latency_ms: float | None, hangover_ms: float) -> Event:
    """Returns a record whose stages sum to `latency_ms`."""
    base = end_ms or 0.0
    shape = [("endpoint_wait", "endpoint", 0.0), ("stt", "stt", 6.0), ("llm_network", "connect", 4.0)]
    shape += [("llm_first_token", "llm_first_token", 21.0), ("first_sentence", "first_sentence", 12.0)]
    shape += [("tts", "tts", 11.0), ("transport", "transport", 5.0), ("playout", "playout", 44.0)]
    spans, stages, at = [], {}, base + hangover_ms
    rest = (latency_ms or 0.0) - hangover_ms
    scale = rest / sum(ms for _, _, ms in shape) if latency_ms else 0.0
    for stage, name, ms in shape:
        length = hangover_ms if stage == "endpoint_wait" else ms * scale
        start = base if stage == "endpoint_wait" else at
        spans.append({"name": name, "stage": stage, "attempt": 2, "start_ms": start, "end_ms": start + length})
        at = at if stage == "endpoint_wait" else at + length
        stages[stage] = {"ms": length, "slack_ms": length}
    early = [("stt", "stt", -180.0, -150.0), ("llm_first_token", "llm_first_token", -150.0, -60.0)]
    for stage, name, start, stop in early:
        spans.append({"name": name, "stage": stage, "attempt": 1, "start_ms": base + start, "end_ms": base + stop})
    for span in spans:
        span |= {"after": [], "dropped": span["attempt"] == 1}
    return {
        "schema": 1,
        "turn": turn,
        "outcome": outcome if end_ms is not None else "typed",
        "speech_end_ms": end_ms,
        "response_latency_ms": latency_ms,
        "stages": {"queue": {"ms": 0.0, "slack_ms": 0.0}, **stages} if latency_ms else {},
        "spans": spans,
        "events": [],
        "engines": {"answered_by": "skills"},
        "counters": {"inserted_frames": 0},
        "error": None,
    }
