"""Optional request fields: omitted if configured so or if the service does not accept them."""

import asyncio
import json

import pytest
from support.services.llm_server import Script, answer, ask, serving, status
from support.texts.text_cases import named_cases

from llm.chat import Token
from llm.errors import LlmRefused
from llm.openai.chat import OpenAIChat

OPENAI_TOKENS = {
    "message": "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
    "type": "invalid_request_error",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}
OPENAI_TEMPERATURE = {
    "message": "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default is.",
    "type": "invalid_request_error",
    "param": "temperature",
    "code": "unsupported_value",
}
MISTRAL = {
    "detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs", "input": 1}]
}
AZURE = {"message": "Unrecognized request argument supplied: stream_options", "type": "invalid_request_error"}


def asked_twice(*scripts: Script, parameters: dict[str, object] | None = None) -> tuple[list[dict[str, object]], str]:
    """Returns the request fields (without messages) of two questions to a service that first refuses, and the last
    error.
    """
    errors: list[str] = []

    async def main() -> list[dict[str, object]]:
        async with serving(*scripts) as server:
            model = OpenAIChat("near", server.url, "m7", max_tokens=80, temperature=0.7, parameters=parameters or {})
            for _ in range(2):
                try:
                    assert Token("Hi") in await ask(model)
                except LlmRefused as refusal:
                    errors.append(str(refusal))
            await model.aclose()
            return [json.loads(post.body) for post in server.posts]

    bodies = asyncio.run(main())
    return [{key: body[key] for key in body if key not in {"model", "messages", "stream"}} for body in bodies], (
        "".join(errors[-1:])
    )


USAGE = {"stream_options": {"include_usage": True}}


@named_cases(
    ("refusals", "then"),
    {
        "max_tokens": (
            [status(400, {"error": OPENAI_TOKENS})],
            {"max_completion_tokens": 80, "temperature": 0.7, **USAGE},
        ),
        "temperature": ([status(400, {"error": OPENAI_TEMPERATURE})], {"max_tokens": 80, **USAGE}),
        "both": (
            [status(400, {"error": OPENAI_TOKENS}), status(400, {"error": OPENAI_TEMPERATURE})],
            {"max_completion_tokens": 80, **USAGE},
        ),
        "stream_options": (
            [status(422, {"object": "error", "message": MISTRAL})],
            {"max_tokens": 80, "temperature": 0.7},
        ),
        "FastAPI": ([status(422, MISTRAL)], {"max_tokens": 80, "temperature": 0.7}),
        "older Azure": ([status(400, {"error": AZURE})], {"max_tokens": 80, "temperature": 0.7}),
    },
)
def test_unsupported_field_is_omitted_from_then_on(
    refusals: list[Script], then: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    bodies, _ = asked_twice(*refusals, answer("Hi"))
    assert bodies[len(refusals) :] == [then, then]
    assert caplog.text.count("'near' does not accept") == len(refusals)


@pytest.mark.parametrize(
    ("refusal", "parameters"),
    [
        ({"message": "max_tokens is too large: 80. This model supports at most 64.", "param": "max_tokens"}, {}),
        ({"message": "Unsupported parameter: 'top_p'", "param": "top_p"}, {}),
        (OPENAI_TEMPERATURE, {"temperature": 0.7}),
    ],
    ids=["other error", "other field", "configured field"],
)
def test_other_refusals_are_raised(refusal: dict[str, object], parameters: dict[str, object]) -> None:
    bodies, error = asked_twice(status(400, {"error": refusal}), parameters=parameters)
    assert len(bodies) == 2
    assert "rejects the request (HTTP 400)" in error


def test_false_parameter_omits_optional_field() -> None:
    bodies, _ = asked_twice(answer("Hi"), parameters={"stream_options": False, "temperature": False})
    assert bodies == [{"max_tokens": 80}] * 2
    bodies, _ = asked_twice(answer("Hi"), parameters={"max_tokens": False})
    assert bodies == [{"temperature": 0.7, **USAGE}] * 2
