"""Sentences that are spoken in place of an answer."""

import pytest

from assistant.documents.fan_out import INTERNAL_ERROR
from assistant.history import prompt_limits
from assistant.pipeline.reply_production import ANSWER_BROKE_OFF, EMPTY_ANSWER
from assistant.pipeline.reply_source import RECOGNIZER_FAILED
from assistant.text.failure_sentences import failure_sentence
from assistant.tools import rounds
from llm import errors, http_errors, token_deadlines
from llm.aws import credentials
from llm.http import failure
from llm.local import chat

MODULES = (errors, http_errors, token_deadlines, credentials, failure, chat, prompt_limits, rounds)
SENTENCES = {
    ANSWER_BROKE_OFF,
    EMPTY_ANSWER,
    INTERNAL_ERROR,
    RECOGNIZER_FAILED,
    *(text for module in MODULES for name, text in vars(module).items() if name.startswith("SPOKEN_")),
}


@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_every_failure_sentence_has_a_translation(language: str) -> None:
    translated = {failure_sentence(sentence, language) for sentence in SENTENCES}
    assert len(translated) == len(SENTENCES) == 23
    assert not translated & SENTENCES


def test_region_does_not_matter() -> None:
    assert failure_sentence(failure.SPOKEN_UNREACHABLE, "de-AT") == "Ich erreiche mein Sprachmodell gerade nicht."


@pytest.mark.parametrize("language", ["en", "en-GB", "nl", ""])
def test_other_languages_hear_english(language: str) -> None:
    assert failure_sentence(failure.SPOKEN_UNREACHABLE, language) == failure.SPOKEN_UNREACHABLE


def test_unknown_sentence_stays() -> None:
    assert (
        failure_sentence("Es ist kein Sprachmodell angeschlossen.", "fr") == "Es ist kein Sprachmodell angeschlossen."
    )
