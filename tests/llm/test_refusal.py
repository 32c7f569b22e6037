"""A service's no: what it means, and what must not be quoted."""

import pytest

from llm.errors import LlmBroken, LlmError, LlmRefused
from llm.refusal import Complaint, complaint_of_body, quoted, refused_by_status


def refusal(status: int, body: bytes = b"", private: tuple[str, ...] = ()) -> LlmError:
    return refused_by_status(
        "near", status, where="http://h/v1", model="m7", complaint=complaint_of_body(body), private=private
    )


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422, 424, 429, 500, 503])
def test_whatever_one_refuses_another_may_do(status: int) -> None:
    error = refusal(
        status, b'{"error": {"message": "Your credit balance is too low.", "type": "invalid_request_error"}}'
    )
    assert isinstance(error, LlmRefused)
    assert error.retryable
    assert error.spoken.endswith(".")


@pytest.mark.parametrize("status", [401, 403])
def test_key_names_its_setting_and_is_not_quoted(status: int) -> None:
    error = refusal(status, b'{"error": {"message": "Incorrect key: sk-12*****89"}}')
    assert "api_key_env" in str(error)
    assert "sk-" not in str(error)
    assert error.spoken == "My language model refused the request: the key is not accepted."


def test_not_found_names_url_and_model() -> None:
    text = str(refusal(404, b'{"error": {"message": "The model does not exist"}}'))
    assert "http://h/v1" in text
    assert "m7" in text
    assert '"The model does not exist"' in text


def test_redirect_is_no_answer() -> None:
    assert isinstance(refusal(308), LlmBroken)


def test_filter_before_the_stream() -> None:
    error = refusal(400, b'{"error": {"code": "content_filter", "message": "no"}}')
    assert error.spoken == "My language model declined to answer that."
    assert not error.retryable


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b'{"error": {"message": "a", "type": "t", "code": 503}}', Complaint("a", "t", 503)),
        (b'{"error": {"message": "a", "type": null, "code": "rate"}}', Complaint("a", "rate", None)),
        (b'{"error": "a", "error_type": "overloaded"}', Complaint("a", "overloaded", None)),
        (b'{"detail": "Not Found"}', Complaint("Not Found", "", None)),
        (b'{"detail": [{"input": "said"}]}', Complaint("", "", None)),
        (b'{"detail": [{"loc": ["body", "n"], "msg": "Extra", "type": "t"}]}', Complaint("n: Extra", "t", None, "n")),
        (b'{"message": {"detail": [{"loc": ["body", "n", 1], "msg": "No"}]}}', Complaint("n: No", "", None, "n")),
        (b'[{"error": {"message": "a", "code": 503, "status": "BUSY"}}]', Complaint("a", "BUSY", 503)),
        (b'{"error": {"message": "a", "param": "n"}}', Complaint("a", "", None, "n")),
        (b"[1]", Complaint("", "", None)),
        (b"<html>", Complaint("", "", None)),
        (b"[" * 100_000, Complaint("", "", None)),
    ],
)
def test_bodies(body: bytes, complaint: Complaint) -> None:
    assert complaint_of_body(body) == complaint


def test_quotation_is_one_short_line() -> None:
    assert quoted("a\n b", []) == ': "a b"'
    assert len(quoted("x" * 1000, [])) == 204
    assert quoted("", []) == ""


@pytest.mark.parametrize(
    "message",
    [
        "invalid input 'Call my sister in Lisbon'",
        "invalid: CALL MY SIS",
        "invalid: call_my_sister",
        "sister i",
        r"invalid: c\u0061ll my sister",
        "x" * 190 + "call my sister",
        "key sk-abcdefghij is bad",
        "no: yes",
    ],
)
def test_what_was_said_is_not_quoted(message: str) -> None:
    assert quoted(message, ["Please call my sister in Lisbon.", "sk-abcdefghijkl", "Yes!", ""]) == ""


def test_what_is_not_about_the_words_is_quoted() -> None:
    assert quoted("out of memory", ["Please call my sister in Lisbon."]) == ': "out of memory"'
