"""Answers to what no skill understands if there is no language model: in full once, then short. Pure."""

from assistant.skills.answers import SkillAnswer
from assistant.skills.dialog.words import DialogWords
from assistant.skills.languages.language import Language

ACKNOWLEDGED = "acknowledged"
"""Skill that answers an utterance that asks for nothing."""

_HINTS = {"lights": "hint_home", "devices": "hint_home", "home": "hint_home_allow", "weather": "hint_weather"}
"""Lines for the screen, by the skill that cannot do what was asked."""


def refusal(text: str, words: tuple[str, ...], around: DialogWords, language: Language, *, again: bool) -> SkillAnswer:
    """Returns the answer to `text`, which no skill understands.

    Args:
        text: As recognized.
        words: Its plain words without politeness; () if there are none.
        around: The words around requests.
        language: Gives the sentences.
        again: Whether it was said in full before that no language model is connected.
    """
    if not any(map(str.isalnum, text)):
        return SkillAnswer(language.say("no_words"), "")
    if " ".join(words) in around.acknowledgements:
        return SkillAnswer(language.say("acknowledged"), ACKNOWLEDGED)
    is_question = text.rstrip().endswith("?") or (words[:1] and words[0] in around.questions)
    if not is_question and words[:1] and words[0] in around.statements and around.wishes.isdisjoint(words[:3]):
        return SkillAnswer(language.say("heard"), ACKNOWLEDGED)
    if again:
        return SkillAnswer(language.say("not_known" if is_question else "not_yet"), "", missing=True)
    sentence = language.say("no_model_known" if is_question else "no_model")
    return SkillAnswer(sentence, "", missing=True, refuses=True, hint=language.say("hint_model"))


def hint_of(answer: SkillAnswer, language: Language) -> str:
    """Returns the line for the screen that belongs to an answer: what to configure; "" for none."""
    if answer.hint or not answer.missing:
        return answer.hint
    name = _HINTS.get(answer.skill)
    return "" if name is None else language.say(name)
