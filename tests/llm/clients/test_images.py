"""Images in requests: OpenAI's chat completions and both APIs of Bedrock."""

from typing import Any

from llm.aws.bedrock_request import BedrockOptions, anthropic_body, converse_body
from llm.chat import PLAIN, Image, Message
from llm.openai.messages import messages_json
from llm.templates.role_alternation import alternating

PHOTO = Image("image/jpeg", "/9j/", 640, 480, "low")
CHART = Image("image/png", "iVBO", 640, 480)
CONVERSATION = (
    Message("user", "What is this?", images=(PHOTO, CHART)),
    Message("assistant", "A lamp."),
    Message("user", "", images=(CHART,)),
)


def test_openai_gets_data_urls_and_the_detail() -> None:
    def image(url: str, detail: str) -> dict[str, object]:
        return {"type": "image_url", "image_url": {"url": url, "detail": detail}}

    assert messages_json(CONVERSATION, "near") == [
        {
            "role": "user",
            "content": [
                image("data:image/jpeg;base64,/9j/", "low"),
                image("data:image/png;base64,iVBO", "auto"),
                {"type": "text", "text": "What is this?"},
            ],
        },
        {"role": "assistant", "content": "A lamp."},
        {"role": "user", "content": [image("data:image/png;base64,iVBO", "auto")]},
    ]


def test_converse_gets_bytes_and_the_format() -> None:
    assert converse_body(CONVERSATION, PLAIN, BedrockOptions())["messages"] == [
        {
            "role": "user",
            "content": [
                {"image": {"format": "jpeg", "source": {"bytes": "/9j/"}}},
                {"image": {"format": "png", "source": {"bytes": "iVBO"}}},
                {"text": "What is this?"},
            ],
        },
        {"role": "assistant", "content": [{"text": "A lamp."}]},
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "iVBO"}}}]},
    ]


def test_anthropic_gets_base64_sources() -> None:
    body: dict[str, Any] = anthropic_body(CONVERSATION, PLAIN, BedrockOptions())
    assert body["messages"][0]["content"][0] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"},
    }


def test_joined_messages_keep_their_images_in_order() -> None:
    joined = alternating(
        [Message("user", "", images=(PHOTO,)), Message("user", "what"), Message("user", "", images=(CHART,))]
    )
    assert joined == [Message("user", "what", images=(PHOTO, CHART))]
