"""Computes the server's own share of a response latency: excludes engines, the network and intended waits. Pure.

assistant/trace/latency.py walks back from the first audible sample. At each step, the time between the end of what was
waited for and the start of the work is own time. Own time also includes waiting for a connection, the request's way to
an LLM on this machine, the excess of the first token over the LLM's own time, and the excess of the first sound at
the client over the voice's leading silence.
"""

from assistant.trace_report.waterfall import paid_intervals
from bench.serve_rows import Trace


def own_ms(trace: Trace, *, ttft_ms: float, leading_ms: float) -> float | None:
    """Returns the own share of one turn; None if the trace has no latency.

    Args:
        trace: Record of the turn.
        ttft_ms: The LLM's own time to the first token.
        leading_ms: Silence at the beginning of the reply, as heard by the client.
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
