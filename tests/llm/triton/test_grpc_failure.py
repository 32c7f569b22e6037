"""Conversion of status codes and error texts into errors with a remedy."""

from support.texts.text_cases import named_cases, text_cases

from llm.errors import LlmBroken, LlmError, LlmRefused, LlmUnreachable
from llm.triton.grpc_failure import failed_in_stream, failed_with_code, is_lost, too_slow_to_connect, unreachable

KEY = "sk-very-secret-key"


def failed(code: str, details: str = "", *, connected: bool = True, begun: bool = False) -> LlmError:
    return failed_with_code(
        "near", code, details, where="grpc://h:1", model="m7", connected=connected, begun=begun, private=(KEY,)
    )


@text_cases(
    ("code", "kind", "spoken"),
    [
        ("UNAUTHENTICATED", LlmRefused, "key"),
        ("PERMISSION_DENIED", LlmRefused, "key"),
        ("NOT_FOUND", LlmRefused, "not found"),
        ("UNIMPLEMENTED", LlmRefused, "not found"),
        ("RESOURCE_EXHAUSTED", LlmRefused, "busy"),
        ("INVALID_ARGUMENT", LlmRefused, "could not handle"),
        ("OUT_OF_RANGE", LlmRefused, "could not handle"),
        ("DEADLINE_EXCEEDED", LlmRefused, "problem"),
        ("INTERNAL", LlmRefused, "problem"),
        ("UNAVAILABLE", LlmRefused, "problem"),
        ("CANCELLED", LlmBroken, "broke off"),
    ],
)
def test_codes_map_to_errors(code: str, kind: type[LlmError], spoken: str) -> None:
    error = failed(code, f"because of {KEY}")
    assert type(error) is kind
    assert error.retryable
    assert spoken in error.spoken
    assert KEY not in str(error)


def test_unavailable_without_connection_is_unreachable() -> None:
    assert isinstance(failed("UNAVAILABLE", connected=False), LlmUnreachable)
    assert isinstance(failed("UNAVAILABLE", connected=False, begun=True), LlmBroken)


def test_error_text_is_quoted_except_about_keys() -> None:
    assert str(failed("INTERNAL", "out of memory")).endswith(': "out of memory"')
    assert "abc" not in str(failed("UNAUTHENTICATED", "not abc"))


@named_cases(
    ("details", "expected_text"),
    {
        "connection refused": ("connect: Connection refused (111)", "start the server"),
        "unknown host": ("DNS resolution failed for h:1", "cannot be looked up"),
        "untrusted certificate": ("Ssl handshake failed: CERTIFICATE_VERIFY_FAILED", "ca_file"),
        "HTTP server": ("Trying to connect an http1.x server", "8001"),
        "other": ("anything else", "check its url and the network"),
    },
)
def test_unreachable_names_reason(details: str, expected_text: str) -> None:
    assert expected_text in str(unreachable("near", "grpc://h:1", details))


def test_slow_connection_is_unreachable() -> None:
    assert "within 0.5 s" in str(too_slow_to_connect("near", "grpc://h:1", 0.5))


@named_cases(
    ("message", "expected_text"),
    {
        "unknown model": ("Request for unknown model: 'm7' is not found", "(NOT_FOUND)"),
        "no version": ("Request for unknown model: 'm7' has no available versions", "(NOT_FOUND)"),
        "unknown input": ("unexpected inference input 'return_finish_reason' for model 'm7'", "(INVALID_ARGUMENT)"),
        "wrong shape": (
            "unexpected shape for input 'text_input' for model 'm7'. Expected [1], got [1,1]",
            "(INVALID_ARGUMENT)",
        ),
        "prompt too long": (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
            "(INVALID_ARGUMENT)",
        ),
        "full queue": ("Exceeds maximum queue size", "(RESOURCE_EXHAUSTED)"),
        "out of memory": ("Error generating stream: CUDA out of memory", "(UNKNOWN)"),
    },
)
def test_error_texts_without_code_are_classified(message: str, expected_text: str) -> None:
    error = failed_in_stream("near", message, where="grpc://h:1", model="m7", private=())
    assert isinstance(error, LlmRefused)
    assert error.retryable
    assert expected_text in str(error)


@named_cases(
    ("details", "lost"),
    {
        "socket closed": ("Stream removed (Socket closed)", True),
        "reset": ("recvmsg:Connection reset by peer", True),
        "GOAWAY": ("GOAWAY received", True),
        "overloaded": ("the model is overloaded, ask later", False),
        "empty": ("", False),
    },
)
def test_lost_connection_is_recognized(details: str, *, lost: bool) -> None:
    assert is_lost(details) is lost
