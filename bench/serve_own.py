"""Our own share of a response latency: what was neither an engine, nor the network, nor a wait that was meant. Pure.

The walk back from the first audible sample is in assistant/trace/latency.py. At each step, the time from the end of
what was waited for and the beginning of the work is ours: passing it on. So is waiting for a connection, the
request's way to a model on this machine, what the model's first token took beyond the model's own time, and what the
first sound took to the client beyond the silence that the voice begins with.
"""

from assistant.trace_report.waterfall import paid_intervals
from bench.serve_rows import Trace


def own_ms(trace: Trace, *, ttft_ms: float, leading_ms: float) -> float | None:
    """Of one turn; None where the trace has no latency.

    Args:
        trace: Its record.
        ttft_ms: What the model takes to its first token by itself.
        leading_ms: Silence at the beginning of the reply, as the client heard it.
    """
    if trace["speech_end_ms"] is None:
        return None
    began_ms = {span["name"]: span["start_ms"] for span in trace["spans"] if not span["dropped"]}
    theirs_ms = {"llm_first_token": ttft_ms, "playout": leading_ms}
    paid = paid_intervals(trace)
    ours_ms = 0.0
    for name, (since_ms, until_ms) in paid.items():
        work_ms = until_ms - min(max(began_ms[name], since_ms), until_ms)
        ours_ms += until_ms - since_ms - work_ms
        if name in _OURS or name in theirs_ms:
            ours_ms += max(0.0, work_ms - theirs_ms.get(name, 0.0))
    return ours_ms if paid else None


_OURS = frozenset(["queue", "llm_network", "commit", "transport"])
