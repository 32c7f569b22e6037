"""Request fields of the client and configured parameters."""

import json

import pytest

from llm.http.request_body import checked, encoded, merged


def test_parameters_override_fields_and_tables_are_merged() -> None:
    reserved = {"stream": True, "temperature": 0.0, "inferenceConfig": {"maxTokens": 60}}
    more = {"temperature": 0.7, "inferenceConfig": {"topP": 0.9}, "stop": ["x"]}
    assert merged(reserved, more) == {
        "stream": True,
        "temperature": 0.7,
        "inferenceConfig": {"maxTokens": 60, "topP": 0.9},
        "stop": ["x"],
    }
    assert reserved["inferenceConfig"] == {"maxTokens": 60}


def test_reserved_parameter_is_refused() -> None:
    with pytest.raises(ValueError, match="llm endpoint 'near': parameters: messages is set by the program"):
        checked("near", {"top_p": 0.9, "messages": []}, reserved={"messages"})


def test_flat_service_refuses_lists_and_tables() -> None:
    single = {"top_p": 0.9, "seed": 3, "best": True, "name": "x"}
    assert checked("near", single, reserved=(), flat=True) == single
    for value in (["x"], {"a": 1}):
        with pytest.raises(ValueError, match="parameters: stop: this service accepts strings"):
            checked("near", {"stop": value}, reserved=(), flat=True)
        assert checked("near", {"stop": value}, reserved=()) == {"stop": value}


def test_surrogate_half_is_replaced() -> None:
    assert json.loads(encoded({"a": "é\ud83d"})) == {"a": "é?"}
