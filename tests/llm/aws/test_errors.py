"""AWS's error formats, without a network."""

import json

import pytest
from support.texts.text_cases import named_cases

from llm.aws.errors import AwsFault, AwsRefusals, fault_of_answer, fault_of_frame
from llm.aws.frames import EventStreamMessage
from llm.errors import LlmError, LlmRefused

REFUSALS = AwsRefusals("far", "https://h", "m7", "bedrock:InvokeModelWithResponseStream", "eu-central-1")


def error_of(code: str, message: str = "", status: int | None = None) -> LlmError:
    return REFUSALS.error_of(AwsFault(code, message, status), ("what is the tallest mountain",))


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/"}, {"message": "slow"}),
        ({}, {"__type": "com.amazon.coral.service#ThrottlingException", "message": "slow"}),
        ({}, {"code": "Throttling", "Message": "slow"}),
    ],
    ids=["header", "body type", "body code"],
)
def test_error_code_is_found_in_headers_and_body(headers: dict[str, str], body: dict[str, str]) -> None:
    assert fault_of_answer(400, headers, json.dumps(body).encode()) == AwsFault("throttling", "slow", 400)


def test_body_that_is_not_json_is_ignored() -> None:
    assert fault_of_answer(502, {}, b"<html>") == AwsFault("", "", 502)
    assert fault_of_answer(502, {}, b"[" * 100_000) == AwsFault("", "", 502)
    assert "failed (HTTP 502) at https://h" in str(error_of("", status=502))


def test_error_frame_has_message_in_header() -> None:
    frame = EventStreamMessage("error", "InternalError", {":error-message": "boom"}, b"")
    assert fault_of_frame(frame) == AwsFault("internalerror", "boom")


@named_cases(
    ("message", "expected_text"),
    {
        "clock slow": (
            "Signature expired: 20240101T000000Z is now earlier than 20240101T000700Z (20240101T001200Z - 5 min.)",
            "720 s behind",
        ),
        "clock fast": (
            "Signature not yet current: 20240101T001200Z is still later than 20240101T000500Z "
            "(20240101T000000Z + 5 min.)",
            "720 s ahead",
        ),
        "wrong key": ("The request signature we calculated does not match", "check the secret key, the region"),
        "times without skew": ("20240101T000000Z 20240101T000005Z", "check the secret key"),
        "invalid time": (
            "Signature expired: 20261399T250000Z is now earlier than 20260101T000000Z",
            "check the secret key",
        ),
    },
)
def test_clock_skew_differs_from_wrong_key(message: str, expected_text: str) -> None:
    assert expected_text in str(error_of("invalidsignature", message))


@pytest.mark.parametrize("code", ["invalidsignature", "accessdenied", "expiredtoken", "unrecognizedclient"])
def test_texts_about_keys_are_never_quoted(code: str) -> None:
    error = error_of(code, "x-amz-security-token:FwoGZXIvYXdz")
    assert isinstance(error, LlmRefused)
    assert "FwoG" not in str(error)
    assert error.retryable


def test_question_is_never_quoted() -> None:
    assert "mountain" not in str(error_of("validation", "bad: What is the TALLEST mountain"))
    assert "too many" in str(error_of("validation", "too many"))


def test_unknown_codes_are_retryable() -> None:
    assert error_of("somethingnew").retryable
    assert error_of("somethingnew", status=422).retryable
