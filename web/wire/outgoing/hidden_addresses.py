"""Removes addresses from texts for clients.

Errors and descriptions of engines name addresses inside of the operator's network, and targets of redirects. The
server's log has them in full.
"""

import re
from dataclasses import replace

from assistant.trace.record import TurnRecord

HIDDEN = "[address]"

_ADDRESS = re.compile(
    r"\b(?:https?|wss?|grpcs?|rediss?|unix)://[^\s,;'\"()<>\[\]{}]*(?:\[[0-9a-fA-F:.]+\][^\s,;'\"()]*)?"
)


def without_addresses(text: str) -> str:
    """Returns the text with `HIDDEN` in place of each address. A full stop or colon at its end stays."""
    return _ADDRESS.sub(lambda match: HIDDEN + _end_of(match[0]), text) if "://" in text else text


def _end_of(address: str) -> str:
    return address[len(address.rstrip(".:")) :]


def record_for_client(record: TurnRecord) -> TurnRecord:
    """Returns the record without addresses in what it says about engines and errors."""
    return replace(
        record,
        error=None if record.error is None else without_addresses(record.error),
        fallbacks=tuple(map(without_addresses, record.fallbacks)),
        engines={stage: without_addresses(name) for stage, name in record.engines.items()},
        events=tuple(replace(event, detail=without_addresses(event.detail)) for event in record.events),
    )
