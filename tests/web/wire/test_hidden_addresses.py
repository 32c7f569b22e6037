"""Clients learn no address of the operator's network."""

import pytest

from web.wire.outgoing.hidden_addresses import without_addresses


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "llm endpoint 'near' at http://10.0.0.5:8000/v1: see its log",
            "llm endpoint 'near' at [address]: see its log",
        ),
        ("its final address (https://a.example/x?key=1), not http://b", "its final address ([address]), not [address]"),
        ("it is at grpc://[fe80::1]:9000/m.", "it is at [address]."),
        ("redis://user:word@10.0.0.7:6379/0 is away", "[address] is away"),
        ("near: openai m", "near: openai m"),
        ("a:// and http: stay", "a:// and http: stay"),
    ],
)
def test_addresses_in_texts_are_hidden(text: str, shown: str) -> None:
    assert without_addresses(text) == shown
