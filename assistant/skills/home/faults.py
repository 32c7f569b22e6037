"""Sentences for what goes wrong at home."""

from typing import Literal

from assistant.home import HomeFault
from assistant.skills.languages.language import base_language, language_with

PACKAGE = "assistant.skills.home"
Failure = HomeFault | Literal["too_late"]
"""A fault of the home; or the program did not run, or not reach its store, at the time of a planned command."""


def fault_text(fault: Failure, tag: str) -> str:
    """Returns the sentence for a fault in the language of a BCP 47 tag; in English in one without skills.

    It blocks for a moment when a language is used for the first time.
    """
    language = language_with(PACKAGE, base_language(tag) or "en")
    return language.say(f"home_{'refused' if fault == 'not_found' else fault}")
