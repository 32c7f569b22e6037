"""Recorded answer formats of SageMaker's containers, split at any position; each is detected by its first bytes."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from llm.answer_state import AnswerState
from llm.aws.generated_text_stream import JsonText
from llm.aws.payload import parser_for
from llm.aws.settings import Payload
from llm.chat import CallInProgress, ChatEvent, Finished, FunctionCall, Token
from llm.errors import LlmBroken, LlmError, LlmRefused
from llm.text_pieces import MoreText, Surrogates

TEXT = 'Mount "Évérest" 😀\n\tis {tall}: \\o/'
PIECES = (TEXT[:5], TEXT[5:16], TEXT[16:17], TEXT[17:])


def token_line(text: str, *, prefix: str = "", log: str = "logprob", **more: object) -> bytes:
    line = {"token": {"id": 7, "text": text, log: -0.1}, **more}
    return f"{prefix}{json.dumps(line, ensure_ascii=False)}\n".encode() + (b"\n" if prefix else b"")


def chat_line(text: str | None, finish: str | None = None, prefix: str = "", **more: object) -> bytes:
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    line = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **more}
    return f"{prefix}{json.dumps(line, ensure_ascii=False)}\n".encode() + (b"\n" if prefix else b"")


def lines(prefix: str, log: str, **last: object) -> bytes:
    body = b"".join(token_line(piece, prefix=prefix, log=log) for piece in PIECES)
    return body + token_line("", prefix=prefix, log=log, generated_text=TEXT, **last)


LENGTH = {"finish_reason": "length", "generated_tokens": 4, "inputs": "Hi"}
EOS = {"finish_reason": "eos_token", "generated_tokens": 4, "seed": None, "input_length": 21}
RAW = json.dumps(TEXT, ensure_ascii=False)

FORMATS: dict[str, tuple[Payload, bytes, Finished]] = {
    "tgi": ("tgi", b": hi\n\n" + lines("data:", "logprob", details=EOS), Finished("eos_token", 21, 4)),
    "jsonlines": ("lmi-jsonlines", lines("", "log_prob", details=LENGTH), Finished("length", None, 4)),
    "jsonlines, no details": ("lmi-jsonlines", lines("", "log_prob"), Finished("done")),
    "sse": ("lmi-sse", lines("data: ", "log_prob", details=LENGTH), Finished("length", None, 4)),
    "dynamic batch": (
        "lmi-jsonlines",
        b"".join(json.dumps({"outputs": [piece]}).encode() + b"\n" for piece in PIECES),
        Finished("done"),
    ),
    "chat": (
        "lmi-chat",
        b"".join(chat_line(piece) + b"\n" for piece in PIECES) + chat_line(None, "stop"),
        Finished("stop"),
    ),
    "chat sse": (
        "lmi-chat",
        b"".join(chat_line(piece, prefix="data: ") for piece in PIECES)
        + chat_line(None, "stop", "data: ")
        + chat_line(None, None, "data: ", usage={"prompt_tokens": 5, "completion_tokens": 4})
        + b"data: [DONE]\n\n",
        Finished("stop", 5, 4),
    ),
    "djl 0.25": ("djl-0.25", b'{"generated_text": ' + RAW.encode() + b"}", Finished("done")),
    "djl, ascii": ("djl-0.25", b'{"generated_text": ' + json.dumps(TEXT).encode() + b"}", Finished("done")),
    "djl, details": (
        "djl-0.25",
        b'{"generated_text": ' + RAW.encode() + b', "details": ' + json.dumps(LENGTH).encode() + b"}",
        Finished("length", None, 4),
    ),
    "list of one": ("djl-0.25", b' [ {"generated_text":' + RAW.encode() + b"}]\n", Finished("done")),
    "chat, not streamed": (
        "lmi-chat",
        json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": TEXT}, "finish_reason": "stop"}]}).encode(),  # noqa: E501
        Finished("stop"),
    ),
}  # fmt: skip


def outcome(payload: Payload, *pieces: bytes) -> tuple[str, ChatEvent | MoreText | None, str]:
    """Returns the text, the last event if it is not text, and the error."""
    reading = parser_for(payload, "near", ())
    events: list[ChatEvent | MoreText] = []
    try:
        for piece in pieces:
            for event in reading.feed(piece):
                events.append(event)  # noqa: PERF402 - extend() would lose what came before the error
        if not (events and isinstance(events[-1], Finished)):
            events.extend(reading.end())
    except LlmError as error:
        return text_of(events), None, str(error)
    return text_of(events), events[-1], ""


def text_of(events: list[ChatEvent | MoreText]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


def failure(payload: Payload, body: bytes) -> LlmError:
    reading = parser_for(payload, "near", ("what is the tallest mountain",))
    with pytest.raises(LlmError, match="'near'") as caught:
        [*reading.feed(body), *reading.end()]
    return caught.value


@pytest.mark.parametrize("name", FORMATS)
def test_configured_and_detected_format_agree(name: str) -> None:
    payload, body, finished = FORMATS[name]
    assert outcome(payload, body) == (TEXT, finished, "")
    assert outcome("auto", body) == (TEXT, finished, "")


@given(st.sampled_from(sorted(FORMATS)), st.lists(st.integers(0, 900), max_size=30), st.booleans())
def test_packet_boundaries_do_not_matter(name: str, cuts: list[int], detected: bool) -> None:
    payload, body, finished = FORMATS[name]
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    pieces = [body[start:stop] for start, stop in pairwise(edges)]
    assert outcome("auto" if detected else payload, *pieces) == (TEXT, finished, "")


@pytest.mark.parametrize("name", FORMATS)
def test_answer_delivered_byte_by_byte(name: str) -> None:
    payload, body, finished = FORMATS[name]
    assert outcome("auto", *(bytes([byte]) for byte in body)) == (TEXT, finished, "")
    assert outcome(payload, *(bytes([byte]) for byte in body)) == (TEXT, finished, "")


@pytest.mark.parametrize("name", FORMATS)
def test_text_is_passed_on_before_end(name: str) -> None:
    _, body, _ = FORMATS[name]
    reading = parser_for("auto", "near", ())
    heard = text_of([event for byte in body[:-20] for event in reading.feed(bytes([byte]))])
    assert heard == ("" if name == "chat, not streamed" else TEXT[: len(heard)])
    assert len(heard) >= (0 if name == "chat, not streamed" else len(TEXT) // 2)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "dynamic batch"])
def test_answer_without_end_is_broken(name: str) -> None:
    payload, body, _ = FORMATS[name]
    cut = body[: body.index(b"is {tall}") - 9]
    for kind in (payload, "auto"):
        error = failure(kind, cut)
        assert isinstance(error, LlmBroken)
        assert error.retryable


@given(st.text(st.characters(exclude_categories=()), max_size=30), st.booleans(), st.data())
def test_escapes_are_decoded_across_boundaries(text: str, ascii_only: bool, data: st.DataObject) -> None:
    written = json.dumps(text, ensure_ascii=ascii_only)[1:] + "}"
    reader, surrogates = JsonText(), Surrogates()
    cut = data.draw(st.integers(0, len(written)))
    spoken = "".join(surrogates.feed(reader.feed(piece)) for piece in (written[:cut], written[cut:]))
    whole = Surrogates().feed(text)
    assert spoken == whole
    assert reader.closed
    assert reader.rest == "}"


def test_surrogate_pair_split_anywhere() -> None:
    body = b'{"generated_text": "so \\uD83D\\uDE00\\\\n!"}'
    for cut in range(len(body)):
        assert outcome("auto", body[:cut], body[cut:]) == ("so 😀\\n!", Finished("done"), "")


def test_text_like_its_json_frame_is_kept() -> None:
    """Stripping with character sets would remove quotes, braces and the key itself at the edges."""
    text = '"}{generated_text": "text"}'
    body = json.dumps({"generated_text": text}).encode()
    assert outcome("auto", body) == (text, Finished("done"), "")


def test_text_without_escapes_is_kept() -> None:
    assert outcome("djl-0.25", b'{"generated_text": "a\\qb\nc \\u00zz"}')[0] == "a\\qb\nc \ufffd"


def test_special_tokens_are_removed() -> None:
    body = b'{"token":{"text":"<s>","special_token":true}}\n{"token":{"text":"Hi","special":false}}\n'
    assert outcome("tgi", body + token_line("", generated_text="Hi"))[0] == "Hi"


def test_chat_calls_are_assembled() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": "{}"}}
    line = json.dumps({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}).encode()
    reading = parser_for("auto", "near", ())
    said = [*reading.feed(line + b"\n"), *reading.end()]
    assert said == [CallInProgress(), FunctionCall("c", "weather", "{}"), Finished("tool_calls")]


@named_cases(
    ("body", "kind", "retryable"),
    {
        "overloaded": (b'data:{"error":"Model is overloaded","error_type":"overloaded"}\n\n', LlmRefused, True),
        "validation": (b'data:{"error":"inputs must have less","error_type":"validation"}\n\n', LlmRefused, True),
        "engine error": (b'{"error":"engine died","code":424}\n', LlmRefused, True),
        "bad parameter": (b'{"error":"bad parameter","code":400}', LlmRefused, True),
        "error beside text": (b'{"generated_text": null, "error": "no", "code": 400}', LlmRefused, True),
        "finish reason error in stream": (
            token_line("", generated_text="", details={"finish_reason": "error"}),
            LlmBroken,
            True,
        ),
        "finish reason error": (b'{"generated_text": "Hi", "details": {"finish_reason": "error"}}', LlmBroken, True),
        "number as text": (b'{"token":{"text":7}}\n', LlmBroken, True),
        "invalid JSON in event": (b"data:{not json}\n\n", LlmBroken, True),
        "web page": (b"<html>\n", LlmBroken, True),
        "empty": (b"", LlmBroken, True),
        "other outputs": (b'{"outputs": []}\n', LlmBroken, True),
        "too long": (b"x" * ((1 << 20) + 1), LlmBroken, True),
    },
)
def test_invalid_answer(body: bytes, kind: type[LlmError], retryable: bool) -> None:
    error = failure("auto", body)
    assert isinstance(error, kind)
    assert error.retryable is retryable


def test_wrong_payload_is_named() -> None:
    assert "check its payload" in str(failure("djl-0.25", lines("data:", "logprob")))
    assert "check its payload" in str(failure("djl-0.25", b"x" * 70_000))
    assert failure("djl-0.25", b'{"error":"bad","code":400}').retryable


def test_error_reason_is_quoted_unless_private() -> None:
    line = {"token": {"text": "", "error_msg": "out of pages"}, "generated_text": "", "details": {"finish_reason": "error"}}  # fmt: skip  # noqa: E501
    assert 'model server: "out of pages"' in str(failure("lmi-jsonlines", json.dumps(line).encode()))
    line["token"] = {"text": "", "error_msg": "cannot do: What is the tallest mountain"}
    assert "cannot do" not in str(failure("lmi-jsonlines", json.dumps(line).encode()))


def test_endless_answers_and_calls_are_broken() -> None:
    answer = AnswerState("near")
    with pytest.raises(LlmBroken, match="max_tokens"):
        list(answer.add_text("x" * (256 * 1024 + 1)))
    answer = AnswerState("near")
    for index in range(16):
        assert list(answer.begin_call(index, "", "weather")) == [CallInProgress()]
    with pytest.raises(LlmBroken, match="16 functions"):
        list(answer.begin_call(16, "", "weather"))
