"""Events as JSON texts."""

import json

import pytest

from web.wire.outgoing.outbox import Outbox


@pytest.mark.parametrize(
    "value",
    ["grüß", "half \ud800", 10**30, 1.5, None, [1, ("a", {"b": True})], "\u2028 \x00"],
    ids=["text", "half a character", "long number", "float", "nothing", "nested", "controls"],
)
def test_event_is_read_as_it_was_added(value: object) -> None:
    outbox = Outbox()
    outbox.add_event("error", {"error": value})
    (text,) = outbox.drain()
    assert json.loads(text) == json.loads(json.dumps({"type": "error", "event_id": "event_1", "error": value}))
    assert text.startswith('{"type":"error"')
