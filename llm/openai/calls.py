"""Assembles the function calls of one answer from the pieces that OpenAI-compatible services send. No I/O, no clock.

Services differ. An index may be missing, not a number, or 0 for every call. An id may be in the first piece, in every
piece, or empty. A call may arrive whole or in pieces.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

_FIELDS = frozenset({"index", "id", "type", "function"})
"""Fields of a call in OpenAI's format."""

_NO_ID = frozenset({"", "null"})


@dataclass(slots=True)
class PartialCall:
    """A partial function call.

    Attributes:
        call_id: The service's id; "" if it gave none.
        arguments: JSON text, as far as it has arrived.
        extra: Fields that are not part of OpenAI's format.
    """

    call_id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are complete."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


class CallAssembler:
    """The function calls of one answer.

    Attributes:
        calls: In the order in which they began.
    """

    def __init__(self) -> None:
        self.calls: list[PartialCall] = []
        self._last_at: dict[int, PartialCall] = {}

    def add_part(self, part: Mapping[str, object], number: int) -> int:
        """Adds a piece, the `number`-th of its event. Returns the number of characters it added."""
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = _text(function.get("name")), function.get("arguments")
        if isinstance(arguments, dict):  # some servers send an object instead of text
            arguments = json.dumps(arguments)
        arguments = _text(arguments)
        call_id, index = _text(part.get("id")), part.get("index")
        call_id = "" if call_id in _NO_ID else call_id
        has_index = isinstance(index, int) and not isinstance(index, bool)
        index = index if isinstance(index, int) and has_index else number
        call = self._known(call_id, index, has_index=has_index and bool(name))
        if call is None or _begins_another(call, name, arguments):
            call = PartialCall()
            self.calls.append(call)
        self._last_at[index] = call
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        call.arguments += arguments
        extra = {key: value for key, value in part.items() if key not in _FIELDS and value is not None}
        call.extra |= extra
        return len(arguments) + (len(json.dumps(extra)) if extra else 0)

    def _known(self, call_id: str, index: int, *, has_index: bool) -> PartialCall | None:
        """Returns the call that a piece belongs to, or None for a new call.

        `has_index`: the piece names its function at an index of its own, so another call with its id is not meant.
        """
        call = self._last_at.get(index)
        if call is not None and call_id and call.call_id == call_id:
            return call
        if call_id and (same := next((call for call in reversed(self.calls) if call.call_id == call_id), None)):
            return None if has_index and call is None else same
        return call if call is not None and not (call_id and call.call_id) else None


def _begins_another(call: PartialCall, name: str, arguments: str) -> bool:
    """Returns whether a piece begins another call instead of continuing this one: two calls may have one id."""
    if not name or not call.name:
        return False
    return name != call.name or (
        arguments.lstrip().startswith("{") and call.is_whole and call.arguments.strip() != "{}"
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
