"""Probabilities of tokens, as services report them."""

import math

import pytest
from support.services.llm_server import DONE, event

from llm.answer_values import mean_probability, probability_of
from llm.chat import ChatOptions, Token
from llm.openai.messages import options_json
from llm.openai.stream import OpenAIStream
from llm.tgi.chat import TgiStream


@pytest.mark.parametrize(
    ("reported", "probability"),
    [(0.0, 1.0), (0, 1.0), (math.log(0.5), 0.5), (0.1, 1.0), (-1e9, 0.0), (None, None), ("-1", None), (True, None)],
)
def test_logarithm_becomes_probability(reported: object, probability: float | None) -> None:
    assert probability_of(reported) == (None if probability is None else pytest.approx(probability))


def test_invalid_probability_is_unknown() -> None:
    assert probability_of(math.nan) is None
    invalid: list[object] = [None, [], {}, {"content": None}, {"content": [None, {}, {"logprob": "x"}]}]
    assert [mean_probability(logprobs) for logprobs in invalid] == [None] * len(invalid)


def test_openai_stream_reports_mean_of_a_piece() -> None:
    logprobs: dict[str, object] = {
        "content": [{"token": "a", "logprob": math.log(0.8)}, {"token": "b", "logprob": math.log(0.4)}]
    }
    piece = event("It is").replace(b'"finish_reason"', b'"logprobs": LOGS, "finish_reason"')
    body = (
        piece.replace(b"LOGS", str(logprobs).replace("'", '"').encode()) + event(" so.") + event(finish="stop") + DONE
    )
    tokens = [one for one in OpenAIStream("near").feed(body) if isinstance(one, Token)]
    assert [one.text for one in tokens] == ["It is", " so."]
    assert tokens[0].probability == pytest.approx(0.6)
    assert tokens[1].probability is None


@pytest.mark.parametrize("name", ["logprob", "log_prob"])
def test_token_lines_report_probability(name: str) -> None:
    line = (
        f'data:{{"token":{{"id":1,"text":"Hi","{name}":{math.log(0.25)},"special":false}},"generated_text":null}}\n\n'
    )
    (token,) = TgiStream("near").feed(line.encode())
    assert isinstance(token, Token)
    assert token.probability == pytest.approx(0.25)


def test_probabilities_are_requested_only_if_wanted() -> None:
    assert options_json(ChatOptions(probabilities=True)) == {"logprobs": True}
    assert options_json(ChatOptions()) == {}
