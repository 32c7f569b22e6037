"""Our own share of a response latency: what was neither an engine, nor the network, nor a wait that was meant. Pure.

As in assistant/latency.py, the way is walked back from the first audible sample. At each step, what lies between the
end of what was waited for and the beginning of the work is ours: passing it on. So is waiting for a connection, the
request's way to a model on this machine, what the model's first token took beyond the model's own time, and what the
first sound took to the client beyond the silence that the voice begins with.
"""

from typing import Any

from bench.serve_rows import Trace


def own_ms(trace: Trace, *, ttft_ms: float, leading_ms: float) -> float | None:
    """Of one turn; None where the trace has no latency.

    Args:
        trace: Its record.
        ttft_ms: What the model takes to its first token by itself.
        leading_ms: Silence at the beginning of the reply, as the client heard it.
    """
    attempt = next(
        (span["attempt"] for span in trace["spans"] if span["name"] == "playout" and not span["dropped"]), None
    )
    if attempt is None or trace["speech_end_ms"] is None:
        return None
    spans = {span["name"]: span for span in trace["spans"] if span["attempt"] == attempt}
    theirs_ms = {"llm_first_token": ttft_ms, "playout": leading_ms}
    ours_ms = 0.0
    for name, gap_ms, work_ms in _steps(spans, trace["speech_end_ms"]):
        ours_ms += gap_ms
        if name in _OURS or name in theirs_ms:
            ours_ms += max(0.0, work_ms - theirs_ms.get(name, 0.0))
    return ours_ms


_OURS = frozenset(["queue", "llm_network", "commit", "transport"])


def _steps(spans: dict[str, Any], speech_end_ms: float) -> list[tuple[str, float, float]]:
    """(span, from what it waited for to its beginning, its own time), from the last to the first that was paid."""
    found = []
    name, until_ms = "playout", spans["playout"]["end_ms"]
    while until_ms > speech_end_ms:
        before = [other for other in spans[name]["after"] if other in spans]
        began_ms = min(max(spans[name]["start_ms"], speech_end_ms), until_ms)
        if not before:
            found.append((name, 0.0, until_ms - began_ms))
            break
        last = max(before, key=lambda other: float(spans[other]["end_ms"]))
        since_ms = min(max(spans[last]["end_ms"], speech_end_ms), until_ms)
        began_ms = max(began_ms, since_ms)
        found.append((name, began_ms - since_ms, until_ms - began_ms))
        name, until_ms = last, since_ms
    return found
