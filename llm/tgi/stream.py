"""Parses TGI's native stream: token lines up to one with `generated_text` and, if requested, `details`. No I/O.

    data:{"index":1,"token":{"id":9,"text":" Hi","logprob":-0.1,"special":false},"generated_text":null,"details":null}

There is no [DONE]: an answer without its last line was cut short. The status is always 200. An error arrives as
`data:{"error","error_type"}`, also in place of the first token.
"""

from collections.abc import Sequence

from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.stops import StopSequenceParser
from llm.token_stream import TokenStream


class TgiStream(StopSequenceParser):
    """Parses one response body, without special tokens and up to the first stop sequence."""

    def __init__(
        self,
        endpoint: str,
        *,
        stops: Sequence[str] = (),
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
    ) -> None:
        """Initializes the parser. `private`: texts that errors must not quote. `habit`: see `ReasoningHabit`."""
        habit = habit or ReasoningHabit(stops=tuple(stops))
        lines = TokenStream(endpoint, private=private, suspect="any proxy in front of it", habit=habit)
        super().__init__(endpoint, lines, stops)
