"""Volume and speed of the assistant's voice. The result is an effect."""

from assistant.skills import AnswerWithEffect, ChangeSpeed, ChangeVolume, Reply
from assistant.skills.language import Language
from assistant.skills.sentences import TemplateMatch

_VOLUME_STEP_DB = {"little": 3.0, "some": 6.0, "much": 10.0}
_SPEED_STEPS = {"little": 1, "some": 2, "much": 4}


def change_voice(found: TemplateMatch, language: Language) -> Reply:
    """Makes the voice louder, quieter, faster or slower, as the intent says, by a little or a lot."""
    how_much = found.values.get("how_much", "some")
    effect: ChangeVolume | ChangeSpeed
    if found.intent in ("louder", "quieter"):
        step_db = _VOLUME_STEP_DB[how_much]
        effect = ChangeVolume(step_db if found.intent == "louder" else -step_db)
    else:
        steps = _SPEED_STEPS[how_much]
        effect = ChangeSpeed(steps if found.intent == "faster" else -steps)
    deed = AnswerWithEffect(language.say(found.intent), effect)
    return lambda _context: deed
