"""Refusals of services: their meaning, and the texts that must not be quoted."""

import pytest
from support.texts.text_cases import named_cases

from llm.errors import LlmBroken, LlmError, LlmRefused
from llm.http_errors import ErrorReport, error_report_of_body, quoted, refused_by_status


def refusal(
    status: int,
    body: bytes = b"",
    private: tuple[str, ...] = (),
    *,
    where: str = "http://h/v1",
    location: str = "",
    key_in_headers: bool = False,
) -> LlmError:
    return refused_by_status(
        "near",
        status,
        where=where,
        model="m7",
        report=error_report_of_body(body),
        private=private,
        location=location,
        key_in_headers=key_in_headers,
        usual_ending="/v1",
    )


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422, 424, 429, 500, 503])
def test_refusal_by_status_is_retryable(status: int) -> None:
    error = refusal(
        status, b'{"error": {"message": "Your credit balance is too low.", "type": "invalid_request_error"}}'
    )
    assert isinstance(error, LlmRefused)
    assert error.retryable
    assert error.spoken.endswith(".")


@pytest.mark.parametrize("status", [401, 403])
def test_key_error_names_setting_without_quotation(status: int) -> None:
    error = refusal(status, b'{"error": {"message": "Incorrect key: sk-12*****89"}}')
    assert "api_key_env" in str(error)
    assert "sk-" not in str(error)
    assert error.spoken == "My language model refused the request: the key is not accepted."


def test_key_error_names_headers_if_key_is_in_headers() -> None:
    assert "set its headers to a key" in str(refusal(401, key_in_headers=True))


def test_wrong_key_with_status_400_is_recognized() -> None:
    error = refusal(400, b'[{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]')
    assert "api_key_env" in str(error)
    assert "max_tokens" in str(refusal(400, b'{"error": "max_tokens is too large"}'))


def test_status_403_for_other_reasons_is_not_a_key_error() -> None:
    error = refusal(403, b'{"error": {"message": "Country, region, or territory not supported"}}')
    assert "api_key_env" not in str(error)
    assert str(error).endswith('may use m7 from here: "Country, region, or territory not supported"')
    assert error.spoken == "My language model could not handle the request."


@pytest.mark.parametrize(
    ("where", "expected_text"),
    [
        ("http://h:11434", "(http://h:11434; most end in /v1)"),
        ("http://h/v1", "(http://h/v1)"),
        ("http://h/v1beta/openai", "(http://h/v1beta/openai)"),
    ],
    ids=["no path", "v1", "v1beta"],
)
def test_not_found_mentions_missing_path_ending(where: str, expected_text: str) -> None:
    assert expected_text in str(refusal(404, where=where))


def test_not_found_names_url_and_model() -> None:
    text = str(refusal(404, b'{"error": {"message": "The model does not exist"}}'))
    assert "http://h/v1" in text
    assert "m7" in text
    assert '"The model does not exist"' in text


def test_redirect_is_an_invalid_answer() -> None:
    assert isinstance(refusal(308), LlmBroken)
    assert "the final address (https://h/v1), not http://h/v1" in str(refusal(307, location="https://h/v1"))


def test_content_filter_refusal_is_final() -> None:
    error = refusal(400, b'{"error": {"code": "content_filter", "message": "no"}}')
    assert error.spoken == "My language model declined to answer that."
    assert not error.retryable


@named_cases(
    ("body", "report"),
    {
        "type and code": (b'{"error": {"message": "a", "type": "t", "code": 503}}', ErrorReport("a", "t", 503)),
        "code as text": (b'{"error": {"message": "a", "type": null, "code": "rate"}}', ErrorReport("a", "rate", None)),
        "error as text": (b'{"error": "a", "error_type": "overloaded"}', ErrorReport("a", "overloaded", None)),
        "detail as text": (b'{"detail": "Not Found"}', ErrorReport("Not Found", "", None)),
        "validation input": (b'{"detail": [{"input": "said"}]}', ErrorReport("", "", None)),
        "validation message": (
            b'{"detail": [{"loc": ["body", "n"], "msg": "Extra", "type": "t"}]}',
            ErrorReport("n: Extra", "t", None, "n"),
        ),
        "nested validation message": (
            b'{"message": {"detail": [{"loc": ["body", "n", 1], "msg": "No"}]}}',
            ErrorReport("n: No", "", None, "n"),
        ),
        "list of errors": (
            b'[{"error": {"message": "a", "code": 503, "status": "BUSY"}}]',
            ErrorReport("a", "BUSY", 503),
        ),
        "parameter": (b'{"error": {"message": "a", "param": "n"}}', ErrorReport("a", "", None, "n")),
        "other list": (b"[1]", ErrorReport("", "", None)),
        "web page": (b"<html>", ErrorReport("", "", None)),
        "deeply nested": (b"[" * 100_000, ErrorReport("", "", None)),
    },
)
def test_error_bodies_are_parsed(body: bytes, report: ErrorReport) -> None:
    assert error_report_of_body(body) == report


def test_quotation_is_one_short_line() -> None:
    assert quoted("a\n b", []) == ': "a b"'
    assert len(quoted("x" * 1000, [])) == 204
    assert quoted("", []) == ""
    assert quoted("\x1b]0;a\x07b\u202e\x9b", []) == ': "]0;a b"', "nothing that a terminal would obey"


@named_cases(
    "message",
    {
        "whole question": "invalid input 'Call my sister in Lisbon'",
        "upper case": "invalid: CALL MY SIS",
        "underscores": "invalid: call_my_sister",
        "end of a word": "sister i",
        "escaped letters": r"invalid: c\u0061ll my sister",
        "text at the cut": "x" * 190 + "call my sister",
        "key": "key sk-abcdefghij is bad",
        "short words": "no: yes",
    },
)
def test_private_text_is_not_quoted(message: str) -> None:
    assert quoted(message, ["Please call my sister in Lisbon.", "sk-abcdefghijkl", "Yes!", ""]) == ""


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "You exceeded your current quota, please check your plan and billing details.",
    ],
    ids=["unsupported parameter", "exceeded quota"],
)
def test_common_words_do_not_prevent_quotation(message: str) -> None:
    said = ["Which phones are supported with this model?", "Please check your messages.", "Is it not supported?"]
    assert quoted(message, said) == f': "{message}"'


@pytest.mark.parametrize(
    "message", ["model is ann not supported", "unsupported value: 'is ann not with bob'"], ids=["one name", "two names"]
)
def test_common_words_do_not_hide_private_ones(message: str) -> None:
    assert quoted(message, ["Is Ann not with Bob?", "my model is Ann"]) == ""


def test_unrelated_message_is_quoted() -> None:
    assert quoted("out of memory", ["Please call my sister in Lisbon."]) == ': "out of memory"'
