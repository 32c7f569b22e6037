"""Messages of TGI and Triton, for scripts."""

import json


def token(text: str, *, special: bool = False, index: int = 1, **fields: object) -> bytes:
    """Returns one of TGI's token lines."""
    line = {
        "index": index,
        "token": {"id": 7, "text": text, "logprob": -0.5, "special": special},
        "generated_text": None,
        "details": None,
        **fields,
    }
    return b"data:" + json.dumps(line).encode() + b"\n\n"


def last(
    text: str = "</s>", *, special: bool = True, whole: str = "Hi.", reason: str = "eos_token", **details: object
) -> bytes:
    """Returns TGI's last line: one more token, and the end mark."""
    counts = {"finish_reason": reason, "generated_tokens": 3, "input_length": 12, "seed": None, **details}
    return token(text, special=special, generated_text=whole, details=counts)


def error(message: str, kind: str) -> bytes:
    """Returns TGI's error inside a stream."""
    return b"data:" + json.dumps({"error": message, "error_type": kind}).encode() + b"\n\n"


def output(text: object, **fields: object) -> bytes:
    """Returns one of Triton's responses."""
    response = {"model_name": "m7", "model_version": "1", "text_output": text, **fields}
    return b"data: " + json.dumps(response).encode() + b"\n\n"
