"""Answers of a small model that begin with a refusal, or are unsure."""

import pytest

from llm.chat import Token
from llm.routing.first_sentence import MAX_JUDGED, UNKNOWN_AFTER, FirstSentence, Verdict

REFUSALS = (
    "I don't know.",
    "I don’t know the answer to that.",
    "I'm sorry, but I can't help with that.",
    "Sorry, I do not know who won.",
    "Unfortunately, I don't have access to that.",
    "As an AI language model, I cannot tell.",
    "Hmm. I'm not sure about that one.",
    "Das weiß ich leider nicht.",
    "Das kann ich dir nicht sagen.",
    "Leider kann ich dir dabei nicht helfen.",
    "Es tut mir leid, ich weiß es nicht.",
    "Ich bin mir nicht sicher.",
    "Je ne sais pas.",
    "Désolé, mais je ne peux pas répondre.",
    "Malheureusement, je n'ai pas accès à ces données.",
    "No lo sé.",
    "Lo siento, pero no puedo ayudarte.",
    "Me temo que no tengo información sobre eso.",
)

ANSWERS = (
    "I can help with that.",
    "I do know that one: Mount Everest.",
    "I'm sorry to hear that. Get some rest.",
    "Well, it depends.",
    "Sorry about that. It is nine o'clock.",
    "It is ten o'clock.",
    "Das weiß jedes Kind: Berlin.",
    "Ich kann das gern machen.",
    "Je sais que la capitale est Paris.",
    "No, es el lunes.",
    "Leider regnet es morgen.",
    "Sorry.",
    "I don't. But she does.",
)


def verdicts(*pieces: str, min_probability: float = 0.0, probability: float | None = None) -> list[Verdict]:
    judge = FirstSentence(min_probability)
    return [*(judge.feed(Token(piece, probability=probability)) for piece in pieces), judge.finish()]


def by_characters(text: str) -> Verdict:
    """Returns the first verdict while the text arrives character by character."""
    return next(one for one in verdicts(*text) if one is not Verdict.UNDECIDED)


@pytest.mark.parametrize("text", REFUSALS)
def test_refusal_is_noticed(text: str) -> None:
    assert verdicts(text)[-1] is Verdict.DECLINES
    assert by_characters(text) is Verdict.DECLINES


@pytest.mark.parametrize("text", ANSWERS)
def test_answer_is_no_refusal(text: str) -> None:
    assert verdicts(text)[-1] is Verdict.ANSWER
    assert by_characters(text) is Verdict.ANSWER


def test_answer_is_held_no_longer_than_needed() -> None:
    assert verdicts("Mount", " Everest")[:1] == [Verdict.ANSWER]  # no phrase begins with it
    assert verdicts("I", "t is")[:2] == [Verdict.UNDECIDED, Verdict.ANSWER]
    assert verdicts("I", " can", " help")[:3] == [Verdict.UNDECIDED, Verdict.UNDECIDED, Verdict.ANSWER]
    assert verdicts("I'm", " sorry", " to")[:3] == [Verdict.UNDECIDED, Verdict.UNDECIDED, Verdict.ANSWER]


def test_low_probability_is_unsure() -> None:
    said = ("The", " answer", " is", " four.", " Next")
    assert verdicts(*said, min_probability=0.6, probability=0.4)[-1] is Verdict.UNSURE
    assert verdicts(*said, min_probability=0.6, probability=0.8)[-1] is Verdict.ANSWER
    assert verdicts(*said, min_probability=0.0, probability=0.1)[-1] is Verdict.ANSWER


def test_sentence_is_held_until_its_probability_is_known() -> None:
    said = ("The", " answer", " is", " four.", " Next")
    found = verdicts(*said, min_probability=0.6, probability=0.4)
    assert found[:5] == [*[Verdict.UNDECIDED] * 4, Verdict.UNSURE]
    long = verdicts(*[" word"] * 40, min_probability=0.6, probability=0.9)
    assert long.index(Verdict.ANSWER) == MAX_JUDGED - 1


def test_service_without_probabilities_is_not_held() -> None:
    found = verdicts("The", " answer", " is", " four.", min_probability=0.6)
    assert found.index(Verdict.ANSWER) == UNKNOWN_AFTER - 1
